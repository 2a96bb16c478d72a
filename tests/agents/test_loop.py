"""One loop for chats and agents: what happens between a request and its result is the same for both."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from foveate.agents import AgentError, Answer, Developer, Means, Reply, Schema
from foveate.agents.driver import DriverError, PassingError, WindowError
from foveate.agents.loop import Patience
from foveate.chat.conversation import Conversation
from foveate.chat.endless import Endless
from foveate.log.events import AccessRecorded, DiagnosticRecorded, UsageReported
from foveate.session import Session
from foveate.wire.format import Request
from tests.agents.states import marked_state
from tests.chat.talking import folders_in
from tests.scripted_model import call, text
from tests.store.locking import locked

Kind = Literal["chat", "endless chat", "agent"]
KINDS: tuple[Kind, ...] = ("chat", "endless chat", "agent")


class Model:
    """Answers by the number of the answers before; an error is raised, a function is asked what to do with it."""

    name = "scripted"

    def __init__(self, *replies: Any, most: int | None = None) -> None:
        self.replies = list(replies)
        self.most = most
        self.requests: list[Request] = []
        self.refused = 0

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: Any = None) -> Reply:
        if self.most is not None and sum(len(one.text) for one in messages.messages) > self.most:
            self.refused += 1
            raise WindowError("the request is longer than the window")
        self.requests.append(messages)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            reply = await reply()
        return Reply(message=reply, input_tokens=1_234)


class Work:
    """One tool, which does what it is told to do."""

    def __init__(self, does: Callable[[], Awaitable[str]] | None = None) -> None:
        self.does = does
        self.used = 0
        function = {"name": "work", "description": "", "parameters": {"type": "object", "properties": {}}}
        self.definitions = ({"type": "function", "function": function},)

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        self.used += 1
        return Answer(text=f"worked {self.used}" if self.does is None else await self.does())


class Pauses:
    """Waits for nothing, and keeps for how long it should have."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def ending(kind: Kind, words: str) -> dict[str, Any]:
    """The answer that ends the work: of an agent a call of `finish`, of a chat words."""
    return call("finish", summary=words) if kind == "agent" else text(words)


async def work(
    kind: Kind,
    folder: Path,
    session: Session,
    model: Model,
    tools: Work,
    *,
    patience: Patience | None = None,
    steps: int = 20,
) -> str:
    """Have the work done, or go on with it, by somebody new who knows the session alone."""
    patience = patience or Patience(sleep=Pauses())
    if kind == "agent":
        means = Means(driver=model, patience=patience, most_steps=steps)
        return (await Developer(means, [tools]).run(marked_state(), session)).summary
    endless = Endless(session, folders_in(folder), "plain") if kind == "endless chat" else None
    chat = Conversation(session, model, tools=[tools], endless=endless, patience=patience, steps=steps)
    return (await (chat.go_on() if session.messages else chat.say("Do the work."))).text


def results(session: Session) -> list[str]:
    return [message.text for message in session.messages if message.role == "tool" and message.text != "accepted"]


def noted(session: Session, code: str) -> list[DiagnosticRecorded]:
    bodies = (event.body for event in session.events)
    return [body for body in bodies if isinstance(body, DiagnosticRecorded) and body.code == code]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


async def test_a_request_that_is_too_long_for_the_provider_is_sent_again_shorter(kind: Kind, tmp_path: Path) -> None:
    """The work goes on, the session keeps to the shorter length, and diagnostics say so."""

    async def speak() -> str:
        return "\n".join(f"line {number} of output {tools.used}" for number in range(160))

    session, tools = Session(budget=30_000), Work(speak)
    asked = [call("work", number=number) for number in range(1, 12)]
    model = Model(*asked, ending(kind, "done"), most=12_000)
    assert await work(kind, tmp_path, session, model, tools) == "done"
    assert len(noted(session, "window_exceeded")) == model.refused > 0
    assert model.refused < 4, "what was learned once is not tried again at each request"


async def test_a_store_that_cannot_be_written_costs_nothing(kind: Kind, tmp_path: Path) -> None:
    """An answer is paid for: the work goes on beside a locked store, which has all of it once the lock is gone."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with Session.open(url, "s", budget=8_000) as session, locked(url):
        model = Model(call("work"), ending(kind, "done"))
        assert await work(kind, tmp_path, session, model, Work()) == "done"
        assert len(noted(session, "store_failed")) == 1
    with Session.open(url, "s", budget=8_000) as session:
        assert results(session) == ["worked 1"]
        assert session.call(2).number == 2
        answers = [message for message in session.messages if message.role == "assistant"]
        assert len(answers) == 2


async def test_a_failure_that_passes_is_waited_for_longer_each_time(kind: Kind, tmp_path: Path) -> None:
    session, pauses = Session(budget=8_000), Pauses()
    busy = PassingError("the model is busy; try again later", pause=7.0)
    gone = PassingError("the connection broke; try again later")
    model = Model(call("work"), gone, busy, ending(kind, "done"))
    assert await work(kind, tmp_path, session, model, Work(), patience=Patience(sleep=pauses)) == "done"
    assert pauses.seconds == [1.0, 7.0]
    first, second = noted(session, "request_failed")
    assert (first.phase, first.subject, second.subject) == ("send", "2", "2")
    assert first.text == "the connection broke; try again later; sent again after 1 s"
    # The same request each time: nothing was said in between.
    assert model.requests[1] == model.requests[2] == model.requests[3]


@pytest.mark.parametrize(
    ("error", "times"),
    [
        (PassingError("busy"), 3),
        (PassingError("busy for long", pause=3_600.0), 1),
        (DriverError("no such model"), 1),
    ],
)
async def test_a_failure_that_stays_ends_the_work_and_loses_nothing(
    kind: Kind, tmp_path: Path, error: DriverError, times: int
) -> None:
    session, tools = Session(budget=8_000), Work()
    model = Model(call("work"), error, error, error, error)
    with pytest.raises(DriverError, match=f"asked 3 times, {error}" if times == 3 else f"^{error}$"):
        await work(kind, tmp_path, session, model, tools)
    assert len(model.requests) == 1 + times
    assert await work(kind, tmp_path, session, Model(ending(kind, "done")), tools) == "done"
    assert results(session) == ["worked 1"]


async def test_a_call_that_was_cancelled_is_carried_out_when_the_work_goes_on(kind: Kind, tmp_path: Path) -> None:
    """Nothing stands in the log for it, so it is asked for no second time and answered once."""
    session, begun = Session(budget=8_000), asyncio.Event()

    async def wait() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    working = asyncio.create_task(work(kind, tmp_path, session, Model(call("work")), Work(wait)))
    await begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert results(session) == []
    model, tools = Model(ending(kind, "done")), Work()
    assert await work(kind, tmp_path, session, model, tools) == "done"
    assert (results(session), tools.used, len(model.requests)) == (["worked 1"], 1, 1)


@pytest.mark.parametrize("where", ["answer", "pause"])
async def test_a_request_that_was_cancelled_is_sent_again_when_the_work_goes_on(
    kind: Kind, tmp_path: Path, where: str
) -> None:
    session, begun = Session(budget=8_000), asyncio.Event()

    async def wait(*_: object) -> Any:
        begun.set()
        await asyncio.Event().wait()

    model = Model(PassingError("busy")) if where == "pause" else Model(wait)
    working = asyncio.create_task(work(kind, tmp_path, session, model, Work(), patience=Patience(sleep=wait)))
    await begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    if not session.messages:
        session.append({"role": "user", "content": "Go on."})
    assert await work(kind, tmp_path, session, Model(ending(kind, "done")), Work()) == "done"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("dance", "{}", "error: there is no tool 'dance'; known are work, recall"),
        ("work", "{broken", "error: the arguments of work are no JSON object"),
        ("work", "[1]", "error: the arguments of work are no JSON object"),
        ("recall", "{}", "error: Object missing required field `reference`"),
        ("recall", '{"reference": "m99"}', "error: no message 'm99'"),
        ("recall", '{"reference": "m1", "lines": [1, 1]}', ""),
    ],
)
async def test_whatever_a_model_calls_gets_an_answer(
    kind: Kind, tmp_path: Path, name: str, arguments: str, said: str
) -> None:
    wrong = call(name)
    wrong["tool_calls"][0]["function"]["arguments"] = arguments
    session = Session(budget=8_000)
    assert await work(kind, tmp_path, session, Model(wrong, ending(kind, "done")), Work()) == "done"
    assert results(session)[0].startswith(said)


async def test_each_access_to_what_was_left_out_is_recorded(kind: Kind, tmp_path: Path) -> None:
    session = Session(budget=8_000)
    model = Model(call("work"), call("recall", reference="m99"), ending(kind, "done"))
    await work(kind, tmp_path, session, model, Work())
    (access,) = [event.body for event in session.events if isinstance(event.body, AccessRecorded)]
    assert (access.reference, access.found) == ("m99", False)
    assert access.agent == ("developer" if kind == "agent" else "assistant")


async def test_what_the_provider_counted_is_recorded_with_its_call(kind: Kind, tmp_path: Path) -> None:
    session = Session(budget=8_000)
    await work(kind, tmp_path, session, Model(call("work"), ending(kind, "done")), Work())
    usages = [event.body for event in session.events if isinstance(event.body, UsageReported)]
    assert [(one.call, one.input_tokens) for one in usages] == [(1, 1_234), (2, 1_234)]


async def test_a_model_that_never_comes_to_an_end_is_stopped(kind: Kind, tmp_path: Path) -> None:
    session, tools = Session(budget=8_000), Work()
    model = Model(*(call("work", number=number) for number in range(10)))
    with pytest.raises((DriverError, AgentError), match=r"(4 times|in 4 steps)"):
        await work(kind, tmp_path, session, model, tools, steps=4)
    assert (len(model.requests), tools.used) == (4, 4)
