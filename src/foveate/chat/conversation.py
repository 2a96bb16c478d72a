"""A conversation: a person says something, the model answers, with as many tool calls as it needs in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from foveate.agents.desk import Recall
from foveate.agents.driver import Driver, DriverError
from foveate.agents.loop import Listening, Patience, Step, ToolLoop
from foveate.agents.toolset import Answer, Toolset
from foveate.chat.endless import Endless
from foveate.compile.compiled import CompiledContext
from foveate.compile.timeline import REDUCTION_DECLINED
from foveate.errors import ConfigError
from foveate.log.events import DiagnosticRecorded, Event
from foveate.log.sections import ContextSection
from foveate.session import Session
from foveate.session.beside import run_beside

# Said of a compile's own economy, and of interest to nobody who chats.
_QUIET: Final = frozenset({REDUCTION_DECLINED})
# Who asks for what was left out, as accesses name it.
_ASSISTANT: Final = "assistant"


def _to_nobody(_told: DiagnosticRecorded) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What came of one input: the answer, the calls that were sent for it, and what went wrong on the way."""

    text: str
    message_id: str | None
    calls: tuple[int, ...]
    diagnostics: tuple[DiagnosticRecorded, ...]


class Conversation:
    """One chat: its session, the model that answers, tools, and endless mode if it is on.

    Args:
        session: what was said; it has a budget. Its summarizer, if it has one, is asked after an answer.
        driver: the model.
        system: what the model is told to be; a template may add to it, call by call.
        tools: what the model may do; with any, or `RecallAlone`, it may also recall what it is not shown.
        endless: compiles the view of each call by a template; without, the history is sent, reduced to its budget.
        sections: what every request shows besides the history.
        clock: the time of each event.
        steps: the most requests for one input.
        patience: for requests that fail for a passing reason.

    """

    def __init__(
        self,
        session: Session,
        driver: Driver,
        *,
        system: str = "",
        tools: Sequence[Toolset] = (),
        endless: Endless | None = None,
        sections: tuple[ContextSection, ...] = (),
        clock: Callable[[], float | None] = lambda: None,
        steps: int = 20,
        patience: Patience | None = None,
    ) -> None:
        self.session = session
        self.system = system
        self.endless = endless
        self.sections = sections
        self.clock = clock
        self.steps = steps
        given = (*tools, Recall(_ASSISTANT, session, clock=clock)) if tools else ()
        self._loop = ToolLoop(session, driver, compile=self.compiled, tools=given, clock=clock, patience=patience)

    async def say(self, text: str, listening: Listening | None = None) -> Turn:
        """Say something and wait for the answer; if it fails, what was said stays in the log. Raises `DriverError`."""
        if not text.strip():
            raise ConfigError("there is nothing to say: `text` is empty; write something")
        return await self._turn(text, listening or Listening())

    async def go_on(self, listening: Listening | None = None) -> Turn:
        """Wait for the answer to what was said last: after a failure, or a process that was killed."""
        messages = self.session.messages
        last = await run_beside(messages.__getitem__, -1) if messages else None
        if last is None or (last.role == "assistant" and not last.calls):
            raise ConfigError("there is nothing to answer; say something first")
        return await self._turn(None, listening or Listening())

    async def _turn(self, said: str | None, heard: Listening) -> Turn:
        noted: list[DiagnosticRecorded] = []

        def tell(body: DiagnosticRecorded) -> None:
            noted.append(body)
            heard.on_diagnostic(body)

        calls: list[int] = []

        async def finish(step: Step | None) -> Turn | None:
            if step is not None:
                calls.append(step.view.number)
                if not step.called:
                    last = step.message
                    return Turn(text=last.text, message_id=last.id, calls=tuple(calls), diagnostics=())
            if len(calls) == self.steps:
                raise DriverError(
                    f"{self._loop.driver.name} called tools {self.steps} times without an answer; say something, or "
                    "raise `steps`"
                )
            return None

        stop = self.listen(tell)
        try:
            if said is not None:
                await self._loop.say(said)
            turn = await self._loop.run(finish, heard)
            if self.endless is None and self.session.summarizer is not None:
                # The next request would have to wait for the summary.
                await self.session.end_turn(now=self.clock())
            return replace(turn, diagnostics=tuple(noted))
        finally:
            stop()

    def listen(self, tell: Callable[[DiagnosticRecorded], None]) -> Callable[[], None]:
        """Have somebody told what goes wrong, also what the log has said before; returns what ends it."""

        def note(event: Event) -> None:
            if isinstance(event.body, DiagnosticRecorded) and event.body.code not in _QUIET:
                tell(event.body)

        endless, stop = self.endless, self.session.subscribe(note)

        def end() -> None:
            stop()
            if endless is not None:
                endless.tell = _to_nobody

        if endless is not None:
            endless.tell = tell
        return end

    async def compiled(self) -> CompiledContext:
        """The request to send now, recorded as a call."""
        await run_beside(self._loop.frame, self.system)
        if self.endless is not None:
            return await self.endless.compile(now=self.clock())
        return await self.session.acompile(now=self.clock(), sections=self.sections)

    def preview(self) -> CompiledContext:
        """The request that would be sent now, with no call recorded and no model asked."""
        self._loop.frame(self.system)
        if self.endless is not None:
            return self.endless.preview(now=self.clock())
        return self.session.preview(now=self.clock(), sections=self.sections)


class RecallAlone:
    """No tools besides `recall`, which a conversation adds to whatever tools there are."""

    definitions: tuple[dict[str, Any], ...] = ()

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        """Say that there is no such tool."""
        return Answer(text=f"error: there is no tool {name!r}; `recall` is the only one", outcome="error")
