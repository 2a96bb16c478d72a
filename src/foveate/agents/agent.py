"""The agent: compile, ask, do what the answer says, until it is finished."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec

from foveate.agents.desk import Desk
from foveate.agents.driver import Driver, OnText, Reply, Schema, alias_of
from foveate.agents.loop import Listening, Patience, Step, ToolLoop
from foveate.agents.strategy import ContextStrategy
from foveate.agents.toolset import Answer, Toolset, arguments_of
from foveate.compile.compiled import CompiledContext
from foveate.errors import FoveateError
from foveate.log.events import DiagnosticRecorded, Event, Tagged
from foveate.log.messages import ToolCall
from foveate.log.state import AgentState
from foveate.session import Session
from foveate.session.beside import run_beside
from foveate.session.observing import COMPILING_AGENT

Result = TypeVar("Result", bound=msgspec.Struct)

FINISH: Final = "finish"
_ACCEPTED: Final = "accepted"
# How often in a row a model may answer without a call before it is given up.
_IDLE: Final = 3


class AgentError(FoveateError):
    """An agent did not come to a result; its session has all that it did."""


async def _tell_nobody(_view: CompiledContext, _reply: Reply) -> None:
    """Let an answer pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What agents work with: the model, and how long they may go on.

    `clock` gives the time of each call, for caches that expire; `on_text` and `on_call` are told what happens, and
    `on_diagnostic` what went wrong, such as a request that was too long and was sent again, shorter.
    `before_call` may raise to stop the work between two requests; `on_reply` is given each answer with its request,
    before it is kept. `patience` is for requests that fail for a passing reason.
    """

    driver: Driver
    most_steps: int = 40
    clock: Callable[[], float | None] = lambda: None
    on_text: OnText | None = None
    on_call: Callable[[str, ToolCall], None] = lambda _agent, _call: None
    on_answer: Callable[[str, ToolCall, Answer], None] = lambda _agent, _call, _answer: None
    on_diagnostic: Callable[[str, DiagnosticRecorded], None] = lambda _agent, _diagnostic: None
    before_call: Callable[[], None] = lambda: None
    on_reply: Callable[[CompiledContext, Reply], Awaitable[None]] = _tell_nobody
    patience: Patience = field(default_factory=Patience)


class Agent(Generic[Result]):
    """Works in a session of its own, sees what its strategy shows, and ends with a result of a known form.

    All that it knows of its progress is in the session: after a kill it goes on where the log ends.
    """

    context_strategy: ClassVar[Callable[..., ContextStrategy]]
    name: ClassVar[str]
    result: ClassVar[type[msgspec.Struct]]

    def __init__(self, means: Means, tools: Sequence[Toolset] = (), *, persona: str | None = None) -> None:
        self.means = means
        self.tools = tuple(tools)
        self.persona = persona
        self.strategy = self.make_strategy()

    def make_strategy(self) -> ContextStrategy:
        """The strategy; an agent that has a persona gives it to its own."""
        return self.context_strategy()

    def problem(self, result: Result) -> str | None:
        """What is wrong with a result of the right form; the model is told and may correct it."""
        return None

    @property
    def label(self) -> str:
        """The agent's name, with its persona if it has one."""
        return f"{self.name} ({self.persona})" if self.persona else self.name

    def frame(self, session: Session, state: AgentState | None = None) -> ToolLoop:
        """Give a session the agent's system prompt and tools; returns the loop in which the agent works there."""
        means = self.means
        state = state or AgentState()
        desk = Desk(self.label, session, tuple(state.outcomes), clock=means.clock)
        loop = ToolLoop(
            session,
            means.driver,
            compile=lambda: self._compile(state, session),
            tools=(*self.tools, desk, _Finish(self)),
            schema=Schema(name=FINISH, definition=schema_of(self.result)),
            clock=means.clock,
            patience=means.patience,
            on_reply=means.on_reply,
        )
        self._tag(session)
        loop.frame(self.strategy.system_prompt)
        return loop

    def _tag(self, session: Session) -> None:
        """Say in the log who works here, by what strategy and with which model, unless it says so already."""
        driver = self.means.driver
        alias = alias_of(driver)
        wanted = {
            "agent": self.label,
            "strategy": type(self.strategy).__name__,
            "model": driver.name,
            "model_alias": alias if alias != driver.name else "",
        }
        known: dict[str, str] = {}
        for event in session.events:
            if isinstance(event.body, Tagged) and event.body.call is None:
                known |= event.body.tags
        new = {name: value for name, value in wanted.items() if known.get(name, "") != value}
        if new:
            session.note(Tagged(tags=new), time=self.means.clock())

    async def run(self, state: AgentState, session: Session) -> Result:
        """Work until the result is there; raises `AgentError` or `DriverError`."""
        loop = await run_beside(self.frame, session, state)

        async def finish(_step: Step | None) -> Result | None:
            done = await run_beside(self._finished, session)
            if done is None:
                self.means.before_call()
                await run_beside(self._check_steps, session)
            return done

        listening = Listening(
            on_text=self.means.on_text,
            on_call=partial(self.means.on_call, self.label),
            on_answer=partial(self.means.on_answer, self.label),
        )
        stop = session.subscribe(self._tell)
        try:
            return await loop.run(finish, listening)
        finally:
            stop()

    def _tell(self, event: Event) -> None:
        if isinstance(event.body, DiagnosticRecorded):
            self.means.on_diagnostic(self.label, event.body)

    def seen(self, state: AgentState) -> dict[str, Any]:
        """What strategy and state give to a compile of the agent's session."""
        override = self.strategy.override(state)
        if override is not None:
            return {"override": override}
        return {"sections": self.strategy.checked(state)}

    def _check_steps(self, session: Session) -> None:
        """Let the model take its next step, if there is one left."""
        most, asked = self.means.most_steps, _asked(session)
        if asked >= most:
            raise AgentError(
                f"{self.name} did not call `{FINISH}` in {most} steps; see `foveate show {session.id}`, "
                "or raise `--steps`"
            )
        if asked == most - 1:
            # The last chance: whoever can only finish does.
            session.reframe(tools=_Finish(self).definitions, hold=True)

    async def _compile(self, state: AgentState, session: Session) -> CompiledContext:
        named = COMPILING_AGENT.set(self.label)
        try:
            seen, now = await run_beside(self.seen, state), self.means.clock()
            # A strategy that chooses the messages itself leaves nothing to summarize.
            if "override" in seen:
                return await run_beside(session.compile, now=now, **seen)
            return await session.acompile(now=now, **seen)
        finally:
            COMPILING_AGENT.reset(named)

    def _finished(self, session: Session) -> Result | None:
        """The result, once there is one; a model that only talks is asked to go on."""
        accepted = _accepted(session)
        if accepted is not None:
            return self.parsed(arguments_of(accepted))  # type: ignore[return-value]  # ClassVars know no type variable
        last = session.messages[-1] if session.messages else None
        if last is not None and last.role == "assistant":
            if _idle(session) >= _IDLE:
                raise AgentError(f"{self.name} answered {_IDLE} times without calling a tool: {last.text[:200]!r}")
            reminder = f"Go on with the tools; when you are done, call `{FINISH}`."
            session.append({"role": "user", "content": reminder}, hold=True)
        return None

    def parsed(self, arguments: Mapping[str, Any]) -> msgspec.Struct:
        """A result from the arguments of the call that gives it; raises `msgspec.ValidationError`."""
        return msgspec.convert(arguments, self.result)


class _Finish:
    """The tool that an agent calls once, with its result."""

    def __init__(self, agent: Agent[Any]) -> None:
        self._agent = agent
        description = "Call this once, when your work is done, with its result."
        function = {"name": FINISH, "description": description, "parameters": schema_of(agent.result)}
        self.definitions: tuple[dict[str, Any], ...] = ({"type": "function", "function": function},)

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        """Whether the result is accepted, or what is wrong with it."""
        wrong = self._wrong(arguments)
        if wrong is None:
            return Answer(text=_ACCEPTED)
        return Answer(text=f"error: not accepted: {wrong}; correct it and call {FINISH} again", outcome="error")

    def _wrong(self, arguments: Mapping[str, Any]) -> str | None:
        try:
            return self._agent.problem(self._agent.parsed(arguments))
        except msgspec.ValidationError as error:
            return str(error)


def schema_of(result: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a result, self-contained."""
    _, components = msgspec.json.schema_components([result], ref_template="#/$defs/{name}")
    whole: dict[str, Any] = components.pop(result.__name__)
    return {**whole, "$defs": components} if components else whole


def _asked(session: Session) -> int:
    """How many requests the session has answers of."""
    return sum(message.role == "assistant" for message in session.messages)


def _accepted(session: Session) -> ToolCall | None:
    """The call that finished the work."""
    answers: dict[str, str] = {}
    for message in reversed(session.messages):
        if message.result is not None:
            answers[message.result.call_id] = message.result.text
        if message.role == "assistant":
            return next((c for c in message.calls if c.name == FINISH and answers.get(c.id) == _ACCEPTED), None)
    return None


def _idle(session: Session) -> int:
    """How many of the newest answers have no call."""
    count = 0
    for message in reversed(session.messages):
        if message.role == "assistant":
            if message.calls:
                break
            count += 1
    return count
