"""Tool calls as JSON text: what a model without tools is told, and what is read out of its answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from foveate.log.messages import Media, Message, Text, ToolCall, ToolResult
from foveate.wire.format import Request
from foveate.wire.json_calls import Bounds, JsonCall, call_schema, callable_tools, read_call, told

Json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def tool(name: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": parameters}}


READ = tool("read", type="object", properties={"path": {"type": "string"}}, required=["path"])
CALL = ToolCall(id="c1", name="read", arguments='{"path": "a.py"}')


def request(
    *messages: Message, tools: tuple[dict[str, Any], ...] = (READ,), system: str | None = "Be brief."
) -> Request:
    return Request(messages=messages, system=system, tools=tools)


def schema(*tools: dict[str, Any], words: bool = False, bounds: Bounds | None = None) -> dict[str, Any]:
    return call_schema(callable_tools(request(tools=tools)), words=words, bounds=bounds)


def test_tools_are_described_behind_the_system_prompt() -> None:
    asked = request()
    shown = told(asked, callable_tools(asked), words=False)
    assert shown.tools == ()
    assert shown.system == snapshot("""\
Be brief.

Answer with one JSON object and nothing else: {"tool": NAME, "arguments": ARGUMENTS}
NAME is one of these tools, ARGUMENTS an object by its schema:
- read: Does read. {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}\
""")


@pytest.mark.parametrize("system", [None, "", "  "])
def test_without_a_system_prompt_the_tools_are_one(system: str | None) -> None:
    asked = request(system=system)
    shown = told(asked, callable_tools(asked), words=True)
    assert shown.system is not None
    assert shown.system.startswith("Answer with one JSON object")
    assert shown.system.endswith('To answer without a tool: {"text": ANSWER}')


def test_calls_and_results_are_texts_in_their_places() -> None:
    """A call is the JSON that asks for it; a result says whose it is, and keeps its files."""
    image = Media(kind="image", reference="https://example.org/a.png")
    asked = request(
        Message(id="m1", role="user", parts=(Text(text="Look."),)),
        Message(id="m2", role="assistant", parts=(Text(text="I read it."), CALL)),
        Message(id="m3", role="tool", parts=(ToolResult(call_id="c1", text="x = 1", media=(image,)),)),
        Message(id="m4", role="tool", parts=(ToolResult(call_id="gone", text="y"),)),
    )
    _, second, third, fourth = told(asked, callable_tools(asked), words=False).messages
    assert [part.text for part in second.parts if isinstance(part, Text)] == [
        "I read it.",
        '{"tool": "read", "arguments": {"path": "a.py"}}',
    ]
    assert (third.role, third.parts) == ("user", (Text(text="[result of read]\n>x = 1"), image))
    assert fourth.text == "[result of tool]\n>y"


@given(name=st.text(min_size=1), arguments=st.dictionaries(st.text(), Json, max_size=3))
def test_a_call_that_was_told_is_read_as_the_same_call(name: str, arguments: dict[str, Any]) -> None:
    """What a model sees of its earlier calls is what it would have to write."""
    call = ToolCall(id="c", name=name, arguments=json.dumps(arguments))
    (shown,) = told(request(Message(id="m", role="assistant", parts=(call,))), {}, words=False).messages
    said = read_call(shown.text)
    assert isinstance(said, JsonCall)
    assert (said.name, json.loads(said.arguments)) == (name, arguments)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "null",
        "[1]",
        "no JSON",
        '{"tool": "read", "argum',
        '{"tool": "read"}',
        '{"tool": "read", "arguments": "a.py"}',
        '{"tool": "", "arguments": {}}',
        '{"tool": 3, "arguments": {}}',
        '{"text": 1}',
    ],
)
def test_an_answer_of_another_form_is_no_call(answer: str) -> None:
    assert read_call(answer) is None


def test_words_are_read_as_words() -> None:
    assert read_call('{"text": "Done."}') == "Done."


def test_the_schema_has_a_form_for_each_tool() -> None:
    assert schema(READ, words=True) == snapshot(
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "tool": {"type": "string", "const": "read"},
                        "arguments": {
                            "type": "object",
                            "properties": {"path": {"type": "string"}},
                            "required": ["path"],
                        },
                    },
                    "required": ["tool", "arguments"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                    "additionalProperties": False,
                },
            ]
        }
    )


def test_definitions_of_several_tools_do_not_mix() -> None:
    """Two tools may call different things by one name, and a definition may refer to itself."""
    step = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Step", "description": "then"}}}
    one = tool("one", type="object", properties={"a": {"$ref": "#/$defs/Step"}}, **{"$defs": {"Step": step}})
    two = tool("two", type="object", properties={"a": {"$ref": "#/$defs/Step"}}, **{"$defs": {"Step": {"enum": [1]}}})
    made = schema(one, two)
    assert set(made["$defs"]) == {"one.Step", "two.Step"}
    assert made["$defs"]["one.Step"]["properties"]["next"] == {"$ref": "#/$defs/one.Step", "description": "then"}
    references = [form["properties"]["arguments"]["properties"]["a"]["$ref"] for form in made["anyOf"]]
    assert references == ["#/$defs/one.Step", "#/$defs/two.Step"]
    assert all("$defs" not in form["properties"]["arguments"] for form in made["anyOf"])


def test_a_list_of_fixed_length_is_said_without_a_boolean_schema() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"}] * 2, "items": False, "minItems": 2}
    made = schema(tool("lines", type="object", properties={"range": pair}))
    said = made["anyOf"][0]["properties"]["arguments"]["properties"]["range"]
    assert said == {"type": "array", "minItems": 2, "prefixItems": [{"type": "integer"}] * 2, "maxItems": 2}


def test_bounds_close_only_what_is_open() -> None:
    properties = {
        "open": {"type": "string"},
        "nullable": {"type": ["string", "null"]},
        "closed": {"type": "string", "maxLength": 500},
        "named": {"type": "string", "enum": ["a rather long name"]},
        "many": {"type": "array", "items": {"type": "string"}, "minItems": 3},
        "number": {"type": "integer"},
    }
    made = schema(tool("any", type="object", properties=properties), bounds=Bounds(characters=9, items=2))
    form = made["anyOf"][0]["properties"]
    assert form["tool"] == {"type": "string", "const": "any"}
    assert form["arguments"]["properties"] == {
        "open": {"type": "string", "maxLength": 9},
        "nullable": {"type": ["string", "null"], "maxLength": 9},
        "closed": {"type": "string", "maxLength": 500},
        "named": {"type": "string", "enum": ["a rather long name"]},
        "many": {"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 3, "maxItems": 3},
        "number": {"type": "integer"},
    }


def test_tools_that_a_provider_runs_cannot_be_called() -> None:
    assert list(callable_tools(request(tools=({"type": "web_search"}, READ, READ)))) == ["read"]
