"""Pins: a message that was pinned after it had been reduced is shown again, verbatim and with its exchange."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

from foveate.compile.draft import Draft, PassContext
from foveate.compile.mending import Mender
from foveate.log.items import Item

# How far apart in the log a call and its result are looked for.
_EXCHANGE: Final = 1_000


class RestorePins:
    """Put every pinned message back that the draft does not show, and mend what stands around it.

    It mends a draft of 0.1, too, in which a call id stands twice: there, as here, a call came back under an id that
    was given away meanwhile.
    """

    name = "restore_pins"
    recipe_name: ClassVar[str] = "restore_pins@1"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether a pin is not shown, or a call id stands twice."""
        return bool(ctx.timeline.mender.clashes or _missing(draft, ctx))

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        items = list(draft.items)
        for pin in _missing(draft, ctx):
            exchange = _exchange(pin, ctx)
            gone = {item.id for item in exchange}
            items = [item for item in items if item.id not in gone]
            position = next((i for i, item in enumerate(items) if item.order > exchange[0].order), len(items))
            items = [*items[:position], *exchange, *items[position:]]
        mender = Mender(ctx.count_message, quotes=True)
        for item in items:
            mender.feed_item(item)
        return draft.with_items(mender.projected())


def _missing(draft: Draft, ctx: PassContext) -> list[str]:
    """The pins that the draft does not show as they were said."""
    shown = {item.id for item in draft.items if item.is_whole}
    return [pin for pin in ctx.pins if pin not in shown and pin not in ctx.timeline.mender.left_out]


def _exchange(pin: str, ctx: PassContext) -> list[Item]:
    """The pinned message as recorded, with the call or the results that belong to it."""
    said, length = ctx.said, ctx.timeline.message_count
    order = ctx.timeline.position(pin)
    assert order is not None, "a pin names a message of the log"  # noqa: S101
    result = said(order).result
    start = order
    if result is not None:
        first = max(0, order - _EXCHANGE)
        while start > first and not any(call.id == result.call_id for call in said(start).calls):
            start -= 1
    # Calls made at once may share an id; then each takes one of the results.
    calls = Counter(call.id for call in said(start).calls)
    mender = Mender(ctx.count_message, quotes=True)
    mender.feed(said(start), start)
    for index in range(start + 1, min(length, start + _EXCHANGE)):
        answer = said(index).result
        # A call that names itself the same takes the results that come after it.
        for call in said(index).calls:
            calls.pop(call.id, None)
        if not calls:
            break
        if answer is not None and answer.call_id in calls:
            calls -= Counter([answer.call_id])
            mender.feed(said(index), index)
    items = mender.projected()
    if any(item.id == pin for item in items):
        return items
    # A second or late answer has no place in its exchange: it comes back as the note it was.
    note = Mender(ctx.count_message, quotes=True)
    note.feed(said(order), order)
    return note.projected()
