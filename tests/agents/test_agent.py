"""The loop of an agent, with a driver that says what it is told to say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from loguru import logger

from foveate.agents import (
    Agent,
    AgentError,
    Answer,
    ContextStrategy,
    Developer,
    DeveloperContextStrategy,
    Means,
    Reply,
    Reviewer,
    Schema,
)
from foveate.agents.driver import WindowError
from foveate.compile.summaries import SummaryRequest
from foveate.log.events import DiagnosticRecorded, UsageReported
from foveate.log.state import AgentState
from foveate.session import Session
from foveate.wire.format import Request
from foveate.work import Issue
from tests.agents.states import marked_state
from tests.scripted_model import call, text
from tests.store.locking import locked


class Driver:
    """Answers by the number of the request; keeps what it was sent."""

    name = "scripted"
    counted: int | None = None

    def __init__(self, *replies: Any, forever: Callable[[int], Any] | None = None) -> None:
        self.replies = list(replies)
        self.forever = forever
        self.requests: list[Request] = []

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: Any = None) -> Reply:
        self.requests.append(messages)
        reply = self.forever(len(self.requests)) if self.forever else self.replies[len(self.requests) - 1]
        if isinstance(reply, Exception):
            raise reply
        return Reply(message=reply, input_tokens=self.counted, cached_tokens=40 if self.counted else None)


class Tools:
    """One tool, which counts how often it was used."""

    definitions: ClassVar = (
        {
            "type": "function",
            "function": {"name": "work", "description": "", "parameters": {"type": "object", "properties": {}}},
        },
    )

    def __init__(self) -> None:
        self.used = 0

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        self.used += 1
        return Answer(text=f"worked {self.used}")


def agent(driver: Driver, tools: Tools | None = None, **means: Any) -> Developer:
    return Developer(Means(driver=driver, **means), (tools,) if tools else ())


async def test_tools_are_called_until_the_work_is_finished() -> None:
    driver, tools, session = (
        Driver(call("work"), call("work", number=2), call("finish", summary="done")),
        Tools(),
        Session(budget=8_000),
    )
    work = await agent(driver, tools).run(marked_state(), session)
    assert (work.summary, tools.used) == ("done", 2)
    assert [len(request.messages) for request in driver.requests] == [1, 3, 5]
    # What was sent before is the beginning of what is sent next: the cache stays warm.
    for earlier, later in zip(driver.requests, driver.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert (later.system, later.tools) == (earlier.system, earlier.tools)


async def test_a_result_of_the_wrong_form_is_sent_back_with_the_reason() -> None:
    session = Session(budget=8_000)
    driver = Driver(call("finish", summary=3), call("finish", number=2, summary="right"))
    assert (await agent(driver).run(marked_state(), session)).summary == "right"
    assert "Expected `str`, got `int` - at `$.summary`" in driver.requests[1].messages[-1].text


async def test_an_unknown_tool_and_broken_arguments_are_answered() -> None:
    broken = call("finish")
    broken["tool_calls"][0]["function"]["arguments"] = "{not json"
    session = Session(budget=8_000)
    driver = Driver(call("dance"), broken, call("finish", number=3, summary="s"))
    await agent(driver, Tools()).run(marked_state(), session)
    said = [message.text for message in session.messages if message.role == "tool"]
    assert "no tool 'dance'; known are work, recall, finish" in said[0]
    assert "no JSON object" in said[1]


async def test_a_model_that_only_talks_is_asked_to_go_on_and_then_given_up() -> None:
    session = Session(budget=8_000)
    driver = Driver(text("hm"), text("well"), call("finish", summary="s"))
    await agent(driver).run(marked_state(), session)
    with pytest.raises(AgentError, match="3 times without calling a tool"):
        await agent(Driver(forever=lambda _: text("no"))).run(marked_state(), Session(budget=8_000))


async def test_at_the_last_step_nothing_but_finishing_is_offered() -> None:
    driver, session = Driver(forever=lambda number: call("work", number=number)), Session(budget=8_000)
    with pytest.raises(AgentError, match="did not call `finish` in 4 steps"):
        await agent(driver, Tools(), most_steps=4).run(marked_state(), session)
    assert [[one["function"]["name"] for one in request.tools] for request in driver.requests] == [
        *[["work", "recall", "finish"]] * 3,
        ["finish"],
    ]


async def test_an_answer_is_kept_though_the_store_is_locked(tmp_path: Path) -> None:
    """An answer is paid for: the run goes on beside a locked store, which has all of it once the lock is gone."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with Session.open(url, "s", budget=8_000) as session, locked(url):
        driver = Driver(call("work"), call("finish", number=2, summary="done"))
        assert (await agent(driver, Tools()).run(marked_state(), session)).summary == "done"
    with Session.open(url, "s", budget=8_000) as session:
        assert [message.role for message in session.messages] == ["assistant", "tool", "assistant", "tool"]
        assert session.call(2).number == 2


@pytest.mark.parametrize("died", [1, 2, 3])
async def test_an_agent_goes_on_where_its_log_ends(tmp_path: Path, died: int) -> None:
    replies = [call("work"), call("work", number=2), call("finish", summary="done")]
    tools = Tools()
    with Session.open(tmp_path / "s.db", "a", budget=8_000) as session, pytest.raises(ConnectionError):
        await agent(Driver(*replies[: died - 1], ConnectionError("gone")), tools).run(marked_state(), session)
    with Session.open(tmp_path / "s.db", "a", budget=8_000) as session:
        work = await agent(Driver(*replies[died - 1 :]), tools).run(marked_state(), session)
        whole = [message.text for message in session.messages]
    assert (work.summary, tools.used, whole) == ("done", 2, ["", "worked 1", "", "worked 2", "", "accepted"])


async def test_a_call_that_was_not_answered_before_the_end_is_answered_after_it() -> None:
    session, tools = Session(budget=8_000), Tools()
    session.append(call("work"))
    await agent(Driver(call("finish", summary="s")), tools).run(marked_state(), session)
    assert tools.used == 1


async def test_finished_work_is_not_done_again() -> None:
    session = Session(budget=8_000)
    await agent(Driver(call("finish", summary="s"))).run(marked_state(), session)
    assert (await agent(Driver()).run(marked_state(), session)).summary == "s"


async def test_what_the_provider_counted_is_recorded() -> None:
    driver, session = Driver(call("finish", summary="s")), Session(budget=8_000)
    driver.counted = 1_234
    await agent(driver).run(marked_state(), session)
    assert [event.body.input_tokens for event in session.events if isinstance(event.body, UsageReported)] == [1_234]


async def test_the_budget_holds_over_a_long_loop() -> None:
    class Wordy(Tools):
        async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
            self.used += 1
            return Answer(text=f"line {self.used}\n" * 400)

    driver = Driver(forever=lambda number: call("work", number=number) if number < 30 else call("finish", summary="s"))
    session = Session(budget=4_000)
    await agent(driver, Wordy()).run(marked_state(), session)
    views = [session.call(number) for number in range(1, 31)]
    assert max(view.tokens for view in views) <= 4_000
    # The task stays where it is, whatever else is reduced.
    assert all("NOW-DESCRIPTION" in request.messages[0].text for request in driver.requests)


async def test_an_agent_of_ones_own_takes_ten_lines() -> None:
    class TitleStrategy(ContextStrategy):
        SYSTEM_PROMPT = "You find titles."
        ALLOWED_SECTIONS = frozenset({"Issue"})

        def sections(self, state):
            from foveate.log.sections import ContextSection

            yield ContextSection(
                name="Issue", content=self.get_issue_summary(state), source="state.issue", tier="stable"
            )

    class Title(msgspec.Struct):
        title: str

    class Titler(Agent[Title]):
        context_strategy, name, result = TitleStrategy, "titler", Title

    found = await Titler(Means(driver=Driver(call("finish", title="Fine")))).run(marked_state(sections=()), Session())
    assert found == Title(title="Fine")


def test_the_schema_of_a_result_is_self_contained() -> None:
    from foveate.agents import Architect

    session = Session()
    Architect(Means(driver=Driver())).frame(session)
    (finish,) = [tool for tool in session.context.tools if tool["function"]["name"] == "finish"]
    said = json.dumps(finish)
    names = {ref.split("/")[-1].rstrip('"') for ref in said.split() if "#/$defs/" in ref}
    assert names and all(name.strip('"},') in finish["function"]["parameters"]["$defs"] for name in names)
    assert DeveloperContextStrategy is Developer.context_strategy


async def test_explain_and_the_debug_line_name_the_agent_and_its_strategy() -> None:
    """Which policy reduced a request is one thing, who chose what is in it another."""
    said: list[str] = []
    sink = logger.add(lambda line: said.append(str(line)), format="{message}", level="DEBUG")
    logger.enable("foveate")
    try:
        session = Session(budget=8_000)
        agent = Reviewer(Means(driver=Driver(call("finish", approved=True))), persona="Security")
        await agent.run(AgentState(issue=Issue(title="It crashes"), code_changes="+x"), session)
    finally:
        logger.disable("foveate")
        logger.remove(sink)
    explained = session.call(1).explain()
    assert (explained.agent, explained.context_strategy) == ("reviewer (Security)", "ReviewerContextStrategy")
    assert "call 1 · reviewer (Security), ReviewerContextStrategy · pipeline:default · " in str(explained)
    assert explained.as_dict()["context_strategy"] == "ReviewerContextStrategy"
    length = len(agent.strategy.system_prompt)
    assert f"agent reviewer (Security), strategy pipeline:default, system_prompt_length {length}," in said[0]


class NarrowDriver(Driver):
    """Refuses every request above so many characters, as a provider with a small window does."""

    most = 12_000
    refused = 0

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: Any = None) -> Reply:
        if sum(len(message.text) for message in messages.messages) > self.most:
            self.refused += 1
            raise WindowError("the request is longer than the window")
        return await super().generate(messages, schema, on_text=on_text)


class Verbose(Tools):
    """Says much each time."""

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        self.used += 1
        return Answer(text="\n".join(f"line {number} of output {self.used}" for number in range(160)))


async def test_a_request_that_is_too_long_for_the_provider_is_sent_again_shorter() -> None:
    """As in a chat: the work goes on, the session keeps to the shorter length, and diagnostics say so."""
    session = Session(budget=30_000)
    asked = [call("work", number=number) for number in range(1, 12)]
    driver = NarrowDriver(*asked, call("finish", summary="done"))
    made = agent(driver, Verbose())
    told: list[tuple[str, DiagnosticRecorded]] = []
    made.means = replace(made.means, on_diagnostic=lambda *one: told.append(one))
    work = await made.run(marked_state(), session)
    assert work.summary == "done"
    noted = [event.body for event in session.events if isinstance(event.body, DiagnosticRecorded)]
    exceeded = [one for one in noted if one.code == "window_exceeded"]
    assert len(exceeded) == driver.refused > 0
    assert told == [(made.label, one) for one in noted], "whoever watches is told"
    assert driver.refused < 4, "what was learned once is not tried again at each request"


async def test_the_summarizer_of_a_session_is_asked_while_an_agent_works() -> None:
    """A session that was given one has its summaries in the agent's requests."""

    class Summaries:
        name = "summaries"

        async def summarise(self, _request: SummaryRequest, /) -> str:
            return "Much was worked upon."

    class Talkative(Tools):
        async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
            self.used += 1
            return Answer(text="\n".join(f"line {number} of output {self.used}" for number in range(80)))

    driver = Driver(*(call("work", number=number) for number in range(12)), call("finish", summary="done"))
    session = Session(budget=6_000, summarizer=Summaries())
    await agent(driver, Talkative()).run(marked_state(), session)
    assert any("Much was worked upon." in message.text for message in driver.requests[-1].messages)
