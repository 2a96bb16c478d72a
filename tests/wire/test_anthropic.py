"""Anthropic messages, both ways, and requests by Anthropic's rules."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.dialogue import call, calls, exchange, result, says, session_of, user, work

import foveate
from foveate import MessageError
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall, ToolResult, foreign
from foveate.recall.readable import readable
from foveate.wire import anthropic_rules, openai_chat
from foveate.wire.anthropic import decode, encode, recognises
from foveate.wire.anthropic_request import NO_OUTPUT, lower
from foveate.wire.format import OPENING, Request

PIXEL = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
THOUGHT = {"type": "thinking", "thinking": "Two files?", "signature": "c2ln"}
MARK = {"type": "ephemeral"}
HOUR = {**MARK, "ttl": "1h"}


def use(id: str, name: str = "read", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def gave(id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


CONVERSATION = [
    user("Look at both files."),
    {"role": "assistant", "content": [THOUGHT, text("Reading."), use("t1", path="a"), use("t2", path="b")]},
    {"role": "user", "content": [gave("t1", "aaa"), gave("t2", "no such file", is_error=True), text("And?")]},
    {"role": "assistant", "content": "One is missing."},
]


def place(index: int) -> str:
    return f"message {index}"


def read(*raws: Any) -> list[Message]:
    return decode(raws, place)


def sent(*messages: Message, **request: Any) -> dict[str, Any]:
    lowered = lower(Request(messages=messages, **request))
    assert anthropic_rules.problems(lowered) == []
    return lowered


# --- Reading and writing ---------------------------------------------------------------------------------------------


def test_each_result_becomes_a_message_of_its_own() -> None:
    """Results and what the user said with them are told apart; a response is one message."""
    messages = read(*CONVERSATION)

    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert [type(part) for part in messages[1].parts] == [Thinking, Text, ToolCall, ToolCall]
    assert messages[3].extra["is_error"] is True
    assert "is_error" not in messages[2].extra
    assert encode(messages) == CONVERSATION


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "x", "citations": [{"type": "char_location"}], "cache_control": MARK},
        {"type": "redacted_thinking", "data": "ZZ"},
        {"type": "thinking", "thinking": "unsigned"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "foveate"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u", "encrypted_content": "e"}]},
        {"type": "mcp_tool_use", "id": "m", "name": "f", "server_name": "x", "input": {}},
        {"type": "hologram", "depth": {"cm": 4}},
        {**use("t", path="数据"), "caller": {"type": "direct"}},
    ],
)
def test_every_block_of_a_response_comes_back(block: dict[str, Any]) -> None:
    """Also those that Foveate has no part for."""
    raw = {
        "role": "assistant",
        "content": [text("Here:"), block],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3},
    }

    assert encode(read(raw)) == [raw]


@pytest.mark.parametrize(
    "block",
    [
        PIXEL,
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}, "cache_control": MARK},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
            "title": "T",
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}, "context": "c"},
        {
            "type": "document",
            "source": {"type": "content", "content": [text("a"), PIXEL]},
            "citations": {"enabled": True},
        },
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        {"type": "search_result", "source": "s", "title": "t", "content": [text("found")]},
        {"type": "container_upload", "file_id": "f"},
    ],
)
def test_everything_a_user_or_a_tool_shows_comes_back(block: dict[str, Any]) -> None:
    """As a block of a message and as one of a result, between texts."""
    raw = {"role": "user", "content": [gave("t1", [text("a\n"), block, text("b")]), text("look"), block]}

    assert encode(read(raw)) == [raw]


def test_what_can_be_read_of_an_unknown_block_is_text_elsewhere() -> None:
    """Other formats, people and the search see words; in its own format the block is what it was."""
    found = {"type": "search_result", "source": "wiki", "title": "Fovea", "content": [text("sharp")]}
    (message,) = read({"role": "user", "content": [found]})

    assert message.text == ""
    assert readable(message) == "[search_result]\nwiki\nFovea\nsharp"
    assert openai_chat.encode(message) == user("[search_result]\nwiki\nFovea\nsharp")
    assert sent(message)["messages"] == [{"role": "user", "content": [found]}]


def test_texts_of_a_result_are_split_again_unless_they_were_changed() -> None:
    """A pass that shortens a result is not undone by what was remembered of its blocks."""
    (message,) = read({"role": "user", "content": [gave("t1", [text("one"), PIXEL, text("two\nthree")])]})
    result = message.result
    assert result is not None
    assert result.text == "one\ntwo\nthree"
    shorter = msgspec.structs.replace(message, parts=(msgspec.structs.replace(result, text="[masked]", media=()),))

    assert encode([message])[0]["content"][0]["content"] == [text("one"), PIXEL, text("two\nthree")]
    assert encode([shorter])[0]["content"] == [gave("t1", "[masked]")]


def test_a_message_whose_text_was_changed_is_what_it_says_now() -> None:
    """What was noted of the original would bring back what a pass took out."""
    raw = {"role": "assistant", "content": [{"text": "long", "type": "text", "odd": {"b": 1, "a": 2}}, text("x")]}
    (message,) = read(raw)
    changed = msgspec.structs.replace(message, parts=(Text(text="short"),))

    assert json.dumps(encode([message])) == json.dumps([raw])
    assert encode([changed]) == [{"role": "assistant", "content": [text("short")]}]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("hello", "message 0: expected a mapping, got str"),
        ({"role": "tool", "content": "x"}, "unknown `role` 'tool'; known are user, assistant, system"),
        ({"role": "user"}, "`content` must be text or a list of blocks, got NoneType"),
        ({"role": "user", "content": ["x"]}, "content block 0: expected a mapping, got str"),
        ({"role": "user", "content": [{"text": "x"}]}, "`type` of a block must be text, got None"),
        ({"role": "user", "content": [{"type": "text"}]}, "`text` must be text, got NoneType"),
        ({"role": "user", "content": [gave("")]}, "`tool_use_id` must be a non-empty string, got ''"),
        ({"role": "user", "content": [gave("a", 7)]}, "`content` must be text or a list of blocks, got int"),
        ({"role": "assistant", "content": [{**use("a"), "input": "{}"}]}, "`input` must be an object, got str"),
        ({"role": "assistant", "content": [{**use("a"), "name": None}]}, "`name` must be a non-empty string, got None"),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": 1}]}, "`thinking` must be text, got int"),
        ({"role": "assistant", "content": [{"type": "redacted_thinking"}]}, "`data` must be text"),
        ({"role": "user", "content": "x", "vendor": object()}, "only plain JSON can be stored"),
    ],
)
def test_a_malformed_shape_is_refused_with_what_is_wrong(raw: object, said: str) -> None:
    """Place, field and value are in the error."""
    with pytest.raises(MessageError, match=said):
        read(raw)


def test_nesting_beyond_reason_is_read_or_refused() -> None:
    """A recursion limit is no way to say what is wrong with a message."""
    for depth in (50, 400, 900, 100_000):
        deep: Any = "x"
        for _ in range(depth):
            deep = {"a": deep}
        for content in ([use("t", a=deep)], [{"type": "hologram", "at": deep}]):
            try:
                messages = read({"role": "assistant", "content": content})
            except MessageError:
                continue
            encode(messages)
            sent(*messages, ToolMessage("t")) if messages[0].calls else sent(*messages)


def ToolMessage(call_id: str, words: str = "ok", **extra: Any) -> Message:  # noqa: N802
    return Message(id="", role="tool", parts=(ToolResult(call_id=call_id, text=words),), extra=extra)


def test_only_what_can_be_nothing_else_is_recognised() -> None:
    """Plain text could be of any format."""
    assert [recognises(raw) for raw in CONVERSATION] == [False, True, True, False]
    assert recognises({"role": "assistant", "content": [text("x")], "stop_reason": "end_turn"})
    assert recognises(user([PIXEL]))
    assert not recognises(user([{"type": "image_url", "image_url": {"url": "u"}}]))
    assert not recognises(calls(call("a", "f")))


# --- Sending ---------------------------------------------------------------------------------------------------------


def test_a_session_of_anthropic_messages_is_sent_as_it_was() -> None:
    """Thinking with its signature, calls, results first, and the same bytes each time."""
    session = session_of(CONVERSATION, system="Be kind.")
    view = session.compile()

    lowered = view.to("anthropic")

    assert anthropic_rules.problems(lowered) == []
    assert lowered["system"][0]["text"] == "Be kind."
    assert [turn["role"] for turn in lowered["messages"]] == ["user", "assistant", "user", "assistant"]
    assert lowered["messages"][1]["content"] == CONVERSATION[1]["content"]
    assert [block["type"] for block in lowered["messages"][2]["content"]] == ["tool_result", "tool_result", "text"]
    assert json.dumps(view.to("anthropic")) == json.dumps(lowered)
    again = session_of(CONVERSATION, system="Be kind.").compile()
    assert again.payload_sha256 == view.payload_sha256
    rebuilt = foveate.Session.from_events(foveate.load_events(session.dump()), system="Be kind.")
    assert rebuilt.compile().to("anthropic") == lowered


def test_the_hash_of_a_request_knows_its_thinking() -> None:
    """OpenAI's form alone would not tell two signatures apart."""
    other = json.loads(json.dumps(CONVERSATION).replace("c2ln", "b3Ro"))

    assert session_of(CONVERSATION).compile().payload_sha256 != session_of(other).compile().payload_sha256


def blocks_of(turn: dict[str, Any]) -> list[Any]:
    """The blocks of a message; a text is a block of it, which it becomes where a mark stands on it."""
    content = turn["content"]
    return [text(content)] if isinstance(content, str) else content


def test_a_request_grows_at_its_end() -> None:
    """What was sent stays as it was, so that the provider finds it in its cache."""
    session = foveate.Session(system="Be kind.")
    previous: list[Any] = []
    for message in [*work(3), says("Trailing \n"), says("and more"), user("ok")]:
        session.append(message)
        lowered = json.loads(
            json.dumps(session.compile().to("anthropic")).replace(', "cache_control": {"type": "ephemeral"}', "")
        )
        flat = [(turn["role"], block) for turn in lowered["messages"] for block in blocks_of(turn)]
        assert flat[: len(previous)] == previous
        previous = flat


def test_marks_stand_behind_what_will_be_sent_again() -> None:
    """The system prompt and the ends of what is stable, four at most."""
    session = session_of(work(2), system="Be kind.", model="anthropic:claude-sonnet-4-5")
    session.compile()
    session.extend([user("more"), *exchange("z", "Read", "out", file_path="z")])

    lowered = session.compile().to("anthropic")

    assert lowered["system"] == [{"type": "text", "text": "Be kind.", "cache_control": MARK}]
    marked = [block for turn in lowered["messages"] for block in turn["content"] if "cache_control" in block]
    assert marked[-1]["type"] == "tool_result"
    assert 1 < len(marked) + 1 <= 4


def test_recorded_marks_stand_until_the_request_is_rewritten() -> None:
    """A client knows what it wants cached; what a reduction moved is marked where it stands now, in the same way."""
    messages = read(user([{**text("x"), "cache_control": HOUR}, {**PIXEL, "cache_control": MARK}]), says("y"))

    assert json.dumps(sent(*messages)).count("cache_control") == 2
    assert json.dumps(encode(messages)).count("cache_control") == 2
    rewritten = sent(*messages, marks=(1,), rewritten=True)["messages"]
    assert json.dumps(rewritten).count("cache_control") == 1
    assert rewritten[1]["content"] == [{**text("y"), "cache_control": HOUR}]


def test_no_mark_of_foveate_lives_longer_than_one_before_it() -> None:
    """The provider refuses that; a client's tools may be marked for less than its messages."""
    messages = read(user([{**text("x"), "cache_control": HOUR}]), says("y"))
    tool = {"name": "f", "input_schema": {"type": "object"}}

    alone = sent(*messages, system="S", marks=(1,), mark_system=True, rewritten=True)
    behind = sent(*messages, system="S", tools=({**tool, "cache_control": MARK},), marks=(1,), rewritten=True)

    assert alone["system"] == [{**text("S"), "cache_control": HOUR}]
    assert alone["messages"][1]["content"] == [{**text("y"), "cache_control": HOUR}]
    assert behind["messages"][1]["content"] == [{**text("y"), "cache_control": MARK}]


@pytest.mark.parametrize(("seconds", "mark"), [(300, MARK), (3_600, HOUR)])
def test_marks_live_as_long_as_the_rules_say(seconds: int, mark: dict[str, Any]) -> None:
    """What is predicted and priced is what is asked for; a call is rebuilt with the marks that it was sent with."""
    cache = foveate.CacheRules(
        minimum_tokens=1_024, ttl_seconds=seconds, breakpoints=4, lookback_blocks=20, write=2.0, read=0.1
    )
    session = foveate.Session(model=foveate.ModelProfile(name="m", window=50_000, cache=cache), system="S")
    session.append(user("x"))
    lowered = session.compile().to("anthropic")
    again = foveate.Session.from_events(foveate.load_events(session.dump())).call(1)

    assert lowered["system"] == [{**text("S"), "cache_control": mark}]
    assert lowered["messages"][0]["content"] == [{**text("x"), "cache_control": mark}]
    assert again.to("anthropic") == lowered


def test_a_mark_never_stands_on_thinking() -> None:
    """It goes to the last block that may have it."""
    message = Message(id="", role="assistant", parts=(Thinking(text="t", signature="s"), Text(text="so")))

    lowered = sent(*read(user("x")), message, marks=(1,))

    assert [block.get("cache_control") for block in lowered["messages"][1]["content"]] == [None, MARK]


def test_without_a_system_prompt_the_mark_goes_to_the_tools() -> None:
    """They are what stands first."""
    tools = ({"type": "function", "function": {"name": "f", "parameters": {}}}, {"name": "g", "input_schema": {}})

    lowered = sent(*read(user("x")), tools=tools, mark_system=True)

    assert [tool.get("cache_control") for tool in lowered["tools"]] == [None, MARK]
    assert "system" not in lowered


def test_leading_system_messages_join_the_prompt_and_later_ones_are_framed() -> None:
    """Not every model takes a system prompt further down; what stands there for it cannot pass for the user's words."""
    messages = openai_chat.decode_all(
        [{"role": "system", "content": "A"}, user("x"), says("y"), {"role": "system", "content": "B"}], place
    )

    lowered = sent(*messages, system="S", marks=(0,))

    assert lowered["system"] == [{"type": "text", "text": "S\n\nA", "cache_control": MARK}]
    assert lowered["messages"][-1] == {"role": "user", "content": [text("<system>\nB\n</system>")]}
    assert sent(*messages, wire=1)["messages"][-1] == {"role": "user", "content": [text("B")]}
    shown = Message(id="", role="system", parts=(Text(text="A"), Media(kind="image", reference="https://x.org/y.png")))
    assert sent(shown, *read(user("B")))["system"] == "A\n[image left out: https://x.org/y.png]"


def test_a_request_begins_with_the_user() -> None:
    """Also one that the assistant begins."""
    assert sent(*read(says("hi")))["messages"][0] == {"role": "user", "content": [text(OPENING)]}


def test_one_side_in_a_row_is_one_message_unless_it_came_apart() -> None:
    """Anthropic takes both; what came is not rewritten, and what Foveate writes has no reason to be two."""
    raws = [user("a"), user("b"), says("c \n"), says("d  "), user("e")]
    ours = openai_chat.decode_all([user("a"), user("b"), says("c \n"), says("d  "), user("e")], place)
    plain = [msgspec.structs.replace(message, extra={}) for message in ours]

    assert sent(*read(*raws))["messages"] == raws
    assert [[block["text"] for block in turn["content"]] for turn in sent(*plain)["messages"]] == [
        ["a", "b"],
        ["c", "d"],
        ["e"],
    ]


def test_thinking_is_sent_if_it_is_signed_and_leads() -> None:
    """An unsigned thought, one signed by another provider, and one after words are left out."""
    ours, unsigned = Thinking(text="a", signature="s"), Thinking(text="b")
    others = Thinking(text="c", signature="g", extra=foreign("gemini", {"thoughtSignature": "g"}))

    def kinds(*parts: Any) -> list[str]:
        message = Message(id="", role="assistant", parts=parts)
        return [block["type"] for block in sent(*read(user("x")), message)["messages"][1]["content"]]

    assert kinds(ours, Text(text="w")) == ["thinking", "text"]
    assert kinds(ours, Text(text="w"), ours) == ["thinking", "text"]
    assert kinds(ours, Text(text="w"), ours, Text(text="v")) == ["thinking", "text", "thinking", "text"]
    assert kinds(unsigned, Text(text="w")) == ["text"]
    assert kinds(others, Text(text="w")) == ["text"]
    assert kinds(Text(text="w"), ours) == ["text"]


def test_ids_and_names_are_spelled_as_allowed() -> None:
    """Odd ones get one that no other has, the same in call, result and definition; allowed ones stay."""
    ids = ["call:1", "call.1", "call_1", "长", "x" * 65, ""]
    tools = ({"type": "function", "function": {"name": "db.query", "parameters": {"type": "object"}}},)
    names = ["db.query", "db:query", "query", "", "n" * 200, "db_query"]
    made = tuple(ToolCall(id=one, name=name) for one, name in zip(ids, names, strict=True))
    messages = (Message(id="", role="assistant", parts=made), *(ToolMessage(one) for one in ids))

    lowered = sent(*read(user("x")), *messages, tools=tools)

    uses, results = lowered["messages"][1]["content"], lowered["messages"][2]["content"]
    assert [one["id"] for one in uses] == [one["tool_use_id"] for one in results]
    assert uses[2]["id"] == "call_1"
    assert uses[2]["name"] == "query"
    assert len({one["id"] for one in uses}) == len({one["name"] for one in uses}) == 6
    assert lowered["tools"][0]["name"] == uses[0]["name"] != "db.query"
    shorter = sent(*read(user("x")), Message(id="", role="assistant", parts=made[:1]), messages[1], tools=tools)
    assert shorter["messages"][1]["content"][0] == uses[0]


def test_arguments_that_are_no_object_are_wrapped() -> None:
    """A broken call of the model is shown to it, not hidden."""
    session = session_of(
        [
            user("x"),
            calls({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{bro"}}),
            result("a", "?"),
        ]
    )

    lowered = session.compile().to("anthropic")

    assert anthropic_rules.problems(lowered) == []
    assert lowered["messages"][1]["content"][0]["input"] == {"arguments": "{bro"}


def test_half_a_character_in_arguments_does_not_stop_a_request() -> None:
    """Models cut an emoji in two; UTF-8 cannot carry the halves."""
    arguments = '{"text": "\\ud83d \\ud83d\\ude00"}'
    made = Message(id="", role="assistant", parts=(ToolCall(id="a", name="f", arguments=arguments),))

    lowered = sent(*read(user("x")), made, ToolMessage("a"))

    assert lowered["messages"][1]["content"][0]["input"] == {"text": "\ufffd 😀"}
    assert encode([made])[0]["content"][0]["input"] == {"text": "\ufffd 😀"}


def test_an_error_has_text_and_nothing_else() -> None:
    """One without output says so; an image says more than the flag."""
    asked = (*read(user("x")), Message(id="", role="assistant", parts=(ToolCall(id="a", name="f"),)))
    picture = Media(kind="image", reference="data:image/png;base64,AAAA")
    seen = Message(
        id="", role="tool", parts=(ToolResult(call_id="a", text="", media=(picture,)),), extra={"is_error": True}
    )

    empty = sent(*asked, ToolMessage("a", " ", is_error=True))["messages"][2]["content"][0]
    shown = sent(*asked, seen)["messages"][2]["content"][0]
    silent = sent(*asked, ToolMessage("a", "\n"))["messages"][2]["content"][0]

    assert empty == {"type": "tool_result", "tool_use_id": "a", "content": [text(NO_OUTPUT)], "is_error": True}
    assert shown == {"type": "tool_result", "tool_use_id": "a", "content": [PIXEL]}
    assert silent == {"type": "tool_result", "tool_use_id": "a"}


@pytest.mark.parametrize(
    ("media", "block"),
    [
        (
            Media(kind="image", reference="data:image/jpg;base64,AAAA"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
        ),
        (
            Media(kind="image", reference="https://x.org/y.png"),
            {"type": "image", "source": {"type": "url", "url": "https://x.org/y.png"}},
        ),
        (
            Media(kind="file", reference="data:application/pdf;base64,AAAA"),
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
        ),
        (
            Media(kind="file", reference="data:text/plain;charset=utf-8;base64,5L2g5aW9"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "你好"}},
        ),
        (
            Media(kind="file", reference="https://x.org/y.pdf"),
            {"type": "document", "source": {"type": "url", "url": "https://x.org/y.pdf"}},
        ),
        (
            Media(kind="file", reference="file_1", extra=foreign("anthropic", {"@source": {"type": "file"}})),
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        ),
        (
            Media(kind="image", reference="data:image/tiff;base64,AAAA"),
            text("[image left out: image/tiff, 27 characters]"),
        ),
        (
            Media(kind="image", reference="data:image/png;base64,~~~"),
            text("[image left out: image/png, 25 characters]"),
        ),
        (
            Media(kind="audio", reference="data:audio/wav;base64,AAAA"),
            text("[audio left out: audio/wav, 26 characters]"),
        ),
        (Media(kind="audio", reference="https://x.org/y.wav"), text("[audio left out: https://x.org/y.wav]")),
        (
            Media(kind="file", reference="https://x.org/y.doc", media_type="application/msword"),
            text("[file left out: https://x.org/y.doc]"),
        ),
        (Media(kind="file", reference="file-abc"), text("[file left out: file-abc]")),
        (
            Media(kind="file", reference="data:text/plain;base64,/w=="),
            text("[file left out: text/plain, 27 characters]"),
        ),
    ],
)
def test_images_and_files_of_any_origin_are_sent_or_named(media: Media, block: dict[str, Any]) -> None:
    """What Anthropic cannot take leaves a note, also where an assistant showed it."""
    message = Message(id="", role="user", parts=(media,))
    shown = Message(id="", role="assistant", parts=(media,))

    assert sent(message)["messages"] == [{"role": "user", "content": [block]}]
    assert sent(*read(user("x")), shown)["messages"][1]["content"][0]["text"].startswith(f"[{media.kind} left out: ")


def test_a_long_conversation_is_lowered() -> None:
    """In a time that grows with its length and no faster."""
    turns = 5_000
    raws = [raw for number in range(turns) for raw in (user("x"), *exchange(f"call:{number}", "f.g", "out"))]

    lowered = sent(*openai_chat.decode_all(raws, place))

    assert len(lowered["messages"]) == 2 * turns + 1
    assert len(lowered["messages"][2]["content"]) == 2


@pytest.mark.parametrize("kind", ["container_upload", "compaction", "server_tool_use", "web_search_tool_result"])
def test_blocks_that_only_anthropic_has_are_recognised(kind: str) -> None:
    """They would be refused as anything else, and come back as they were."""
    raw = {"role": "assistant", "content": [{"type": kind, "content": "x"}, text("y")]}

    assert recognises(raw)
    assert encode(read(raw)) == [raw]


def test_citations_are_recognised_by_what_they_point_to() -> None:
    """Cache marks are no sign: others take them too."""
    cited = {**text("x"), "citations": [{"type": "char_location", "cited_text": "x"}]}

    assert recognises({"role": "assistant", "content": [cited]})
    assert not recognises({"role": "assistant", "content": [{**text("x"), "citations": [{"url": "https://x"}]}]})
    assert not recognises({"role": "user", "content": [{**text("x"), "cache_control": {"type": "ephemeral"}}]})


@pytest.mark.parametrize(
    ("media", "kind"),
    [
        (Media(kind="image", reference="https://x/y.png"), "image"),
        (Media(kind="file", reference="https://x/y.png"), "image"),
        (Media(kind="image", reference="http://x/y.png"), "text"),
        (Media(kind="image", reference="https://x/y.svg"), "text"),
        (Media(kind="file", reference="https://x/y.docx"), "text"),
        (Media(kind="file", reference="https://x/y.pdf?a=b"), "document"),
        (Media(kind="image", reference="data:image/jpg;base64,AAAA"), "image"),
        (Media(kind="image", reference="data:image/png;base64,"), "text"),
    ],
)
def test_only_what_anthropic_can_read_or_fetch_is_sent(media: Media, kind: str) -> None:
    """Anything else is named."""
    (block,) = sent(Message(id="", role="user", parts=(media,)))["messages"][0]["content"]

    assert block["type"] == kind


def test_an_error_with_a_block_of_an_unknown_type_stays_one() -> None:
    """As it came; one with a picture would be refused."""
    failed = gave("a", [text("no"), {"type": "hologram", "x": 1}], z=1, is_error=True)
    raws = [user("go"), {"role": "assistant", "content": [use("a")]}, user([failed])]
    session = foveate.Session()
    session.extend(raws, format="anthropic")

    sent_as = session.compile().to("anthropic")["messages"]
    assert sent_as[2]["content"][0].pop("cache_control") == MARK
    assert sent_as == raws
    assert anthropic_rules.problems({"messages": raws}) == []


def test_a_system_prompt_may_have_a_block_of_an_unknown_type() -> None:
    """It goes to Anthropic as it came, is counted, and says nothing elsewhere."""
    system = [text("Be kind."), {"type": "hologram", "x": "y" * 400}]
    session = foveate.Session(system=system)
    session.append(user("hi"))
    view = session.compile()

    lowered = view.to("anthropic")

    assert lowered["system"] == system
    assert anthropic_rules.problems(lowered) == []
    assert view.tokens > session_of([user("hi")], system="Be kind.").compile().tokens + 50
    assert "hologram" not in json.dumps([view.to(name) for name in ("openai", "openai-responses", "gemini")])
    with pytest.raises(foveate.ConfigError, match="`system` must be text"):
        foveate.Session(system=system[1:])
