"""The payload: the request as bytes, and their hash without reading the whole again at each call.

The bytes are those of the messages as the log has them: every format is written from these and nothing else, so two
requests with the same payload are the same in whatever format they are sent, and two that differ anywhere in what is
sent have other payloads. Cache marks that came with a message are a request's, not the message's, and left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from foveate.compile.framing import Framing
from foveate.compile.projection import Hash, SentPrefix
from foveate.log.items import Item
from foveate.log.messages import Message, says_more
from foveate.wire import openai_chat
from foveate.wire.anthropic_originals import unmarked_extra

WIRE: Final = 2
"""How requests are written and hashed now; 1 is that of 0.1, whose payload was the request as OpenAI chat."""

_encode = msgspec.json.Encoder().encode


def payload_chunks(framing: Framing, items: Sequence[Item], wire: int = WIRE) -> Iterator[bytes]:
    """The request as bytes, piece by piece."""
    yield opening(framing, wire)
    for item in items:
        yield piece(item.message, wire)
    yield closing(framing, wire)


class PayloadHash(NamedTuple):
    """The sha256 of a request, and the hash of it up to its last item, for the request that goes on from there."""

    sha256: str
    hash: Hash


def payload_hash(framing: Framing, items: Sequence[Item], prefix: SentPrefix | None, wire: int = WIRE) -> PayloadHash:
    """The hash of a request; of one that begins as the last call did, only what is new is read."""
    start = 0
    if prefix is not None and prefix.wire == wire and framing.begins_like(prefix):
        begun, start = prefix.hash.copy(), prefix.count
    else:
        begun = hashlib.sha256(opening(framing, wire))
    for item in islice(items, start, None):
        begun.update(piece(item.message, wire))
    whole = begun.copy()
    whole.update(closing(framing, wire))
    return PayloadHash(whole.hexdigest(), begun)


def opening(framing: Framing, wire: int = WIRE) -> bytes:
    """What stands before the history."""
    before = b"".join(piece(message, wire) for message in framing.before)
    head: dict[str, Any] = {"tools": framing.tools, "response_format": framing.response_format}
    if wire == 1:
        system = _encode({"role": "system", "content": framing.system}) + b"," if framing.system else b""
        return _encode(head)[:-1] + b',"messages":[' + system + before
    # A prompt that was given in a form says all of it there.
    told = {"forms": framing.forms} if framing.forms else {"system": framing.system}
    return _encode({"wire": wire, **head, **told})[:-1] + b',"messages":[' + before


def piece(message: Message, wire: int = WIRE) -> bytes:
    """One message."""
    if wire == 1:
        said = openai_chat.encode(message)
        # Reasoning and fields of one provider are sent in other formats, so they belong to what was sent.
        return _encode([said, message.parts, message.extra] if says_more(message) else said) + b","
    extra = unmarked_extra(message) if message.extra else message.extra
    return _encode([message.role, message.parts, extra] if extra else [message.role, message.parts]) + b","


def closing(framing: Framing, wire: int = WIRE) -> bytes:
    """What stands behind the history."""
    return b"".join(piece(message, wire) for message in framing.after) + b"null]}"
