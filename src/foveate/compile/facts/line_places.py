"""Line places: where some lines stand among others."""

from __future__ import annotations

Lines = tuple[str, ...]


def places_of(lines: Lines, wanted: Lines) -> list[int]:
    """Where some lines stand among others; the first two places are enough to know."""
    if not wanted or len(wanted) > len(lines):
        return []
    text, pattern = "\n" + "\n".join(lines) + "\n", "\n" + "\n".join(wanted) + "\n"
    found: list[int] = []
    at = text.find(pattern)
    while at >= 0 and len(found) < 2:
        found.append(text.count("\n", 0, at))
        at = text.find(pattern, at + 1)
    return found


def place_from(lines: Lines, wanted: Lines, first: int) -> int | None:
    """The first place of some lines among others, from an index on."""
    if not wanted:
        return None
    text, pattern = "\n" + "\n".join(lines[first:]) + "\n", "\n" + "\n".join(wanted) + "\n"
    at = text.find(pattern)
    return first + text.count("\n", 0, at) if at >= 0 else None
