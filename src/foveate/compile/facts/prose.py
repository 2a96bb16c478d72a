"""Prose: a message as sentences, items of lists, code and pasted output, each a slice of the text as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

UnitKind = Literal["sentence", "item", "code", "paste"]

_SHORTEST_PASTE: Final = 3
_LONG_PASTE: Final = 10
_LONGEST_ITEM: Final = 400
_WRAPPED: Final = 55
_MAX_LINE: Final = 2_000
_FENCE: Final = re.compile(r"\s{0,8}(```|~~~|\"\"\"$)")
LIST_MARK: Final = re.compile(
    r"\s{0,12}(?:[-*+•]\s{1,4}|\(?\d{1,3}[.):]\s{1,4}|\(?[a-zA-Z][.)]\s{1,4}|#{1,6}\s{1,4}|"
    r"\*{0,2}(?:Step|Phase|Task)\s{1,2}[\dA-Z]{1,3}\b)"
)
_INLINE_MARK: Final = re.compile(r"\(?\d{1,2}[.)]\s")
# Words behind which a dot ends no sentence.
_ABBREVIATIONS: Final = frozenset(
    {"e.g", "i.e", "eg", "ie", "etc", "vs", "approx", "cf", "no", "mr", "mrs", "ms", "dr", "st", "ca", "incl", "resp"}
)
_END: Final = re.compile(r"[.!?]{1,8}[\"'”’)\]*_`]{0,4}(?=\s|$)|[。！？；]{1,8}[”’」』）]{0,2}")
_LAST_WORD: Final = re.compile(r"[\w.]{1,12}$")
# Lines that only programs print, and lines that may begin a statement of code.
_PRINTED: Final = re.compile(
    r"\s{0,40}(?:[❯$%>] |\S{1,40}@\S{1,60}[ :].{0,80}[$%#>] |\[[\w :./-]{1,40}\] |--- (?:FAIL|PASS|SKIP)|=== |={5}|"
    r"-{5}|ok {2,8}\S|FAIL\b|PASS\b|\d{4}-\d\d-\d\d[T ]\d\d:|\d\d:\d\d:\d\d|(?:error|warning|fatal|panic|E) ?[:|] |"
    r"Error:|at \S{1,200}:\d|File \"|Traceback |@@ |diff --git |\+\+\+ |\d{1,7}(?:[|→\t]|:\s)|exit (?:status|code) \d|"
    r"(?:Username|Password) for '|(?:source|target|remote): \S|</?[A-Za-z][\w.:-]{0,60}[\s/>]|//|/\*|\* @|#include|#!|"
    r"@[\w.]{1,60}(?:\(|$)|from [\w.]{1,80} import |\w{1,60},$|[\w\"'.-]{1,60}: .{0,400},$)"
)
_STATEMENT: Final = re.compile(
    r"\s{0,40}(?:export |async |pub )?(?:import|const|let|var|func|function|def|class|type|struct|interface|return|"
    r"package) [\w({\[*\"']"
)
_CODE_END: Final = re.compile(r"(?:[{};]|[\])]\)?,?|\(|=>|\) ?\{|/>|\\|✓|✔|\|)\s{0,4}$")
_CODE_SIGN: Final = re.compile(r"[=!<>:]=|=>|->|\w\(\)|\w\(\w{1,40}[,)=]|</|/>|&&|\|\||::|[\w)\]]\s=\s")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
# Characters of scripts that are written without spaces.
_IDEOGRAPH: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_LEAST_WORDS: Final = 6
# Of so many lines on each side so large a part.
_AROUND: Final = 4
_MOST: Final = 0.6


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of a text, from `start` to `end`, that is shown whole or not at all."""

    start: int
    end: int
    kind: UnitKind


def units_of(text: str) -> tuple[Unit, ...]:
    r"""The sentences, items, code and pasted lines of a text, in order; only blanks are between them.

    >>> text = "Do it. Then:\n- one\n- two\n"
    >>> [text[unit.start : unit.end] for unit in units_of(text)]
    ['Do it.', 'Then:', '- one', '- two']
    """
    return tuple(unit for block in _merged(_blocks(_lines(text))) for unit in _units(text, block))


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str
    kind: Literal["blank", "machine", "item", "prose"]


@dataclass(frozen=True, slots=True)
class _Block:
    lines: list[_Line]
    kind: Literal["prose", "item", "code", "paste"]


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    start = 0
    for raw in text.split("\n"):
        lines.append(_Line(start, start + len(raw), raw, _kind_of(raw)))
        start += len(raw) + 1
    return _smoothed(lines)


def _smoothed(lines: list[_Line]) -> list[_Line]:
    """Lines of few words, or set in, are machine lines as well where most lines around them are."""
    filled = [index for index, line in enumerate(lines) if line.kind != "blank"]
    machine = [lines[index].kind == "machine" for index in filled]
    smoothed = list(lines)
    for at, index in enumerate(filled):
        around = machine[max(0, at - _AROUND) : at] + machine[at + 1 : at + 1 + _AROUND]
        if not machine[at] and sum(around) >= _MOST * 2 * _AROUND and not _is_clearly_said(lines[index].text):
            smoothed[index] = replace(lines[index], kind="machine")
    return smoothed


def _is_clearly_said(line: str) -> bool:
    set_in = line.startswith(("    ", "\t"))
    return not set_in and (_count_words(line) >= _LEAST_WORDS or line.rstrip().endswith((":", "?", "!", "：", "？")))


def _count_words(line: str) -> int:
    return len(_WORD.findall(line[:400]))


def _kind_of(raw: str) -> Literal["blank", "machine", "item", "prose"]:
    line = raw[:_MAX_LINE]
    if not line.strip():
        return "blank"
    if is_machine_line(line):
        return "machine"
    return "item" if LIST_MARK.match(line) is not None else "prose"


def is_machine_line(line: str) -> bool:
    """Whether a line looks printed or programmed rather than said."""
    if _PRINTED.match(line) is not None:
        return True
    words = _count_words(line)
    if words < _LEAST_WORDS and _STATEMENT.match(line) is not None:
        return True
    if _IDEOGRAPH.search(line) is not None:
        return False
    if words < _LEAST_WORDS and _CODE_END.search(line[-80:]) is not None and LIST_MARK.match(line) is None:
        return True
    stripped = line.strip()
    letters = sum(one.isalpha() or one == " " for one in stripped[:400])
    signs = _CODE_SIGN.search(line[:400]) is not None
    return letters < 0.62 * len(stripped[:400]) or (signs and words < _LEAST_WORDS)


def _blocks(lines: list[_Line]) -> Iterator[_Block]:
    index = 0
    while index < len(lines):
        line = lines[index]
        end = _end_of_fence(lines, index)
        if end is None and line.kind == "machine":
            end = _end_of_paste(lines, index)
            kind: Literal["code", "paste"] = "paste"
        else:
            kind = "code"
        if end is not None:
            yield _Block(lines[index:end], kind)
        elif line.kind == "blank":
            end = index + 1
        else:
            end = _end_of_paragraph(lines, index)
            yield _Block(lines[index:end], "item" if LIST_MARK.match(line.text[:_MAX_LINE]) is not None else "prose")
        index = end


def _merged(blocks: Iterable[_Block]) -> list[_Block]:
    """Pasted blocks that only short lines part are one."""
    merged: list[_Block] = []
    for block in blocks:
        merged.append(block)
        near = next((at for at in (-2, -3, -4) if len(merged) >= -at and merged[at].kind == "paste"), None)
        if block.kind != "paste" or near is None or any(map(_is_spoken, merged[near + 1 : -1])):
            continue
        lines = [line for one in merged[near:] for line in one.lines]
        if sum(line.kind == "machine" for line in lines) >= _LONG_PASTE:
            merged[near:] = [_Block(lines, "paste")]
    return merged


def _is_spoken(block: _Block) -> bool:
    return block.kind == "code" or any(
        _count_words(line.text) > _LEAST_WORDS and not line.text.startswith(("    ", "\t")) for line in block.lines
    )


def _end_of_fence(lines: list[_Line], begin: int) -> int | None:
    opening = _FENCE.match(lines[begin].text)
    if opening is None:
        return None
    mark = opening.group(1)
    closing = (index + 1 for index in range(begin + 1, len(lines)) if lines[index].text.strip().startswith(mark))
    return next(closing, None)


def _end_of_paste(lines: list[_Line], begin: int) -> int | None:
    """The end of a run of machine lines; a few other lines between many of them belong to it."""
    count, last, others = 0, begin, 0
    for index in range(begin, len(lines)):
        line = lines[index]
        if line.kind == "machine":
            count, last, others = count + 1, index, 0
        elif line.kind != "blank":
            others += 1
            spoken = _count_words(line.text) >= _LEAST_WORDS
            if spoken or others > (6 if line.text[:1].isspace() else 2 if count >= _SHORTEST_PASTE else 1):
                break
    return last + 1 if count >= _SHORTEST_PASTE else None


def _end_of_paragraph(lines: list[_Line], begin: int) -> int:
    for index in range(begin + 1, len(lines)):
        line = lines[index]
        if line.kind in ("blank", "item") or _FENCE.match(line.text) is not None:
            return index
        if line.kind == "machine" and _end_of_paste(lines, index) is not None:
            return index
    return len(lines)


def _units(text: str, block: _Block) -> Iterator[Unit]:
    start, end = block.lines[0].start, block.lines[-1].end
    if block.kind in ("code", "paste"):
        yield Unit(start, end, "code" if block.kind == "code" else "paste")
    elif block.kind == "item" and end - start <= _LONGEST_ITEM:
        yield Unit(start, end, "item")
    else:
        kind: UnitKind = "sentence" if block.kind == "prose" else "item"
        yield from (Unit(first, last, kind) for first, last in _sentences(text, block.lines))


def _sentences(text: str, lines: list[_Line]) -> Iterator[tuple[int, int]]:
    begin = lines[0].start
    for index, line in enumerate(lines):
        for end in _ends_in(text, line):
            if text[begin:end].strip():
                yield _trimmed(text, begin, end)
            begin = end
        wraps = len(line.text) >= _WRAPPED and index + 1 < len(lines)
        if not wraps and text[begin : line.end].strip():
            yield _trimmed(text, begin, line.end)
            begin = line.end
    if text[begin : lines[-1].end].strip():
        yield _trimmed(text, begin, lines[-1].end)


def _ends_in(text: str, line: _Line) -> Iterator[int]:
    """Where sentences end in a line; a number or a short form before a dot goes on."""
    for found in _END.finditer(text, line.start, line.end):
        if found.group()[0] == ".":
            word = _LAST_WORD.search(text, max(line.start, found.start() - 12), found.start())
            last = word.group().lower() if word is not None else ""
            if last in _ABBREVIATIONS or (len(last) <= 2 and _INLINE_MARK.match(last + ". ") is not None):
                continue
        yield found.end()


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
