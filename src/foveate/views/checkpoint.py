"""Checkpoints: a timeline as bytes, so that a long log need not be folded from its first event.

A checkpoint is a cache: a log without one gives the same timeline, only later. Nothing in it grows with the log, but
for what stands in the request itself.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import msgspec

from foveate.budget.calibrate import Calibration
from foveate.budget.tokens import TokenCounter
from foveate.errors import LogError
from foveate.log.context import AgentContext, Archive, Log
from foveate.log.events import FramingSet, ReflectionRecorded, SummaryRecorded
from foveate.log.items import Item
from foveate.log.messages import ToolCall
from foveate.views.ledger import Failure, Note
from foveate.views.timeline import Sent, Timeline, Usage

# Of the fold: raised when the same events give another timeline, so that older checkpoints are left aside.
FOLD_VERSION: Final = 1
_PLAIN: Final = (
    "logged", "named", "calls", "reductions", "epoch", "sent_messages", "shared", "shared_tokens", "declined",
    "growth", "kept", "model_switched", "reframed", "recalled", "leading", "newest_input", "first_input",
)  # fmt: skip
_CONTEXT: Final = ("session", "system", "tools", "response_format", "model", "turn", "step", "execution_id")
# Results may still come for the newest calls.
_RECENT: Final = 200


class _Mender(msgspec.Struct, frozen=True):
    items: list[Item]
    sealed: int
    left_out: dict[str, str]
    open: dict[str, list[tuple[str, ToolCall]]]
    used: dict[str, int]


class _Ledger(msgspec.Struct, frozen=True):
    read: dict[str, str]
    written: dict[str, str]
    open_errors: dict[str, Failure]
    failures: list[Failure]
    retried: list[str]
    stale: list[str]
    decisions: list[Note]
    plan: Note | None


class _State(msgspec.Struct, frozen=True, kw_only=True):
    length: int
    message_count: int
    context: dict[str, Any]
    begun: FramingSet | None
    recent: list[ToolCall]
    plain: dict[str, Any]
    pins: list[str]
    lost_errors: list[str]
    sent: Sent | None
    usage: Usage | None
    calibration: int
    summary: SummaryRecorded | None
    reflections: tuple[ReflectionRecorded, ...]
    model: str | None
    mender: _Mender
    ledger: _Ledger
    step: int
    uses: dict[str, tuple[float, int]]
    frontier: int
    staying: list[int]
    places: dict[str, list[tuple[int, int]]]


# What is in a checkpoint is part of its name, so that nobody needs to remember that it changed.
_SHAPE: Final = zlib.crc32(
    repr((_PLAIN, _CONTEXT, [one.__struct_fields__ for one in (_State, _Mender, _Ledger, Item)])).encode()
)
_decoder = msgspec.msgpack.Decoder(_State)


def checkpoint_name(counter: TokenCounter) -> str:
    """What a checkpoint must be named to be of use: the fold it is of, and who counted its tokens."""
    return f"{FOLD_VERSION}-{_SHAPE:08x}:{counter.name}"


def checkpoint_of(context: AgentContext, timeline: Timeline) -> bytes:
    """The timeline of a snapshot, which must be the whole of its log, as bytes."""
    mender, ledger, evidence = timeline.mender, timeline.ledger, timeline.evidence
    state = _State(
        length=timeline.length,
        message_count=timeline.message_count,
        context={name: getattr(context, name) for name in _CONTEXT},
        begun=context.begun,
        recent=context.log.recent_calls(max(_RECENT, sum(map(len, mender.open.values())))),
        plain={name: getattr(timeline, name) for name in _PLAIN},
        pins=list(timeline.pins),
        lost_errors=timeline.lost_errors,
        sent=timeline.sent,
        usage=timeline.usage,
        calibration=timeline.calibration.ratio,
        summary=timeline.summary,
        reflections=timeline.reflections,
        model=timeline.model,
        mender=_Mender(mender.items, mender.sealed, mender.left_out, mender.open, mender.used),
        ledger=_Ledger(
            ledger.read, ledger.written, ledger.open_errors, ledger.failures,
            list(ledger.retried), list(ledger.stale), ledger.decisions, ledger.plan,
        ),
        step=timeline.working.step,
        uses=timeline.working.uses,
        frontier=evidence.frontier,
        staying=sorted(evidence.staying),
        places=evidence.places_of,
    )  # fmt: skip
    return msgspec.msgpack.encode(state)


def resumed(data: bytes, archive: Archive, counter: TokenCounter) -> AgentContext:
    """The snapshot that a checkpoint was made of; the log before it stays in the archive."""
    try:
        state = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LogError(f"cannot read a checkpoint: {error}") from error
    log = Log(archive=archive, base=state.length, message_base=state.message_count, calls=state.recent)
    timeline = Timeline(counter, log)
    _fill(timeline, state)
    log.memo["timeline", counter.name] = timeline
    fields: dict[str, Any] = {**state.context, "tools": tuple(state.context["tools"])}
    return AgentContext(log=log, length=state.length, message_count=state.message_count, begun=state.begun, **fields)


def _fill(timeline: Timeline, state: _State) -> None:
    timeline.length, timeline.message_count = state.length, state.message_count
    for name in _PLAIN:
        setattr(timeline, name, state.plain[name])
    timeline.recalled = tuple(timeline.recalled)
    timeline.pins = dict.fromkeys(state.pins)
    timeline.lost_errors = state.lost_errors
    timeline.sent, timeline.usage, timeline.summary = state.sent, state.usage, state.summary
    timeline.reflections = state.reflections
    timeline.calibration = Calibration(ratio=state.calibration)
    timeline.model = state.model
    mender = timeline.mender
    mender.items = state.mender.items
    mender.tokens = sum(item.tokens for item in mender.items)
    mender.sealed, mender.left_out = state.mender.sealed, state.mender.left_out
    mender.open, mender.used = state.mender.open, state.mender.used
    for name in ("read", "written", "open_errors", "failures", "decisions", "plan"):
        setattr(timeline.ledger, name, getattr(state.ledger, name))
    timeline.ledger.retried = dict.fromkeys(state.ledger.retried)
    timeline.ledger.stale = dict.fromkeys(state.ledger.stale)
    timeline.working.step, timeline.working.uses = state.step, state.uses
    timeline.evidence.frontier, timeline.evidence.staying = state.frontier, frozenset(state.staying)
    timeline.evidence.places_of = state.places
