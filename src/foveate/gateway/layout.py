"""Layouts: a request that is sent, as items of the agent's own and what Foveate wrote in place of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from foveate.compile.compiled import CompiledContext
from foveate.gateway.bodies import WireBody, decode, encode
from foveate.gateway.matching import ItemKeys
from foveate.gateway.protocols import Protocol
from foveate.log.events import ReductionRecorded
from foveate.threads.matching import MARK, unmarked
from foveate.wire.anthropic_marks import MOST_MARKS

Layout = tuple[int | bytes, ...]
"""What is sent, in order: the number of an item that the agent sent, or the bytes of one that Foveate wrote."""
_MARKED: Final = ("text", "tool_result", "tool_use", "image", "document")


def is_reduced(view: CompiledContext) -> bool:
    """Whether anything in a view may differ from what the agent sent."""
    has_new = any(isinstance(body, ReductionRecorded) for body in view.proposed)
    return has_new or view.projection.reductions > 0 or view.request.rewritten


def whole(count: int) -> Layout:
    """The layout of a request that goes out as it came."""
    return tuple(range(count))


def is_whole(layout: Layout, count: int) -> bool:
    """Whether a layout sends every item of a request, each as it came."""
    return layout == whole(count)


def laid_out(view: CompiledContext, protocol: Protocol, items: Sequence[bytes], keys: ItemKeys) -> Layout:
    """The layout of a view: what it keeps goes out as the bytes the agent sent now, wherever its cache marks are.

    A lowered item is looked up by what it says, among those that stand behind the last one found.
    """
    lowered = view.to(protocol.format)
    sent: list[Any] = lowered if isinstance(lowered, list) else lowered[protocol.items]
    places: dict[str, list[int]] = {}
    for at in range(len(items) - 1, -1, -1):
        places.setdefault(keys.stored(items[at]), []).append(at)
    layout: list[int | bytes] = []
    behind = -1
    for item in sent:
        found = places.get(keys.of_item(item), [])
        while found and found[-1] <= behind:
            found.pop()
        if found:
            behind = found.pop()
            layout.append(behind)
        else:
            layout.append(encode(unmarked(item)))
    return tuple(layout)


def emitted(layout: Layout, protocol: Protocol, body: WireBody) -> bytes:
    """The body that a layout comes to."""
    if is_whole(layout, len(body.items)):
        return body.raw
    items = [body.items[entry] if isinstance(entry, int) else entry for entry in layout]
    if protocol.format == "anthropic":
        _mark_written(layout, items, body)
    return body.with_items(items)


def continued(layout: Layout, covered: int, count: int) -> Layout:
    """A layout that was sent for the first `covered` items, with those that came since behind it."""
    return (*layout, *range(covered, count))


def _mark_written(layout: Layout, items: list[bytes], body: WireBody) -> None:
    """Put a cache mark on the last item that Foveate wrote, if the client's own leave one of the four.

    It is spelled like the client's last one: no mark may live longer than one before it.
    """
    own = [*_marks(body.fields.get("tools")), *_marks(body.fields.get("system"))]
    own += [mark for raw in items for mark in _marks(decode(raw)) if MARK.encode() in raw]
    written = [at for at, entry in enumerate(layout) if isinstance(entry, bytes)]
    if not own or not written or len(own) >= MOST_MARKS:
        return
    item = decode(items[written[-1]])
    blocks = item.get("content")
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    if isinstance(blocks, list) and blocks and isinstance(blocks[-1], dict) and blocks[-1].get("type") in _MARKED:
        marked = [*blocks[:-1], {**blocks[-1], MARK: own[-1]}]
        items[written[-1]] = encode({**item, "content": marked})


def _marks(value: Any) -> list[Any]:
    """The cache marks in a value, in their order."""
    if isinstance(value, dict):
        inner = [mark for key, one in value.items() if key != MARK for mark in _marks(one)]
        return [*inner, value[MARK]] if MARK in value else inner
    return [mark for one in value for mark in _marks(one)] if isinstance(value, list) else []
