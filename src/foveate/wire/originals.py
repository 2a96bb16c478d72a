"""Originals: what it takes to write a message again byte for byte as it came, noted beside the message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from foveate.log.messages import Message
from foveate.log.text import own_copy

ORDER: Final = "order"
RAW: Final = "raw"
ABSENT: Final = "absent"
NOTES: Final = frozenset({ORDER, RAW, ABSENT})

_encode: Final = msgspec.json.Encoder().encode
# Keys sorted, so that values can be told apart that Python takes for equal: 1, 1.0 and True.
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode


def difference(came: Any, made: Any) -> dict[str, Any]:
    """The notes by which `made`, written from what the log holds, becomes what came; none if both are the same bytes.

    Where only the keys stand in another order, that order is noted, and which of those that were made did not come;
    anything else takes a copy of what came.
    """
    try:
        if _encode(came) == _encode(made):
            return {}
        if _encode_sorted(came) == _encode_sorted(made):
            return {ORDER: _order(came, made)}
        absent = [key for key in made if key not in came] if isinstance(made, dict) and isinstance(came, dict) else []
        present = {key: made[key] for key in made if key not in absent} if absent else None
        if present is not None and _encode_sorted(came) == _encode_sorted(present):
            return {ABSENT: absent, **difference(came, present)}
        return {RAW: own_copy(came)}
    except (ValueError, TypeError, RecursionError):
        # Half characters, which nobody can send, or nesting that nothing encodes: it goes out as the log has it.
        return {}


def rewritten(made: dict[str, Any], notes: Mapping[str, Any]) -> dict[str, Any]:
    """What was made with the order of keys that was noted, and without those that did not come."""
    absent = notes.get(ABSENT)
    present = {key: made[key] for key in made if key not in absent} if absent else made
    return dict(reordered(present, notes.get(ORDER)))


def reordered(made: Any, order: Any) -> Any:
    """A value with the keys of its objects in a noted order; objects that have other keys by now stay as they are."""
    match made, order:
        case dict(), dict() if made.keys() <= order.keys():
            return {key: reordered(made[key], inner) for key, inner in order.items() if key in made}
        case list(), list() if len(made) == len(order):
            return [reordered(one, inner) for one, inner in zip(made, order, strict=True)]
        case _:
            return made


def follows_in_log(before: Message, message: Message, number: object) -> bool:
    """Whether a message came right behind another one; `number` is its place among those that came in one.

    The log numbers its messages; where a router named them, the place alone says it.
    """
    places = (_place(before.id), _place(message.id))
    if places[0] is not None and places[1] is not None:
        return places[0] == places[1] - 1
    return isinstance(number, int) and number > 0


def _place(message_id: str) -> int | None:
    number = message_id[1:]
    return int(number) if message_id[:1] == "m" and number.isascii() and number.isdigit() else None


def _order(came: Any, made: Any) -> Any:
    """The order of the keys in a value where it is not the one in which the value was made; None where it is."""
    if isinstance(came, dict) and isinstance(made, dict):
        inner = {key: _order(value, made[key]) for key, value in came.items()}
        return inner if list(came) != list(made) or any(one is not None for one in inner.values()) else None
    if isinstance(came, list | tuple) and isinstance(made, list | tuple):
        entries = [_order(one, other) for one, other in zip(came, made, strict=True)]
        return entries if any(one is not None for one in entries) else None
    return None
