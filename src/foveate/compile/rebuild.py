"""Rebuilding: a past call from the events recorded for it, without deciding or judging anything again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compile.compiled import CompiledContext, Made, sent_before
from foveate.compile.framing import Framing, framing_around, framing_of
from foveate.compile.projection import Projection, with_recalled
from foveate.compile.reduction import Reduced
from foveate.compile.timeline import Projector, rearranged
from foveate.compile.triggers import Decision
from foveate.errors import ConfigError, LogError, UnknownReferenceError
from foveate.log.context import AgentContext
from foveate.log.events import (
    ON_REQUEST,
    Body,
    CallRecorded,
    DiagnosticRecorded,
    Event,
    ExecutionStarted,
    FramingSet,
    MessageAppended,
    RecallRecorded,
    ReductionRecorded,
)
from foveate.log.state import AgentState


def rebuilt_call(context: AgentContext, number: int, counter: TokenCounter) -> CompiledContext:
    """Call `number` of a log: the fold of everything up to it, reductions included, checked against its hash."""
    for event in context.log.events(0, context.length):
        if isinstance(event.body, CallRecorded) and event.body.number == number:
            past = AgentContext.from_events(context.log.events(0, event.seq))
            return rebuilt(past, event.body, Projector(counter))
    raise UnknownReferenceError(f"no call {number} in this log")


def rebuilt_calls(
    events: Iterable[Event], counter: TokenCounter
) -> Iterator[tuple[CallRecorded, CompiledContext | LogError]]:
    """Every call of a log in order, each rebuilt in one pass over its events, or what is wrong with it."""
    past, projector = AgentContext(), Projector(counter)
    for event in events:
        is_call = isinstance(event.body, CallRecorded)
        view: CompiledContext | None = None
        if isinstance(event.body, CallRecorded):
            try:
                view = rebuilt(past, event.body, projector)
                yield event.body, view
            except LogError as error:
                yield event.body, error
        past = past.with_recorded([event])
        if is_call:
            projector.projection(past, view.prefix if view is not None else None)


def rebuilt(past: AgentContext, body: CallRecorded, projector: Projector) -> CompiledContext:
    """A recorded call from the snapshot of everything before it."""
    found = _proposed_for(body, past)
    context = replace(past, length=past.length - len(found))
    recalled = tuple(one for one in found if isinstance(one, RecallRecorded))
    projection = projector.projection(context)
    state = AgentState(
        context=context,
        now=body.now,
        sections=body.sections,
        recalled=recalled,
        override=body.override,
        projection=projection,
    )
    before = with_recalled(projection.mender.projected, recalled) if body.override is None else ()
    proposed = tuple(one for one in found if not _is_of_recall(one))
    items = before
    if any(isinstance(one, ReductionRecorded) for one in proposed) and body.override is None:
        # The fold alone gives the items that a reduction made.
        items = projector.projection(past).mender.projected
    requested = before
    if body.override is None:
        # Known only where nothing more was done to them: one event tells of all that one compile did.
        for one in proposed:
            if isinstance(one, ReductionRecorded) and one.trigger in ON_REQUEST:
                requested = tuple(rearranged(list(requested), one))
    budget, cache = _options_of(body)
    view = CompiledContext.of(
        state,
        projection,
        Made(
            strategy=body.strategy,
            framing=_framing_of(state, body, projector.counter, projection),
            before=before,
            requested=requested,
            reduced=Reduced(items, body.stages, proposed),
            budget=budget,
            decision=_decision_of(body, past),
            cache=cache,
            known=sent_before(items, projection) if body.override is None else None,
            wire=body.wire,
        ),
        is_verified=False,
    )
    if view.payload_sha256 != body.payload_sha256:
        raise LogError(
            f"call {body.number} was recorded with payload {body.payload_sha256} but its events give "
            f"{view.payload_sha256}; the log was changed, or written by an incompatible version"
        )
    if body.marks and not 0 <= min(body.marks) <= max(body.marks) < len(view.messages):
        raise LogError(f"call {body.number} was recorded with cache marks behind messages that it does not have")
    return replace(view, number=body.number, tokens=body.tokens, predicted_cached=body.predicted_cached, record=body)


def _framing_of(state: AgentState, body: CallRecorded, counter: TokenCounter, projection: Projection) -> Framing:
    if body.override is not None and body.framing is not None:
        return framing_around(body.override, body.framing, counter)
    return framing_of(state, counter, projection.prefix)


def _is_of_recall(body: Body) -> bool:
    return isinstance(body, RecallRecorded) or (isinstance(body, DiagnosticRecorded) and body.phase == "recall")


def _proposed_for(body: CallRecorded, past: AgentContext) -> list[Body]:
    """What was looked up for a call and what its compile proposed: it stands right before its record."""
    if not 0 <= body.proposed <= past.length:
        raise LogError(f"call {body.number} was recorded behind {body.proposed} events of its own, which are not there")
    found = [event.body for event in past.log.events(past.length - body.proposed, past.length)]
    # What a compiler of somebody's own proposed to say was said before the request was sent.
    return [] if any(isinstance(one, MessageAppended | FramingSet | ExecutionStarted) for one in found) else found


def _options_of(body: CallRecorded) -> tuple[TokenBudget | None, CacheRules]:
    """The budget and the cache rules that a call was compiled with."""
    try:
        cache = CacheRules(**msgspec.structs.asdict(body.cache)) if body.cache is not None else DEFAULT_RULES
        return _budget_of(body), cache
    except ConfigError as error:
        raise LogError(f"call {body.number} was recorded with options that no call has: {error}") from error


def _budget_of(body: CallRecorded) -> TokenBudget | None:
    """The budget that a call was recorded with; what 0.1 counted for it is not known, but what it sent."""
    if body.budget is None:
        return None
    return TokenBudget(
        window=body.budget + body.reserved,
        used=body.tokens if body.used is None else body.used,
        reserved_output=body.reserved - body.reserved_system,
        reserved_system=body.reserved_system,
        soft_threshold=body.soft_threshold,
        minimum_headroom=body.minimum_headroom,
    )


def _decision_of(body: CallRecorded, past: AgentContext) -> Decision | None:
    """Why something was reduced at a call; of one of 0.1, the reason that stands in the event of the reduction."""
    if body.cache is not None:
        return Decision(body.trigger, body.reason or "") if body.trigger is not None else None
    for place in range(past.length - 1, -1, -1):
        before = past.log.event(place).body
        if isinstance(before, ReductionRecorded):
            return Decision(before.trigger, before.reason)
        if not isinstance(before, RecallRecorded | DiagnosticRecorded):
            break
    return None
