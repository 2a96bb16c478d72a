"""Calls of a session: what was recorded of each, without computing its request again."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import select

from foveate.budget.tokens import counter_for
from foveate.errors import StoreError, UnknownReferenceError
from foveate.inspect.event_rows import TOGETHER, event_rows, given_time, read_partly
from foveate.log.events import CallRecorded, ReductionRecorded
from foveate.log.partial import PartialReader
from foveate.log.sections import ContextSection
from foveate.log.upcasting import policy_and_template
from foveate.store import SessionInfo, Store
from foveate.store.info import utc
from foveate.store.rows import read_events
from foveate.store.schema import context_summaries, events
from foveate.store.summaries import strategy_and_model

_KINDS: Final = ("call_recorded", "reduction_recorded")
_call_fields: Final = PartialReader(
    CallRecorded, {CallRecorded: ("number", "turn", "now", "window", "messages", "logged", "policy")}
)
_reduction_fields: Final = PartialReader(
    ReductionRecorded, {ReductionRecorded: ("trigger", "reason", "passes", "before", "after")}
)


class Reduction(NamedTuple):
    """A reduction made for a call: its trigger and reason, its passes, the tokens of the history before and after."""

    trigger: str
    reason: str
    passes: tuple[str, ...]
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A recorded call.

    Args:
        number: from 1; a log that was cut may have gaps.
        seq: the number of its event.
        recorded_at: when it was written into the store.
        policy: the policy that the strategy goes by; empty if it has none.
        sent_at: when it was sent, by the caller's clock; None if the caller gave no time.
        tokens: of the whole request, by our count; `budget` and `window` are the limits it was made for.
        predicted_cached: tokens of it that were expected in the provider's cache.
        reported_input: all input tokens as the provider counted them, of which `reported_cached` came from its cache
            and `reported_written` were put there, `reported_written_hour` of them for an hour.
        fates: for each fate the number of items of the request that have it, and their tokens.
        messages: of the whole log at this call; `logged` are their tokens.

    """

    number: int
    seq: int
    recorded_at: datetime
    sent_at: datetime | None
    turn: int
    strategy: str
    policy: str
    model: str
    tokens: int
    budget: int | None
    window: int | None
    predicted_cached: int
    reported_input: int | None
    reported_cached: int | None
    reported_written: int | None
    reported_written_hour: int | None
    fates: dict[str, tuple[int, int]]
    messages: int
    logged: int
    reductions: tuple[Reduction, ...]
    tags: dict[str, str]
    payload_sha256: str

    @property
    def time(self) -> datetime:
        """When it was sent, or else when it was recorded."""
        return self.sent_at or self.recorded_at

    @property
    def framing_tokens(self) -> int:
        """The tokens beside the history: system prompt, tools, response format, sections."""
        return self.tokens - sum(size for _, size in self.fates.values())

    @property
    def untouched_tokens(self) -> int:
        """The tokens that the request would have had with the whole history in it, by our count."""
        # Calls of the first version did not record the size of the log.
        return self.framing_tokens + self.logged if self.logged else self.tokens

    def as_dict(self, cost: float | None) -> dict[str, Any]:
        """The call as plain data, with the dollars that its input cost."""
        return {
            "call": self.number,
            "event": self.seq,
            "turn": self.turn,
            "time": self.time.isoformat(),
            "recorded_at": self.recorded_at.isoformat(),
            "strategy": self.strategy,
            "model": self.model,
            "tokens": self.tokens,
            "budget": self.budget,
            "window": self.window,
            "predicted_cached": self.predicted_cached,
            "reported_input": self.reported_input,
            "reported_cached": self.reported_cached,
            "messages": self.messages,
            "logged": self.logged,
            "cost": cost,
            "fates": {fate: {"items": items, "tokens": tokens} for fate, (items, tokens) in self.fates.items()},
            "reductions": [{**one._asdict(), "passes": list(one.passes)} for one in self.reductions],
            "tags": self.tags,
            "payload_sha256": self.payload_sha256,
        }


def read_calls(store: Store, info: SessionInfo, *, offset: int = 0, limit: int | None = None) -> list[Call]:
    """The calls of a session, oldest first: all, or `limit` of them behind the first `offset`."""
    # The call before is read along: the reductions for the first one stand between the two.
    lead = int(offset > 0)
    table = context_summaries
    query = select(table).where(table.c.session == info.key).order_by(table.c.call)
    query = query.offset(offset - lead).limit(None if limit is None else limit + lead)
    with store.reading() as connection:
        rows = connection.execute(query).all()
    if len(rows) <= lead:
        return []
    within = events.c.seq >= (rows[0].seq if lead else 0), events.c.seq <= rows[-1].seq
    records: dict[int, tuple[CallRecorded, tuple[Reduction, ...]]] = {}
    waiting: list[Reduction] = []
    for row in event_rows(store, info, _KINDS, *within):
        if row.kind == "reduction_recorded":
            made = read_partly(info, row, _reduction_fields)
            waiting.append(Reduction(made.trigger, made.reason, made.passes, made.before, made.after))
        else:
            records[row.seq] = read_partly(info, row, _call_fields), tuple(waiting)
            waiting = []
    return [_call(row, *records.get(row.seq, (None, ()))) for row in rows[lead:]]


def read_call(store: Store, info: SessionInfo, number: int) -> Call:
    """One recorded call."""
    # Calls are numbered from 1 without gaps, but for those of a log that was cut.
    near = read_calls(store, info, offset=number - 1, limit=1)
    if near and near[0].number == number:
        return near[0]
    found = next((one for one in read_calls(store, info) if one.number == number), None)
    if found is None:
        raise UnknownReferenceError(
            f"no call {number} in session {info.session_id!r}; it has {info.calls:,}, the first is 1"
        )
    return found


def last_call(store: Store, info: SessionInfo) -> Call | None:
    """The newest recorded call; None if there is none."""
    return next(iter(read_calls(store, info, offset=info.calls - 1, limit=1)), None) if info.calls else None


def section_tokens(store: Store, info: SessionInfo, calls: Sequence[Call]) -> dict[int, int]:
    """The tokens of the sections beside the history, by the number of the call; calls without any are left out."""
    table = context_summaries
    mine = (table.c.session == info.key) & (table.c.sections_included != "[]")
    if len(calls) <= TOGETHER:
        mine &= table.c.seq.in_([one.seq for one in calls])
    found: dict[int, int] = {}
    with store.reading() as connection:
        places = list(connection.scalars(select(table.c.seq).where(mine)))
        for start in range(0, len(places), TOGETHER):
            some = (events.c.session == info.key) & events.c.seq.in_(places[start : start + TOGETHER])
            rows = connection.execute(select(events).where(some)).all()
            found.update(_counted_sections(event.body for event in read_events(connection, info.session_id, rows)))
    return found


def _counted_sections(bodies: Iterable[object]) -> Iterator[tuple[int, int]]:
    for body in bodies:
        if isinstance(body, CallRecorded):
            yield body.number, sum(_tokens_of_section(section, body.model) for section in body.sections)


@lru_cache(maxsize=512)
def _tokens_of_section(section: ContextSection, model: str | None) -> int:
    return counter_for(model).count(f"## {section.name}\n{section.content}")


def _call(row: Any, record: CallRecorded | None, reductions: tuple[Reduction, ...]) -> Call:
    try:
        strategy, model = strategy_and_model(row.template_name, row.model_alias, row.input_payload)
        return Call(
            number=row.call,
            seq=row.seq,
            recorded_at=utc(row.created_at),
            sent_at=given_time(record.now) if record is not None else None,
            turn=record.turn if record is not None else 0,
            strategy=strategy,
            policy=(record.policy if record is not None else "") or policy_and_template(strategy)[0],
            model=model,
            tokens=operator.index(row.budget_used),
            budget=None if row.budget_limit is None else operator.index(row.budget_limit),
            window=record.window if record is not None else None,
            predicted_cached=operator.index(row.predicted_cached),
            reported_input=row.reported_input,
            reported_cached=row.reported_cached,
            reported_written=row.reported_written,
            reported_written_hour=row.reported_written_hour,
            fates=msgspec.json.decode(row.fates, type=dict[str, tuple[int, int]]),
            messages=record.messages if record is not None else 0,
            logged=record.logged if record is not None else 0,
            reductions=reductions,
            tags=msgspec.json.decode(row.tags, type=dict[str, str]),
            payload_sha256=row.payload_sha256,
        )
    except (msgspec.MsgspecError, ValueError, TypeError, AttributeError) as error:
        raise StoreError(
            f"the row of call {row.call!r} of session {row.session_id!r} in `context_summaries` is damaged: {error}; "
            "`foveate db check` says more"
        ) from error
