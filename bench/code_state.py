"""Code as it stands, checked: every reconstruction called current against the agent's next read or edit of it.

    python -m bench.code_state [LOG ...] [--split tune|report|all] [--show]

Prints claimed and checked lines, mismatches (which must be 0), how much of what was read again had been known, how
often text that "may have changed" was right, and the share of the next edit's old lines that known pieces would give.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

from bench.logs import data_root
from bench.material import split_of
from foveate.compile.facts.actions import Action, DeleteLines, EditText, PatchFile
from foveate.compile.facts.code import CodeState
from foveate.compile.facts.known_files import KnownFiles
from foveate.compile.facts.line_places import Lines
from foveate.compile.facts.spans import Span
from foveate.errors import FoveateError
from foveate.importers.finding import logs_in
from foveate.importers.recording import recordings
from foveate.log.events import MessageAppended
from foveate.log.messages import Message
from foveate.log.router import Routing

_LEAST: Final = 4


@dataclass(slots=True)
class Tally:
    """Lines, but for the counts of reads and edits."""

    sessions: int = 0
    reads: int = 0
    read_lines: int = 0
    read_again: int = 0
    predicted: int = 0
    checked: int = 0
    mismatched: int = 0
    after_user: int = 0
    after_user_right: int = 0
    after_command: int = 0
    after_command_right: int = 0
    edits: int = 0
    edits_checked: int = 0
    edits_contradicted: int = 0
    old_lines: int = 0
    old_known: int = 0
    old_current: int = 0
    claimed_at_end: int = 0
    known_at_end: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another one counted."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


class CheckedFiles(KnownFiles):
    """Known files that are compared with what a log goes on to show."""

    def __init__(self, session: str) -> None:
        super().__init__()
        self.tally = Tally(sessions=1)
        self._session = session

    def show(self, path: str, lines: Lines, start: int | None, source: str, *, whole: bool = False) -> None:
        """Compare what is known with what is shown, then take it."""
        file = self.files.get(path)
        self.tally.reads += 1
        self.tally.read_lines += len(lines)
        if file is not None and file.spans.items:
            shown = Span(lines=lines, start=1 if whole else start, seen=0, sources=(source,), whole=whole)
            known = [False] * len(lines)
            for one in file.spans.items:
                self._compare(path, one, shown, known)
            self.tally.read_again += len(lines)
            self.tally.predicted += sum(known)
        super().show(path, lines, start, source, whole=whole)

    def apply(self, action: Action, source: str, order: int) -> None:
        """Compare what an edit replaced with what is known, then take it."""
        match action:
            case EditText(path=path, old=old):
                self._check_edit(path, tuple(old.split("\n")), source, text=old)
            case PatchFile(patch=patch) if patch.kind == "update":
                for hunk in patch.hunks:
                    self._check_edit(patch.path, hunk.old, source, text="\n".join(hunk.old))
            case DeleteLines():
                self.tally.edits += 1
            case _:
                pass
        super().apply(action, source, order)

    def _compare(self, path: str, one: Span, shown: Span, known: list[bool]) -> None:
        pairs = list(_overlap(one, shown))
        wrong = [(index, line) for index, line in pairs if index is None or shown.lines[index] != line]
        doubt = self.doubt_of(path, one)
        if doubt == "none":
            self.tally.checked += len(pairs)
            self.tally.mismatched += len(wrong)
            for place, _ in pairs:
                if place is not None:
                    known[place] = True
            if wrong:
                first, line = wrong[0]
                there = shown.lines[first] if first is not None else "(nowhere)"
                where = f"{path} from {one.sources[-3:]} start {one.start}"
                self._note(f"{where}: {line[:90]!r} but {shown.sources[0]} has {there[:90]!r}")
        elif doubt in ("user", "patch"):
            self.tally.after_user += len(pairs)
            self.tally.after_user_right += len(pairs) - len(wrong)
        else:
            self.tally.after_command += len(pairs)
            self.tally.after_command_right += len(pairs) - len(wrong)

    def _check_edit(self, path: str, old: Sequence[str], source: str, *, text: str) -> None:
        self.tally.edits += 1
        file = self.files.get(path)
        spans = file.spans.items if file is not None else []
        sure = [one for one in spans if file is not None and file.spans.is_current(one, self.doubted)]
        wanted = [line.strip() for line in old if line.strip()]
        everything = {line.strip() for one in spans for line in one.lines}
        certain = {line.strip() for one in sure for line in one.lines}
        self.tally.old_lines += len(wanted)
        self.tally.old_known += sum(line in everything for line in wanted)
        self.tally.old_current += sum(line in certain for line in wanted)
        whole = [one for one in sure if one.whole]
        if whole:
            self.tally.edits_checked += 1
            if text not in "\n".join(whole[0].lines) + "\n":
                self.tally.edits_contradicted += 1
                self._note(f"{path}: {source} replaced {text[:90]!r}, not in what {whole[0].sources[-3:]} gave")

    def _note(self, text: str) -> None:
        self.tally.examples.append(f"{self._session}: {text}")


def _overlap(one: Span, shown: Span) -> Iterator[tuple[int | None, str]]:
    """The lines of a span that what is shown speaks of, each with its place there; None if it has none."""
    if one.start is not None and shown.start is not None:
        for index, line in enumerate(one.lines):
            at = one.start + index - shown.start
            if 0 <= at < len(shown.lines):
                yield at, line
            elif shown.whole and (line or index < len(one.lines) - 1):
                yield None, line
        return
    place = _place(shown.lines, one.lines)
    if place is not None:
        yield from ((place + index, line) for index, line in enumerate(one.lines))
    elif shown.whole or one.whole:
        inner = _place(one.lines, shown.lines)
        if one.whole and inner is not None:
            yield from enumerate(shown.lines)
        else:
            yield from ((None, line) for line in one.lines)


def _place(lines: Lines, wanted: Lines) -> int | None:
    text, pattern = "\n" + "\n".join(lines) + "\n", "\n" + "\n".join(wanted) + "\n"
    at = text.find(pattern)
    return text.count("\n", 0, at) if at >= 0 else None


def recorded_sessions(paths: Sequence[Path]) -> Iterator[tuple[str, str, list[Message]]]:
    """The sessions of logs, each once, with the messages as they would be recorded."""
    seen: set[int] = set()
    for log in sorted(logs_in(paths).logs, key=lambda log: log.name):
        try:
            with log.open(lenient=True) as recorded:
                found = recordings(log.importer.read(recorded), log.importer.name)
        except FoveateError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        for one in found:
            routing = Routing(one.session)
            bodies = [body for message in one.messages for body in routing.bodies(message)]
            messages = [body.message for body in bodies if isinstance(body, MessageAppended)]
            fingerprint = hash(tuple((message.role, message.text) for message in messages))
            if fingerprint not in seen and len(messages) >= _LEAST:
                seen.add(fingerprint)
                yield one.format, one.session, messages


def recorded_paths(given: Sequence[Path]) -> list[Path]:
    """The logs that were named, else those of the study and the data beside the repository."""
    root = data_root()
    if given or root is None:
        return list(given)
    study = root.parent / "study" / "long_sessions"
    return [root, study] if study.is_dir() else [root]


def checked(messages: Sequence[Message], session: str) -> Tally:
    """What one session showed of the reconstructions."""
    files = CheckedFiles(session)
    state = CodeState(files)
    for order, message in enumerate(messages):
        state.feed(message, order)
    for piece in state.view().pieces:
        files.tally.known_at_end += len(piece.lines)
        files.tally.claimed_at_end += len(piece.lines) if piece.current else 0
    return files.tally


def report(tally: Tally) -> str:
    """What was counted, in sentences."""
    share = _share
    known, current = share(tally.old_known, tally.old_lines), share(tally.old_current, tally.old_lines)
    again = share(tally.predicted, tally.read_again)
    by_user = share(tally.after_user_right, tally.after_user)
    by_command = share(tally.after_command_right, tally.after_command)
    return f"""\
{tally.sessions} sessions, {tally.reads} reads with {tally.read_lines} lines, {tally.edits} edits
current, checked against the next read: {tally.checked} lines, mismatches: {tally.mismatched}
current, checked against the next edit: {tally.edits_checked} whole files, contradicted: {tally.edits_contradicted}
of {tally.read_again} lines read of files seen before {again} were known and current
may have changed by the user or by a patch elsewhere: {tally.after_user} lines checked, {by_user} right
may have changed by a command: {tally.after_command} lines checked, {by_command} right
old lines of the next edit: {tally.old_lines}; in known pieces {known}, in current ones {current}
at the end of the sessions: {tally.known_at_end} lines known, {tally.claimed_at_end} of them current"""


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check all recorded logs; exit code 1 if anything that was called current was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.code_state", description=__doc__.partition("\n")[0])
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--split", choices=("tune", "report", "all"), default="all")
    parser.add_argument("--show", action="store_true", help="the first mismatches, and each session")
    options = parser.parse_args(arguments)
    whole = Tally()
    for source, session, messages in recorded_sessions(recorded_paths(options.logs)):
        if options.split in ("all", split_of(session)):
            tally = checked(messages, session)
            if options.show and tally.reads:
                ending = f"{tally.claimed_at_end} of {tally.known_at_end} current"
                print(f"{source} {session[:40]}: {tally.checked} checked, {tally.mismatched} mismatches, {ending}")
            whole.add(tally)
    print(report(whole))
    for example in whole.examples[: 40 if options.show else 0]:
        print("  ", example)
    return 1 if whole.mismatched or whole.edits_contradicted else 0


if __name__ == "__main__":
    sys.exit(main())
