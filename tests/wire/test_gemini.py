"""Gemini contents, both ways."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dialogue import call, calls, result, says, session_of, user
from tests.properties.play import Player, random_ops

import foveate
from foveate.errors import BudgetError, MessageError
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall, ToolResult
from foveate.wire import openai_chat, openai_responses
from foveate.wire.format import OPENING, Request
from foveate.wire.gemini import decode, encode, recognises
from foveate.wire.gemini_lowering import UNSIGNED, lower
from foveate.wire.gemini_parts import part_of
from foveate.wire.gemini_rules import problems

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"
PNG = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}


def told(*parts: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def said(*parts: dict[str, Any] | str) -> dict[str, Any]:
    return {**told(*parts), "role": "model"}


def asks(name: str, /, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **fields}}


def answers(name: str, output: Any, /, **fields: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": output}, **fields}}


def place(index: int) -> str:
    return f"content {index}"


def pairs(messages: list[Message] | tuple[Message, ...]) -> dict[str, str]:
    """What was answered to each call, by the call's arguments."""
    results = {message.result.call_id: message.result.text for message in messages if message.result is not None}
    return {one.arguments: results.get(one.id, "nothing") for message in messages for one in message.calls}


@pytest.mark.parametrize(
    "contents",
    [
        [told("你好"), said("hello")],
        [told("a", "b", PNG), said({"text": "hm", "thought": True}, {"text": "x", "thoughtSignature": "s"})],
        [said({"text": "", "thoughtSignature": "s"}, {"text": "hm", "thought": True, "thoughtSignature": "t"})],
        [said("go", {**asks("f"), "thoughtSignature": "s"}, asks("f", id="1", args={"x": [1, {"y": None}]}))],
        [said(asks("f"), asks("f")), told(answers("f", "1"), answers("f", "2"), "and", PNG)],
        [said(asks("f")), {"role": "function", "parts": [answers("f", "1")]}],
        [said(asks("f")), told("first", answers("f", "1"), "then", answers("g", "2", id="9", willContinue=False))],
        [told(answers("f", {"deep": [1]}), {"functionResponse": {"name": "f", "response": {"error": "no such file"}}})],
        [told({"functionResponse": {"name": "f", "response": {}, "parts": [PNG]}})],
        [told({"functionResponse": {"name": "f", "response": {}, "parts": [{"hologram": 1}]}})],
        [told({"fileData": {"mimeType": "video/mp4", "fileUri": "https://x.org/v"}, "videoMetadata": {"fps": 1}})],
        [
            told(
                {"fileData": {"fileUri": "files/abc"}},
                {"inlineData": {"mimeType": "x/y", "data": "?", "displayName": "n"}},
            )
        ],
        [
            said(
                {"executableCode": {"language": "PYTHON", "code": "1+1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
                {"hologram": {"of": "x"}},
            )
        ],
        [told({"hologram": {"of": "x"}}, {}), {"role": "user", "parts": [], "unknown": 1}, said()],
    ],
)
def test_what_came_in_goes_out(contents: list[dict[str, Any]]) -> None:
    """Every part survives, with kinds and fields nobody has heard of, and no id that was not there."""
    assert encode(decode(contents, place)) == contents


def test_snake_case_is_read_too() -> None:
    """Both are read; what the caller put into arguments and responses is left alone."""
    snake = {
        "parts": [
            {"inline_data": {"mime_type": "image/png", "data": "AAAA"}},
            {"function_response": {"name": "f", "response": {"exit_code": 0}}},
        ]
    }

    assert encode(decode([snake], place)) == [snake]
    (shown, answer) = decode([snake], place)
    assert [part_of(part) for part in shown.parts] == [PNG]
    assert (answer.result.text if answer.result else "") == '{"exit_code": 0}'
    call = {"function_call": {"name": "f", "args": {"file_path": "x"}}, "thought_signature": "s"}
    assert encode(decode([said(call)], place)) == [said(call)]
    assert lower(Request(messages=tuple(decode([told("go"), said(call), told(answers("f", "x"))], place))))["contents"][
        1
    ] == said({**asks("f", args={"file_path": "x"}), "thoughtSignature": "s"})


@pytest.mark.parametrize("name", ["f", "not a name!"])
def test_a_response_in_snake_case_is_sent_in_camel_case(name: str) -> None:
    """As the provider's library writes a history: what stands inside of a response, behind it, or comes again."""
    picture = {"inline_data": {"mime_type": "image/png", "data": PIXEL}}
    answer = {"function_response": {"id": "c1", "name": name, "response": {"output": "x"}, "parts": [picture]}}
    asked = {"function_call": {"id": "c1", "name": name, "args": {}}}
    session = foveate.Session()
    session.extend([told("hi"), said(asked), told(answer, picture, answer)], format="gemini")

    sent = session.compile().to("gemini")

    assert "_" not in "".join(key for content in sent["contents"] for part in content["parts"] for key in part)
    assert sent["contents"][2]["parts"][0]["functionResponse"]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    ]
    assert not problems(sent)


def test_a_content_is_split_by_who_speaks() -> None:
    """Each response is a tool message; the words beside it are the user's."""
    messages = decode([said({"text": "hm", "thought": True}, "ok", asks("f")), told(answers("f", "1"), "more")], place)

    assert [message.role for message in messages] == ["assistant", "tool", "user"]
    assert [type(part) for part in messages[0].parts] == [Thinking, Text, ToolCall]


def test_a_response_that_is_an_error_says_so() -> None:
    (message,) = decode([told({"functionResponse": {"name": "f", "response": {"error": "no such file"}}})], place)

    assert message.extra["is_error"] is True
    assert message.text == "no such file"


def test_responses_without_ids_answer_the_oldest_open_call_of_their_name() -> None:
    contents = [
        said(asks("f", args={"n": 1}), asks("g", args={"n": 2}), asks("f", args={"n": 3})),
        told(answers("g", "two"), answers("f", "one"), answers("f", "three")),
        said(asks("f", args={"n": 4})),
        told(answers("f", "four")),
    ]

    messages = decode(contents, place)

    assert pairs(messages) == {'{"n": 1}': "one", '{"n": 2}': "two", '{"n": 3}': "three", '{"n": 4}': "four"}
    ids = [one.id for message in messages for one in message.calls]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("compiled", [False, True])
def test_calls_and_responses_find_each_other_over_batches(compiled: bool) -> None:
    """An agent's loop appends a call and its response one after the other, often with the same words."""
    session = session_of([told("go")], budget=32_000)
    for turn in range(3):
        session.append(said(asks("f", args={"n": turn}), asks("f", args={"m": turn}), asks("g", args={"k": turn})))
        if compiled:
            session.preview()
        session.append(told(answers("f", f"n{turn}"), answers("f", f"m{turn}"), answers("g", f"k{turn}")))
        if compiled:
            session.compile()

    found = pairs(session.compile().messages)

    assert found == {json.dumps({key: turn}): f"{key}{turn}" for turn in range(3) for key in "nmk"}
    assert '"id"' not in json.dumps(session.compile().to("gemini")["contents"])


def test_an_unanswered_call_does_not_take_the_answer_of_the_next() -> None:
    session = session_of([told("go"), said(asks("f", args={"n": 1}))], budget=32_000)
    session.append(said(asks("f", args={"n": 2})))
    session.append(told(answers("f", "two")))

    assert pairs(session.compile().messages)['{"n": 2}'] == "two"


def test_ids_that_were_given_are_sent() -> None:
    session = session_of([told("go"), said(asks("f", id="1")), told(answers("f", "x", id="1"))], budget=8_000)

    request = session.compile().to("gemini")

    assert request["contents"][1:] == [
        said(asks("f", id="1")),
        told(answers("f", "x", id="1")),
    ]


def test_results_appended_one_by_one_answer_one_call_each() -> None:
    """An agent's loop appends each response as its tool is done; what was read is known for each."""
    session = session_of([told("go")], budget=32_000)
    for turn in range(2):
        session.append(said(*(asks("Read", args={"file_path": f"{turn}{n}.py"}) for n in range(3))))
        for n in range(3):
            session.append(told(answers("Read", f"text {turn}{n}")))
            session.preview()

    found = pairs(session.compile().messages)

    assert found == {json.dumps({"file_path": f"{t}{n}.py"}): f"text {t}{n}" for t in range(2) for n in range(3)}
    results = [message for message in session.messages if message.role == "tool"]
    assert [message.meta.reads for message in results] == [(f"{t}{n}.py",) for t in range(2) for n in range(3)]
    assert not [event for event in session.context.events if event.body.__class__.__name__ == "DiagnosticRecorded"]


def test_a_response_without_an_id_answers_a_call_that_has_one() -> None:
    session = session_of([told("go")], budget=8_000)
    session.append(said(asks("f", id="1", args={"n": 1}), asks("f", id="2", args={"n": 2})))
    session.append(told(answers("f", "one")))
    session.append(told(answers("f", "two")))

    assert pairs(session.compile().messages) == {'{"n": 1}': "one", '{"n": 2}': "two"}


def test_the_first_call_of_a_content_is_signed() -> None:
    """Newer models refuse calls without a signature, such as those of another provider; real ones are kept."""
    signed = {**asks("f"), "thoughtSignature": "s"}
    messages = [user("a"), calls(call("1", "f"), call("2", "g")), result("1", "x"), result("2", "y"), user("b")]
    session = session_of([*messages, said(signed, asks("g")), told(answers("f", "1"), answers("g", "2"))], budget=8_000)

    contents = session.compile().to("gemini")["contents"]

    assert contents[1] == said({**asks("f"), "thoughtSignature": UNSIGNED}, asks("g"))
    assert contents[3] == said(signed, asks("g"))


def test_media_in_a_system_message_are_noted() -> None:
    parts = (Text(text="Look."), Media(kind="image", reference="https://x.org/a.png"))
    begins = Message(id="n", role="user", parts=(Text(text="Hi."),))
    request = lower(Request(messages=(Message(id="m", role="system", parts=parts), begins)))

    assert request["systemInstruction"] == {"parts": [{"text": "Look.\n[image left out: https://x.org/a.png]"}]}


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}},
            {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}},
        ),
        ({"type": "json_object"}, {"responseMimeType": "application/json"}),
        (
            {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"}},
            {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}},
        ),
        (
            {"response_schema": {"type": "ARRAY", "items": {"type": "STRING"}}},
            {
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "array", "items": {"type": "string"}},
            },
        ),
        (
            {"type": "json_schema", "name": "a", "schema": {"type": "STRING", "enum": ["STRING"]}},
            {"responseMimeType": "application/json", "responseJsonSchema": {"type": "string", "enum": ["STRING"]}},
        ),
        ({"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING"}}, None),
        ({"type": "text"}, None),
    ],
)
def test_a_response_format_is_sent(asked: dict[str, Any], sent: dict[str, Any] | None) -> None:
    request = session_of([told("x")], budget=8_000, response_format=asked).compile().to("gemini")

    assert request.get("generationConfig") == sent
    assert not problems(request)


def test_names_of_tools_and_calls_are_mapped_alike() -> None:
    """Else the model would be told of one tool and shown calls of another."""
    tool = {"type": "function", "function": {"name": "mcp/读", "parameters": {"type": "object"}}}
    messages = [user("go"), calls(call("1", "mcp/读")), result("1", "x")]

    request = session_of(messages, budget=8_000, tools=[tool]).compile().to("gemini")

    name = request["tools"][0]["functionDeclarations"][0]["name"]
    assert name == request["contents"][1]["parts"][0]["functionCall"]["name"]
    assert not problems(request)


def test_text_alone_is_a_part() -> None:
    assert recognises({"role": "user", "parts": ["hello"]})
    assert session_of([{"role": "user", "parts": ["hello", "you"]}], budget=8_000).compile().to("gemini")[
        "contents"
    ] == [told("hello", "you")]


def test_parts_of_unknown_kinds_are_sent_as_they_came() -> None:
    """They are opaque: never text, never half of them; other formats do not get them."""
    contents = [told("go", {"hologram": "x" * 1_000}), said("so", {"echo": 1, "thoughtSignature": "s"})]
    messages = decode(contents, place)

    assert lower(Request(messages=tuple(messages)))["contents"] == contents
    assert encode(messages) == contents
    assert "hologram" not in json.dumps(openai_chat.encode_all(messages))


@pytest.mark.parametrize(
    "raw", [told("x"), said(asks("f")), {"parts": []}, {"role": "function", "parts": [answers("f", "x")]}]
)
def test_contents_are_recognised(raw: dict[str, Any]) -> None:
    assert recognises(raw)


@pytest.mark.parametrize(
    "raw",
    [user("x"), {"kind": "request", "parts": []}, {"role": "user", "parts": [{"type": "text"}]}, {"parts": "x"}, None],
)
def test_messages_of_others_are_not(raw: object) -> None:
    assert not recognises(raw)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ({"role": "system", "parts": []}, "role"),
        ({"role": ["user"], "parts": []}, "role"),
        ({"role": "user", "parts": "x"}, "parts"),
        (told({"text": 5}), "text"),
        (said({"functionCall": {"args": {}}}), "name"),
        (said({"functionCall": {"name": "f", "args": [1]}}), "args"),
        (said({"functionCall": "f"}), "functionCall"),
        (told({"functionResponse": {"name": "f", "response": "x"}}), "response"),
        ("hello", "mapping"),
    ],
)
def test_malformed_contents_are_refused_by_name(content: object, word: str) -> None:
    with pytest.raises(MessageError, match=rf"content 1.*{word}"):
        decode([told("x"), content], place)


FRAMED = "<system>\nc\n</system>"


def test_a_request_begins_with_the_user_and_alternates() -> None:
    """Messages in a row are joined; a system message in the middle is framed, as there is no such role."""
    messages = [
        says("Hello!"),
        user("a"),
        user("b"),
        {"role": "system", "content": "c"},
        says("d"),
        says("e"),
        user("f"),
    ]

    request = session_of(messages, budget=8_000, system="Be brief.").compile().to("gemini")

    assert request["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert request["contents"] == [told(OPENING), said("Hello!"), told("a", "b", FRAMED), said("d", "e"), told("f")]


def test_responses_stand_in_the_order_of_their_calls() -> None:
    """However they were recorded, and before anything else."""
    messages = [
        user("go"),
        calls(call("1", "f"), call("2", "mcp:server/读"), text="ok"),
        {**result("2", "second"), "is_error": True},
        result(
            "1",
            [
                {"type": "text", "text": "first"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
        ),
        user("next"),
    ]

    request = session_of(messages, budget=8_000).compile().to("gemini")

    assert not problems(request)
    answer = request["contents"][2]["parts"]
    assert [part["functionResponse"]["response"] for part in answer[:2]] == [{"output": "first"}, {"error": "second"}]
    assert answer[2:] == [PNG, {"text": "next"}]


def test_thoughts_are_sent_as_they_came() -> None:
    """Whether they must be signed depends on the model, which the client knows."""
    signed = {"text": "hm", "thought": True, "thoughtSignature": "s"}
    content = said(signed, {"text": "um", "thought": True}, "ok")
    session = session_of([told("go"), content, told("x")], budget=8_000)

    assert session.compile().to("gemini")["contents"][1] == content


def test_thoughts_of_others_are_left_out() -> None:
    """A signature of another provider means nothing here."""
    items = [
        {"type": "message", "role": "user", "content": "go"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
        {"type": "message", "role": "assistant", "content": "ok"},
    ]
    messages = (
        *openai_responses.decode(items, place),
        Message(id="m", role="assistant", parts=(Thinking(text="x", signature="s"), Text(text="y"))),
    )

    assert lower(Request(messages=messages))["contents"] == [told("go"), said("ok", "y")]


def test_media_go_out_in_the_form_they_are_taken() -> None:
    parts = (
        Media(kind="image", reference="data:image/png;base64,AAAA"),
        Media(kind="file", reference="https://x.org/a.pdf"),
        Media(kind="image", reference="data:image/tiff;base64,AAAA"),
        Media(kind="image", reference="file-of-another-provider"),
        Media(kind="image", reference="data:image/png;base64,no base64"),
    )
    answer = ToolResult(call_id="a", text="see", media=parts[:1])
    request = lower(
        Request(
            messages=(
                Message(id="m1", role="user", parts=parts),
                Message(id="m2", role="assistant", parts=(ToolCall(id="a", name="f"),)),
                Message(id="m3", role="tool", parts=(answer,)),
            )
        )
    )

    assert not problems(request)
    assert [next(iter(part)) for part in request["contents"][0]["parts"]] == [
        "inlineData",
        "fileData",
        "text",
        "text",
        "text",
    ]
    assert request["contents"][2] == told(answers("f", "see"), PNG)


def test_a_changed_result_is_sent_as_it_is_now() -> None:
    """A response of another form is dropped once a pass has changed the text."""
    (message,) = decode([told({"functionResponse": {"name": "f", "response": {"rows": [1, 2]}}})], place)
    found = message.result
    assert found is not None
    changed = ToolResult(call_id=found.call_id, text="[masked]", extra=found.extra)

    assert encode([Message(id="", role="tool", parts=(changed,), extra=message.extra)]) == [
        told(answers("f", "[masked]"))
    ]


def test_a_hundred_thousand_contents_are_read() -> None:
    contents = [content for _ in range(50_000) for content in (said(asks("f")), told(answers("f", "x")))]

    assert len({one.id for message in decode(contents, place) for one in message.calls}) == 50_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["role", "parts", "text", "thought", "functionCall", "function_response", "name", "args", "response", "id"]
)
MORE_KEYS = st.sampled_from(
    ["inlineData", "file_data", "mimeType", "data", "fileUri", "executableCode", "code", "output"]
)
WORDS = st.sampled_from(["user", "model", "function", "image/png", "AAAA", "f"])
SHAPED = st.recursive(
    JSON | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | MORE_KEYS, inner | WORDS, max_size=5),
    max_leaves=12,
)
SHAPED_CONTENTS = SHAPED | st.builds(
    lambda role, parts: {"role": role, "parts": parts}, WORDS, st.lists(SHAPED, max_size=3)
)


# --- what stands behind a response --------------------------------------------------------------------------------------


def test_a_picture_behind_a_response_is_the_tools() -> None:
    """No words of the user, and no end of the turn: agents put there what a tool has read."""
    messages = decode([said(asks("read", id="a")), told(answers("read", "ok", id="a"), PNG, "Now?")], place)

    assert [(message.role, len(message.parts)) for message in messages] == [("assistant", 1), ("tool", 1), ("user", 1)]
    assert messages[1].result is not None
    assert [one.reference for one in messages[1].result.attachments] == ["data:image/png;base64,AAAA"]
    (shown,) = [one for one in openai_responses.encode(messages) if one["type"] == "function_call_output"]
    assert [block["type"] for block in shown["output"]] == ["input_text", "input_image"]


def test_pictures_stand_between_responses_where_they_came() -> None:
    """Each behind its own, as agents send several pictures at once."""
    contents = [
        told("Go."),
        said(asks("read", id="a"), asks("read", id="b")),
        told(answers("read", "ok", id="a"), PNG, answers("read", "ok", id="b"), PNG),
    ]

    session = session_of(contents)

    assert session.compile().to("gemini")["contents"] == contents
    assert problems(session.compile().to("gemini")) == []


def test_a_response_that_comes_again_behind_words_is_sent_where_it_came_or_not_at_all() -> None:
    """Alone, once its first has been reduced, it would be refused."""
    answer = answers("run", "line of the log\n" * 300, id="a")
    contents = [told("Go."), said(asks("run", id="a")), told(answer, "Mind the units.", answer, "Mind them.")]
    contents += [said("Done."), told("And?")]

    whole = session_of(contents).compile()
    reduced = session_of(contents, budget=whole.tokens // 2).compile()

    assert whole.to("gemini")["contents"] == contents
    assert problems(whole.to("gemini")) == []
    assert "line of the log\n" * 300 not in json.dumps(reduced.to("gemini"))
    assert problems(reduced.to("gemini")) == []


@settings(max_examples=300, deadline=None)
@given(st.lists(SHAPED_CONTENTS, max_size=4))
def test_any_json_is_read_or_refused(raws: list[Any]) -> None:
    """Whatever comes in, nothing but a `MessageError` goes out, and what was read can be written and sent."""
    try:
        messages = decode(raws, place)
    except MessageError:
        return
    written = encode(messages)
    assert encode(decode(written, place)) == written
    assert isinstance(problems(lower(Request(messages=tuple(messages), opens_empty=True))), list)


@settings(max_examples=200, deadline=None)
@given(SHAPED)
def test_any_request_is_judged(payload: Any) -> None:
    """The validator speaks of everything that can be asked, and raises nothing."""
    assert all(isinstance(problem, str) for problem in problems(payload))
    contents = payload if isinstance(payload, list) else [payload]
    assert all(isinstance(problem, str) for problem in problems({"contents": contents, "systemInstruction": payload}))


TEXT = st.text(max_size=20)
SIGNED = st.sampled_from([{}, {"thoughtSignature": "s"}, {"unknown": [1]}])
NAMES = st.sampled_from(["f", "g", "读"])
IDS = st.sampled_from([{}, {}, {"id": "1"}, {"id": "2"}])
SHARED = st.one_of(
    st.builds(lambda text, more: {"text": text, **more}, TEXT, SIGNED),
    st.sampled_from([PNG, {"fileData": {"mimeType": "text/plain", "fileUri": "https://x.org/a"}}, {"hologram": 1}]),
)
SAID = SHARED | st.one_of(
    st.builds(lambda text, more: {"text": text, "thought": True, **more}, TEXT, SIGNED),
    st.builds(
        lambda name, args, named, more: {**asks(name, args=args, **named), **more},
        NAMES,
        st.dictionaries(TEXT, JSON, max_size=2),
        IDS,
        SIGNED,
    ),
    st.sampled_from([{"executableCode": {"code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_FAILED"}}]),
)
TOLD = SHARED | st.builds(
    lambda name, response, named: {"functionResponse": {**named, "name": name, "response": response}},
    NAMES,
    st.dictionaries(st.sampled_from(["output", "error", "x"]), JSON, max_size=2),
    IDS,
)
CONTENTS = st.one_of(
    st.builds(lambda parts: said(*parts), st.lists(SAID, max_size=4)),
    st.builds(lambda parts: told(*parts), st.lists(TOLD, max_size=4)),
)
WORDED = st.builds(lambda parts: said("so", *parts), st.lists(SAID, max_size=4)) | st.builds(
    lambda parts: told(*parts, "so"), st.lists(TOLD, max_size=4)
)


@settings(max_examples=250, deadline=None)
@given(st.lists(CONTENTS, max_size=6))
def test_contents_are_identical_after_a_round_trip(contents: list[dict[str, Any]]) -> None:
    assert encode(decode(contents, place)) == contents


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(WORDED, max_size=4), max_size=8), st.sampled_from([300, 2_000, 32_000]))
def test_sessions_of_contents_compile_to_valid_requests(batches: list[list[dict[str, Any]]], budget: int) -> None:
    """Orphans, calls without responses, repeated ids and empty contents among them."""
    session = session_of([told("begin")], budget=budget)
    for batch in batches:
        session.extend(batch)
    try:
        view = session.compile()
    except BudgetError:
        return
    request = view.to("gemini")
    assert problems(request) == []
    assert json.dumps(request) == json.dumps(session.preview().to("gemini"))


@pytest.mark.parametrize("seed", range(12))
def test_random_sessions_of_chat_messages_compile_to_valid_requests(seed: int) -> None:
    """Results as errors, reused ids, calls without results, at any budget."""
    rng = random.Random(seed)
    player = Player(session_of([told("begin")], budget=rng.choice((900, 4_000, 32_000))))
    for op in random_ops(rng, 120):
        try:
            view = player.apply(op)
        except BudgetError:
            continue
        if view is not None:
            assert problems(view.to("gemini")) == []


def lowered(*contents: dict[str, Any]) -> dict[str, Any]:
    return session_of(list(contents), budget=32_000).compile().to("gemini")


def test_responses_under_one_id_answer_calls_of_their_own_unless_they_are_the_same() -> None:
    calls = said(asks("read", id="c"), asks("write", id="c"))
    sent = lowered(told("begin"), calls, told(answers("read", "1", id="c"), answers("write", "2", id="c")))
    assert problems(sent) == []
    texts = [part["functionResponse"]["response"]["output"] for part in sent["contents"][2]["parts"]]
    assert texts == ["1", "2"]
    again = told(answers("read", "1", id="c"), answers("read", "1", id="c"))
    assert lowered(told("begin"), said(asks("read", id="c")), again)["contents"][2] == again


def test_a_response_that_comes_again_has_the_name_that_its_call_is_sent_with() -> None:
    name = "long_" * 40
    again = told(answers(name, "1", id="c"), answers(name, "1", id="c"))
    sent = lowered(told("begin"), said(asks(name, id="c")), again)
    assert problems(sent) == []
    shown = {part["functionResponse"]["name"] for part in sent["contents"][2]["parts"]}
    assert shown == {sent["contents"][1]["parts"][0]["functionCall"]["name"]}


def test_responses_stand_before_what_is_said_of_media_that_the_provider_refuses() -> None:
    drawing = {"inlineData": {"mimeType": "image/svg+xml", "data": "AAAA"}}
    responses = told(answers("a", "1", id="1", parts=[drawing]), answers("b", "2", id="2", parts=[drawing]))
    sent = lowered(told("begin"), said(asks("a", id="1"), asks("b", id="2")), responses)
    assert problems(sent) == []
    assert [next(iter(part)) for part in sent["contents"][2]["parts"]] == [*["functionResponse"] * 2, *["text"] * 2]
