"""Upcasting: events of 0.1 as they are written today.

What 0.1 told by the form of an id, a name or a text has a field of its own by now. Here, where events are read, and
nowhere else, the one is made of the other.
"""

from __future__ import annotations

from typing import Final

import msgspec

from foveate.log.events import Body, CallRecorded, Kept, MessageAppended, Placed, RecallRecorded, ReductionRecorded
from foveate.log.items import Item, Line
from foveate.log.messages import Message

_CAPPING: Final = "cap"
_DROPPING: Final = "drop"
_CARRIED: Final = "earlier summary: "
_HEADING: Final = "Context summary (compiled):"
_PIPELINE: Final = "pipeline:"
_TEMPLATED: Final = "endless:"


def upcast_body(body: Body) -> Body:
    """The body of an event, whichever version wrote it; one of today as it is."""
    match body:
        case MessageAppended(message=message):
            upcast = _message(message)
            return body if upcast is message else MessageAppended(message=upcast)
        case RecallRecorded(anchor=anchor, item=item) if not item.anchor:
            return msgspec.structs.replace(body, item=msgspec.structs.replace(item, anchor=anchor))
        case ReductionRecorded():
            return _reduction(body)
        case CallRecorded(policy="", template=""):
            return _call(body)
        case _:
            return body


def _message(message: Message) -> Message:
    meta = message.meta
    if meta.step or not meta.step_id or not meta.step_id[1:].isdecimal():
        return message
    step = int(meta.step_id[1:])
    return msgspec.structs.replace(message, meta=msgspec.structs.replace(meta, step=step)) if step else message


def _reduction(body: ReductionRecorded) -> ReductionRecorded:
    layout = tuple(map(_entry, body.layout))
    # Which items it dropped is not known, but by which pass.
    dropped = {_DROPPING: ()} if not body.dropped and _DROPPING in body.passes else body.dropped
    if dropped is body.dropped and all(one is other for one, other in zip(layout, body.layout, strict=True)):
        return body
    return msgspec.structs.replace(body, layout=layout, dropped=dropped)


def _entry(entry: Kept | Placed) -> Kept | Placed:
    if isinstance(entry, Kept):
        return entry
    item = _item(entry.item)
    return entry if item is entry.item else Placed(item=item)


def _item(item: Item) -> Item:
    lines = tuple(map(_line, item.lines))
    capped = item.capped or item.by == _CAPPING
    is_headed = item.fate == "summarised" and item.message.text.startswith(_HEADING)
    heading = _HEADING if is_headed else item.heading
    message = _message(item.message)
    same = all(one is other for one, other in zip(lines, item.lines, strict=True))
    if same and capped == item.capped and heading == item.heading and message is item.message:
        return item
    return msgspec.structs.replace(item, lines=lines, capped=capped, heading=heading, message=message)


def _line(line: Line) -> Line:
    is_carried = line.kind == "ledger" and line.text.startswith(_CARRIED)
    return msgspec.structs.replace(line, carried=True) if is_carried and not line.carried else line


def _call(body: CallRecorded) -> CallRecorded:
    policy, template = policy_and_template(body.strategy)
    return msgspec.structs.replace(body, policy=policy, template=template) if policy else body


def policy_and_template(strategy: str) -> tuple[str, str]:
    """The policy and the template that 0.1 told by the name of a strategy; "" for what it has not."""
    if strategy.startswith(_PIPELINE):
        return strategy.removeprefix(_PIPELINE), ""
    if strategy.startswith(_TEMPLATED):
        return strategy, strategy.removeprefix(_TEMPLATED)
    return "", ""
