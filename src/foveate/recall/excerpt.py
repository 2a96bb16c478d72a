"""Excerpts: a message given back whole, by lines, or by what it says about something."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from foveate.errors import ConfigError
from foveate.log.messages import Message
from foveate.log.quoting import escape_lines, quote_rest
from foveate.recall.readable import readable
from foveate.recall.terms import Matcher, Term, terms_of

LIMIT_CHARACTERS: Final = 40_000
_GAP: Final = "…"
_NOTE: Final = "[…"
_LONG_LINE: Final = 1_000
_AROUND: Final = 250
_WINDOWS: Final = 8


def excerpt(
    message: Message,
    *,
    lines: tuple[int, int] | None = None,
    query: str | None = None,
    context: int = 3,
    limit_chars: int = LIMIT_CHARACTERS,
) -> str:
    """A message as text: whole, the lines from a first to a last one, or numbered lines that match a query.

    With both, the query is looked for in the range. What exceeds `limit_chars` is left out in the middle, with a note.
    """
    if context < 0:
        raise ConfigError(f"`context` must be 0 lines or more, got {context!r}")
    if limit_chars < 1:
        raise ConfigError(f"`limit_chars` must be 1 character or more, got {limit_chars!r}")
    text = readable(message)
    if lines is None and query is None:
        return _limited(text, limit_chars)
    # Not splitlines: a form feed or a lone carriage return is no new line to an editor, nor to a tool that counts.
    all_lines = text.split("\n")
    first, last = _range(lines, message, len(all_lines)) if lines is not None else (1, len(all_lines))
    chosen = all_lines[first - 1 : last]
    if query is None:
        return _limited("\n".join(chosen), limit_chars)
    return _limited(_matching(chosen, query, first=first, context=context, message=message), limit_chars)


def _range(lines: tuple[int, int], message: Message, count: int) -> tuple[int, int]:
    first, last = lines
    if first < 1 or last < first or first > count:
        raise ConfigError(
            f"`lines` {first}-{last} is no range of {message.id!r}, which has {_lines(count)}; "
            f"give a first and a last line from 1 to {count}"
        )
    return first, min(last, count)


def _matching(lines: list[str], query: str, *, first: int, context: int, message: Message) -> str:
    hits, words = _hits(lines, query)
    if not hits:
        scope = f"lines {first}-{first + len(lines) - 1} of {message.id}" if first > 1 else message.id
        return f"[nothing in {scope} matches {_short(query)}; {_lines(len(lines))} searched]"
    shown = sorted({near for hit in hits for near in range(hit - context, hit + context + 1) if 0 <= near < len(lines)})
    width = len(str(first + shown[-1]))
    written: list[str] = []
    previous = -1
    for index in shown:
        if index != previous + 1:
            written.append(_GAP)
        line = lines[index].removesuffix("\r")
        part = line if len(line) <= _LONG_LINE else _windows(line, words)
        written.append(f"{first + index:>{width}}: {quote_rest(part)}")
        previous = index
    if previous != len(lines) - 1:
        written.append(_GAP)
    return "\n".join(written)


def _hits(lines: list[str], query: str) -> tuple[list[int], list[str]]:
    """The lines with the query as it stands, or else with most of its terms; and the words to look for in them."""
    wanted = query.strip().lower()
    exact = [index for index, line in enumerate(lines) if wanted in line.lower()] if wanted else []
    terms = terms_of(query)
    if exact or not terms:
        return exact, [wanted]
    matcher = Matcher(terms)
    scores = [_score(matcher(line)) for line in lines]
    best = max(scores)
    hits = [index for index, score in enumerate(scores) if score and score >= best / 2]
    return hits, [term.text.lower() for term in terms]


def _score(terms: list[Term]) -> float:
    # A whole identifier says more than all words around it.
    return sum(term.weight * (3 if term.kind == "name" else 1) for term in terms)


def _windows(line: str, words: list[str]) -> str:
    """The parts of a very long line around words; a record may be one line of a megabyte."""
    lowered = line.lower()
    starts = sorted({at for word in words for at in islice(_places(lowered, word), _WINDOWS)})[:_WINDOWS] or [0]
    pieces: list[str] = []
    end = 0
    for start in starts:
        begin = max(end, start - _AROUND)
        if begin > end:
            pieces.append(_GAP)
        end = max(end, min(len(line), start + _AROUND))
        pieces.append(line[begin:end])
    return "".join([*pieces, _GAP if end < len(line) else ""])


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + _AROUND)


def _limited(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    left_out = text[head : len(text) - tail]
    first = text.count("\n", 0, head) + 1
    note = f"{_NOTE} {len(left_out)} characters around line {first} left out; ask for `lines` or a `query`]"
    # No line of the content can pass for the note.
    return "\n".join((escape_lines(text[:head], _NOTE), note, escape_lines(text[len(text) - tail :], _NOTE)))


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _short(query: str) -> str:
    return repr(query if len(query) <= 80 else query[:77] + "...")
