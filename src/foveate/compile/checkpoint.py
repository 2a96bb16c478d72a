"""Checkpoints: the state of a projector as bytes, so that a long log need not be folded from its first event.

A checkpoint is a cache: a log without one gives the same projections, only later. Nothing in it grows with the log, but
for what stands in the request itself.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import msgspec

from foveate.budget.calibrate import Calibration, Sample
from foveate.budget.tokens import TokenCounter
from foveate.compile.evidence import EvidenceIndex
from foveate.compile.facts.errors import ErrorsState
from foveate.compile.ledger import Failure, Ledger, LedgerBuilder, Note
from foveate.compile.projection import Selection, Sent, Usage
from foveate.compile.sharing import Shared
from foveate.compile.timeline import Projector, Timeline
from foveate.compile.working_set import WorkingSet, WorkingSetBuilder
from foveate.errors import LogError
from foveate.log.context import AgentContext, Archive, Log
from foveate.log.events import FramingSet, ReflectionRecorded, SummaryRecorded
from foveate.log.items import Item
from foveate.log.messages import Message, ToolCall

# Of the fold: raised when the same events give another timeline, so that older checkpoints are left aside.
FOLD_VERSION: Final = 9
_PLAIN: Final = (
    "logged", "named", "calls", "reductions", "sent_messages", "sealed_messages", "shared", "shared_tokens",
    "declined", "growth", "looked_up", "input_count", "kept", "model_switched", "reframed", "recalled", "leading",
    "newest_input", "newest_input_tokens", "first_input", "inputs", "stray_pins",
)  # fmt: skip
_CONTEXT: Final = ("session", "system", "forms", "tools", "response_format", "model", "turn", "step", "execution_id")
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
    errors: ErrorsState
    failures: tuple[Failure, ...]
    retried: list[str]
    stale: list[str]
    decisions: tuple[Note, ...]
    plan: Note | None


class _State(msgspec.Struct, frozen=True, kw_only=True):
    length: int
    message_count: int
    context: dict[str, Any]
    begun: FramingSet | None
    recent: list[ToolCall]
    plain: dict[str, Any]
    pins: list[str]
    asked: dict[str, int]
    rewritten: dict[int, Message]
    lost_errors: tuple[str, ...]
    selection: Selection | None
    sent: Sent | None
    counted: dict[int, int]
    usage: Usage | None
    calibration: tuple[Sample, ...]
    summary: SummaryRecorded | None
    reflections: tuple[ReflectionRecorded, ...]
    model: str | None
    mender: _Mender
    ledger: _Ledger
    step: int
    uses: dict[str, tuple[float, int]]
    frontier: int
    staying: list[int]
    places: dict[str, tuple[tuple[int, int], ...]]


# What is in a checkpoint is part of its name, so that nobody needs to remember that it changed.
_SHAPE: Final = zlib.crc32(
    repr((_PLAIN, _CONTEXT, [one.__struct_fields__ for one in (_State, _Mender, _Ledger, Item)])).encode()
)
_decoder = msgspec.msgpack.Decoder(_State)


def checkpoint_name(counter: TokenCounter) -> str:
    """What a checkpoint must be named to be of use: the fold it is of, and who counted its tokens."""
    return f"{FOLD_VERSION}-{_SHAPE:08x}:{counter.name}"


def checkpoint_of(context: AgentContext, projector: Projector) -> bytes:
    """The projector of a snapshot, which must be the whole of its log, as bytes."""
    timeline = projector.timeline(context)
    mender, ledger, working = timeline.mender, timeline.ledger.ledger(), timeline.working.working_set()
    evidence = timeline.evidence
    state = _State(
        length=timeline.length,
        message_count=timeline.message_count,
        context={**{name: getattr(context, name) for name in _CONTEXT}, "forms": dict(context.forms)},
        begun=context.begun,
        recent=context.log.recent_calls(max(_RECENT, sum(map(len, mender.open.values())))),
        plain={name: getattr(timeline, name) for name in _PLAIN},
        pins=list(timeline.pins.current),
        asked=timeline.asked.current,
        rewritten=timeline.rewritten.current,
        lost_errors=timeline.lost_errors,
        selection=timeline.selection,
        sent=timeline.sent,
        counted=timeline.counted.current,
        usage=timeline.usage,
        calibration=timeline.calibration.samples,
        summary=timeline.summary,
        reflections=timeline.reflections,
        model=timeline.model,
        mender=_Mender(mender.items, mender.sealed, dict(mender.left_out), mender.open, mender.used),
        ledger=_Ledger(
            dict(ledger.read), dict(ledger.written), timeline.ledger.errors(), ledger.failures,
            list(ledger.retried), list(ledger.stale), ledger.decisions, ledger.plan,
        ),
        step=working.step,
        uses=dict(working.uses),
        frontier=evidence.frontier,
        staying=sorted(evidence.staying),
        places=dict(evidence.places_of),
    )  # fmt: skip
    return msgspec.msgpack.encode(state)


def resumed(data: bytes, archive: Archive, counter: TokenCounter) -> tuple[AgentContext, Projector]:
    """The snapshot that a checkpoint was made of, and its projector; the log before it stays in the archive."""
    try:
        state = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LogError(f"cannot read a checkpoint: {error}") from error
    log = Log(archive=archive, base=state.length, message_base=state.message_count, calls=state.recent)
    timeline = Timeline(counter, log)
    _fill(timeline, state)
    fields: dict[str, Any] = {**state.context, "tools": tuple(state.context["tools"])}
    context = AgentContext(log=log, length=state.length, message_count=state.message_count, begun=state.begun, **fields)
    return context, Projector(counter, timeline)


def _fill(timeline: Timeline, state: _State) -> None:
    timeline.length, timeline.message_count = state.length, state.message_count
    for name in _PLAIN:
        setattr(timeline, name, state.plain[name])
    timeline.recalled, timeline.inputs = tuple(timeline.recalled), tuple(timeline.inputs)
    timeline.stray_pins = tuple(timeline.stray_pins)
    timeline.pins = Shared(dict.fromkeys(state.pins))
    timeline.lost_errors, timeline.selection = state.lost_errors, state.selection
    timeline.asked, timeline.rewritten = Shared(state.asked), Shared(state.rewritten)
    timeline.sent, timeline.usage, timeline.summary = state.sent, state.usage, state.summary
    timeline.counted = Shared(state.counted)
    timeline.reflections = state.reflections
    timeline.calibration = Calibration(samples=state.calibration)
    timeline.model = state.model
    mender, ledger = state.mender, state.ledger
    timeline.mender.resume(mender.items, mender.sealed, left_out=mender.left_out, open=mender.open, used=mender.used)
    timeline.ledger = LedgerBuilder(
        Ledger(
            read=ledger.read,
            written=ledger.written,
            failures=ledger.failures,
            retried=dict.fromkeys(ledger.retried),
            stale=dict.fromkeys(ledger.stale),
            decisions=ledger.decisions,
            plan=ledger.plan,
        ),
        ledger.errors,
    )
    timeline.working = WorkingSetBuilder(WorkingSet(state.step, state.uses))
    timeline.evidence = EvidenceIndex(frontier=state.frontier, staying=frozenset(state.staying), places_of=state.places)
