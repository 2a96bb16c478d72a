"""A conversation: what is said is kept, whatever happens to the answer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.chat.talking import Model, Tools, endless_chat, look, talk

from foveate.agents.driver import DriverError, WindowError
from foveate.agents.loop import Listening
from foveate.chat.conversation import Conversation
from foveate.compile.summaries import SummaryRequest
from foveate.errors import ConfigError
from foveate.session import Session
from foveate.wire.format import Request


async def test_an_answer_is_appended_and_streamed() -> None:
    heard: list[str] = []
    chat = Conversation(Session(budget=2_000), Model(lambda _: "Hello."), system="Be kind.")
    turn = await chat.say("Hi", Listening(on_text=heard.append))
    assert (turn.text, turn.calls, turn.diagnostics) == ("Hello.", (1,), ())
    assert heard == ["Hello."]
    assert [message.role for message in chat.session.messages] == ["user", "assistant"]
    assert chat.session.context.system == "Be kind."


async def test_tools_are_called_and_told_of_until_there_is_an_answer() -> None:
    def rule(request: Request) -> dict[str, Any] | str:
        results = [message.text for message in request.messages if message.role == "tool"]
        return look(len(results)) if len(results) < 2 else f"Found {results}."

    calls: list[str] = []
    listening = Listening(
        on_call=lambda call: calls.append(call.arguments), on_answer=lambda _, answer: calls.append(answer.text)
    )
    tools = Tools(lambda arguments: f"page {arguments['n']}")
    turn = await Conversation(Session(budget=2_000), Model(rule), tools=[tools]).say("Look", listening)
    assert turn.text == "Found ['page 0', 'page 1']."
    assert calls == ['{"n": 0}', "page 0", '{"n": 1}', "page 1"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("gone", "{}", "there is no tool 'gone'; known are look, recall"),
        ("look", "{broken", "no JSON object"),
        ("look", "[1]", "no JSON object"),
        ("recall", '{"reference": "m1"}', "Look"),
        ("recall", '{"reference": "m99"}', "m99"),
    ],
)
async def test_whatever_a_model_calls_gets_an_answer(name: str, arguments: str, said: str) -> None:
    def rule(request: Request) -> dict[str, Any] | str:
        if request.messages[-1].role == "tool":
            return request.messages[-1].text
        function = {"name": name, "arguments": arguments}
        return {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}

    chat = Conversation(Session(budget=2_000), Model(rule), tools=[Tools()])
    assert said in (await chat.say("Look")).text


async def test_what_was_said_is_kept_when_the_model_fails_and_can_be_asked_again() -> None:
    answers: list[Any] = [DriverError("no connection; try again"), "Here I am."]
    chat = Conversation(Session(budget=2_000), Model(lambda _: answers.pop(0)))
    with pytest.raises(DriverError, match="no connection"):
        await chat.say("Are you there?")
    assert [message.text for message in chat.session.messages] == ["Are you there?"]
    assert (await chat.go_on()).text == "Here I am."
    assert [message.role for message in chat.session.messages] == ["user", "assistant"]


async def test_a_request_that_the_provider_finds_too_long_is_made_shorter_and_sent_again() -> None:
    def rule(request: Request) -> str | Exception:
        size = sum(len(message.text) for message in request.messages)
        return WindowError("too long") if size > 6_000 else "Fine."

    model = Model(rule)
    chat = Conversation(Session(budget=3_000), model)
    await talk(chat, 40)
    assert len(model.asked) > 40, "some were sent again"
    assert [message.role for message in chat.session.messages] == ["user", "assistant"] * 40
    noted = [event.body for event in chat.session.events if getattr(event.body, "code", "") == "window_exceeded"]
    assert noted


async def test_a_request_sent_again_is_shorter_than_the_one_refused_and_so_are_those_after_it(tmp_path: Path) -> None:
    """However much smaller a provider's window is than the budget, a long chat gets into it and stays there."""
    sizes: list[int] = []
    refused: list[int] = []

    def rule(request: Request) -> str | Exception:
        size = sum(len(message.text) for message in request.messages) // 4
        sizes.append(size)
        if size > 900:
            refused.append(size)
            return WindowError("too long")
        return "Fine."

    for chat in (
        Conversation(Session(budget=16_000), Model(rule), system="Be kind."),
        endless_chat(tmp_path, Model(rule), budget=16_000),
    ):
        sizes.clear()
        chat.session.extend(
            {"role": role, "content": f"{turn}. {'words of a long talk ' * 20}"}
            for turn in range(20)
            for role in ("user", "assistant")
        )
        await chat.say("And now?")
        assert len(sizes) > 1
        assert all(after < before * 0.8 for before, after in pairwise(sizes))
        await talk(chat, 10)
        refused.clear()
        await talk(chat, 10, first=10)
        assert not refused


async def test_a_window_that_is_always_too_small_is_an_error_not_a_loop() -> None:
    """Requests are sent thrice at most, and only if they can be made shorter; a short chat keeps its budget."""
    model = Model(lambda _: WindowError("too long"))
    chat = Conversation(Session(budget=3_000), model)
    with pytest.raises(WindowError):
        await chat.say("Hello")
    assert len(model.asked) == 1
    budget = chat.preview().budget
    assert budget is not None
    assert budget.limit == 3_000
    chat.session.extend([{"role": "assistant", "content": f"{turn} {'words ' * 50}"} for turn in range(20)])
    with pytest.raises(WindowError):
        await chat.say("Hello?")
    assert len(model.asked) == 4


async def test_a_model_that_never_stops_calling_is_stopped() -> None:
    chat = Conversation(
        Session(budget=4_000), Model(lambda request: look(len(request.messages))), tools=[Tools()], steps=5
    )
    with pytest.raises(DriverError, match="5 times without an answer"):
        await chat.say("Go")


async def test_a_call_that_nobody_answered_is_answered_when_the_chat_goes_on() -> None:
    session = Session(budget=2_000)
    session.extend([{"role": "user", "content": "Look"}, look(7)])
    chat = Conversation(session, Model(lambda request: request.messages[-1].text), tools=[Tools(lambda _: "page")])
    assert (await chat.go_on()).text == "page"


async def test_nothing_is_no_input() -> None:
    with pytest.raises(ConfigError, match="`text` is empty"):
        await Conversation(Session(budget=2_000), Model()).say(" \n")


@pytest.mark.parametrize("said", [[], [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]])
async def test_a_model_is_not_asked_to_answer_nobody(said: list[dict[str, Any]]) -> None:
    session, model = Session(budget=2_000), Model()
    session.extend(said)
    with pytest.raises(ConfigError, match="nothing to answer"):
        await Conversation(session, model).go_on()
    assert not model.asked


async def test_a_store_that_cannot_be_written_costs_neither_the_answer_nor_the_words(tmp_path: Path) -> None:
    """What is said, done and answered meanwhile is in the store once it can be written again; it is said once."""
    path, told = tmp_path / "store.db", list[str]()
    listening = Listening(on_diagnostic=lambda body: told.append(body.code))
    answers: list[Any] = [look(1), "Found.", "Yes."]
    with Session.open(path, "talk", budget=2_000) as session, closing(sqlite3.connect(path)) as other:
        chat = Conversation(session, Model(lambda _: answers.pop(0)), system="Be kind.", tools=[Tools()])
        with other:
            other.execute("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'is full'); END")
        turn = await chat.say("Look", listening)
        assert (turn.text, told) == ("Found.", ["store_failed"])
        assert [one.code for one in turn.diagnostics] == ["store_failed"]
        with other:
            other.execute("DROP TRIGGER full")
        assert (await chat.say("Sure?", listening)).diagnostics == ()
    with Session.open(path, "talk", budget=2_000) as again:
        roles = [message.role for message in again.messages]
        assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
        assert again.context.system == "Be kind."


class Summaries:
    """A summarizer that keeps who spoke last when it was asked."""

    name = "summaries"

    def __init__(self) -> None:
        self.session: Session | None = None
        self.asked_after: list[str] = []

    async def summarise(self, _request: SummaryRequest, /) -> str:
        assert self.session is not None
        self.asked_after.append(self.session.messages[-1].role)
        return "They talked of things."


async def test_the_summarizer_of_a_session_is_asked_after_answers() -> None:
    """No request waits for a summary, and those behind it show it."""
    summaries, model = Summaries(), Model()
    session = summaries.session = Session(budget=3_000, summarizer=summaries)
    chat = Conversation(session, model)
    await talk(chat, 40)

    assert len(summaries.asked_after) > 1 and set(summaries.asked_after) == {"assistant"}
    assert any("They talked of things." in message.text for message in model.asked[-1].messages)


async def test_a_summary_that_fails_at_the_end_of_a_turn_is_told_with_the_turn() -> None:
    class Broken(Summaries):
        async def summarise(self, _request: SummaryRequest, /) -> str:
            raise OSError("no network")

    chat = Conversation(Session(budget=3_000, summarizer=Broken()), Model())
    turns = [await chat.say(f"Thing {number}. {'And a few more words. ' * 30}") for number in range(20)]
    told = [one.text for turn in turns for one in turn.diagnostics]
    assert told and all("no network" in text for text in told)


def test_a_summarizer_that_endless_mode_would_not_ask_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"`summarizer` 'summaries' of session 'session' is not asked.*`writer`"):
        endless_chat(tmp_path, Model(), session=Session(budget=3_000, summarizer=Summaries()))
