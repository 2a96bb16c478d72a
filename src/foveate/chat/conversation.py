"""A conversation: a person says something, the model answers, with as many tool calls as it needs in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from foveate.agents.driver import Driver, DriverError, OnText, Reply, WindowError
from foveate.agents.toolset import Answer, Toolset, answered, open_calls
from foveate.chat.endless import Endless
from foveate.compiler.compiled import CompiledContext
from foveate.errors import BudgetError, ConfigError, StoreError
from foveate.log.events import DiagnosticRecorded, Event
from foveate.log.messages import ToolCall
from foveate.recall.tool import RECALL_TOOL
from foveate.session import Session

RECALL: Final[str] = RECALL_TOOL["function"]["name"]
# A request that a provider found too long is sent again with these shares of its size.
_SHORTER: Final = (0.7, 0.45)
# Said of a compile's own economy, and of interest to nobody who chats.
_QUIET: Final = frozenset({"reduction_declined"})


def _to_nobody(*_told: object) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Who is told what happens while a model answers."""

    on_text: OnText = _to_nobody
    on_call: Callable[[ToolCall], None] = _to_nobody
    on_answer: Callable[[ToolCall, Answer], None] = _to_nobody
    on_diagnostic: Callable[[DiagnosticRecorded], None] = _to_nobody


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
        session: what was said; it has a budget.
        driver: the model.
        system: what the model is told to be; a template may add to it, call by call.
        tools: what the model may do.
        endless: compiles the view of each call by a template; without, the history is sent, reduced to its budget.
        clock: the time of each event.
        steps: the most requests for one input.

    """

    def __init__(
        self,
        session: Session,
        driver: Driver,
        *,
        system: str = "",
        tools: Sequence[Toolset] = (),
        endless: Endless | None = None,
        clock: Callable[[], float | None] = lambda: None,
        steps: int = 20,
    ) -> None:
        self.session = session
        self.driver = driver
        self.system = system
        self.tools = tuple(tools)
        self.endless = endless
        self.clock = clock
        self.steps = steps
        # The most tokens of a request since the provider refused more, if it did.
        self._most: int | None = None

    async def say(self, text: str, listening: Listening | None = None) -> Turn:
        """Say something and wait for the answer; if it fails, what was said stays in the log. Raises `DriverError`."""
        if not text.strip():
            raise ConfigError("there is nothing to say: `text` is empty; write something")
        return await self._turn(text, listening or Listening())

    async def go_on(self, listening: Listening | None = None) -> Turn:
        """Wait for the answer to what was said last: after a failure, or a process that was killed."""
        last = self.session.messages[-1] if self.session.messages else None
        if last is None or (last.role == "assistant" and not last.calls):
            raise ConfigError("there is nothing to answer; say something first")
        return await self._turn(None, listening or Listening())

    async def _turn(self, said: str | None, heard: Listening) -> Turn:
        noted: list[DiagnosticRecorded] = []

        def tell(body: DiagnosticRecorded) -> None:
            noted.append(body)
            heard.on_diagnostic(body)

        stop = self.listen(tell)
        calls: list[int] = []
        try:
            if said is not None:
                self.session.append({"role": "user", "content": said}, time=self.clock(), hold=True)
            await self._settle(heard)
            for _ in range(self.steps):
                reply, view = await self._asked(heard)
                calls.append(view.number)
                answered = self.session.append(reply.message, time=self.clock(), hold=True)
                if reply.input_tokens:
                    # It only corrects counts; that the store fails is said with what it refused.
                    with suppress(StoreError):
                        self.session.report_usage(reply.input_tokens, reply.cached_tokens, call=view.number)
                if not await self._settle(heard):
                    text = self.session.messages[-1].text
                    return Turn(text=text, message_id=answered, calls=tuple(calls), diagnostics=tuple(noted))
        finally:
            stop()
        raise DriverError(
            f"{self.driver.name} called tools {self.steps} times without an answer; say something, or raise `steps`"
        )

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
        self._frame()
        if self.endless is not None:
            return await self.endless.compile(now=self.clock())
        return self.session.compile(now=self.clock())

    def preview(self) -> CompiledContext:
        """The request that would be sent now, with no call recorded and no model asked."""
        self._frame()
        if self.endless is not None:
            return self.endless.preview(now=self.clock())
        return self.session.preview(now=self.clock())

    async def _asked(self, heard: Listening) -> tuple[Reply, CompiledContext]:
        view = await self.compiled()
        refused = view.tokens
        for share in _SHORTER:
            try:
                return await self.driver.generate(view.request, None, on_text=heard.on_text), view
            except WindowError as error:
                if view.budget is None:
                    raise
                number, view = view.number, await self._shorter(int(refused * share), error)
                text = f"{error}; sent again, with {view.tokens:,} tokens instead of {refused:,}"
                noted = DiagnosticRecorded(code="window_exceeded", phase="send", text=text, subject=str(number))
                self.session.note(noted, time=self.clock())
        return await self.driver.generate(view.request, None, on_text=heard.on_text), view

    async def _shorter(self, most: int, error: WindowError) -> CompiledContext:
        """The request with at most so many tokens, as all that follow; the error, if it cannot be as short as that."""
        before = self._most
        self._most = max(1, most)
        self.session.narrow(self._most)
        try:
            return await self.compiled()
        except BudgetError:
            # What must be sent is too long for this provider; what is said next may be shorter.
            self._most = before
            self.session.narrow(before)
            raise error from None

    def _frame(self) -> None:
        """Give the session its system prompt and tools; framing that is the same is not written again."""
        system = self.system or None
        definitions = list(self._definitions())
        context = self.session.context
        if context.system != system or list(context.tools) != definitions:
            self.session.reframe(system=system, tools=definitions, hold=True)

    def _definitions(self) -> Iterator[dict[str, Any]]:
        for tools in self.tools:
            yield from tools.definitions
        if self.tools:
            yield RECALL_TOOL

    async def _settle(self, heard: Listening) -> bool:
        """Answer the calls of the newest message that nobody has answered yet; whether there were any."""
        pending = open_calls(self.session.messages)
        for call in pending:
            heard.on_call(call)
            answer = await self._answer(call)
            result = {"role": "tool", "tool_call_id": call.id, "content": answer.text}
            self.session.append(result, time=self.clock(), hold=True)
            heard.on_answer(call, answer)
        return bool(pending)

    async def _answer(self, call: ToolCall) -> Answer:
        if call.name == RECALL and self.tools:
            return Answer(text=self.session.answer_recall(call.arguments))
        return await answered(call, self.tools, [one["function"]["name"] for one in self._definitions()])
