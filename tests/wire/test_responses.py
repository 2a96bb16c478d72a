"""OpenAI Responses items, both ways."""

from __future__ import annotations

import json
import os
import random
from typing import Any, get_args

import msgspec
import pytest
from bench.logs import data_root
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseInputItem, ResponseOutputItem
from tests.dialogue import call, calls, result, session_of, user
from tests.properties.play import Player, random_ops

from foveate.errors import BudgetError, MessageError
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall, ToolResult, foreign
from foveate.wire.format import Request
from foveate.wire.openai_request import lower as chat
from foveate.wire.openai_responses import decode, encode, recognises
from foveate.wire.responses_lowering import lower
from foveate.wire.responses_rules import problems

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
ENCRYPTED = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA", "content": None}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "ls", "arguments": '{"p":"."}'}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "x.py"}
PATCH = {"type": "custom_tool_call", "call_id": "b", "name": "apply_patch", "input": "*** 补丁", "status": "completed"}
PATCHED = {"type": "custom_tool_call_output", "call_id": "b", "output": "Success"}
SHELL = {"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}}
SHELLED = {"type": "local_shell_call_output", "id": "c", "output": '{"stdout":"x"}'}
CLICK = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "d",
    "action": {"type": "click", "x": 1},
    "status": "completed",
}
CLICKED = {
    "type": "computer_call_output",
    "call_id": "d",
    "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"},
}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}


def told(text: str, role: str = "user") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def said(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **fields}


def place(index: int) -> str:
    return f"item {index}"


@pytest.mark.parametrize(
    "items",
    [
        [told("你好"), said("hello", id="msg_1", status="completed", phase="commentary")],
        [told("Be brief.", "developer"), told("Be kind.", "system"), {**told("x"), "id": "msg_u", "unknown": [1]}],
        [REASONING, said("one"), said("two"), CALL, OUTPUT],
        [ENCRYPTED, CALL, {**CALL, "call_id": "a2"}, OUTPUT, {**OUTPUT, "call_id": "a2", "status": "completed"}],
        [PATCH, PATCHED, SHELL, SHELLED, CLICK, CLICKED],
        [REASONING, SEARCH, said("found"), {"type": "compaction", "encrypted_content": "x"}],
        [told("x"), SEARCH, {"type": "image_generation_call", "result": "AAAA"}, {"type": "mcp_call", "output": None}],
        [{"type": "mcp_approval_request", "id": "r"}, {"type": "mcp_approval_response", "approve": False, "x": 1}],
        [{"type": "item_reference", "id": "msg_9"}, {"type": "never_heard_of", "deep": {"x": [1, None]}}],
        [said("", status="incomplete"), {"type": "message", "role": "assistant", "content": [], "id": "msg_2"}],
        [
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "see", "annotations": [], "logprobs": []},
                    {"type": "refusal", "refusal": "no"},
                    {"type": "hologram", "of": "x"},
                ],
            }
        ],
        [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "look"},
                    {"type": "input_image", "image_url": "https://x.org/a.png", "detail": "low"},
                    {"type": "input_image", "file_id": "file-1", "detail": "auto"},
                    {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
                    {"type": "input_file", "file_url": "https://x.org/a.pdf"},
                    {"type": "input_file", "file_id": None},
                    {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
                ],
            }
        ],
        [
            CALL,
            {**OUTPUT, "output": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
            {**CALL, "call_id": "e"},
            {**OUTPUT, "call_id": "e", "output": [{"type": "input_image", "image_url": "https://x.org/b.png"}]},
            {**CALL, "call_id": "f"},
            {**OUTPUT, "call_id": "f", "output": {"content": "x", "success": True}},
            {**CALL, "call_id": "g"},
            {**OUTPUT, "call_id": "g", "output": []},
        ],
    ],
)
def test_what_came_in_goes_out(items: list[dict[str, Any]]) -> None:
    """Every item survives, with fields and types nobody has heard of."""
    assert encode(decode(items, place)) == items


def test_a_response_is_one_message() -> None:
    """Reasoning, words and parallel calls belong together; each output is a message of its own."""
    messages = decode([told("go"), REASONING, said("ok"), CALL, PATCH, OUTPUT, PATCHED, said("done")], place)

    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [type(part) for part in messages[1].parts] == [Thinking, Text, ToolCall, ToolCall]
    assert messages[1].calls[1].arguments == '{"input": "*** 补丁"}'


def test_easy_messages_stay_easy() -> None:
    """Content as text, and a message without its type, are taken as they are."""
    easy = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]

    assert encode(decode(easy, place)) == easy
    assert lower(Request(messages=tuple(decode(easy, place))))["input"] == easy
    assert not any(recognises(raw) for raw in easy)


@pytest.mark.parametrize("item", [told("x"), said("x"), REASONING, CALL, OUTPUT, PATCHED, SHELL, CLICKED, SEARCH])
def test_items_are_recognised(item: dict[str, Any]) -> None:
    assert recognises(item)


def test_every_type_of_item_that_the_providers_library_has_is_recognised() -> None:
    """Also one at a time, as an agent may append them, behind messages of another format."""
    kinds = item_types(ResponseInputItem) | item_types(ResponseOutputItem)

    assert kinds >= {"message", "function_call", "program", "program_output", "compaction"}
    assert [kind for kind in sorted(kinds - {"message"}) if not recognises({"type": kind, "id": "x"})] == []


def item_types(item: Any) -> set[str]:
    """The values of `type` in a union of the library's models."""
    if isinstance(item, str):
        return {item}
    fields = getattr(item, "model_fields", {})
    within = [fields["type"].annotation] if "type" in fields else get_args(item)
    return {name for one in within for name in item_types(one)}


@pytest.mark.parametrize(
    "raw",
    [
        user("x"),
        user([{"type": "text", "text": "x"}]),
        result("a", "x"),
        calls(call("a", "f")),
        {"role": "user", "parts": [{"text": "x"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"},
        {"type": "human", "content": "x"},
        {"type": 5},
        None,
        "message",
    ],
)
def test_messages_of_others_are_not(raw: object) -> None:
    assert not recognises(raw)


@pytest.mark.parametrize(
    ("item", "word"),
    [
        ({"type": "message", "role": "tool", "content": "x"}, "role"),
        ({"role": "user", "content": 5}, "content"),
        ({"role": "assistant", "content": 5}, "content"),
        ({"role": "user", "content": [{"text": "x"}]}, "type"),
        ({**CALL, "call_id": ""}, "call_id"),
        ({**CALL, "name": None}, "name"),
        ({**CALL, "arguments": 5}, "arguments"),
        ({**PATCH, "input": None}, "input"),
        ({"type": "function_call_output", "output": "x"}, "call_id"),
        ({"type": None}, "type"),
        (5, "mapping"),
    ],
)
def test_malformed_items_are_refused_by_name(item: object, word: str) -> None:
    with pytest.raises(MessageError, match=rf"item 1.*{word}"):
        decode([told("x"), item], place)


def test_half_characters_are_replaced() -> None:
    """JSON can carry them, but nobody takes them."""
    messages = decode([said("a\ud800b"), {**PATCH, "input": "a\ud800b"}, {**PATCHED, "output": "a\ud800b"}], place)

    assert [message.text for message in messages] == ["a\ufffdb", "a\ufffdb"]
    assert messages[0].calls[0].arguments == '{"input": "a\ufffdb"}'


def test_a_custom_tool_stays_custom() -> None:
    """Its result goes out as the output of a custom tool, even where it is a stand-in."""
    session = session_of([told("patch"), PATCH], budget=8_000)

    request = session.compile().to("openai-responses")

    assert [item["type"] for item in request["input"]] == ["message", "custom_tool_call", "custom_tool_call_output"]
    assert request["input"][1]["input"] == "*** 补丁"
    assert not problems(request)


def test_reasoning_goes_with_what_followed_it() -> None:
    """Reasoning that can be replayed is sent with its items and their ids; what the provider ran stays beside it."""
    items = [told("go"), REASONING, SEARCH, CALL, OUTPUT, ENCRYPTED, said("done", id="msg_1")]

    sent = session_of(items, budget=8_000).compile().to("openai-responses")["input"]

    assert sent == items


@pytest.mark.parametrize(
    "items",
    [
        [{"type": "reasoning", "summary": []}, SEARCH, CALL],
        [{**REASONING, "id": "thought-1"}, SEARCH, CALL],
        [REASONING, said(" "), SEARCH, CALL],
    ],
)
def test_without_reasoning_ids_are_left_out(items: list[dict[str, Any]]) -> None:
    """The provider refuses an id whose reasoning is not there; what it ran behind that reasoning is said in words."""
    sent = session_of([told("go"), *items, OUTPUT], budget=8_000).compile().to("openai-responses")["input"]

    assert sent[1:] == [
        said("[web_search]\nq"),
        {key: value for key, value in CALL.items() if key != "id"},
        OUTPUT,
    ]


def test_what_the_provider_ran_is_sent_where_no_model_reasons() -> None:
    """Other models run tools too; the same item is not sent twice, and of a reduced message a large one is words."""
    large = {**SEARCH, "id": "ws_2", "action": {"type": "search", "query": "q" * 50_000}}
    asked, ran = decode([told("go"), SEARCH, SEARCH, large, said("x")], place)
    sent = lower(Request(messages=(asked, msgspec.structs.replace(ran, extra={}))))

    assert sent["input"][1] == SEARCH
    assert [item["type"] for item in sent["input"]] == ["message", "web_search_call", "message", "message"]
    assert len(json.dumps(sent)) < 6_000
    assert not problems(sent)


PAINTED = {"type": "image_generation_call", "id": "ig_1", "result": "AAAA", "status": "completed"}
FETCHED = {
    "type": "mcp_call",
    "id": "mcp_1",
    "server_label": "s",
    "name": "n",
    "arguments": "{}",
    "error": None,
    "z": 1,
}
UNHEARD = {"type": "hologram_call", "id": "h_1", "z": 1}
ANSWERED = said("found", id="msg_1", status="completed", phase="unheard of")


@pytest.mark.parametrize("run", [SEARCH, PAINTED, FETCHED, UNHEARD])
def test_a_message_with_what_the_provider_ran_goes_out_as_it_came(run: dict[str, Any]) -> None:
    """Also where no model reasons; the same item again is not sent again, and leaves no words behind."""
    items = [told("go"), run, SEARCH, ANSWERED, CALL, OUTPUT, told("and?")]
    once = [items[0], run, *([] if run is SEARCH else [SEARCH]), *items[3:]]

    for came in (once, [*once[:2], run, *once[2:]], [*once, run]):
        assert session_of(came).compile().to("openai-responses")["input"] == once


@pytest.mark.parametrize("reasoned", [[], [REASONING]])
def test_an_item_of_an_unknown_type_is_nobodys_words(reasoned: list[dict[str, Any]]) -> None:
    view = session_of([told("go"), *reasoned, UNHEARD, said("x"), told("y")]).compile()

    assert UNHEARD in view.to("openai-responses")["input"]
    for format in ("openai", "anthropic", "gemini"):
        assert "hologram" not in json.dumps(view.to(format))


RAN = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "status": "completed",
    "code": "print(6 * 7)",
    "container_id": "c",
    "outputs": [{"type": "logs", "logs": "42"}],
}
ASKED = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "db", "name": "drop", "arguments": "{}"}
ALLOWED = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}


@pytest.mark.parametrize("format", ["openai", "anthropic", "gemini", "pydantic-ai", "langchain"])
def test_what_the_provider_ran_can_be_read_elsewhere(format: str) -> None:
    """Code and its output, searches, and what was allowed do not disappear with the provider."""
    image = {"type": "image_generation_call", "id": "ig_1", "result": "A" * 400_000, "revised_prompt": "a cat"}
    items = [told("go"), RAN, SEARCH, image, ASKED, ALLOWED]

    sent = json.dumps(session_of(items, budget=8_000).compile().to(format), default=str)

    assert all(word in sent for word in ("print(6 * 7)", "42", "web_search", "a cat", "drop", "given"))
    assert len(sent) < 6_000


WITHIN = {"type": "program", "caller_id": "p"}
PROGRAM = {"type": "program", "id": "prog_1", "call_id": "p", "code": "return await ls()", "fingerprint": "f"}
INNER = {"type": "function_call", "id": "fc_7", "call_id": "k", "name": "ls", "arguments": "{}", "caller": WITHIN}
INNER_OUTPUT = {"type": "function_call_output", "call_id": "k", "output": "x.py", "caller": WITHIN}
RETURNED = {"type": "program_output", "id": "po_1", "call_id": "p", "result": "1 file", "status": "completed"}


@pytest.mark.parametrize("reasoned", [[], [REASONING]])
def test_a_program_goes_out_with_its_calls_and_what_came_of_it(reasoned: list[dict[str, Any]]) -> None:
    """What the model had the provider run calls tools of the client; other formats get code and result in words."""
    items = [told("go"), *reasoned, PROGRAM, INNER, INNER_OUTPUT, RETURNED, said("done")]
    view = session_of(items).compile()

    assert view.to("openai-responses")["input"] == items
    for format in ("openai", "anthropic", "gemini"):
        assert all(word in json.dumps(view.to(format)) for word in ("return await ls()", "1 file", "x.py"))


@pytest.mark.parametrize("reasoned", [[], [REASONING]])
def test_without_its_program_nothing_is_sent_as_part_of_it(reasoned: list[dict[str, Any]]) -> None:
    """A reduction may take the program and leave what follows: its call is then a plain one, its result words."""
    asked, ran, answered, concluded = decode([told("go"), *reasoned, PROGRAM, INNER, INNER_OUTPUT, RETURNED], place)
    call = msgspec.structs.replace(ran, parts=ran.parts[-1:])

    sent = lower(Request(messages=(asked, call, answered, concluded)))

    assert "caller" not in json.dumps(sent)
    assert [item["type"] for item in sent["input"]] == ["message", "function_call", "function_call_output", "message"]
    assert sent["input"][-1] == said("[program_output]\n1 file")
    assert not problems(sent)


def test_an_approval_answers_its_request_or_is_said_in_words() -> None:
    """The provider refuses one for which nothing waits."""
    both = lower(Request(messages=tuple(decode([told("go"), ASKED, ALLOWED, ALLOWED], place))))
    alone = lower(Request(messages=tuple(decode([told("go"), ALLOWED], place))))

    assert both["input"][1:3] == [ASKED, ALLOWED]
    assert both["input"][3] == alone["input"][1] == told("[mcp_approval_response given]")
    assert not problems(both) and not problems(alone)


def test_reasoning_appended_item_by_item_goes_with_what_followed() -> None:
    """As an agent's loop appends what a response has in it."""
    items = [told("go"), ENCRYPTED, CALL, OUTPUT, REASONING, said("done", id="msg_1")]
    session = session_of([], budget=8_000)
    for item in items:
        session.append(item)

    sent = session.compile().to("openai-responses")["input"]

    assert [item["type"] for item in sent] == [item["type"] for item in items]
    assert sent[1]["encrypted_content"] == "gAAA"


def test_fields_that_only_an_answer_has_are_not_sent() -> None:
    """An answer has more of them than a request may have; `encode` keeps them all."""
    items = [
        told("go"),
        {**REASONING, "status": "completed", "created_by": "x"},
        {
            **CALL,
            "parsed_arguments": {"p": "."},
            "created_by": "x",
        },
        {**OUTPUT, "status": "completed", "output": [{"type": "input_text", "text": "a", "parsed": 1}]},
        {
            **said("x", id="msg_1", agent="y"),
            "content": [
                {"type": "output_text", "text": "x", "logprobs": [{"token": "x"}] * 9, "annotations": [{"url": "u"}]}
            ],
        },
    ]

    sent = lower(Request(messages=tuple(decode(items, place))))["input"]

    assert sent[1:4] == [REASONING, CALL, {**OUTPUT, "output": [{"type": "input_text", "text": "a"}]}]
    assert sent[4] == items[4]
    assert encode(decode(items, place)) == items


ANSWER: dict[str, Any] = {"type": "object", "properties": {"x": {"type": ["string", "null"]}}}
CAPITAL_ANSWER = {"type": "OBJECT", "properties": {"x": {"type": ["STRING", "NULL"]}}}
NAMED = {"type": "json_schema", "name": "a", "schema": ANSWER}


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}, "strict": True}},
            {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": True},
        ),
        ({"type": "object"}, {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}),
        ({"type": "json_object"}, {"type": "json_object"}),
        ({"type": "text"}, None),
        ({"format": {"type": "json_schema", "name": "a", "schema": ANSWER}}, NAMED),
        ({"type": "json_schema", "name": "a", "schema": CAPITAL_ANSWER}, NAMED),
        (CAPITAL_ANSWER, {**NAMED, "name": "answer"}),
        ({"responseSchema": CAPITAL_ANSWER}, {**NAMED, "name": "answer"}),
        ({"properties": ANSWER["properties"]}, {**NAMED, "name": "answer"}),
        ({"responseSchema": {"type": "ARRAY", "items": {"type": "STRING"}}}, None),
        ({"type": "json_schema", "json_schema": {"name": "a", "schema": {"anyOf": [ANSWER]}}}, None),
        ({"format": {"type": "text"}}, None),
        ({"format": {"format": {"type": "json_object"}}}, None),
    ],
)
def test_a_response_format_is_sent(asked: dict[str, Any], sent: dict[str, Any] | None) -> None:
    request = session_of([told("x")], budget=8_000, response_format=asked).compile().to("openai-responses")

    assert request.get("text") == (None if sent is None else {"format": sent})
    assert not problems(request)


def test_names_of_tools_and_calls_are_mapped_alike() -> None:
    """Else the model would be told of one tool and shown calls of another."""
    tool = {"type": "function", "function": {"name": "mcp.读", "parameters": {"type": "object"}}}
    messages = [user("go"), calls(call("1", "mcp.读")), result("1", "x")]

    request = session_of(messages, budget=8_000, tools=[tool]).compile().to("openai-responses")

    assert request["tools"][0]["name"] == request["input"][1]["name"]
    assert not problems(request)


@pytest.mark.parametrize(
    "media",
    [
        Media(kind="image", reference="data:image/svg+xml;base64,AAAA"),
        Media(kind="image", reference="https://x.org/a.tiff"),
        Media(kind="file", reference="data:application/zip;base64,AAAA"),
        Media(kind="file", reference="https://www.youtube.com/watch?v=x"),
        Media(
            kind="image", reference="https://generativelanguage.googleapis.com/v1beta/files/x", media_type="image/png"
        ),
        Media(kind="audio", reference="https://x.org/a.mp3"),
    ],
)
def test_media_of_other_types_are_left_out(media: Media) -> None:
    (item,) = lower(Request(messages=(Message(id="m", role="user", parts=(media,)),)))["input"]

    assert "left out" in item["content"][0]["text"]


def test_a_system_message_is_text_alone() -> None:
    shown = Media(kind="image", reference="https://x.org/a.png")
    (item,) = lower(Request(messages=(Message(id="m", role="system", parts=(shown,)),)))["input"]

    assert item == told("[image left out: https://x.org/a.png]", "system")


def test_an_item_is_not_sent_twice_under_one_id() -> None:
    """A log may hold the same response twice; the provider refuses the second."""
    sent = lower(
        Request(messages=tuple(decode([told("a"), REASONING, said("x"), told("b"), REASONING, said("y")], place)))
    )

    assert [item["type"] for item in sent["input"]] == ["message", "reasoning", "message", "message", "message"]
    assert not problems(sent)


def test_calls_of_other_kinds_go_out_whole_or_as_functions() -> None:
    """Question and answer are both in their own form, or both in a function's."""
    native = lower(
        Request(messages=tuple(decode([told("a"), ENCRYPTED, CLICK, CLICKED, ENCRYPTED, SHELL, SHELLED], place)))
    )
    unled = {"type": "reasoning", "summary": []}
    removed = lower(Request(messages=tuple(decode([told("a"), unled, CLICK, CLICKED, unled, SHELL, SHELLED], place))))

    kinds = [item["type"] for item in native["input"] if item["type"] != "reasoning"][1:]
    assert kinds == ["computer_call", "computer_call_output", "local_shell_call", "local_shell_call_output"]
    assert [item["type"] for item in removed["input"]][1:] == ["function_call", "function_call_output"] * 2
    assert not problems(native) and not problems(removed)


PATCHING = {
    "type": "apply_patch_call",
    "id": "apc_1",
    "call_id": "p",
    "operation": {"type": "delete_file", "path": "x"},
}
PATCHING_DONE = {"type": "apply_patch_call_output", "call_id": "p", "output": "done", "status": "completed"}
RUNNING = {"type": "shell_call", "id": "sh_1", "call_id": "s", "action": {"commands": ["ls"]}, "status": "completed"}
RUNNING_DONE = {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "x", "stderr": ""}]}


@pytest.mark.parametrize(
    ("asked", "answered"), [(CLICK, CLICKED), (SHELL, SHELLED), (PATCHING, PATCHING_DONE), (RUNNING, RUNNING_DONE)]
)
def test_calls_of_other_kinds_stay_what_they_are_where_no_model_reasons(
    asked: dict[str, Any], answered: dict[str, Any]
) -> None:
    """As they came; also before reasoning, and the same call again."""
    items = [told("a"), asked, answered, told("b"), ENCRYPTED, said("x")]

    sent = lower(Request(messages=tuple(decode(items, place))))
    among = lower(Request(messages=tuple(decode([told("a"), asked, REASONING, said("y"), answered], place))))

    assert sent["input"][1:3] == [asked, answered]
    assert among["input"][1] == asked
    assert not problems(sent) and not problems(among)


def test_a_call_remembers_the_reasoning_that_was_taken_away() -> None:
    """Thinking may be gone from the message when it is sent."""
    asked, led, answered = decode([told("a"), REASONING, SHELL, SHELLED], place)
    bare = Message(id="", role="assistant", parts=led.calls)

    sent = lower(Request(messages=(asked, bare, answered)))

    assert [item["type"] for item in sent["input"][1:]] == ["function_call", "function_call_output"]


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ({}, "file.pdf"),
        ({"file": {"filename": "report"}}, "report.pdf"),
        ({"file": {"filename": "报告.PDF"}}, "报告.PDF"),
        ({"file": {"filename": "a\n.pdf"}}, "file.pdf"),
        (foreign("openai-responses", {"block": {"filename": "own.pdf"}}), "own.pdf"),
    ],
)
def test_a_pdf_has_a_name_with_its_ending(extra: dict[str, Any], name: str) -> None:
    """The provider tells by it what the file is; chat and Responses send the same."""
    pdf = Media(kind="file", reference="data:application/pdf;base64,AAAA", extra=extra)
    request = Request(messages=(Message(id="m", role="user", parts=(pdf,)),))

    assert lower(request)["input"][0]["content"][0]["filename"] == name
    assert chat(request)[0]["content"][0]["file"]["filename"] == name


def test_odd_ids_and_names_are_mapped_alike() -> None:
    """A call and its result keep the same id, and two ids never become one."""
    long = "x" * 65
    session = session_of(
        [
            user("go"),
            calls(call(long, "mcp.files/读"), call(long + "y", "ok")),
            result(long, "1"),
            result(long + "y", "2"),
        ],
        budget=8_000,
    )

    request = session.compile().to("openai-responses")

    assert not problems(request)
    ids = [item["call_id"] for item in request["input"][1:]]
    assert ids[:2] == ids[2:] and ids[0] != ids[1]


def test_media_go_out_in_the_form_they_are_taken() -> None:
    """Images by address or data, files by data or address, and a note for what cannot be sent."""
    parts = (
        Media(kind="image", reference="https://x.org/a.png"),
        Media(kind="file", reference="data:application/pdf;base64,AAAA"),
        Media(kind="file", reference="https://x.org/a.pdf"),
        Media(kind="image", reference="file-of-another-provider"),
        Media(kind="audio", reference="data:audio/wav;base64,AAAA"),
    )
    answer = ToolResult(call_id="a", text="see", media=parts[:1])
    messages = (
        Message(id="m1", role="user", parts=parts),
        Message(id="m2", role="assistant", parts=(parts[0], ToolCall(id="a", name="f"))),
        Message(id="m3", role="tool", parts=(answer,)),
    )

    request = lower(Request(messages=messages, system="Be brief."))

    assert not problems(request)
    assert [block["type"] for block in request["input"][0]["content"]] == [
        "input_image",
        "input_file",
        "input_file",
        "input_text",
        "input_text",
    ]
    assert [block["type"] for block in request["input"][3]["output"]] == ["input_text", "input_image"]


def test_tools_are_sent_beside_the_items() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    session = session_of([user("x")], budget=8_000, system="Be brief.", tools=[tool])

    request = session.compile().to("openai-responses")

    assert request["instructions"] == "Be brief."
    assert request["tools"] == [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}]


def test_a_hundred_thousand_items_are_read() -> None:
    items = [told("go"), *(item for _ in range(50_000) for item in (CALL, OUTPUT))]

    assert len(decode(items, place)) == 100_001


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["type", "role", "content", "call_id", "id", "name", "arguments", "input", "output", "summary", "action", "text"]
)
WORDS = st.sampled_from(
    (
        *("message", "user", "assistant", "reasoning", "function_call", "function_call_output", "custom_tool_call"),
        *(
            "local_shell_call",
            "local_shell_call_output",
            "x_call",
            "x_output",
            "input_text",
            "input_image",
            "input_file",
        ),
    )
)
SHAPED = st.recursive(
    JSON | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner | WORDS, max_size=6),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(SHAPED, max_size=4))
def test_any_json_is_read_or_refused(raws: list[Any]) -> None:
    """Whatever comes in, nothing but a `MessageError` goes out, and what was read can be written and sent."""
    try:
        messages = decode(raws, place)
    except MessageError:
        return
    assert decode(encode(messages), place) == messages
    assert isinstance(problems(lower(Request(messages=tuple(messages), opens_empty=True))), list)


@settings(max_examples=200, deadline=None)
@given(SHAPED)
def test_any_request_is_judged(payload: Any) -> None:
    """The validator speaks of everything that can be asked, and raises nothing."""
    assert all(isinstance(problem, str) for problem in problems(payload))
    assert all(
        isinstance(problem, str) for problem in problems({"input": payload if isinstance(payload, list) else [payload]})
    )


TEXT = st.text(max_size=20)
FIELDS = st.dictionaries(st.sampled_from(["status", "phase", "unknown"]), JSON, max_size=2)
BLOCK_FIELDS = st.dictionaries(st.sampled_from(["annotations", "logprobs"]), JSON, max_size=2)
TOLD_BLOCKS = st.builds(lambda text: {"type": "input_text", "text": text}, TEXT) | st.sampled_from(
    [{"type": "input_image", "image_url": "https://x.org/a"}, {"type": "input_file", "file_id": "file-1"}]
)
ITEMS = st.one_of(
    st.builds(
        lambda role, blocks, more: {"type": "message", "role": role, "content": blocks, **more},
        st.sampled_from(["user", "system", "developer"]),
        st.lists(TOLD_BLOCKS, max_size=3),
        FIELDS,
    ),
    st.builds(
        lambda texts, block, more: {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, **block} for text in texts],
            **more,
        },
        st.lists(TEXT, max_size=3),
        BLOCK_FIELDS,
        FIELDS,
    ),
    st.builds(lambda text, more: {**CALL, "arguments": text, **more}, TEXT, FIELDS),
    st.builds(lambda text: {**PATCH, "input": text}, TEXT),
    st.builds(lambda action, more: {**SHELL, "action": action, **more}, JSON, FIELDS),
    st.builds(
        lambda output, more: {**OUTPUT, "output": output, **more}, TEXT | st.lists(TOLD_BLOCKS, max_size=3), FIELDS
    ),
    st.builds(lambda text: {**PATCHED, "output": text}, TEXT),
    st.sampled_from([REASONING, ENCRYPTED, SEARCH, SHELLED, CLICK, CLICKED]),
    st.builds(lambda more: {"type": "unheard", **more}, FIELDS),
)


def _is_plain(item: dict[str, Any]) -> bool:
    """Whether an item can only be this format's, and has words where it is a message."""
    blocks = item.get("content") if item["type"] == "message" else None
    return item["type"] != "unheard" and (not blocks or any(block.get("text", "").strip() for block in blocks))


HEARD_OF = ITEMS.filter(_is_plain)
DEVELOPER: dict[str, Any] = {"type": "message", "role": "developer", "content": []}


@settings(max_examples=250, deadline=None)
@given(st.lists(ITEMS, max_size=8))
def test_items_are_identical_after_a_round_trip(items: list[dict[str, Any]]) -> None:
    assert encode(decode(items, place)) == items


@settings(max_examples=80, deadline=None)
@given(st.lists(HEARD_OF, min_size=1, max_size=30), st.sampled_from([300, 2_000, 32_000]))
@example([DEVELOPER, {**DEVELOPER, "content": [{"type": "input_image", "image_url": "https://x.org/a"}]}], 32_000)
def test_sessions_of_items_compile_to_valid_requests(items: list[dict[str, Any]], budget: int) -> None:
    """Orphans, repeated ids and empty messages among them."""
    session = session_of([told("begin"), *items], budget=budget)
    try:
        view = session.compile()
    except BudgetError:
        return
    request = view.to("openai-responses")
    assert problems(request) == []
    assert json.dumps(request) == json.dumps(session.preview().to("openai-responses"))


@pytest.mark.parametrize("before", [[], [{"role": "developer", "content": "Be kind."}], [DEVELOPER]])
@pytest.mark.parametrize("typed", [{}, {"type": "message"}])
def test_a_developer_shows_a_picture(before: list[dict[str, Any]], typed: dict[str, Any]) -> None:
    """Chat has developers too, but not these blocks: such a message is an item, whatever stood before it."""
    picture = {"type": "input_image", "image_url": "https://x.org/a.png"}
    shown = {**typed, "role": "developer", "content": [{"type": "input_text", "text": "Look."}, picture]}

    session = session_of([told("begin"), *before, shown])

    assert session.messages[-1].parts[1] == Media(
        kind="image", reference="https://x.org/a.png", extra=session.messages[-1].parts[1].extra
    )
    assert problems(session.compile().to("openai-responses")) == []


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
            assert problems(view.to("openai-responses")) == []


ROOT = data_root()


@pytest.mark.skipif(ROOT is None and not os.environ.get("CI"), reason="no recorded logs: set FOVEATE_DATA")
def test_recorded_items_survive_and_compile() -> None:
    """Everything a real agent recorded comes out again, and is valid at any budget."""
    assert ROOT is not None
    count = 0
    for path in sorted((ROOT / "codex").glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        items = [record["payload"] for record in records if record.get("type") == "response_item"]
        assert encode(decode(items, place)) == items
        count += len(items)
        for budget in (8_000, 32_000) if items else ():
            assert problems(session_of(items, budget=budget).compile().to("openai-responses")) == []
    assert count > 1_000


def test_an_id_of_the_users_is_sent_once() -> None:
    """The provider refuses a second one; what stands under it is said all the same."""
    raws = [{**told("a"), "id": "msg_u"}, said("x"), {**told("b"), "id": "msg_u"}]

    sent = session_of(raws).compile().to("openai-responses")

    assert sent["input"] == [*raws[:2], told("b")]
    assert not problems(sent)
