"""Answer lines: the lines of an output that carry values, rather than progress, noise or code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

MAX_ANSWER: Final = 1_600
_WHOLE_LINES: Final = 14
_WHOLE: Final = 1_000
_MAX_LINE: Final = 300
_MAX_READ: Final = 60_000
# Rows of data beyond these tell nothing that the first ones do not.
_MANY_ROWS: Final = 25
_ROWS_SHOWN: Final = 3
_MAX_LEAVES: Final = 400

_COLOR: Final = re.compile("\x1b\\[[\\d;]{0,20}[a-zA-Z]")
# Passing tests, progress, prompts, listings, code.
_NOISE: Final = re.compile(
    r"[-=*_.~#+| ]{3,}|.{0,200}(?:\bPASSED\b|\bPASS:|\.\.\. ok$)|ok {2,8}\S.*|=== (?:RUN|PAUSE|CONT|NAME).*|"
    r"--- PASS.*|.{0,120}\d{1,3}%[ |\]█▏-].*|(?:Downloading|Downloaded|Installing|Fetching|Resolving|Collecting|"
    r"Compiling|Building|Receiving objects|Counting objects|Compressing objects|Unpacking|Requirement already|"
    r"Using cached|Preparing|Get:\d|Hit:\d|added \d+ packages|npm (?:notice|warn)).*|"
    r"[\w.-]{1,80}@[\w.-]{1,80}[:~ ].{0,80}[$#]|[$❯>] .{0,200}|(?:async )?def .*|class \w.*|import \w.*|"
    r"from [\w.]+ import.*|@\w.*|[{}()\[\];,]{1,4}|(?:Error: )?Exit code \d+|drwx.*|[-l][r-][w-][xsS-][r-].*|"
    r"\d\d:\d\d:\d\d(?:[.,]\d+)?|<[/!]?\w.*>|<!--.*|.{0,120}--:--:--.*|% Total .*|Dload .*|Shell cwd was reset .*"
)
# Files with numbered lines; a table may begin with a number, but not with blanks before it and a tab behind.
_NUMBERED: Final = re.compile(r"\s{1,8}\d{1,6}\t|\s{0,8}\d{1,6}→")
_REFUSAL: Final = re.compile(
    r"\b(?:denied|refused|rejected|forbidden|not (?:allowed|permitted|found)|must (?:be|have|not|match)|"
    r"required|requires|expected|invalid|unsupported|unknown|missing|limit(?:ed)?|quota|exceed\w*|expired|unauthorized|cannot|can['’]t|"
    r"too (?:long|large|many|short)|only|at (?:most|least)|use \S+ (?:for|instead)|instead|because|conflict|deprecated|"
    r"no such)\b|\b[45]\d\d [A-Z][a-z]+|错误|拒绝|必须|无效|缺少|不允许",
    re.IGNORECASE,
)
_KEY_VALUE: Final = re.compile(
    r"\s{0,12}[\"'*-]{0,3}\s?\w[\w ./@()\[\]-]{0,60}?[\"'*]{0,2}\s{0,8}(?:[:=]\s{0,4}|\t|\s{2,40})\S.*"
)
_COLUMNS: Final = re.compile(r"\S(?: {2,}|\t| ?[|;│] ?|,)(?=\S)")
_MEASURE: Final = re.compile(
    r"\d\s?(?:%|ms|µs|us|ns|s\b|sec|min|h\b|hours|days|bytes|[kKMGT]i?B|[GM]Hz|km|mm|cm|m\b|kg|g\b|°|€|\$|USD|EUR|px|"
    r"rows?\b|items?\b|ops\b|req/s|tokens)"
)
_IDENTITY: Final = re.compile(r"https?://\S|\b[0-9a-f]{7,40}\b|\b[\w.+-]{1,60}@[\w-]{1,60}\.\w|\b\d{3,}\b|\bv\d+\.\d")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_SENTENCE: Final = 6


@dataclass(frozen=True, slots=True)
class _Ranked:
    line: str
    rank: int


def telling_answer(text: str, room: int = MAX_ANSWER) -> str:
    r"""The lines of an output that tell something, as they stand there; of a short output all of it.

    >>> telling_answer("deck.loaves.max   34\n\nready")
    'deck.loaves.max   34\nready'
    """
    text = _COLOR.sub("", text[:_MAX_READ])
    flat = _flattened(text)
    lines = [line.rstrip()[:_MAX_LINE] for line in (flat or text).split("\n")]
    # What is said again and again is said once.
    lines = [*dict.fromkeys(line for line in lines if not _is_noise(line))]
    if len(lines) <= _WHOLE_LINES and sum(map(len, lines)) <= min(_WHOLE, room):
        return "\n".join(lines)
    return _chosen(lines, room)


def _is_noise(line: str) -> bool:
    return not line.strip() or _NUMBERED.match(line) is not None or _NOISE.fullmatch(line.strip()) is not None


def is_refusal(line: str) -> bool:
    """Whether a line says what is not accepted, or what is wanted instead."""
    return _REFUSAL.search(line) is not None


def value_share(text: str) -> float:
    """How large a part of the lines of an output are values: pairs of key and value, cells, measures."""
    lines = [line for line in text[:_MAX_READ].split("\n") if not _is_noise(line)]
    return sum(map(_is_value, lines)) / len(lines) if lines else 0.0


def _is_value(line: str) -> bool:
    columns = _KEY_VALUE.fullmatch(line) is not None or _COLUMNS.search(line) is not None
    return columns or _MEASURE.search(line) is not None


def _chosen(lines: Sequence[str], room: int) -> str:
    rows = _rows(lines)
    ranked = [
        _Ranked(line, 4 if index in rows and index - rows.start >= _ROWS_SHOWN else _rank(line))
        for index, line in enumerate(lines)
    ]
    left = room
    shown: set[int] = set()
    for index in sorted(range(len(ranked)), key=lambda index: (ranked[index].rank, index)):
        one = ranked[index]
        # What tells nothing is shown only as far as it leads to what does.
        if one.rank >= 4 or (one.rank == 3 and index + 1 not in shown and index - 1 not in shown):
            continue
        if len(one.line) + 1 <= left:
            shown.add(index)
            left -= len(one.line) + 1
    return "\n".join(_with_gaps(lines, sorted(shown), rows))


def _with_gaps(lines: Sequence[str], shown: Sequence[int], rows: range) -> Iterator[str]:
    before = -1
    for index in shown:
        if index != before + 1:
            yield f"… {index - before - 1} lines"
        yield lines[index]
        before = index
    if before != len(lines) - 1:
        yield f"… {len(lines) - 1 - before} {'rows' if len(rows) else 'lines'}"


def _rank(line: str) -> int:
    if is_refusal(line):
        return 0
    if _KEY_VALUE.fullmatch(line) is not None or _COLUMNS.search(line) is not None:
        return 1
    if _MEASURE.search(line) is not None or _IDENTITY.search(line) is not None:
        return 2
    return 2 if len(_WORD.findall(line)) >= _SENTENCE else 3


def _rows(lines: Sequence[str]) -> range:
    """The longest run of lines that look like rows of the same data, if it is long."""
    best = range(0)
    begin = 0
    shapes = [_shape(line) for line in lines]
    for index in range(1, len(lines) + 1):
        if index == len(lines) or shapes[index] != shapes[begin] or not shapes[begin]:
            if index - begin > len(best):
                best = range(begin, index)
            begin = index
    return best if len(best) >= _MANY_ROWS else range(0)


def _shape(line: str) -> tuple[str, int] | None:
    """What separates the cells of a row, and how many there are."""
    for separator in ("\t", ";", "|", ","):
        count = line.count(separator)
        if count > 1:
            return separator, count
    words = line.split()
    return ("words", 0) if len(words) == 1 else ("line", 0) if len(words) < 8 else None


def _flattened(text: str) -> str:
    """The values of a JSON answer, a line each, if it is too long to be shown as it is."""
    stripped = text.strip()
    if len(stripped) <= _WHOLE or stripped[:1] not in ("{", "["):
        return ""
    try:
        value = msgspec.json.decode(stripped)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return "\n".join(list(_leaves(value, "", 0))[:_MAX_LEAVES])


def _leaves(value: Any, path: str, depth: int) -> Iterator[str]:
    match value:
        case dict() if depth < 6:
            scalars = {
                name: one for name, one in value.items() if one not in (None, "") and not isinstance(one, dict | list)
            }
            if scalars and path:
                yield f"{path}: " + ", ".join(f"{name}={_scalar(one)}" for name, one in scalars.items())
            else:
                yield from (f"{name}: {_scalar(one)}" for name, one in scalars.items())
            for name, one in value.items():
                if isinstance(one, dict | list):
                    yield from _leaves(one, f"{path}.{name}" if path else str(name), depth + 1)
        case list() if value and not isinstance(value[0], dict | list):
            yield f"{path}: " + ", ".join(map(_scalar, value[:40]))
        case list() if depth < 6:
            for index, one in enumerate(value):
                yield from _leaves(one, f"{path}[{index}]", depth + 1)
        case _:
            return


def _scalar(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
