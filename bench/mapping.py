"""How well the context map finds the files of a task, beside plain substring scoring and a random order.

Tasks are commits of a repository: the message is the task, the files it changed are the answer, and the map is that of
the parent. Others are the checkpoints of recorded sessions: what the user said is the task, the files touched are the
answer. Their repositories are not at hand, so that their map has the files that the logs name, with what earlier
sessions read of them. Paths and names of files are taken out of what a task says, as finding those proves nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, NamedTuple

from bench.intervals import ratio_interval
from bench.logs import data_root
from foveate.knowledge.base import Knowledge
from foveate.knowledge.mapping import ranked_entries, scored_entries
from foveate.knowledge.models import ContextTask
from foveate.knowledge.repository import MappedFile, RepositoryMap, build_map, build_map_at
from foveate.knowledge.signals import Signals, extract_signals
from foveate.knowledge.sources import ProjectSource
from foveate.knowledge.symbols import Parser, installed_parser
from foveate.store import Store

Split = Literal["tune", "report"]
Order = Callable[[Signals, RepositoryMap, str], list[str]]
Record = dict[str, Any]

TOP: Final = 10
OURS: Final = "stored"
REPO: Final = Path(__file__).resolve().parents[1]
TITLES: Final = {
    "commits, report": "Commits, the half that is quoted",
    "commits, tune": "Commits, the half that weights were chosen on",
    "checkpoints": "Checkpoints of recorded sessions",
}
_PATH: Final = re.compile(r"(?:[\w.@~-]*/)+[\w.@-]+\.\w{1,8}\b|(?:[\w.@~-]+/){2,}[\w.@-]*")
# What the recording program says in the user's name.
_NOT_SAID: Final = ("<", "[Request interrupted", "This session is being continued", "Caveat:", "# AGENTS.md")


class Task(NamedTuple):
    """What is to be done, the files that it took, and the map of what there was before."""

    name: str
    text: str
    answer: frozenset[str]
    map: RepositoryMap

    @property
    def split(self) -> Split:
        """Weights were chosen on one half of the commits, and are quoted on the other."""
        return "report" if sha256(self.name.encode()).digest()[-1] % 2 else "tune"


def in_memory(signals: Signals, known: RepositoryMap, _name: str) -> list[str]:
    """Ours on the map as it was built, every entry of it read, ties settled by how many files refer to one."""
    return [entry.location for entry, _ in ranked_entries(signals, known.entries, known.files)]


class Stored:
    """Ours as `foveate context` has it: of a map in a store, only entries that share words with the task are read."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, signals: Signals, known: RepositoryMap, name: str) -> list[str]:
        knowledge = Knowledge(self._store, name)
        knowledge.put_entries(known.entries, definitions={file.path: file.definitions for file in known.files})
        return [entry.location for entry, _ in ProjectSource(knowledge=knowledge).code(signals).ranked]


def by_words(signals: Signals, known: RepositoryMap, _name: str) -> list[str]:
    """The weights of plain scoring, but on stems of whole words."""
    return [entry.location for entry, _ in scored_entries(signals, known.entries)]


def by_substrings(signals: Signals, known: RepositoryMap, _name: str) -> list[str]:
    """Plain scoring: a keyword anywhere in the component counts 2, in the location 1, a domain in the notes 1."""
    scores: dict[str, int] = {}
    for entry in known.entries:
        component, location, notes = entry.component.lower(), entry.location.lower(), entry.notes.lower()
        score = sum(2 * (word in component) + (word in location) for word in signals.keywords)
        score += sum(domain in notes for domain in signals.domains)
        score += sum(3 * (file in entry.location) for file in signals.files_mentioned)
        if score:
            scores[entry.location] = score
    return sorted(scores, key=lambda location: -scores[location])


def by_chance(_signals: Signals, known: RepositoryMap, name: str) -> list[str]:
    locations = [entry.location for entry in known.entries]
    Random(name).shuffle(locations)
    return locations


ORDERS: Final[Mapping[str, Order]] = {
    "in memory": in_memory,
    "words": by_words,
    "substrings": by_substrings,
    "chance": by_chance,
}


def recalls(task: Task, orders: Mapping[str, Order] = ORDERS) -> dict[str, float]:
    """For each order, the share of a task's files among its first ten."""
    signals = extract_signals(ContextTask(objective=task.text))
    return {
        name: len(task.answer.intersection(order(signals, task.map, task.name)[:TOP])) / len(task.answer)
        for name, order in orders.items()
    }


def commits(repo: Path, parser: Parser) -> Iterator[Task]:
    """The commits of a repository that changed files, oldest first, without merges."""
    known: Sequence[MappedFile] = ()
    for commit in _git(repo, "rev-list", "--no-merges", "--min-parents=1", "--reverse", "HEAD").split():
        changed = _git(repo, "diff-tree", "-r", "-z", "--no-commit-id", "--no-renames", "--name-status", commit).split(
            "\0"
        )
        answer = frozenset(
            path for status, path in zip(changed[::2], changed[1::2], strict=False) if status in ("M", "D")
        )
        if answer:
            found = build_map_at(repo, f"{commit}^", known, parser=parser)
            known = found.files
            yield from _task(commit, _git(repo, "log", "-1", "--format=%B", commit), answer, found)


def checkpoints(root: Path, parser: Parser) -> Iterator[Task]:
    """The checkpoints of recorded sessions that changed files which were there."""
    for metadata in sorted(root.glob("*/checkpoints_metadata.jsonl")):
        points = [json.loads(line) for line in metadata.read_text(encoding="utf-8").splitlines()]
        points.sort(key=lambda point: (point["created_at"], point.get("checkpoint_transcript_start") or 0))
        sessions = {
            name: _Recorded(metadata.with_name(f"{name}.jsonl"))
            for name in dict.fromkeys(point["session_id"] for point in points)
        }
        paths = {path for point in points for path in point["files_touched"]}
        tops = {path.partition("/")[0] for path in paths if "/" in path}
        for session in sessions.values():
            paths |= {path for path in session.paths if path.partition("/")[0] in tops}
        for point in points:
            yield from _checkpoint(point, points, sessions, paths, parser)


def _checkpoint(
    point: Record, points: Iterable[Record], sessions: Mapping[str, _Recorded], paths: Iterable[str], parser: Parser
) -> Iterator[Task]:
    session_id, start = point["session_id"], point.get("checkpoint_transcript_start") or 0
    session = sessions[session_id]
    starts = (one.get("checkpoint_transcript_start") or 0 for one in points if one["session_id"] == session_id)
    end = min((later for later in starts if later > start), default=len(session.records))
    names = list(sessions)
    read: dict[str, str] = {}
    for earlier in names[: names.index(session_id)]:
        read |= sessions[earlier].contents
    answer = frozenset(point["files_touched"]) - session.made
    if answer:
        with tempfile.TemporaryDirectory() as folder:
            for path in paths:
                file = Path(folder, path)
                if file.is_dir() or any(parent.is_file() for parent in file.parents):
                    continue
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(read.get(path) or "\n", encoding="utf-8")
            found = build_map(Path(folder), parser=parser)
        yield from _task(point["checkpoint_id"], "\n".join(session.said(start, end)), answer, found)


class _Recorded:
    """What the log of a session tells of its repository."""

    def __init__(self, log: Path) -> None:
        self.records: list[Record] = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        homes = {home for record in self.records if (home := _home(record))}
        self._homes = sorted(homes, key=len, reverse=True)
        self.paths: set[str] = set()
        self.contents: dict[str, str] = {}
        self.made: set[str] = set()
        for record in self.records:
            self._take(record)

    def said(self, start: int, end: int) -> Iterator[str]:
        """What the user said between two lines of the log."""
        for record in self.records[start:end]:
            message = record.get("message") or record.get("payload") or {}
            hidden = record.get("isMeta") or record.get("isSidechain") or record.get("isCompactSummary")
            if hidden or not isinstance(message, dict) or message.get("role") != "user":
                continue
            content = message.get("content") or ()
            parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
            yield from (part for part in parts if part.strip() and not part.lstrip().startswith(_NOT_SAID))

    def _take(self, record: Record) -> None:
        for text in _strings(record):
            for home in self._homes:
                text = text.replace(f"{home}/", "")
            self.paths.update(
                one for one in _PATH.findall(text) if "." in one and one[0] not in "/~@" and ".." not in one
            )
        result = record.get("toolUseResult")
        if isinstance(result, dict):
            inner = result.get("file")
            file = inner if isinstance(inner, dict) else result
            path, content = str(file.get("filePath", "")), file.get("originalFile") or file.get("content")
            for home in self._homes:
                path = path.removeprefix(f"{home}/")
            if result.get("type") == "create":
                self.made.add(path)
            elif path and isinstance(content, str) and path not in self.made:
                # A part that was read later must not take the place of the whole.
                self.contents[path] = max(self.contents.get(path, ""), content, key=len)


def _home(record: Record) -> str:
    payload = record.get("payload")
    return str(record.get("cwd") or (payload.get("cwd") if isinstance(payload, dict) else "") or "")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def _task(name: str, text: str, answer: frozenset[str], found: RepositoryMap) -> Iterator[Task]:
    there = answer.intersection(entry.location for entry in found.entries)
    said = _without_files(text, found).strip()
    if there and said:
        yield Task(name, said, there, found)


def _without_files(text: str, found: RepositoryMap) -> str:
    names = {entry.location.rpartition("/")[2] for entry in found.entries if "." in entry.location}
    text = _PATH.sub(" ", text)
    return re.sub(r"[\w.@-]+\.\w+", lambda one: " " if one[0] in names else one[0], text)


def _git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=repo, capture_output=True, check=True)  # noqa: S607
    return done.stdout.decode("utf-8", "replace")


def table(title: str, rows: Sequence[Mapping[str, float]]) -> str:
    """Recall of each order with its interval, and how far the stored map is before it."""
    lines = [title, f"  {'':12}{'recall@10':>10}   {'95 %':>13}   the stored map is better by"]
    for name in rows[0]:
        mean = sum(row[name] for row in rows) / len(rows)
        low, high = ratio_interval([(row[name], 1.0) for row in rows])
        ahead = [row[OURS] - row[name] for row in rows]
        least, most = ratio_interval([(one, 1.0) for one in ahead])
        gain = "" if name == OURS else f"{sum(ahead) / len(rows):+.3f} ({least:+.3f} to {most:+.3f})"
        lines.append(f"  {name:12}{mean:>10.3f}   {low:.3f} – {high:.3f}   {gain}".rstrip())
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repo", type=Path, default=REPO, help="the repository whose commits are tasks")
    repo: Path = parser.parse_args().repo
    root = data_root()
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder, "context.db")) as store,
        closing(installed_parser()) as names,
    ):
        orders: dict[str, Order] = {OURS: Stored(store), **ORDERS}
        for task in commits(repo, names):
            rows[f"commits, {task.split}"].append(recalls(task, orders))
        for task in checkpoints(root, names) if root is not None else ():
            rows["checkpoints"].append(recalls(task, orders))
    print(f"{repo.resolve().name} up to {_git(repo, 'rev-parse', '--short', 'HEAD').strip()}, names by {names.name}\n")
    print("\n\n".join(table(f"{TITLES[name]}: {len(found)} tasks", found) for name, found in sorted(rows.items())))


if __name__ == "__main__":
    main()
