"""Incoming requests, as far as the gateway understands them, and what is made of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from foveate.gateway.bodies import WireBody, read_body
from foveate.gateway.evidence import Frame, Sender, conversation_key, frame_of, sender_of
from foveate.gateway.layout import Layout
from foveate.gateway.matching import ItemKeys
from foveate.gateway.protocols import Protocol, is_partial, model_of, protocol_of
from foveate.gateway.settings import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as the gateway understands it; `key` names its conversation, `keys` its items."""

    protocol: Protocol
    body: WireBody
    keys: tuple[str, ...]
    sender: Sender
    frame: Frame
    model: str | None
    key: str
    now: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What is sent for a request, and what is known of it.

    Attributes:
        session: that it was recorded in.
        mode: in which the session is.
        layout: what is sent.
        call: the number of the recorded call; 0 if none was.
        raw_tokens: of the request as the agent sent it.
        tokens: of the request as it is sent.
        compiled_tokens: of what Foveate would send; None if nobody knows.
        trigger: why the history was reduced for this call; "" if it was not.

    """

    session: str
    mode: Mode
    layout: Layout
    call: int = 0
    raw_tokens: int = 0
    tokens: int = 0
    compiled_tokens: int | None = None
    trigger: str = ""


def understood(
    method: str, path: str, headers: Mapping[str, str], raw: bytes, keys: ItemKeys, named: str = ""
) -> Incoming | None:
    """A request as the gateway understands it; None for one that passes through untouched."""
    protocol = protocol_of(method, path)
    if protocol is None or headers.get("content-encoding", "identity") not in ("", "identity"):
        return None
    body = read_body(raw, protocol.items)
    if body is None or not body.items or is_partial(body.fields):
        return None
    sender = sender_of(headers, body, named)
    frame = frame_of(protocol, body, keys)
    return Incoming(
        protocol=protocol,
        body=body,
        keys=keys.all(body.items),
        sender=sender,
        frame=frame,
        model=model_of(path, body.fields),
        key=conversation_key(sender, protocol, frame, body, keys),
    )
