"""The twin of a session: what Foveate would have sent for each call that was passed on untouched."""

from __future__ import annotations

from dataclasses import dataclass

from foveate.budget.profiles import ModelProfile
from foveate.compile.compiled import CompiledContext
from foveate.errors import FoveateError
from foveate.log.context import AgentContext
from foveate.log.events import (
    Body,
    CallRecorded,
    ErrorResolved,
    ExecutionEnded,
    ExecutionStarted,
    FramingSet,
    MessageAppended,
    Pinned,
    ReductionRecorded,
    Unpinned,
)
from foveate.session.session import Session

_TAKEN = (MessageAppended, ExecutionStarted, ExecutionEnded, FramingSet, Pinned, Unpinned, ErrorResolved)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinCall:
    """A call as it would have been: `raw` are the tokens that were sent, None is what could not be compiled."""

    number: int
    raw: int
    tokens: int | None
    cached: int = 0
    trigger: str = ""


class Twin:
    """A session in memory that is given what another one recorded, and compiles each of its calls with a budget."""

    def __init__(self, budget: int | None, model: ModelProfile | None) -> None:
        self.session = Session(budget=budget, model=model, session_id="twin")
        self.calls: list[TwinCall] = []
        self.view: CompiledContext | None = None
        self._read = 0

    def follow(self, context: AgentContext, until: int | None = None) -> int | None:
        """Compile every call that the log has by now, or those up to number `until`; the tokens of the last."""
        waiting: list[Body] = []
        for event in context.log.events(self._read, context.length):
            self._read = event.seq + 1
            match event.body:
                case CallRecorded() as call:
                    self._compile(waiting, call)
                    waiting = []
                    if call.number == until:
                        break
                case ReductionRecorded() as reduction if not reduction.layout:
                    # The agent dropped what it had: so does its twin.
                    self.session.record(*waiting)
                    waiting = []
                    self._drop(reduction)
                case body if isinstance(body, _TAKEN):
                    waiting.append(body)
                case _:
                    pass
        if waiting:
            self.session.record(*waiting)
        return self.calls[-1].tokens if self.calls else None

    def _compile(self, bodies: list[Body], call: CallRecorded) -> None:
        self.session.record(*bodies)
        try:
            self.view = view = self.session.compile(now=call.now)
        except FoveateError:
            self.calls.append(TwinCall(number=call.number, raw=call.tokens, tokens=None))
            return
        trigger = view.decision.trigger if view.decision is not None else None
        self.calls.append(
            TwinCall(
                number=call.number,
                raw=call.tokens,
                tokens=view.tokens,
                cached=view.predicted_cached,
                trigger=trigger or "",
            )
        )

    def _drop(self, reduction: ReductionRecorded) -> None:
        items = self.session.items
        behind = next((at for at, item in enumerate(items) if item.id == reduction.behind), None)
        gone = items[0 if behind is None else behind + 1 :]
        if gone:
            self.session.record(
                ReductionRecorded(
                    number=self.session.reductions + 1,
                    trigger="asked",
                    reason=reduction.reason,
                    passes=reduction.passes,
                    layout=(),
                    last=items[-1].id,
                    before=sum(item.tokens for item in items),
                    after=sum(item.tokens for item in items) - sum(item.tokens for item in gone),
                    claims=True,
                    behind=reduction.behind if behind is not None else "",
                    dropped=dict.fromkeys(reduction.dropped, tuple(item.id for item in gone)),
                )
            )
