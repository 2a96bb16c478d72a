"""Call records for people with an SQL prompt: one row of `context_summaries` for each call, as recipe and outcome.

The row has no copy of the request: what stood around the history is named by handles, what went into it by event
numbers, and the request itself is folded from the log again, byte for byte. If a compiled summary is in the request,
the row says by what template and whom that was written, and from what.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, func, insert, select, update

from foveate.log.events import (
    CallRecorded,
    Event,
    FramingSet,
    MessageAppended,
    Placed,
    ReductionRecorded,
    SummaryRecorded,
    Tagged,
    UsageReported,
)
from foveate.log.messages import Message
from foveate.recall.readable import readable
from foveate.store.artifacts import Piece, handle_of, keep, piece_of
from foveate.store.engine import storable
from foveate.store.rows import read_events
from foveate.store.schema import context_summaries, sessions
from foveate.store.schema import events as event_table

_encode = msgspec.json.Encoder().encode
_decode_tags: Final = msgspec.json.Decoder(dict[str, str]).decode
_decode_object: Final = msgspec.json.Decoder(dict[str, Any]).decode
_SHORT: Final = 500
_OUTPUT: Final = 4_000
# Summaries without a template, which a session may have from before it was a chat.
_LOOKED_AT: Final = 20
# Besides the model's replies.
FOLLOWED: Final = frozenset({FramingSet, CallRecorded, UsageReported, Tagged, ReductionRecorded, SummaryRecorded})
# Among the sections of a row, the summary that was compiled from a template; and who wrote it if no model did.
SUMMARY: Final = "context summary"
NOBODY: Final = "none"
# The tag of a session that has the name by which its model was chosen, if that is not the model's own.
MODEL_ALIAS: Final = "model_alias"


class Known(NamedTuple):
    """What the events so far say: the system prompt, the newest call that is answered, the newest summary.

    `looked` is whether the summary is known, also if there is none: a session that goes on has its own in the log.
    `shown` is the call whose row has all of its words; those of later calls have the beginning, or a summary of months
    would be stored at every call again. `alias` is the name that the model was chosen by; None: nobody has looked yet.
    """

    system: str | None
    answered: int = 0
    summary: SummaryRecorded | None = None
    looked: bool = False
    shown: int = 0
    alias: str | None = None


def strategy_and_model(template_name: str, model_alias: str, input_payload: str) -> tuple[str, str]:
    """The strategy and the model of a call from its row, which may name those of the summary in the request."""
    called = _decode_object(input_payload)
    return called.get("strategy", template_name), called.get("model", model_alias)


class Summaries:
    """Follows the events of one session, and writes what they say of its calls."""

    def __init__(self, session: int, session_id: str, vault_name: str, system: str | None) -> None:
        self._session = session
        self._names = {"session": session, "session_id": session_id, "vault_name": vault_name}
        self.known = Known(system)

    def take(self, connection: Connection, event: Event, last_call: int, now: datetime) -> None:
        """Write what an event says of a call; `last_call` is the newest one before it."""
        match event.body:
            case CallRecorded():
                self._insert(connection, event.body, event.seq, now)
            case MessageAppended(message=message) if message.role == "assistant" and last_call > self.known.answered:
                self._answered(connection, message, last_call)
            case UsageReported(call=call):
                self._update(connection, call, **_counts(event.body))
            case Tagged(call=call, tags=tags):
                self._tag(connection, call, tags)
                self.follow(event)
            case SummaryRecorded(template=str(), by_rules=True):
                # Its call was made before it, and has the words of it already.
                values = {"sections_included": self._sections(connection, event.body), **_parsed(event.body, 0)}
                self._update(connection, event.body.call, **values)
                self.follow(event)
            case _:
                self.follow(event)

    def follow(self, event: Event) -> None:
        """Take note of an event that somebody else wrote."""
        match event.body:
            case FramingSet(system=system):
                self.known = self.known._replace(system=system)
            case SummaryRecorded(template=str(), by_rules=by_rules, call=call):
                # What rules made is in the row of its call already, as its reduction comes before it.
                self.known = self.known._replace(summary=event.body, looked=True, shown=call if by_rules else 0)
            case Tagged(call=None, tags=tags) if MODEL_ALIAS in tags:
                self.known = self.known._replace(alias=tags[MODEL_ALIAS])
            case ReductionRecorded() if (made := _made_by_rules(event.body)) is not None:
                self.known = self.known._replace(summary=made, looked=True, shown=0)
            case _:
                return

    def _insert(self, connection: Connection, body: CallRecorded, seq: int, now: datetime) -> None:
        summary = self._summary(connection, seq) if "summarised" in body.fates else None
        around = [("system", self.known.system), *((one.name, one.content) for one in body.sections)]
        if summary is not None:
            around.append(("summary", summary.prompt))
        row = {
            **self._names,
            "call": body.number,
            "seq": seq,
            "turn_index": body.turn,
            "budget_limit": body.budget,
            "budget_used": body.tokens,
            "fates": _json(body.fates),
            "predicted_cached": body.predicted_cached,
            "compiled_prompt": self._kept(connection, around, now),
            "payload_sha256": body.payload_sha256,
            "tags": "{}",
            "created_at": now,
            **_about(body, seq, summary, self.known.shown, self._alias(connection)),
        }
        connection.execute(insert(context_summaries), row)
        if summary is not None and not self.known.shown:
            self.known = self.known._replace(shown=body.number)

    def _alias(self, connection: Connection) -> str:
        """The name by which the model was chosen: of a session that was opened anew, as its tags say."""
        if self.known.alias is None:
            stored = connection.scalar(select(sessions.c.tags).where(sessions.c.id == self._session))
            self.known = self.known._replace(alias=_tags(stored or "{}").get(MODEL_ALIAS, ""))
        return self.known.alias or ""

    def _sections(self, connection: Connection, summary: SummaryRecorded) -> str:
        """The sections of a call whose summary is known only now, in place of the word for it."""
        where = _call(self._session, summary.call)
        stored = connection.scalar(select(context_summaries.c.sections_included).where(where))
        beside = [name for name in msgspec.json.decode(stored or "[]") if name != SUMMARY]
        return _json([*(summary.sections or (SUMMARY,)), *beside])

    def _kept(self, connection: Connection, around: list[tuple[str, str | None]], now: datetime) -> str:
        """Texts one after the other, with handles in place of long ones."""
        parts: list[str] = []
        pieces: list[Piece] = []
        for name, text in around:
            if not text:
                continue
            if len(text) <= _SHORT:
                parts.append(storable(text))
            else:
                pieces.append(piece_of(text, name, name))
                parts.append(handle_of("prompt", pieces[-1].sha256))
        keep(connection, self._session, pieces, now)
        return "\n\n".join(parts)

    def _summary(self, connection: Connection, seq: int) -> SummaryRecorded | None:
        """The compiled summary that a call shows: the newest before it, from the log if the session was opened anew."""
        if not self.known.looked:
            table = event_table
            where = (table.c.session == self._session) & (table.c.seq < seq) & (table.c.kind == "summary_recorded")
            rows = connection.execute(select(table).where(where).order_by(table.c.seq.desc()).limit(_LOOKED_AT)).all()
            found = (read_events(connection, str(self._names["session_id"]), [row])[0].body for row in rows)
            newest = next((body for body in found if isinstance(body, SummaryRecorded) and body.template), None)
            shown = newest.call if newest is not None else 0
            self.known = self.known._replace(summary=newest, looked=True, shown=shown)
        return self.known.summary

    def _answered(self, connection: Connection, message: Message, call: int) -> None:
        raw = _shortened(storable(readable(message)), f"message {message.id}")
        where = _call(self._session, call) & context_summaries.c.output_id.is_(None)
        # What wrote the summary is not written over: the reply is named, and is in the log.
        first = func.coalesce(context_summaries.c.raw_output, raw)
        values = {"output_id": storable(message.id), "raw_output": first}
        connection.execute(update(context_summaries).where(where).values(values))
        # Further messages are no answer to it; of a large import most are not.
        self.known = self.known._replace(answered=call)

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


def _about(body: CallRecorded, seq: int, summary: SummaryRecorded | None, shown: int, alias: str) -> dict[str, Any]:
    """What a row says of a template and who worked by it: of the summary in the request, else of the request itself."""
    budget = {"limit": body.budget, "used": body.tokens, "window": body.window, "reserved": body.reserved}
    payload: dict[str, Any] = {"events_before": seq, "messages": body.messages, "now": body.now}
    sections = [section.name for section in body.sections]
    model = body.model or "unspecified"
    about = {
        "template_name": body.template or body.strategy,
        "template_source": body.strategy_source,
        "template_hash": body.strategy_sha256,
        "model_alias": alias or model,
        "raw_output": None,
        "parsed_output": None,
    }
    if alias and body.model:
        payload["model"] = model
    if body.template:
        payload["strategy"] = body.strategy
    if summary is not None:
        if summary.template is not None:
            named = (summary.template, summary.template_source or "", summary.template_sha256 or "")
            about |= zip(("template_name", "template_source", "template_hash"), named, strict=True)
        raw = summary.raw or summary.text
        about |= {"model_alias": NOBODY if summary.by_rules else summary.alias or summary.summarizer}
        about |= _parsed(summary, shown)
        whole, most = (f"at call {shown}", _SHORT) if shown else ("the event `summary_recorded`", _OUTPUT)
        about |= {"raw_output": _shortened(storable(raw), whole, most)}
        payload |= {"strategy": body.strategy, "model": body.model or alias or model, "summary": _inputs(summary)}
        budget["summary"] = summary.tokens
        sections = [*(summary.sections or (SUMMARY,)), *sections]
    return {
        **about,
        "budget": _json(budget),
        "sections_included": _json(sections),
        "input_payload": _json(payload),
    }


def _parsed(summary: SummaryRecorded, shown: int) -> dict[str, str | None]:
    """What a summary says for each field of its template's contract; of a long one later rows name the call."""
    said = storable(_json(summary.parsed)) if summary.parsed is not None else None
    return {"parsed_output": _json({"call": shown}) if said is not None and shown and len(said) > _SHORT else said}


def _inputs(summary: SummaryRecorded) -> dict[str, Any]:
    """What a summary was made of."""
    return {"turn": summary.turn, "call": summary.call, "through": summary.through, **summary.inputs}


def _made_by_rules(body: ReductionRecorded) -> SummaryRecorded | None:
    """The summary that a reduction made without a model, if it made one; its template is that of the call."""
    for entry in body.layout:
        if isinstance(entry, Placed) and entry.item.fate == "summarised":
            item = entry.item
            if any(line.kind == "summary" for line in item.lines):
                return None
            text, through = item.message.text.partition("\n")[2], item.covers[-1][1]
            return SummaryRecorded(text=text, through=through, summarizer=NOBODY, tokens=item.tokens, by_rules=True)
    return None


def _shortened(text: str, whole: str, most: int = _OUTPUT) -> str:
    return text if len(text) <= most else f"{text[:most]}… [all of it is {whole}]"


def _tags(stored: str) -> dict[str, str]:
    try:
        return _decode_tags(stored)
    except (msgspec.MsgspecError, TypeError, ValueError):
        # Somebody wrote something else there; the log has what was tagged.
        return {}


def _call(session: int, call: int) -> Any:
    return (context_summaries.c.session == session) & (context_summaries.c.call == call)


def _json(value: object) -> str:
    return _encode(value).decode()


def _counts(body: UsageReported) -> dict[str, int | None]:
    """What the provider counted, by column."""
    return {
        "reported_input": body.input_tokens,
        "reported_cached": body.cached_tokens,
        "reported_written": body.written_tokens,
        "reported_written_hour": body.written_hour_tokens,
    }
