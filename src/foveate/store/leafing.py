"""Leafing: some messages or calls of a session at a time, without reading its whole log."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from sqlalchemy import func, select

from foveate.errors import LogError
from foveate.log.events import DiagnosticRecorded, FramingSet, Pinned, Unpinned
from foveate.log.messages import Message
from foveate.store.find import Filters
from foveate.store.housekeeping import CallSummary, call_summaries
from foveate.store.info import SessionInfo, utc
from foveate.store.schema import events
from foveate.store.store import Store

# The end of the year 9999: what is later is no time.
_LAST_SECOND: Final = 253_402_300_800
_TOGETHER: Final = 500


class MessageRow(NamedTuple):
    """A message with its place; None if its row is damaged."""

    position: int
    seq: int
    time: datetime
    message: Message | None


class Leaf(NamedTuple):
    """Some of the messages that were asked for, and how many there are."""

    total: int
    rows: list[MessageRow]


def messages_between(store: Store, info: SessionInfo, filters: Filters, *, offset: int, limit: int) -> Leaf:
    """Messages in the order they were said, from number `offset` of those that the filters let through."""
    mine = [events.c.session == info.key, events.c.position.is_not(None)]
    conditions = filters.conditions()
    query = select(events.c.position).where(*mine, *conditions).order_by(events.c.position)
    with store.reading() as connection:
        if not conditions:
            # Every message has its place, so nothing must be counted or skipped.
            total = info.messages
            query = query.where(events.c.position >= offset)
        else:
            total = connection.scalar(select(func.count()).select_from(events).where(*mine, *conditions)) or 0
            query = query.offset(offset)
        positions = list(connection.scalars(query.limit(limit)))
    return Leaf(total, messages_at(store, info, positions))


def messages_at(store: Store, info: SessionInfo, positions: Sequence[int]) -> list[MessageRow]:
    """The messages at positions of the log, in the order that is asked for."""
    columns = (events.c.position, events.c.seq, events.c.time, events.c.recorded_at)
    query = select(*columns).where(events.c.session == info.key, events.c.position.in_(list(positions)))
    with store.reading() as connection:
        found = {row.position: row for row in connection.execute(query)}
    said = store.reader(info).readable([position for position in positions if position in found])
    rows = [found[position] for position in positions if position in found]
    return [MessageRow(row.position, row.seq, _moment(row), said.get(row.position)) for row in rows]


def places_of(store: Store, info: SessionInfo, positions: Collection[int]) -> dict[int, int]:
    """The event numbers of messages, by their positions."""
    query = select(events.c.position, events.c.seq).where(events.c.session == info.key)
    wanted = sorted(positions)
    found: dict[int, int] = {}
    with store.reading() as connection:
        for start in range(0, len(wanted), _TOGETHER):
            some = query.where(events.c.position.in_(wanted[start : start + _TOGETHER]))
            found.update({row.position: row.seq for row in connection.execute(some)})
    return found


def spoken(store: Store, info: SessionInfo) -> tuple[dict[str, int], dict[str, int]]:
    """How many messages of each role a session has, and of each tool."""
    query = select(events.c.role, events.c.tool, func.count().label("many"))
    query = query.where(events.c.session == info.key, events.c.position.is_not(None))
    roles: dict[str, int] = {}
    tools: dict[str, int] = {}
    with store.reading() as connection:
        for row in connection.execute(query.group_by(events.c.role, events.c.tool)):
            roles[row.role] = roles.get(row.role, 0) + row.many
            if row.tool is not None:
                tools[row.tool] = tools.get(row.tool, 0) + row.many
    return roles, dict(sorted(tools.items(), key=lambda one: (-one[1], one[0])))


class Reduction(NamedTuple):
    """A reduction that a call made: why, by what, and the tokens of the history before and after."""

    trigger: str
    reason: str
    passes: tuple[str, ...]
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAccount:
    """A call with what it was decided by; `messages` and `logged` are the whole log by then, and its tokens."""

    summary: CallSummary
    turn: int
    time: datetime
    window: int | None
    messages: int
    logged: int
    reductions: tuple[Reduction, ...]


def call_accounts(store: Store, info: SessionInfo, *, offset: int = 0, limit: int | None = None) -> list[CallAccount]:
    """Calls of a session, oldest first, from number `offset` + 1 on."""
    # The call before is read along: what the first one was decided by stands between the two.
    lead = int(offset > 0)
    summaries = call_summaries(store, info, offset=offset - lead, limit=None if limit is None else limit + lead)
    if len(summaries) <= lead:
        return []
    found: dict[int, tuple[_Numbers, tuple[Reduction, ...]]] = {}
    waiting: list[Reduction] = []
    first = summaries[0].seq if lead else 0
    for row in _rows(store, info, _DECISIONS, first, summaries[-1].seq + 1):
        if row.kind == "reduction_recorded":
            made = _decoded(info, row, _Reduced)
            waiting.append(Reduction(made.trigger, made.reason, made.passes, made.before, made.after))
        else:
            found[row.seq] = _decoded(info, row, _Numbers), tuple(waiting)
            waiting = []
    return [_account(summary, *found.get(summary.seq, (_Numbers(), ()))) for summary in summaries[lead:]]


class Diagnosed(NamedTuple):
    """Something that was odd or failed, and when."""

    seq: int
    time: datetime
    body: DiagnosticRecorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What stands in a log beside messages and calls, up to event number `length`.

    `pins` has every message that was ever pinned or unpinned, and whether it is now.
    """

    length: int = 0
    framing: FramingSet = field(default_factory=FramingSet)
    pins: Mapping[str, bool] = field(default_factory=dict)
    diagnostics: tuple[Diagnosed, ...] = ()


def marks_of(store: Store, info: SessionInfo, known: Marks | None = None) -> Marks:
    """The marks of a session; of `known` ones only those that came since are read."""
    known = known or Marks()
    pins, framing, diagnostics = dict(known.pins), known.framing, list(known.diagnostics)
    for row in _rows(store, info, _MARKS, known.length, info.events):
        match row.kind:
            case "framing_set":
                framing = _decoded(info, row, FramingSet)
            case "pinned":
                pins[_decoded(info, row, Pinned).message_id] = True
            case "unpinned":
                pins[_decoded(info, row, Unpinned).message_id] = False
            case _:
                diagnostics.append(Diagnosed(row.seq, _moment(row), _decoded(info, row, DiagnosticRecorded)))
    return Marks(length=info.events, framing=framing, pins=pins, diagnostics=tuple(diagnostics))


# --- inside -------------------------------------------------------------------------------------------------------


class _Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """What the list of calls needs of a record, whose sections may be long."""

    turn: int = 0
    now: float | None = None
    window: int | None = None
    messages: int = 0
    logged: int = 0


class _Reduced(msgspec.Struct, frozen=True, kw_only=True):
    trigger: str
    reason: str
    passes: tuple[str, ...]
    before: int
    after: int


_DECISIONS: Final = ("call_recorded", "reduction_recorded")
_MARKS: Final = ("framing_set", "pinned", "unpinned", "diagnostic_recorded")
_Said = TypeVar("_Said")


def _account(summary: CallSummary, numbers: _Numbers, reductions: tuple[Reduction, ...]) -> CallAccount:
    return CallAccount(
        summary=summary,
        turn=numbers.turn,
        time=_given(numbers.now) or summary.recorded_at,
        window=numbers.window,
        messages=numbers.messages,
        logged=numbers.logged,
        reductions=reductions,
    )


def _rows(store: Store, info: SessionInfo, kinds: Collection[str], first: int, end: int) -> Sequence[Any]:
    columns = (events.c.seq, events.c.kind, events.c.time, events.c.recorded_at, events.c.body)
    within = (events.c.seq >= first, events.c.seq < end, events.c.kind.in_(list(kinds)))
    with store.reading() as connection:
        query = select(*columns).where(events.c.session == info.key, *within)
        return connection.execute(query.order_by(events.c.seq)).all()


def _decoded(info: SessionInfo, row: Any, kind: type[_Said]) -> _Said:
    try:
        return msgspec.json.decode(row.body, type=kind)
    except msgspec.MsgspecError as error:
        raise LogError(
            f"event {row.seq} of session {info.session_id!r} cannot be read: {error}; the row is damaged, "
            "`foveate db check` lists all that are"
        ) from error


def _moment(row: Any) -> datetime:
    return _given(row.time) or utc(row.recorded_at)


def _given(time: float | None) -> datetime | None:
    return datetime.fromtimestamp(time, UTC) if time is not None and 0 <= time < _LAST_SECOND else None
