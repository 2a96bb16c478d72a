"""Shape: whether a log is one JSON document or JSON lines."""

from __future__ import annotations

import json
from typing import Final

import msgspec

from foveate.errors import LogError
from foveate.importers.reading import Record, Recorded

_ENDINGS: Final = (".jsonl", ".ndjson")
_LOOKED_AT: Final = 50
_read = json.JSONDecoder().raw_decode


def is_lines(log: Recorded) -> bool:
    """Whether a log has an object on each line; one object on one line counts as such."""
    lines = (line.strip() for _, line in log.lines() if line.strip())
    first = next(lines, "")
    if first in ("{", "["):
        return False
    if first.startswith("{") and _is_json(first):
        return True
    named = (log.file_name or log.name).endswith(_ENDINGS)
    return (named or bool(records_behind(log.head().decode("utf-8", "replace")))) and not _is_document(log)


def first_records(text: str) -> tuple[Record, ...]:
    """The first JSON lines as far as they can be read; none if the text does not begin with one."""
    found = [_object(line) for line in _lines(text)]
    return tuple(one for one in found if one is not None) if found and found[0] is not None else ()


def records_behind(text: str) -> tuple[Record, ...]:
    """The JSON lines behind a first one that cannot be read; none if most lines are something else."""
    lines = _lines(text)
    if not lines or lines[0].strip() in ("{", "["):
        return ()
    found = [_object(line) if _is_whole(line) else None for line in lines]
    if found[-1] is None:
        # The text ends anywhere.
        found.pop()
    records = tuple(one for one in found if one is not None)
    return records if 2 * len(records) >= len(found) else ()


def _lines(text: str) -> list[str]:
    lines: list[str] = []
    start = 0
    while start < len(text) and len(lines) < _LOOKED_AT:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if line := text[start:end].rstrip():
            lines.append(line)
        start = end + 1
    return lines


def _is_whole(line: str) -> bool:
    """Whether a line has nothing but objects, as inner lines of a document hardly do: they are indented or go on."""
    return line.startswith("{") and line.endswith("}")


def _object(line: str) -> Record | None:
    try:
        value = _read(line.lstrip())[0]
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_document(log: Recorded) -> bool:
    try:
        log.document()
    except LogError:
        return False
    return True


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True
