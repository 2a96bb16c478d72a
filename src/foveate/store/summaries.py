"""Call records for people with an SQL prompt: one row of `context_summaries` for each call, as recipe and outcome.

The row has no copy of the request: what stood around the history is named by handles, what went into it by event
numbers, and the request itself is folded from the log again, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, insert, select, update

from foveate.log.events import CallRecorded, Event, FramingSet, MessageAppended, Tagged, UsageReported
from foveate.log.messages import Message
from foveate.recall.readable import readable
from foveate.store.artifacts import Piece, handle_of, keep, piece_of
from foveate.store.engine import storable
from foveate.store.schema import context_summaries, sessions

_encode = msgspec.json.Encoder().encode
_decode_tags: Final = msgspec.json.Decoder(dict[str, str]).decode
_SHORT: Final = 500
_OUTPUT: Final = 4_000
# Besides the model's replies.
FOLLOWED: Final = frozenset({FramingSet, CallRecorded, UsageReported, Tagged})


class Summaries:
    """Follows the events of one session, and writes what they say of its calls."""

    def __init__(self, session: int, session_id: str, vault_name: str, system: str | None) -> None:
        self._session = session
        self._names = {"session": session, "session_id": session_id, "vault_name": vault_name}
        # The system prompt of the session, and the newest call that is known to be answered.
        self.known: tuple[str | None, int] = (system, 0)

    def take(self, connection: Connection, event: Event, last_call: int, now: datetime) -> None:
        """Write what an event says of a call; `last_call` is the newest one before it."""
        match event.body:
            case FramingSet(system=system):
                self.known = (system, self.known[1])
            case CallRecorded():
                self._insert(connection, event.body, event.seq, now)
            case MessageAppended(message=message) if message.role == "assistant" and last_call > self.known[1]:
                self._answered(connection, message, last_call)
            case UsageReported(call=call, input_tokens=read, cached_tokens=cached):
                self._update(connection, call, reported_input=read, reported_cached=cached)
            case Tagged(call=call, tags=tags):
                self._tag(connection, call, tags)
            case _:
                return

    def follow(self, event: Event) -> None:
        """Take note of an event that somebody else wrote."""
        if isinstance(event.body, FramingSet):
            self.known = (event.body.system, self.known[1])

    def _insert(self, connection: Connection, body: CallRecorded, seq: int, now: datetime) -> None:
        parts: list[str] = []
        pieces: list[Piece] = []
        around = [("system", self.known[0]), *((one.name, one.content) for one in body.sections)]
        for name, text in around:
            if not text:
                continue
            if len(text) <= _SHORT:
                parts.append(storable(text))
            else:
                pieces.append(piece_of(text, name, name))
                parts.append(handle_of("prompt", pieces[-1].sha256))
        keep(connection, self._session, pieces, now)
        row = {
            **self._names,
            "call": body.number,
            "seq": seq,
            "turn_index": body.turn,
            "template_name": body.strategy,
            "template_source": body.strategy_source,
            "template_hash": body.strategy_sha256,
            "model_alias": body.model or "unspecified",
            "budget_limit": body.budget,
            "budget_used": body.tokens,
            "budget": _json(
                {"limit": body.budget, "used": body.tokens, "window": body.window, "reserved": body.reserved}
            ),
            "fates": _json(body.fates),
            "sections_included": _json([section.name for section in body.sections]),
            "predicted_cached": body.predicted_cached,
            "compiled_prompt": "\n\n".join(parts),
            "input_payload": _json({"events_before": seq, "messages": body.messages, "now": body.now}),
            "payload_sha256": body.payload_sha256,
            "tags": "{}",
            "created_at": now,
        }
        connection.execute(insert(context_summaries), row)

    def _answered(self, connection: Connection, message: Message, call: int) -> None:
        text = storable(readable(message))
        raw = text if len(text) <= _OUTPUT else f"{text[:_OUTPUT]}… [all of it is message {message.id}]"
        parsed = {
            "message": message.id,
            "text_characters": len(message.text),
            "tool_calls": [{"id": one.id, "name": one.name} for one in message.calls],
        }
        where = _call(self._session, call) & context_summaries.c.output_id.is_(None)
        values = {"output_id": storable(message.id), "raw_output": raw, "parsed_output": _json(parsed)}
        connection.execute(update(context_summaries).where(where).values(values))
        # Further messages are no answer to it; of a large import most are not.
        self.known = (self.known[0], call)

    def _update(self, connection: Connection, call: int, **values: Any) -> None:
        connection.execute(update(context_summaries).where(_call(self._session, call)).values(values))

    def _tag(self, connection: Connection, call: int | None, tags: Mapping[str, str]) -> None:
        table, where = sessions, sessions.c.id == self._session
        if call is not None:
            table, where = context_summaries, _call(self._session, call)
        known = connection.scalar(select(table.c.tags).where(where))
        if known is not None:
            merged = {**_tags(known), **tags}
            kept = {name: value for name, value in merged.items() if value}
            connection.execute(update(table).where(where).values(tags=_json(kept)))


def _tags(stored: str) -> dict[str, str]:
    try:
        return _decode_tags(stored)
    except msgspec.MsgspecError:
        # Somebody wrote something else there; the log has what was tagged.
        return {}


def _call(session: int, call: int) -> Any:
    return (context_summaries.c.session == session) & (context_summaries.c.call == call)


def _json(value: object) -> str:
    return _encode(value).decode()
