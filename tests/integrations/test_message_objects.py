"""The message objects of pydantic-ai and LangChain: in, through a session, and out to the frameworks themselves."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
    messages_to_dict,
)
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import foveate
from foveate import BudgetError, ConfigError, MessageError
from foveate.integrations.langchain import BRIDGE as LANGCHAIN
from foveate.integrations.pydantic_ai import BRIDGE as PYDANTIC_AI
from foveate.wire import formats
from foveate.wire.fields import arguments_object
from foveate.wire.format import OPENING
from foveate.wire.formats import format_named
from tests.properties.play import Player, random_ops

WHEN = datetime(2026, 1, 1, tzinfo=UTC)

AGENT_RUN: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be kind."), UserPromptPart(["Read a.py.", ImageUrl("https://x/a.png")])]),
    ModelResponse(
        parts=[
            ThinkingPart("hm", signature="s", provider_name="anthropic"),
            TextPart("Reading."),
            ToolCallPart("read", {"path": "a.py"}, "c1"),
            ToolCallPart("read", '{"path": "b.py"}', "c2"),
        ]
    ),
    ModelRequest(
        parts=[ToolReturnPart("read", {"lines": 3}, "c1"), ToolReturnPart("read", "gone", "c2", outcome="failed")]
    ),
    ModelResponse(parts=[TextPart("It has 3 lines.")]),
    ModelRequest(parts=[UserPromptPart("Thanks.")]),
]
CHAT: list[BaseMessage] = [
    SystemMessage("Be kind."),
    HumanMessage(
        [{"type": "text", "text": "Read a.py."}, {"type": "image_url", "image_url": {"url": "https://x/a.png"}}]
    ),
    AIMessage(
        "Reading.",
        tool_calls=[
            {"name": "read", "args": {"path": "a.py"}, "id": "c1"},
            {"name": "read", "args": {"path": "b.py"}, "id": "c2"},
        ],
    ),
    ToolMessage("3 lines", tool_call_id="c1"),
    ToolMessage("gone", tool_call_id="c2", status="error"),
    AIMessage(
        "It has 3 lines.", id="run-1", usage_metadata={"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}
    ),
    HumanMessage("Thanks."),
]


def session_of(messages: list[Any], **options: Any) -> foveate.Session:
    session = foveate.Session(**{"budget": 8_000, **options})
    session.extend(messages)
    return session


# --- through a session --------------------------------------------------------------------------------------------


def test_a_run_of_an_agent_comes_out_as_it_went_in() -> None:
    """Objects and their data make the same log, and real objects come out again."""
    view = session_of(AGENT_RUN, model="openai:gpt-4o").compile()
    data = ModelMessagesTypeAdapter.dump_python(AGENT_RUN, mode="json")

    assert view.to("pydantic-ai") == AGENT_RUN
    assert session_of(data).compile().messages == view.messages


def test_cache_marks_are_cache_points() -> None:
    """For a model that wants to be told what to cache."""
    *_, last = session_of(AGENT_RUN, model="anthropic:claude-sonnet-4-5").compile().to("pydantic-ai")

    assert last.parts[0].content == ["Thanks.", CachePoint()]


def test_a_chat_comes_out_as_it_went_in() -> None:
    """Objects and their data make the same log, and real objects come out again."""
    view = session_of(CHAT).compile()
    named = [*CHAT]
    named[3], named[4] = (message.model_copy(update={"name": "read"}) for message in CHAT[3:5])

    assert view.to("langchain") == named, "a result is sent with the name of its tool"
    assert session_of(messages_to_dict(CHAT)).compile().messages == view.messages


async def test_an_agent_goes_on_from_a_compiled_history() -> None:
    """pydantic-ai takes the history, and the model sees what is in it."""
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse(parts=[TextPart("You are welcome.")])

    session = session_of(AGENT_RUN[:-1], budget=2_000)
    history = session.compile().to("pydantic-ai")
    result = await Agent(FunctionModel(answer)).run("Thanks.", message_history=history)
    session.extend(result.new_messages())

    assert result.output == "You are welcome."
    assert seen[0][:-1] == history
    assert session.compile().messages[-1].text == "You are welcome."


def test_a_chat_model_takes_a_compiled_history() -> None:
    """LangChain sends it, and what it answers goes back into the session."""
    session = session_of(CHAT)
    model = GenericFakeChatModel(messages=iter([AIMessage("You are welcome.")]))

    answer = model.invoke(session.compile().to("langchain"))
    session.append(answer)

    assert session.compile().messages[-1].text == "You are welcome."


def test_one_framework_can_go_on_where_another_stopped() -> None:
    """Texts, calls and results are the same in all of them."""
    for messages in (AGENT_RUN, CHAT):
        view = session_of(messages).compile()
        assert [message.text for message in session_of(view.to("langchain")).compile().messages] == [
            message.text for message in view.messages
        ]
        again = session_of(view.to("pydantic-ai")).compile()
        assert [(one.id, one.name) for message in again.messages for one in message.calls] == [
            ("c1", "read"),
            ("c2", "read"),
        ]


def _spoken(raws: list[dict[str, Any]]) -> list[Any]:
    """What OpenAI chat messages say, without how they write it down."""
    spoken: list[Any] = []
    for raw in raws:
        content = raw.get("content") or ""
        if not isinstance(content, str):
            content = "\n".join(block["text"] for block in content if block["type"] == "text")
        calls = [
            # Of a name that is long or has other signs OpenAI gets the beginning, and behind it what tells it apart.
            (
                call["id"],
                re.sub(r"\W", "_", call["function"]["name"])[:15],
                arguments_object(call["function"]["arguments"]),
            )
            for call in raw.get("tool_calls", ())
        ]
        spoken.append((raw.get("tool_call_id"), content, calls))
    return spoken


def test_langchain_reads_in_it_what_openai_is_sent() -> None:
    """Its own conversion to OpenAI gives the texts, calls and results of `to("openai")`."""
    view = session_of(CHAT).compile()

    assert _spoken(convert_to_openai_messages(view.to("langchain"))) == _spoken(view.to("openai"))


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happened_the_frameworks_take_it(seed: int) -> None:
    """Random sessions, with broken logs and tight budgets: no rule is broken, and real objects are made."""
    rng = random.Random(seed)
    session = foveate.Session(budget=rng.choice((2_000, 4_000, 8_000)), system=rng.choice((None, "Be kind.")))
    session.append({"role": "user", "content": "begin"})
    player = Player(session)
    for op in random_ops(rng, 60):
        with suppress(BudgetError):
            player.apply(op)
    session.append({"role": "user", "content": "And now?"})
    view = session.compile()

    for name in ("pydantic-ai", "langchain"):
        format = format_named(name)
        lowered = format.lower(view.request)
        assert format.problems(lowered) == []
        assert format.lower(view.request) == lowered
    assert len(view.to("pydantic-ai")) == len(format_named("pydantic-ai").lower(view.request))
    # The line that is put before an assistant that speaks first is nobody's.
    said = [one for one in view.to("langchain") if one.content != OPENING]
    assert _spoken(convert_to_openai_messages(said)) == _spoken(view.to("openai"))


def _long_run(rng: random.Random) -> list[Any]:
    """Twenty steps of an agent of either framework, with all kinds of content."""
    output: list[Any] = [
        "line of output\n" * 200,
        {"rows": ["value"] * 300},
        "",
        ["see", ImageUrl("https://x/b.png")],
        [1],
    ]
    if rng.random() < 0.5:
        messages: list[Any] = [
            ModelRequest(parts=[UserPromptPart(["Go.", CachePoint(), BinaryContent(b"x", media_type="audio/wav")])])
        ]
        for step in range(20):
            call = ToolCallPart("read", rng.choice([{"path": "p" * 900}, None, '{"path": "a"}', "{bro"]), f"c {step}!")
            messages += [
                ModelResponse(parts=[ThinkingPart("hm", signature="s"), TextPart(rng.choice(["", "Reading."])), call]),
                ModelRequest(
                    parts=[ToolReturnPart("read", rng.choice(output), call.tool_call_id), UserPromptPart("On.")]
                ),
            ]
        return messages
    messages = [
        SystemMessage("S"),
        HumanMessage([{"type": "text", "text": "Go."}, {"cachePoint": {"type": "default"}}]),
    ]
    for step in range(20):
        call_id, args = f"c {step}!", rng.choice([{"path": "p" * 900}, {}])
        used = {"type": "tool_use", "id": call_id, "name": "read", "input": args}
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Reading."}, used]
        content = rng.choice([blocks, "", "Reading."])
        answer = rng.choice([output[0], "", [{"type": "text", "text": output[0]}, {"type": "image", "base64": "AAAA"}]])
        messages.append(AIMessage(content, tool_calls=[{"id": call_id, "name": "read", "args": args}]))
        messages += [ToolMessage(answer, tool_call_id=call_id), SystemMessage("Hurry."), HumanMessage("On.")]
    return messages


@pytest.mark.parametrize("seed", range(10))
def test_what_came_from_a_framework_is_valid_everywhere_after_reductions(seed: int) -> None:
    """However much a policy took away, no provider has a rule against the rest."""
    rng = random.Random(seed)
    session = foveate.Session(
        budget=rng.choice((1_500, 4_000)), policy=rng.choice(("default", "mask", "drop", "patient"))
    )
    messages = _long_run(rng)
    for start in range(0, len(messages), 7):
        session.extend(messages[start : start + 7])
        view = session.compile()
        found = {name: format.problems(format.lower(view.request)) for name, format in formats.FORMATS.items()}
        assert {name: problems for name, problems in found.items() if problems} == {}
        assert view.to("pydantic-ai")
        assert view.to("langchain")


# --- round trips --------------------------------------------------------------------------------------------------

WORDS = st.text(min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(WORDS, VALUES, max_size=3)
IDS = st.text("abcdef", min_size=1, max_size=4)
USER_ITEMS = st.lists(
    WORDS
    | st.just(ImageUrl("https://x/a.png"))
    | st.just(CachePoint())
    | st.binary(max_size=8).map(lambda data: BinaryContent(data, media_type="application/pdf")),
    min_size=2,
    max_size=4,
)
REQUESTS = st.lists(
    st.builds(SystemPromptPart, WORDS, timestamp=st.just(WHEN))
    | st.builds(UserPromptPart, WORDS | USER_ITEMS, timestamp=st.just(WHEN))
    | st.builds(ToolReturnPart, WORDS, VALUES, IDS, timestamp=st.just(WHEN), metadata=VALUES),
    max_size=4,
).flatmap(lambda parts: st.builds(ModelRequest, st.just(parts), instructions=st.none() | WORDS))
RESPONSES = st.lists(
    st.builds(TextPart, WORDS)
    | st.builds(ThinkingPart, WORDS, signature=st.none() | WORDS)
    | st.builds(ToolCallPart, WORDS, st.none() | ARGUMENTS | WORDS, IDS),
    max_size=4,
).flatmap(lambda parts: st.builds(ModelResponse, st.just(parts), model_name=st.none() | WORDS, timestamp=st.just(WHEN)))


@given(st.lists(REQUESTS | RESPONSES, max_size=4))
@settings(max_examples=100, deadline=None)
def test_any_messages_of_pydantic_ai_survive(messages: list[ModelMessage]) -> None:
    """Object, data, log, data, object: the same object."""
    format = format_named("pydantic-ai")
    data = PYDANTIC_AI.to_data(messages)
    again = format.encode(format.decode(data, str))

    # Loading alone turns some values into others (a time zone, a narrower class), so both are loaded.
    assert PYDANTIC_AI.to_objects(again) == PYDANTIC_AI.to_objects(data)


BLOCKS = st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, WORDS)
    | st.just({"type": "image", "base64": "AAAA", "mime_type": "image/png"})
    | st.builds(lambda text: {"type": "reasoning", "reasoning": text}, WORDS),
    min_size=1,
    max_size=3,
)
LISTED = st.lists(st.fixed_dictionaries({"id": IDS, "name": WORDS, "args": ARGUMENTS}), max_size=3)
ANY_CHAT = st.lists(
    st.builds(HumanMessage, WORDS | BLOCKS, name=st.none() | WORDS)
    | st.builds(SystemMessage, WORDS)
    | st.builds(AIMessage, st.just("") | WORDS | BLOCKS, tool_calls=LISTED, additional_kwargs=ARGUMENTS)
    | st.builds(
        ToolMessage, WORDS | BLOCKS, tool_call_id=IDS, artifact=VALUES, status=st.sampled_from(["success", "error"])
    ),
    max_size=4,
)


@given(ANY_CHAT)
@settings(max_examples=100, deadline=None)
def test_any_messages_of_langchain_survive(messages: list[BaseMessage]) -> None:
    """Object, data, log, data, object: the same object, up to empty fields."""
    format = format_named("langchain")
    again = format.encode(format.decode(LANGCHAIN.to_data(messages), str))

    assert [_filled(one) for one in LANGCHAIN.to_objects(again)] == [_filled(one) for one in messages]


def _filled(message: BaseMessage) -> dict[str, Any]:
    return {key: value for key, value in message.model_dump().items() if value not in (None, [], {})}


# --- what can be wrong --------------------------------------------------------------------------------------------


def test_what_is_no_json_is_refused_with_its_place() -> None:
    """An artifact may be anything; the log holds what can be stored."""
    with pytest.raises(MessageError, match="message 1: only plain JSON can be stored"):
        session_of([HumanMessage("hi"), ToolMessage("x", tool_call_id="a", artifact=object())])
    with pytest.raises(MessageError, match="message 0: only plain JSON can be stored"):
        session_of([ModelRequest(parts=[ToolReturnPart("f", object(), "a")])])


def test_a_recorded_field_that_a_framework_refuses_is_named() -> None:
    """Instead of an error of a library that the caller did not call."""
    view = session_of(
        [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x", "timestamp": []}]}]
    ).compile()
    with pytest.raises(MessageError, match="timestamp"):
        view.to("pydantic-ai")


@pytest.mark.parametrize(("name", "package"), [("langchain", "langchain_core"), ("pydantic-ai", "pydantic_ai")])
def test_a_missing_framework_names_the_extra(monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    """Its messages are data until objects are asked for."""
    for module in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"foveate.integrations.{name.replace('-', '_')}")
    formats._bridge.cache_clear()
    view = session_of([{"role": "user", "content": "hi"}]).compile()
    try:
        with pytest.raises(ConfigError, match=rf"{package}.*pip install 'foveate\[{name}\]'"):
            view.to(name)
    finally:
        formats._bridge.cache_clear()


def test_data_needs_no_framework() -> None:
    """Neither importing Foveate, nor data of any format, imports a framework or reads entry points."""
    code = (
        "import sys, importlib.metadata as m, foveate\n"
        "m.entry_points = None\n"
        "from foveate.wire import formats; formats.entry_points = None\n"
        "s = foveate.Session(budget=4000)\n"
        "s.extend([{'role': 'user', 'content': 'hi'}, {'kind': 'response', 'parts': []}, "
        "{'type': 'human', 'data': {'content': 'x'}}])\n"
        "formats.format_named('pydantic-ai').lower(s.compile().request)\n"
        "print([name for name in ('pydantic_ai', 'langchain_core', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
