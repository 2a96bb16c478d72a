"""Shape: whether a log is one JSON document or JSON lines."""

from __future__ import annotations

from typing import Final

import msgspec

from foveate.importers.reading import Recorded

_ENDINGS: Final = (".jsonl", ".ndjson")


def is_lines(log: Recorded) -> bool:
    """Whether a log has an object on each line; one object on one line counts as such."""
    lines = (line.strip() for _, line in log.lines() if line.strip())
    first = next(lines, "")
    if first in ("{", "["):
        return False
    name = log.path.name if log.path is not None else log.name
    if name.endswith(_ENDINGS):
        return not first.startswith("[") or next(lines, None) is not None
    return first.startswith("{") and _is_json(first)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True
