"""The costs of sessions: of a recording in memory, of a session in a store, and of many sessions at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import select

from foveate.budget.accounting import PER_MESSAGE, Precounted, framing_tokens, message_tokens
from foveate.budget.tokens import counter_for
from foveate.importers.entries import Usage, model_of, usage_of
from foveate.importers.recording import Recording, recording_of
from foveate.inspect.calls import Call, read_calls
from foveate.inspect.costs import CountedCall, SessionCosts, count_calls, sent_cost, session_costs
from foveate.inspect.event_rows import TOGETHER, read_partly
from foveate.inspect.model_calls import credible_usage, model_calls
from foveate.inspect.rates import Rates
from foveate.log.events import MessageAppended
from foveate.log.messages import Message, MessageMeta, Thinking
from foveate.log.partial import PartialReader
from foveate.store import SessionInfo, Store
from foveate.store.checksums import verify_rows
from foveate.store.schema import context_summaries, events
from foveate.store.summaries import strategy_and_model

_REPORTED: Final = ("reported_input", "reported_cached", "reported_written", "reported_written_hour")
_recorded_facts: Final = PartialReader(
    MessageAppended, {MessageAppended: ("message",), Message: ("meta",), MessageMeta: ("extra",)}
)


def read_session_costs(store: Store, info: SessionInfo) -> SessionCosts:
    """The costs of a session in a store."""
    if info.calls:
        return session_costs(counted_calls(read_calls(store, info)))
    return recording_costs(recording_of(info.session_id, store.reader(info).events(0, info.events)))


def counted_calls(calls: Iterable[Call]) -> list[CountedCall]:
    """Recorded calls as costs need them."""
    return [
        CountedCall(
            number=call.number,
            at=call.sent_at.timestamp() if call.sent_at is not None else None,
            model=call.model,
            usage=_usage(call),
            sent=call.tokens,
            untouched=call.untouched_tokens,
            framing=call.framing_tokens,
            predicted_cached=call.predicted_cached,
        )
        for call in calls
    ]


def recording_costs(recording: Recording) -> SessionCosts:
    """The costs of a recorded session."""
    calls = model_calls(recording)
    if recording.requests:
        return session_costs(count_calls(calls, (), (), framing=0))
    counter = Precounted(counter_for(Rates.of_calls(calls).profile().name))
    messages = [without_thinking(message) for message in recording.messages]
    counter.prepare(messages)
    sizes = [message_tokens(message, counter) if message.parts else 0 for message in messages]
    compactions = [(place, PER_MESSAGE + counter.count(text)) for place, text in recording.compactions if text.strip()]
    framing = framing_tokens(counter, system=recording.system, tools=recording.tools, response_format=None)
    return session_costs(count_calls(calls, sizes, compactions, framing=framing))


def without_thinking(message: Message) -> Message:
    """A message without thinking: providers drop that of earlier turns, and logs often have only its signature."""
    if not any(isinstance(part, Thinking) for part in message.parts):
        return message
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    return msgspec.structs.replace(message, parts=parts)


def input_costs(store: Store, infos: Sequence[SessionInfo]) -> dict[int, float | None]:
    """The cost in dollars of each session as it was sent, by the session's key; None if it is not known.

    Only the numbers of calls are read: these are the costs of `read_session_costs` without the untouched history.
    """
    found: dict[int, float | None] = {}
    with_calls = [info for info in infos if info.calls]
    for start in range(0, len(with_calls), TOGETHER):
        some = {info.key: info for info in with_calls[start : start + TOGETHER]}
        found.update((key, _cost(calls)) for key, calls in _recorded_numbers(store, some))
    for info in infos:
        if not info.calls:
            found[info.key] = _cost(_recorded_usage(store, info))
    return found


def _cost(calls: Sequence[CountedCall]) -> float | None:
    unit, cost = sent_cost(calls)
    return cost.cost if cost is not None and unit == "USD" else None


def _recorded_numbers(store: Store, infos: dict[int, SessionInfo]) -> Iterator[tuple[int, list[CountedCall]]]:
    """The recorded calls of sessions in numbers, without what only the untouched history needs."""
    table = context_summaries
    named = (table.c.session, table.c.call, table.c.template_name, table.c.model_alias, table.c.input_payload)
    counted = (table.c.budget_used, table.c.predicted_cached)
    query = select(*named, *counted, *(table.c[name] for name in _REPORTED)).where(table.c.session.in_(list(infos)))
    calls: dict[int, list[CountedCall]] = {key: [] for key in infos}
    with store.reading() as connection:
        for row in connection.execute(query.order_by(table.c.session, table.c.call)):
            calls[row.session].append(_numbers(row))
    yield from calls.items()


def _numbers(row: Any) -> CountedCall:
    # Not the writer of a summary in the request, but the model that read the request.
    _, model = strategy_and_model(row.template_name, row.model_alias, row.input_payload)
    return CountedCall(
        number=row.call,
        at=None,
        model=model,
        usage=_usage(row),
        sent=row.budget_used,
        untouched=0,
        predicted_cached=row.predicted_cached,
    )


def _recorded_usage(store: Store, info: SessionInfo) -> list[CountedCall]:
    """The calls of another agent's log, with nothing but the usage that was recorded with each."""
    mine = (events.c.session == info.key) & (events.c.role == "assistant") & (events.c.position > 0)
    with store.reading() as connection:
        rows = connection.execute(select(events).where(mine).order_by(events.c.seq)).all()
    verify_rows(info.session_id, rows)
    named = info.metadata.get("model")
    model, calls = named if isinstance(named, str) else "", list[CountedCall]()
    for row in rows:
        message = read_partly(info, row, _recorded_facts).message
        if not message.meta.extra.get("program"):
            model = model_of(message) or model
            usage = credible_usage(usage_of(message))
            calls.append(CountedCall(number=len(calls) + 1, at=None, model=model, usage=usage, sent=0, untouched=0))
    return calls


def _usage(call: Any) -> Usage | None:
    """What was reported for a call, as it was read or as it stands in its row."""
    tokens, cached, written, written_hour = (getattr(call, name) for name in _REPORTED)
    return None if tokens is None else Usage.counted(tokens, cached=cached, written=written, written_hour=written_hour)
