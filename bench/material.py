"""Material: the recorded sessions that arms are replayed on, each once, split by task before anything is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from bench.outcome import SessionInfo
from bench.tokens import request_tokens
from foveate.errors import FoveateError
from foveate.importers.finding import LogFile, logs_in
from foveate.importers.recording import recordings
from foveate.lab.chat import Chat, calls_of, content_of
from foveate.lab.script import Script, script_of

Split = Literal["tune", "report"]

# A dialogue of one call has no history that anything could be done about.
LEAST_CALLS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """One session to be replayed; `name` is a hash, since logs are other people's."""

    name: str
    source: str
    split: Split
    script: Script

    @property
    def info(self) -> SessionInfo:
        """What is told of it in results."""
        return SessionInfo(
            name=self.name,
            source=self.source,
            messages=len(self.script.chats),
            calls=len(self.script.calls),
            tokens=request_tokens(self.script.chats),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a search came upon."""

    sessions: tuple[Material, ...]
    files: int
    duplicates: int
    left_out: tuple[str, ...]

    def chosen(self, split: str = "all", sources: Sequence[str] = (), limit: int | None = None) -> list[Material]:
        """Those of a split and of some sources, the longest first; a limit takes a few from all over."""
        found = [one for one in self.sessions if split in ("all", one.split) and (not sources or one.source in sources)]
        found.sort(key=lambda one: (-len(one.script.calls), one.name))
        return found[:: max(1, len(found) // limit)][:limit] if limit else found


def collected(paths: Iterable[Path]) -> Collected:
    """The sessions of all logs in some folders; a file or session that is there twice is taken once."""
    given = list(paths)
    found = logs_in(given)
    left_out = [_named(name, reason, given) for name, reason in found.refused]
    files: dict[bytes, None] = {}
    sessions: dict[bytes, Material] = {}
    duplicates = 0
    for log in sorted(found.logs, key=lambda log: log.name):
        digest = b"".join(sha256(path.read_bytes()).digest() for path in log.paths)
        if digest in files:
            duplicates += 1
            continue
        files[digest] = None
        try:
            scripts = _scripts(log)
        except FoveateError as error:
            left_out.append(_named(log.name, str(error), given))
            continue
        for script in scripts:
            said = _fingerprint(script)
            duplicates += said in sessions
            if said not in sessions and len(script.calls) >= LEAST_CALLS:
                sessions[said] = _material(script)
    return Collected(
        sessions=tuple(sessions.values()), files=len(found.logs), duplicates=duplicates, left_out=tuple(left_out)
    )


def split_of(name: str) -> Split:
    """Trials of one task and subagents of one session fall on the same side."""
    group = name.partition("/")[0]
    # The byte was picked by call counts, before any result: it puts the longest session into `report` and otherwise
    # halves most sources.
    return "report" if sha256(group.encode()).digest()[7] % 2 else "tune"


def _named(name: str, reason: str, given: Sequence[Path]) -> str:
    """A log that was left out, by its place below what was named: results must not tell where somebody keeps logs."""
    told = reason if name in reason else f"{name}: {reason}"
    for folder in (str(path if path.is_dir() else path.parent) for path in given):
        told = told.replace(f"{folder.rstrip('/')}/", "") if folder != "." else told
    return told


def _scripts(log: LogFile) -> list[Script]:
    with log.open(lenient=True) as recorded:
        return [script_of(one, source=log.name) for one in recordings(log.importer.read(recorded), log.importer.name)]


def _material(script: Script) -> Material:
    name = sha256(script.name.encode("utf-8", "replace")).hexdigest()[:8]
    return Material(name=f"{script.format}-{name}", source=script.format, split=split_of(script.name), script=script)


def _fingerprint(script: Script) -> bytes:
    said = sha256(script.system.encode("utf-8", "replace"))
    for chat in script.chats:
        said.update(repr((chat["role"], content_of(chat), _called(chat))).encode("utf-8", "replace"))
    return said.digest()


def _called(chat: Chat) -> list[tuple[str, str]]:
    return [(item["function"]["name"], item["function"]["arguments"]) for item in calls_of(chat)]
