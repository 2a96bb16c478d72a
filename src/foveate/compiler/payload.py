"""The payload: the request as bytes, and their hash without reading the whole again at each call."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from foveate.compiler.framing import Framing
from foveate.log.foreign import says_more
from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.views.timeline import Timeline
from foveate.wire import openai_chat

_encode = msgspec.json.Encoder().encode


def payload_chunks(framing: Framing, items: list[Item], length: int) -> Iterator[bytes]:
    """The request as OpenAI chat JSON, piece by piece."""
    yield _opening(framing)
    for index in range(length):
        yield _piece(items[index].message)
    yield _closing(framing)


class PayloadHash:
    """The sha256 of a growing request; what was sent is hashed once."""

    __slots__ = ("_count", "_epoch", "_hash", "_opening")

    def __init__(self) -> None:
        self._epoch = -1
        self._count = 0
        self._opening = b""
        self._hash = hashlib.sha256()

    def of(self, framing: Framing, items: list[Item], timeline: Timeline) -> str:
        """The hash of a request whose items are the timeline's, or a rearrangement of them."""
        if items is not timeline.mender.items:
            whole = hashlib.sha256()
            for chunk in payload_chunks(framing, items, len(items)):
                whole.update(chunk)
            return whole.hexdigest()
        opening = _opening(framing)
        if self._epoch != timeline.epoch or self._opening != opening:
            self._epoch, self._count, self._opening = timeline.epoch, 0, opening
            self._hash = hashlib.sha256(opening)
        for index in range(self._count, timeline.mender.sealed):
            self._hash.update(_piece(items[index].message))
        self._count = max(self._count, timeline.mender.sealed)
        current = self._hash.copy()
        for index in range(self._count, len(items)):
            current.update(_piece(items[index].message))
        current.update(_closing(framing))
        return current.hexdigest()


def _piece(message: Message) -> bytes:
    said = openai_chat.encode(message)
    # Reasoning and fields of one provider are sent in other formats, so they belong to what was sent.
    return _encode([said, message.parts, message.extra] if says_more(message) else said) + b","


def _opening(framing: Framing) -> bytes:
    system = _encode({"role": "system", "content": framing.system}) + b"," if framing.system else b""
    head = _encode({"tools": framing.tools, "response_format": framing.response_format})
    return head[:-1] + b',"messages":[' + system + b"".join(_piece(message) for message in framing.before)


def _closing(framing: Framing) -> bytes:
    return b"".join(_piece(message) for message in framing.after) + b"null]}"
