"""Reads: the lines of files in the output of a tool, each with its place where that is certain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from foveate.compile.facts.actions import Action, Print, ShowDiff, ShowLines, ShowMatches, Shown
from foveate.compile.facts.shell_words import join_path
from foveate.compile.facts.tool_output import Output, contiguous_numbered, matched_runs, numbered_runs

_WINDOW: Final = re.compile(r"\[File: ([^\n(]{1,400}?) \((\d{1,9}) lines total\)\]\n")
_COMPLAINT: Final = re.compile(
    r"(?:cat|sed|head|tail|nl|awk|grep|rg|bash|zsh|sh): |\S{0,200}: line \d{1,9}: |\(eval\):\d{1,9}: "
)
# A line that whatever printed it has made shorter.
_SHORTENED: Final = re.compile(
    r"\[truncated\]|\[Omitted long|\d{1,9} (?:tokens|chars|characters|lines) truncated|<response clipped>",
    re.IGNORECASE,
)
_MOST_READ: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLines:
    """Lines of a file that were shown; `start` is the number of the first, if it is certain."""

    path: str
    start: int | None
    lines: tuple[str, ...]
    whole: bool = False


def split_output(
    steps: Sequence[Action | None], output: Output, *, succeeded: bool | None
) -> Iterator[tuple[Action | None, Output | None]]:
    """The steps of a command line, each with the part of the output that is certainly its own."""
    printing = [index for index, step in enumerate(steps) if step is None or isinstance(step, Shown)]
    texts = _parts(steps, printing, output, succeeded=succeeded)
    for index, step in enumerate(steps):
        yield step, texts.get(index)


def _parts(
    steps: Sequence[Action | None], printing: list[int], output: Output, *, succeeded: bool | None
) -> dict[int, Output]:
    if len(printing) == 1:
        return {printing[0]: output}
    if succeeded is False or not printing:
        return {}
    groups: list[tuple[list[int], Output]] = []
    rest, current = output.text, list[int]()
    for index in printing:
        step = steps[index]
        if isinstance(step, Print) and step.text.strip() and ("\n" + rest + "\n").count("\n" + step.text + "\n") == 1:
            before, _, rest = ("\n" + rest + "\n").partition("\n" + step.text + "\n")
            groups.append((current, replace(output, text=before[1:], verbatim=output.verbatim)))
            rest, current = rest.removesuffix("\n"), []
        else:
            current.append(index)
    groups.append((current, replace(output, text=rest)))
    return {index: part for indices, part in groups for index in _alone(indices, steps)}


def _alone(indices: list[int], steps: Sequence[Action | None]) -> list[int]:
    """The step whose output a part is; a diff is recognized among other lines."""
    diffs = [index for index in indices if isinstance(steps[index], ShowDiff)]
    if len(indices) == 1:
        return indices
    return diffs if len(diffs) == 1 and all(steps[index] is None or index in diffs for index in indices) else []


def lines_shown(shown: ShowLines | ShowMatches, output: Output) -> Iterator[FileLines]:
    """The lines of files in an output; nothing where it is not certain which lines they are."""
    text = output.text
    if isinstance(shown, ShowMatches):
        for path, start, lines in matched_runs(text, altered=shown.altered):
            yield from _unshortened(FileLines(path=join_path(shown.folder, path), start=start, lines=lines))
    elif shown.numbered:
        yield from _numbered(shown, output)
    elif not output.cut:
        text = _without_complaints(text)
        if text.strip() and _COMPLAINT.match(text) is None:
            lines = tuple(text.removesuffix("\n").split("\n"))
            yield from _ranged(shown, lines, verbatim=output.verbatim)


def _numbered(shown: ShowLines, output: Output) -> Iterator[FileLines]:
    if shown.matches or output.cut:
        for start, lines in numbered_runs(output.text, altered=shown.altered):
            yield from _unshortened(FileLines(path=shown.path, start=start, lines=lines))
        return
    found = contiguous_numbered(output.text)
    if found is None:
        return
    start, lines = found
    whole = start == 1 and len(lines) < _MOST_READ
    yield from _unshortened(FileLines(path=shown.path, start=start, lines=lines, whole=whole))


def _ranged(shown: ShowLines, lines: tuple[str, ...], *, verbatim: bool) -> Iterator[FileLines]:
    if shown.from_end:
        yield FileLines(path=shown.path, start=None, lines=lines)
    elif not shown.ranges:
        yield FileLines(path=shown.path, start=1, lines=lines, whole=True)
    elif len(shown.ranges) == 1:
        first, last = shown.ranges[0]
        count = None if last is None else last - first + 1
        if count is not None and len(lines) > count:
            return
        # What agents trim at the beginning of an output may have been empty lines.
        certain = verbatim or len(lines) == count
        whole = first == 1 and verbatim and len(lines) != count
        yield FileLines(path=shown.path, start=first if certain or first == 1 else None, lines=lines, whole=whole)
    else:
        counts = [(last or first) - first + 1 for first, last in shown.ranges]
        if shown.ranges[-1][1] is None or sum(counts) != len(lines):
            return
        at = 0
        for (first, _), count in zip(shown.ranges, counts, strict=True):
            yield FileLines(path=shown.path, start=first, lines=lines[at : at + count])
            at += count


def _unshortened(found: FileLines) -> Iterator[FileLines]:
    """The stretches between lines that were made shorter."""
    bad = [index for index, line in enumerate(found.lines) if "]" in line or "truncated" in line or ">" in line]
    bad = [index for index in bad if _SHORTENED.search(found.lines[index])]
    if not bad:
        yield found
        return
    begin = 0
    for index in [*bad, len(found.lines)]:
        if index > begin and found.start is not None:
            yield FileLines(path=found.path, start=found.start + begin, lines=found.lines[begin:index])
        begin = index + 1


def _without_complaints(text: str) -> str:
    """An output without what a login shell complained of before it."""
    while True:
        line, found, rest = text.partition("\n")
        if not found or ": line " not in line or _COMPLAINT.match(line) is None:
            return text
        text = rest


def read_window(text: str) -> FileLines | None:
    """The window of a file that an editor for agents prints: `[File: path (12 lines total)]` and numbered lines."""
    header = _WINDOW.search(text)
    if header is None:
        return None
    found = contiguous_numbered(text[header.end() :])
    if found is None:
        return None
    start, lines = found
    whole = start == 1 and len(lines) == int(header.group(2))
    return FileLines(path=header.group(1), start=start, lines=lines, whole=whole)
