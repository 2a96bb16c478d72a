"""OpenAI chat messages, both ways."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialogue import call, calls, result, says, user

import foveate
from foveate import MessageError
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall, ToolResult, fields_of, foreign
from foveate.wire import openai_rules
from foveate.wire.format import Request
from foveate.wire.formats import FORMATS
from foveate.wire.names import originals_of
from foveate.wire.openai_chat import decode, encode, recognises
from foveate.wire.openai_request import RESULTS, SHOWN, lower

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}


@pytest.mark.parametrize(
    "raw",
    [
        user("hello"),
        user("你好，世界"),
        user(""),
        {**user("hello"), "name": "ada"},
        says("hi"),
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": "Be brief."},
        calls(call("a", "Read", file_path="x"), text="Reading."),
        calls(call("a", "Read", file_path="x"), call("b", "Bash", command="ls")),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{bro"}}],
        },
        result("a", "output"),
        result("a", ""),
        user([{"type": "text", "text": "look"}, IMAGE]),
        user([IMAGE]),
        user([{"type": "file", "file": {"file_id": "f1"}}]),
        user([{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}]),
        user([{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]),
        user([{"type": "input_audio", "input_audio": "broken"}]),
        user([{**IMAGE, "cache_control": {"type": "ephemeral"}}]),
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}]},
        calls({"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}}),
        calls({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}", "strict": True}}),
        {**says("hi"), "id": "msg_1"},
        {**user("hi"), "@anthropic": {"@joined": True}},
        result("a", [{"type": "text", "text": "one"}, {"type": "text", "text": "two", "cache_control": {}}]),
        result("a", [IMAGE, {"type": "text", "text": "below"}]),
        {"role": "assistant", "content": "no", "refusal": None, "reasoning_content": "hm"},
        {"role": "assistant", "content": None, "refusal": "I cannot."},
        {"role": "assistant", "content": "So:", "refusal": "I cannot."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ],
)
def test_what_came_in_goes_out(raw: dict) -> None:
    """A message that was not reduced reaches the provider as the caller gave it."""
    assert encode(decode(raw)) == raw


def test_what_is_meant_for_foveate_alone_stays_here() -> None:
    """Providers refuse fields they do not know."""
    assert encode(decode({**result("a", "x"), "is_error": True})) == result("a", "x")
    assert encode(decode({**user("x"), "pinned": True})) == user("x")
    assert decode({**user("x"), "pinned": True}).meta.pinned


def test_an_image_in_a_tool_result_goes_out() -> None:
    """A screenshot is what the tool was called for."""
    raw = result("a", [{"type": "text", "text": "see"}, IMAGE])

    assert encode(decode(raw)) == raw


def test_unknown_fields_of_a_call_go_out() -> None:
    """Gemini's OpenAI endpoint wants `extra_content` back."""
    raw = calls({**call("a", "f"), "extra_content": {"google": {"thought_signature": "sig"}}})

    assert encode(decode(raw)) == raw


def test_unknown_fields_of_a_text_block_go_out() -> None:
    """A caller's own cache mark is not ours to remove."""
    raw = user([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}])

    assert encode(decode(raw)) == raw


def test_arguments_given_as_an_object_become_text() -> None:
    """Some libraries parse them already."""
    message = decode(calls({"id": "a", "type": "function", "function": {"name": "f", "arguments": {"名": "值"}}}))

    assert message.calls == (ToolCall(id="a", name="f", arguments='{"名": "值"}'),)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            {"role": "robot", "content": "x"},
            r"unknown `role` 'robot'; known are system, developer, user, assistant, tool",
        ),
        ({"content": "x"}, "unknown `role` None"),
        ("hello", "expected a mapping with `role`, got str"),
        ({"role": "user", "content": 7}, "`content` must be text or a list of blocks, got int"),
        (user([{"type": "image_url"}]), "does not have what that type needs"),
        (user([7]), "expected text or a block"),
        ({"role": "tool", "content": "x"}, "`tool_call_id` must be a non-empty string, got None"),
        ({"role": "assistant", "tool_calls": {"id": "a"}}, "`tool_calls` must be a list, got dict"),
        (calls({"type": "function", "function": {"name": "f"}}), "`id` must be a non-empty string, got None"),  # type: ignore[arg-type]
        (calls({"id": "a"}), "`function` must be a mapping with a `name`"),
        (calls({"id": "a", "function": {"name": "f", "arguments": 3}}), "`arguments` must be JSON text, got int"),
        ({**user("x"), "tool_calls": [call("a", "f")]}, "only an assistant message has `tool_calls`"),
    ],
)
def test_a_malformed_shape_is_refused_with_what_is_wrong(raw: object, said: str) -> None:
    """Value, field and what is known are in the error."""
    with pytest.raises(MessageError, match=said):
        decode(raw)


def test_thinking_does_not_go_out_on_this_wire() -> None:
    """OpenAI chat has no place for it."""
    message = Message(id="m1", role="assistant", parts=(Thinking(text="hm", signature="s"), Text(text="hi")))

    assert encode(message) == says("hi")


def test_an_image_by_plain_address_is_spelled_out() -> None:
    """Both spellings of an image mean the same."""
    assert decode(user([{"type": "image_url", "image_url": "https://x/y.png"}])).parts == (
        Media(kind="image", reference="https://x/y.png"),
    )


@pytest.mark.parametrize(
    ("block", "media"),
    [
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
            ("file", "data:application/pdf;base64,AAAA", "application/pdf"),
        ),
        ({"type": "file", "file": {"file_id": "file-1"}}, ("file", "file-1", None)),
        (
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
            ("audio", "data:audio/wav;base64,AA==", "audio/wav"),
        ),
    ],
)
def test_files_and_sounds_are_referred_to_by_what_they_are(block: dict, media: tuple[Any, ...]) -> None:
    """Other formats can read an address, an id or bytes; their bytes are stored once."""
    (part,) = decode(user([block])).parts

    assert isinstance(part, Media)
    assert (part.kind, part.reference, part.media_type) == media
    assert str(part).count("AA") == part.reference.count("AA")


def test_a_file_that_was_recorded_with_its_block_goes_out_as_it_was() -> None:
    """Logs that hold the whole block in the extra stay readable."""
    block = {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}}
    message = Message(id="m1", role="user", parts=(Media(kind="file", reference=str(block), extra=dict(block)),))

    assert lower(Request(messages=(message,))) == [user([block])]


PDF = "data:application/pdf;base64,AAAA"


@pytest.mark.parametrize(
    ("media", "block"),
    [
        (
            Media(kind="image", reference="https://x/y.png"),
            {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        ),
        (Media(kind="file", reference=PDF), {"type": "file", "file": {"filename": "file.pdf", "file_data": PDF}}),
        (
            Media(kind="audio", reference="data:audio/mpeg;base64,AAAA"),
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        ),
        (Media(kind="file", reference="https://x/y.pdf"), "[file left out: https://x/y.pdf]"),
        (Media(kind="image", reference="https://x/y.svg"), "[image left out: https://x/y.svg]"),
        (
            Media(kind="image", reference="data:image/tiff;base64,AAAA"),
            "[image left out: image/tiff, 27 characters]",
        ),
        (Media(kind="file", reference="data:text/csv;base64,AAAA"), "[file left out: text/csv, 25 characters]"),
        (
            Media(kind="file", reference=PDF, extra={"file": {"filename": "a\n.pdf"}}),
            {"type": "file", "file": {"filename": "file.pdf", "file_data": PDF}},
        ),
        (
            Media(kind="image", reference="file_1", extra=foreign("anthropic", {"@source": {"type": "file"}})),
            "[image left out: file_1]",
        ),
        (Media(kind="audio", reference="data:audio/ogg;base64,AAAA"), "[audio left out: audio/ogg, 26 characters]"),
    ],
)
def test_images_and_files_of_any_origin_are_sent_or_named(media: Media, block: Any) -> None:
    """What OpenAI cannot take leaves a note, also in places where it takes text alone."""
    said = Message(id="m1", role="user", parts=(media,))
    shown = Message(id="m2", role="assistant", parts=(media,))

    lowered = lower(Request(messages=(said, shown), system="S"))

    assert lowered[1] == user(block if isinstance(block, str) else [block])
    assert lowered[2]["content"].startswith(f"[{media.kind} left out: ")
    assert openai_rules.sent_problems(lowered) == []


def test_images_and_files_of_results_are_shown_behind_the_last_of_them() -> None:
    """A tool says text alone; what cannot be shown at all is named."""
    media = (Media(kind="file", reference=PDF), Media(kind="image", reference="data:image/bmp;base64,AAAA"))
    parts = (ToolCall(id="a", name="f"), ToolCall(id="b", name="f"))
    messages = (
        Message(id="", role="assistant", parts=parts),
        Message(id="", role="tool", parts=(ToolResult(call_id="a", text="see", media=media),)),
        Message(id="", role="tool", parts=(ToolResult(call_id="b", text="ok"),)),
        Message(id="", role="assistant", parts=(Text(text="Done."),)),
    )

    _, first, second, shown, last = lowered = lower(Request(messages=messages))

    texts = ["see", f"[file] {SHOWN}", "[image left out: image/bmp, 26 characters]"]
    assert first["content"] == [{"type": "text", "text": text} for text in texts]
    assert (second["content"], last["content"]) == ("ok", "Done.")
    file = {"type": "file", "file": {"filename": "file.pdf", "file_data": PDF}}
    assert shown == user([{"type": "text", "text": RESULTS}, file])
    assert openai_rules.sent_problems(lowered) == []


def test_an_id_is_kept_and_not_sent() -> None:
    """Providers do not know it."""
    message = decode({**says("hi"), "id": "msg_1"})

    assert encode(message)["id"] == "msg_1"
    assert lower(Request(messages=(message,))) == [says("hi")]


def test_a_custom_call_reads_as_a_call_with_an_input() -> None:
    """Other providers have no calls whose argument is plain text."""
    message = decode(calls({"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls"}}))

    assert message.calls[0].arguments == '{"input": "ls"}'


def test_only_what_can_be_nothing_else_is_recognised() -> None:
    """Plain text could be of any format."""
    assert recognises(calls(call("a", "f")))
    assert recognises(result("a", "x"))
    assert recognises({"role": "developer", "content": "x"})
    assert recognises(user([IMAGE]))
    assert not recognises(user("x"))
    assert not recognises(user([{"type": "text", "text": "x"}]))
    assert not recognises("x")


LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": '{"at": "here"}'}}
ANSWER = {"role": "function", "name": "weather", "content": "rain"}


def test_functions_of_old_are_calls_with_results() -> None:
    """Nothing of them is lost, and they go out as they came."""
    raws = [user("hi"), LEGACY, ANSWER, says("It rains."), LEGACY, ANSWER]
    session = foveate.Session()
    session.extend(raws[:2])
    session.extend(raws[2:])

    assert [encode(message) for message in session.messages] == raws
    for name in ("openai", "anthropic", "gemini", "openai-responses"):
        sent = session.compile().to(name)
        assert FORMATS[name].problems(sent) == []
        assert str(sent).count("rain'") == 2


def test_a_refusal_is_sent_as_what_was_said() -> None:
    """As it came beside the content; as a block of it, if Foveate writes the message."""
    raw = {"role": "assistant", "content": None, "refusal": "I cannot."}
    message = decode(raw)

    assert lower(Request(messages=(message,))) == [raw]
    message = msgspec.structs.replace(message, extra={})
    assert lower(Request(messages=(message,)))[0]["content"] == [{"type": "refusal", "refusal": "I cannot."}]


def test_parts_are_no_content() -> None:
    """A message that says nothing this way would be lost without a word."""
    with pytest.raises(MessageError, match="`parts` is no field of an OpenAI chat message; give `content`"):
        decode({"role": "user", "parts": [7]})


def test_fields_of_an_answer_are_not_sent() -> None:
    """They are kept, and refused by OpenAI; so are the fields of other servers."""
    raw = {**says("hi"), "reasoning_content": "hm", "parsed": {"a": 1}, "annotations": [], "audio": None}
    message = decode(raw)
    named = decode({**user([{"type": "text", "text": "hi", "citations": []}]), "name": "Ada L."})

    assert encode(message) == raw
    said, asked = lower(Request(messages=(message, named)))
    assert said == says("hi")
    assert asked["content"] == "hi"
    assert asked["name"].startswith("Ada_L_")


def test_other_servers_get_their_own_fields_back() -> None:
    """Reasoning that DeepSeek wants to see again, and cache marks, go there and not to OpenAI."""
    marked = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": {"a": 1}}
    raws = [
        user([marked, {"type": "text", "text": "there"}]),
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
    session = foveate.Session()
    session.extend(raws)
    view = session.compile()

    assert view.to("openai-compatible") == raws
    assert openai_rules.compatible_problems(raws) == []
    assert len(openai_rules.sent_problems(raws)) == 3
    assert openai_rules.sent_problems(view.to("openai")) == []
    assert "hm" not in json.dumps(view.to("openai"))


def test_ids_and_names_are_made_to_fit() -> None:
    """The same way in a call and its result."""
    call_id = "x" * 60
    messages = (
        Message(id="", role="assistant", parts=(ToolCall(id=call_id, name="mcp.read"),)),
        Message(id="", role="tool", parts=(ToolResult(call_id=call_id, text="ok"),)),
    )

    asked, answered = lowered = lower(Request(messages=messages))

    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert originals_of([{"name": "mcp.read"}])[asked["tool_calls"][0]["function"]["name"]] == "mcp.read"
    assert openai_rules.sent_problems(lowered) == []


def test_a_message_that_only_thought_is_not_sent() -> None:
    """OpenAI refuses an empty one."""
    messages = (decode(user("hi")), Message(id="", role="assistant", parts=(Thinking(text="hm"),)))

    assert lower(Request(messages=messages)) == [user("hi")]


ASKED = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{ }"}}
ANSWERED = {"role": "function", "name": "f", "content": "x"}
WARP = {"id": "c1", "type": "warp", "warp": {"name": "p", "to": [1]}, "z": None}


@pytest.mark.parametrize(
    "said",
    [
        [{"role": "assistant", "audio": {"id": "audio_1"}}],
        [{"role": "assistant", "content": None, "hologram": {"id": 1}}],
        [{"content": None, "role": "assistant", "refusal": "No."}],
        [
            {"role": "assistant", "content": None, "tool_calls": [WARP]},
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
        ],
        [ASKED, ANSWERED, {"role": "user", "content": "again"}, ASKED, ANSWERED],
    ],
)
def test_what_a_message_says_beside_its_content_goes_out_as_it_came(said: list[dict[str, Any]]) -> None:
    """What nobody here knows too; other formats do not make words of it."""
    raws = [{"role": "user", "content": "hi"}, *said, {"role": "user", "content": "so?"}]
    session = foveate.Session()
    session.extend(raws, format="openai")
    view = session.compile()

    assert json.dumps(view.to("openai")) == json.dumps(raws)
    assert openai_rules.sent_problems(raws) == []
    for other in ("anthropic", "gemini", "openai-responses"):
        sent = FORMATS[other].lower(view.request)
        assert FORMATS[other].problems(sent) == []
        assert "hologram" not in json.dumps(sent)
        assert "audio" not in json.dumps(sent)


def test_of_a_sound_in_an_answer_only_its_id_is_sent() -> None:
    """The provider has the bytes, and refuses them."""
    sound = {"id": "audio_1", "data": "AAAA", "transcript": "Hello.", "expires_at": 1}
    session = foveate.Session()
    session.extend([{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "audio": sound}])

    assert session.compile().to("openai")[1] == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}


def test_a_call_from_before_there_were_tools_is_a_tools_where_its_answer_is_not_as_it_came() -> None:
    """Question and answer are both in the old form, or both in the new one."""
    asked, answered = decode(ASKED), decode(ANSWERED)

    for pair in (
        (asked, msgspec.structs.replace(answered, extra={})),
        (msgspec.structs.replace(asked, extra={}), answered),
    ):
        sent = lower(Request(messages=pair))
        assert [message["role"] for message in sent] == ["assistant", "tool"]
        assert openai_rules.sent_problems(sent) == []


def test_an_empty_message_that_says_it_is_one_has_nothing_to_send() -> None:
    """`type` is how other formats mark a message, and no content of one."""
    session = foveate.Session()
    session.extend([{"role": "user", "content": "hi"}, {"type": "message", "role": "assistant", "content": []}])
    sent = session.compile().to("openai")

    assert openai_rules.sent_problems(sent) == []
    assert [message["content"] for message in sent] == ["hi"]


@given(st.sampled_from(["system", "user", "assistant", "tool"]), st.text())
def test_a_message_that_is_a_text_alone_is_written_as_it_came(role: str, text: str) -> None:
    """No note is made for it, and none is needed."""
    raw = {"role": role, "tool_call_id": "c1", "content": text} if role == "tool" else {"role": role, "content": text}
    message = decode(raw)
    assert json.dumps(encode(message)) == json.dumps(raw)
    assert fields_of(message.extra, "openai") == {"form": "text"}
