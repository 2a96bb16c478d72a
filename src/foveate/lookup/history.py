"""History: what agents did to a file, and what they did after an error, as their logs have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Final, NamedTuple

from foveate.log.messages import Message, ToolCall
from foveate.log.semantics import understood
from foveate.store import SessionInfo, Store

# Messages in which results of parallel calls stand, and in which an error is looked for to go away.
_RESULTS: Final = 12
_AFTER: Final = 80
_MOST_EDITS: Final = 6


class Touch(NamedTuple):
    """A call that read or changed a file: by which tool, where its result stands, and how it went."""

    position: int
    reference: str
    tool: str
    access: str
    outcome: str
    path: str


class Attempt(NamedTuple):
    """What followed an error: files that were changed, how often the same failed again, and where it passed."""

    edits: tuple[Touch, ...]
    tries: int
    passed: str | None


def touches(store: Store, info: SessionInfo, message_id: str, path: str) -> Iterator[Touch]:
    """The calls on a file in a message, or the one that a message answers."""
    reader = store.reader(info)
    position = reader.position(message_id)
    if position is None:
        return
    last = min(info.messages, position + _RESULTS)
    around = reader.readable(range(max(0, position - _RESULTS), last))
    message = around.get(position)
    if message is None:
        return
    wanted = {message.result.call_id} if message.result is not None else {call.id for call in message.calls}
    for place, one in around.items():
        for call in one.calls:
            if call.id in wanted:
                yield from _touches(call, place, one, around, path)


def attempts_after(store: Store, info: SessionInfo, message_id: str) -> Attempt:
    """What was changed after an error until the same passed again."""
    reader = store.reader(info)
    position = reader.position(message_id)
    if position is None:
        return Attempt((), 0, None)
    around = reader.readable(range(position, min(info.messages, position + _AFTER)))
    failed = around.get(position)
    attempt = failed.meta.attempt if failed is not None else None
    edits: list[Touch] = []
    tries = 0
    for place, message in around.items():
        if place == position:
            continue
        edits += [
            touch
            for call in message.calls
            for touch in _touches(call, place, message, around)
            if touch.access != "read"
        ]
        if attempt is not None and message.meta.attempt == attempt and message.result is not None:
            if message.meta.outcome == "ok":
                return Attempt(tuple(edits[-_MOST_EDITS:]), tries, message.id)
            tries += 1
    return Attempt(tuple(edits[-_MOST_EDITS:]), tries, None)


def _touches(
    call: ToolCall, position: int, message: Message, around: Mapping[int, Message], path: str | None = None
) -> Iterator[Touch]:
    touched = understood(call).touched
    answer = next((one for one in around.values() if one.result is not None and one.result.call_id == call.id), None)
    outcome = (answer.meta.outcome or "ok") if answer is not None else "no result"
    reference = answer.id if answer is not None else message.id
    for access, resources in (("read", touched.reads), ("changed", touched.writes)):
        for resource in resources:
            if path is None or _is_same_file(resource, path):
                yield Touch(position, reference, call.name, access, outcome, resource)


def _is_same_file(resource: str, path: str) -> bool:
    """Whether two names are of one file, as far as they go: `app.py` is any, `src/app.py` one of them."""
    ours, theirs = PurePath(path.strip()).parts, PurePath(resource).parts
    size = min(len(ours), len(theirs))
    return size > 0 and ours[-size:] == theirs[-size:]
