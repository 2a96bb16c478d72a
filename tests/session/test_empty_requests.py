"""What nobody said is not sent: a request that says nothing is refused, and what 0.1 sent stays what it was."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
from tests.dialogue import COUNTER, says, user

import foveate
from foveate import ContextSection, EmptyRequestError, Session
from foveate.compile.payload import payload_chunks
from foveate.compile.rebuild import rebuilt
from foveate.compile.timeline import Projector
from foveate.importers.recording import Recording
from foveate.log.events import CallRecorded
from foveate.session.replaying import replayed
from foveate.wire.format import OPENING
from foveate.wire.formats import FORMATS, decode_any


def test_an_empty_session_has_nothing_to_send() -> None:
    """The error says what to do, nothing is recorded, and the session goes on."""
    session = Session(budget=1_000)

    with pytest.raises(EmptyRequestError, match=r"no system prompt; append a user message before `compile\(\)`"):
        session.compile()

    assert not [event for event in session.events if isinstance(event.body, CallRecorded)]
    session.append(user("Hello"))
    assert session.compile().to("openai") == [user("Hello")]


@pytest.mark.parametrize("said", ["", " \n"])
def test_blank_messages_are_nothing_to_send(said: str) -> None:
    """They are left out of every request, so they make none."""
    session = Session()
    session.append(user(said))

    with pytest.raises(EmptyRequestError):
        session.compile()


@pytest.mark.parametrize("override", [[], [user("")], [user(" "), says("")]])
def test_an_empty_override_is_refused(override: list[dict[str, Any]]) -> None:
    """Neither the history nor a remark is sent in its place."""
    session = Session(system="Be brief.")
    session.append(user("Hello"))

    with pytest.raises(EmptyRequestError, match="`override` has no message with content; give one with text"):
        session.compile(override=override)

    assert session.compile().number == 1


def test_an_empty_session_can_be_looked_at() -> None:
    """`preview` and `explain` show that there is nothing; only sending it is refused."""
    view = Session(budget=1_000).preview()

    assert view.is_empty
    assert view.messages == ()
    assert view.explain().used == view.tokens
    for name in FORMATS:
        with pytest.raises(EmptyRequestError, match="append a user message"):
            view.to(name)
    assert view.to("text") == ""


def test_a_system_prompt_or_a_section_is_something_to_send() -> None:
    """What a provider does not take alone is refused in its format, not before."""
    view = Session(system="Be brief.").compile()
    assert view.to("openai") == [{"role": "system", "content": "Be brief."}]
    with pytest.raises(
        EmptyRequestError, match="Anthropic needs a message in a request, and this one is only a system"
    ):
        view.to("anthropic")

    section = ContextSection(name="Task", content="Fix it.")
    assert Session().compile(sections=[section]).to("openai") == [user("## Task\nFix it.")]


def test_a_recording_that_begins_with_nothing_can_be_replayed() -> None:
    """Its first request is an empty view, which is not recorded, and the others follow."""
    messages = decode_any([user(" "), says("Hello, how can I help?"), user("Read a.py."), says("Done.")])
    recording = Recording(session="r", messages=messages, times=[None] * 4)

    views = list(replayed(Session(budget=1_000), recording))

    assert [view.is_empty for view in views] == [True, False, False]
    assert [len(view.messages) for view in views] == [0, 2, 3]
    (only,) = replayed(Session(budget=1_000), Recording(session="r"))
    assert only.is_empty


def test_an_empty_call_of_0_1_is_rebuilt_as_it_was_sent() -> None:
    """The hash never covered the remark that it was sent with, and the remark is still given where it was."""
    session = Session()
    view = session.preview()
    payload = b"".join(payload_chunks(view.framing, view.items, wire=1))
    sha256 = hashlib.sha256(payload).hexdigest()
    record = CallRecorded(
        number=1, strategy=view.strategy, budget=None, tokens=0, predicted_cached=0, payload_sha256=sha256
    )

    call = rebuilt(session.context, record, Projector(COUNTER))

    assert call.payload == payload
    assert call.to("openai") == [user(OPENING)]
    for format in FORMATS.values():
        lowered = format.lower(call.request)
        assert json.dumps(lowered).count(OPENING) == 1
        assert format.problems(lowered) == []


def test_a_budget_that_holds_no_message_says_so() -> None:
    """A request of nothing but instructions would look like an empty conversation."""
    session = Session(budget=60, policy="drop", system="Be brief. " * 8)
    session.append(says("word " * 400))

    with pytest.raises(foveate.BudgetError, match="not one message fits into a budget of 60 tokens") as caught:
        session.compile()

    assert caught.value.needed > caught.value.limit


def test_sections_of_one_call_do_not_cost_the_conversation() -> None:
    """A reduction is for good, what stands beside it is not: the next call would have nothing to send."""
    session = Session(budget=300, policy="drop")
    session.append(says("word " * 100))
    with pytest.raises(foveate.BudgetError, match="not one message fits"):
        session.compile(sections=[ContextSection(name="notes", content="word " * 240)])
    assert "word" in session.compile().to("text")


@pytest.mark.parametrize(
    "thought",
    [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]},
        {"role": "model", "parts": [{"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"}]},
        {"kind": "response", "parts": [{"part_kind": "thinking", "content": "Hm."}]},
    ],
)
@pytest.mark.parametrize("before", [[], [user("a")]])
def test_thinking_alone_makes_no_message(thought: dict[str, Any], before: list[dict[str, Any]]) -> None:
    """Of an override too: only Gemini takes a message that has nothing else, and gets its own back as it came."""
    view = Session().compile(override=[*before, thought, user("b")])

    for name, format in FORMATS.items():
        lowered = format.lower(view.request)
        assert (name, format.problems(lowered)) == (name, [])
        is_original = name == "gemini" and "parts" in thought and "role" in thought
        assert ("Hm." in msgspec.json.encode(lowered).decode()) == is_original
        assert OPENING not in msgspec.json.encode(lowered).decode()
