"""The agent: compile, ask, do what the answer says, until it is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec

from foveate.agents.desk import Desk
from foveate.agents.driver import Driver, OnText, Schema
from foveate.agents.strategy import ContextStrategy
from foveate.agents.toolset import Answer, Toolset, answered, arguments_of, open_calls
from foveate.errors import FoveateError
from foveate.log.messages import ToolCall
from foveate.log.state import AgentState
from foveate.session import Session
from foveate.work.models import TaskOutcome

Result = TypeVar("Result", bound=msgspec.Struct)

FINISH: Final = "finish"
_ACCEPTED: Final = "accepted"
# How often in a row a model may answer without a call before it is given up.
_IDLE: Final = 3


class AgentError(FoveateError):
    """An agent did not come to a result; its session has all that it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What agents work with: the model, and how long they may go on.

    `clock` gives the time of each call, for caches that expire; `on_text` and `on_call` are told what happens.
    """

    driver: Driver
    most_steps: int = 40
    clock: Callable[[], float | None] = lambda: None
    on_text: OnText | None = None
    on_call: Callable[[str, ToolCall], None] = lambda _agent, _call: None
    on_answer: Callable[[str, ToolCall, Answer], None] = lambda _agent, _call, _answer: None


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

    def frame(self, session: Session, outcomes: Sequence[TaskOutcome] = ()) -> Desk:
        """Give a session the agent's system prompt and tools; the desk answers what the agent asks for."""
        desk = Desk(self.label, session, tuple(outcomes), clock=self.means.clock)
        definitions = list(self._all(desk))
        # Framing that is the same is not written again: it would look like a break of the cache.
        if session.context.system != self.strategy.system_prompt or list(session.context.tools) != definitions:
            session.reframe(system=self.strategy.system_prompt, tools=definitions)
        return desk

    async def run(self, state: AgentState, session: Session) -> Result:
        """Work until the result is there; raises `AgentError` or `DriverError`."""
        desk = self.frame(session, state.outcomes)
        for _ in range(self.means.most_steps + 1):
            done = await self._settle(session, desk)
            if done is not None:
                return done
            if _asked(session) >= self.means.most_steps:
                break
            await self._ask(state, session)
        raise AgentError(
            f"{self.name} did not call `{FINISH}` in {self.means.most_steps} steps; see `foveate show {session.id}`, "
            "or raise `--steps`"
        )

    def seen(self, state: AgentState) -> dict[str, Any]:
        """What strategy and state give to a compile of the agent's session."""
        override = self.strategy.override(state)
        if override is not None:
            return {"override": override}
        return {"sections": self.strategy.checked(state)}

    async def _ask(self, state: AgentState, session: Session) -> None:
        if _asked(session) == self.means.most_steps - 1:
            # The last chance: whoever can only finish does.
            session.reframe(tools=[self._finish()])
        view = session.compile(now=self.means.clock(), **self.seen(state))
        schema = Schema(name=FINISH, definition=_schema(self.result))
        reply = await self.means.driver.generate(view.request, schema, on_text=self.means.on_text)
        session.append(reply.message, time=self.means.clock())
        if reply.input_tokens:
            session.report_usage(reply.input_tokens, reply.cached_tokens)

    async def _settle(self, session: Session, desk: Desk) -> Result | None:
        """Answer what the model called and nobody has answered yet; the result, once there is one."""
        for call in open_calls(session.messages):
            self.means.on_call(self.label, call)
            answer = await self._answer(call, desk)
            session.append({"role": "tool", "tool_call_id": call.id, "content": answer.text}, time=self.means.clock())
            self.means.on_answer(self.label, call, answer)
        accepted = _accepted(session)
        if accepted is not None:
            return self._parsed(arguments_of(accepted))  # type: ignore[return-value]  # ClassVars know no type variable
        last = session.messages[-1] if session.messages else None
        if last is not None and last.role == "assistant":
            if _idle(session) >= _IDLE:
                raise AgentError(f"{self.name} answered {_IDLE} times without calling a tool: {last.text[:200]!r}")
            session.append({"role": "user", "content": f"Go on with the tools; when you are done, call `{FINISH}`."})
        return None

    async def _answer(self, call: ToolCall, desk: Desk) -> Answer:
        if call.name != FINISH:
            return await answered(call, (*self.tools, desk), [one["function"]["name"] for one in self._all(desk)])
        wrong = self._wrong(call)
        if wrong is None:
            return Answer(text=_ACCEPTED)
        return Answer(text=f"error: not accepted: {wrong}; correct it and call {FINISH} again", outcome="error")

    def _all(self, desk: Desk) -> Iterator[dict[str, Any]]:
        for tools in (*self.tools, desk):
            yield from tools.definitions
        yield self._finish()

    def _wrong(self, call: ToolCall) -> str | None:
        try:
            return self.problem(self._parsed(arguments_of(call)))  # type: ignore[arg-type]  # ClassVars know no type variable
        except msgspec.ValidationError as error:
            return str(error)
        except msgspec.MsgspecError as error:
            return f"the arguments of {call.name} are no JSON object: {error}"

    def _parsed(self, arguments: Mapping[str, Any]) -> msgspec.Struct:
        return msgspec.convert(arguments, self.result)

    def _finish(self) -> dict[str, Any]:
        return {
            "type": "function",
            "function": {
                "name": FINISH,
                "description": "Call this once, when your work is done, with its result.",
                "parameters": _schema(self.result),
            },
        }


def _schema(result: type[msgspec.Struct]) -> dict[str, Any]:
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
