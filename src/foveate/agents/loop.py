"""The loop: compile, ask the model, carry out what it calls, until nothing is left to answer.

Chats, agents and the steps of workflows run this one loop. What differs between them are arguments: how a request is
compiled, which tools there are, and what ends the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from foveate.agents.driver import LONGEST_PAUSE, Driver, OnText, PassingError, Reply, Schema, WindowError
from foveate.agents.toolset import Answer, Toolset, answer_call, open_calls
from foveate.compile.compiled import CompiledContext
from foveate.errors import BudgetError, ConfigError, StoreError
from foveate.log.events import DiagnosticRecorded
from foveate.log.messages import Message, ToolCall
from foveate.session import Session
from foveate.session.beside import run_beside
from foveate.wire.format import Request

Result = TypeVar("Result")
Compile = Callable[[], Awaitable[CompiledContext]]

# A request that a provider found too long is sent again with these shares of its size.
_SHORTER: Final = (0.7, 0.45)


def _ignore(*_told: object) -> None:
    """Tell nobody."""


async def _ignore_reply(_view: CompiledContext, _reply: Reply) -> None:
    """Let a reply pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often a request is sent again that failed for a passing reason, and how the pause before that is made."""

    retries: int = 2
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ConfigError(f"`retries` must be 0 or more, got {self.retries!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Callbacks for what happens while a model answers; without `on_text` the answer is not streamed."""

    on_text: OnText | None = _ignore
    on_call: Callable[[ToolCall], None] = _ignore
    on_answer: Callable[[ToolCall, Answer], None] = _ignore
    on_diagnostic: Callable[[DiagnosticRecorded], None] = _ignore


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request and its answer as the log has it; `called` if the answer called tools."""

    view: CompiledContext
    message: Message
    called: bool


class ToolLoop:
    """Asks a model and carries out its tool calls; every message is in the session before the next request.

    A store that cannot be written holds what comes meanwhile, a request that is too long for the provider is compiled
    shorter, and one that failed for a passing reason is sent again. A loop that was cancelled or killed goes on where
    the log ends: a call without a result is carried out first.

    Args:
        session: the log.
        driver: the model.
        compile: gives the request to send now, recorded as a call.
        tools: what the model may call.
        schema: the tool whose call ends the work, if there is one.
        clock: the time of each event.
        patience: for failures that pass.
        on_reply: is given each answer with its request, before it is kept.

    """

    def __init__(
        self,
        session: Session,
        driver: Driver,
        *,
        compile: Compile,
        tools: Sequence[Toolset] = (),
        schema: Schema | None = None,
        clock: Callable[[], float | None] = lambda: None,
        patience: Patience | None = None,
        on_reply: Callable[[CompiledContext, Reply], Awaitable[None]] = _ignore_reply,
    ) -> None:
        self.session = session
        self.driver = driver
        self.tools = tuple(tools)
        self._compile = compile
        self._schema = schema
        self._clock = clock
        self._patience = patience or Patience()
        self._on_reply = on_reply
        # The most tokens of a request since the provider refused more, if it did.
        self._most: int | None = None

    @property
    def definitions(self) -> Iterator[dict[str, Any]]:
        """The definitions of all tools."""
        for tools in self.tools:
            yield from tools.definitions

    def frame(self, system: str | None) -> None:
        """Give the session its system prompt and tools; framing that is the same is not written again."""
        definitions, context = list(self.definitions), self.session.context
        # It would look like a break of the cache.
        if context.system != (system or None) or list(context.tools) != definitions:
            self.session.reframe(system=system or None, tools=definitions, hold=True)

    async def run(
        self, finish: Callable[[Step | None], Awaitable[Result | None]], listening: Listening | None = None
    ) -> Result:
        """Ask and answer until `finish` gives a result; it is called before each request, with the step before it.

        `finish` may raise to end the loop without a result. Raises `DriverError` if the model cannot be asked.
        """
        listening = listening or Listening()
        await self._answer_calls(listening)
        step: Step | None = None
        while (result := await finish(step)) is None:
            step = await self._ask(listening)
        return result

    async def say(self, text: str) -> str:
        """Append a message of the user, held if the store cannot be written; returns its id."""
        return await self._append({"role": "user", "content": text}, "openai")

    async def _append(self, message: object, format: str | None = None) -> str:
        # What was made here need not be recognized.
        return await run_beside(self.session.append, message, format=format, time=self._clock(), hold=True)

    async def _ask(self, listening: Listening) -> Step:
        reply, view = await self._send(listening.on_text)
        await self._on_reply(view, reply)
        # It is paid for: a store that cannot be written at this moment must not cost it.
        message = await run_beside(_message, self.session, await self._append(reply.message))
        await run_beside(report_reply, self.session, reply, view.number)
        return Step(view=view, message=message, called=await self._answer_calls(listening))

    async def _answer_calls(self, listening: Listening) -> bool:
        """Answer the calls of the newest message that nobody has answered yet; whether there were any."""
        pending = await run_beside(open_calls, self.session.messages)
        for call in pending:
            listening.on_call(call)
            answer = await answer_call(call, self.tools)
            await self._append({"role": "tool", "tool_call_id": call.id, "content": answer.text}, "openai")
            listening.on_answer(call, answer)
        return bool(pending)

    # --- sending ------------------------------------------------------------------------------------------------------

    async def _send(self, on_text: OnText | None) -> tuple[Reply, CompiledContext]:
        """The reply and the view that it answers; a request that is refused as too long is compiled anew, shorter."""
        view = await self._compile()
        refused = view.tokens
        for share in _SHORTER:
            try:
                return await self._sent(view, on_text), view
            except WindowError as error:
                if view.budget is None:
                    raise
                # Shorter than the one just refused, which may have been far below what it was allowed.
                most = int(min(refused * share, view.tokens * _SHORTER[0]))
                number, view = view.number, await self._compile_shorter(most, error)
                text = f"{error}; sent again, with {view.tokens:,} tokens instead of {refused:,}"
                await self._note("window_exceeded", text, number)
        return await self._sent(view, on_text), view

    async def _sent(self, view: CompiledContext, on_text: OnText | None) -> Reply:
        async def tell(error: PassingError, pause: float) -> None:
            await self._note("request_failed", f"{error}; sent again after {pause:g} s", view.number)

        return await ask(self.driver, view.request, self._schema, self._patience, on_text=on_text, on_failure=tell)

    async def _compile_shorter(self, most: int, error: WindowError) -> CompiledContext:
        """The request with at most so many tokens, as all that follow; the error, if it cannot be as short as that."""
        before = self._most
        self._most = max(1, most)
        await run_beside(self.session.narrow, self._most)
        try:
            return await self._compile()
        except BudgetError:
            # What must be sent is too long for this provider; what is said next may be shorter.
            self._most = before
            await run_beside(self.session.narrow, before)
            raise error from None

    async def _note(self, code: str, text: str, call: int) -> None:
        noted = DiagnosticRecorded(code=code, phase="send", text=text, subject=str(call))
        await run_beside(self.session.note, noted, time=self._clock())


async def _ignore_failure(_error: PassingError, _pause: float) -> None:
    """Let a failure pass."""


async def ask(
    driver: Driver,
    request: Request,
    schema: Schema | None = None,
    patience: Patience | None = None,
    *,
    on_text: OnText | None = None,
    on_failure: Callable[[PassingError, float], Awaitable[None]] = _ignore_failure,
) -> Reply:
    """Send a request, and again if it failed for a passing reason; `on_failure` gets the error and the pause
    before each of them.

    A streamed answer that breaks off begins again at its beginning. Raises `DriverError`.
    """
    patience = patience or Patience()
    for attempt in range(patience.retries):
        try:
            return await driver.generate(request, schema, on_text=on_text)
        except PassingError as error:
            failed, pause = error, max(2.0**attempt, error.pause)
            if pause > LONGEST_PAUSE:
                raise
        await on_failure(failed, pause)
        await patience.sleep(pause)
    try:
        return await driver.generate(request, schema, on_text=on_text)
    except PassingError as error:
        if not patience.retries:
            raise
        raise PassingError(f"asked {patience.retries + 1} times, {error}", pause=error.pause) from error


def report_reply(session: Session, reply: Reply, call: int) -> None:
    """Report what the provider counted for a call; it only corrects counts, so no failure of it costs the answer."""
    if reply.usage is None and not reply.input_tokens:
        return
    try:
        if reply.usage is not None:
            session.report_usage(reply.usage, call=call)
        else:
            session.report_usage(reply.input_tokens, reply.cached_tokens, call=call)
    except ConfigError as error:
        session.note(DiagnosticRecorded(code="usage_unknown", phase="usage", text=f"{error}", subject=str(call)))
    except StoreError:
        # Said with what the store refused before.
        return


def _message(session: Session, message_id: str) -> Message:
    return next(message for message in reversed(session.messages) if message.id == message_id)
