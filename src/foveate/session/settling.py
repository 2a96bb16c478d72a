"""Settling: errors that a request still calls open are said to be settled, before the next input, once."""

from __future__ import annotations

from foveate.compile.passes.digest import worded
from foveate.compile.passes.errors import settled_lines
from foveate.compile.projection import Projection
from foveate.log.events import RecallRecorded
from foveate.log.items import Item
from foveate.log.messages import MessageMeta, text_message

_HEADING = "[since the notes above were written]"


def settled_errors(timeline: Projection, turn: int) -> RecallRecorded | None:
    """What the request is to say of errors that were settled since a digest called them open; None if of none.

    It is said as a turn begins, where nothing that was sent has to change for it. Within a turn the model sees what
    settles an error anyway.
    """
    anchor = timeline.newest_input
    order = timeline.position(anchor) if anchor is not None else None
    if anchor is None or order is None or order < timeline.sent_messages or anchor in timeline.recalled:
        return None
    lines = settled_lines(timeline.mender.items, timeline.ledger)
    if not lines:
        return None
    meta = MessageMeta(origin="summary", kind="recall", scope="historical", turn=turn)
    text = "\n".join([_HEADING, *map(worded, lines)])
    message = text_message(f"{anchor}.settled", "user", text, meta)
    item = Item(
        id=message.id,
        message=message,
        tokens=timeline.count(message),
        order=order,
        group=message.id,
        fate="recalled",
        by="settled",
        why="errors shown as open were settled",
        lines=tuple(lines),
        anchor=anchor,
    )
    return RecallRecorded(anchor=anchor, item=item, references=tuple(line.source for line in lines))
