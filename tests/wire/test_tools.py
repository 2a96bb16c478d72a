"""Tool definitions of any form, written in the one that is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate import ConfigError
from foveate.wire.tools import anthropic_tools, declared, gemini_tools, refuse_unknown, responses_tools, tool_names

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
CAPITALS = {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}}
FORMS: dict[str, dict[str, Any]] = {
    "chat": {"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": SCHEMA}},
    "responses": {"type": "function", "name": "read", "description": "Reads.", "parameters": SCHEMA},
    "anthropic": {"name": "read", "description": "Reads.", "input_schema": SCHEMA},
    "anthropic, typed": {"type": "custom", "name": "read", "description": "Reads.", "input_schema": SCHEMA},
    "gemini": {"functionDeclarations": [{"name": "read", "description": "Reads.", "parameters": CAPITALS}]},
    "gemini, snake": {"function_declarations": [{"name": "read", "description": "Reads.", "parameters": CAPITALS}]},
    "mcp": {"name": "read", "description": "Reads.", "inputSchema": SCHEMA, "annotations": {"title": "R"}},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_of_any_form_is_written_in_every_other(form: str) -> None:
    """With its name, what it does and its schema, spelt as each provider spells it."""
    tool = FORMS[form]
    refuse_unknown([tool])
    said = {"name": "read", "description": "Reads."}

    # What came in the form of who gets it goes out as it came.
    strict = {} if form == "responses" else {"strict": False}
    assert responses_tools([tool]) == [{"type": "function", **said, "parameters": SCHEMA, **strict}]
    (ours,) = anthropic_tools([tool])
    assert {key: value for key, value in ours.items() if key != "type"} == {**said, "input_schema": SCHEMA}
    expected = {"parameters": CAPITALS} if form.startswith("gemini") else {"parametersJsonSchema": SCHEMA}
    assert gemini_tools([tool]) == [{"functionDeclarations": [{**said, **expected}]}]


@pytest.mark.parametrize(
    ("tool", "owner"),
    [
        ({"type": "web_search_20250305", "name": "web_search"}, anthropic_tools),
        ({"type": "mcp_toolset", "mcp_server_name": "x"}, anthropic_tools),
        ({"type": "web_search"}, responses_tools),
        ({"type": "web_search_2025_08_26"}, responses_tools),
        ({"type": "mcp", "server_label": "x", "server_url": "https://x"}, responses_tools),
        ({"type": "code_interpreter", "container": {"type": "auto"}}, responses_tools),
        ({"type": "tool_search", "execution": "client", "parameters": SCHEMA}, responses_tools),
        ({"type": "next_years", "input_schema": SCHEMA}, anthropic_tools),
        ({"googleSearch": {}}, gemini_tools),
        ({"code_execution": {}}, gemini_tools),
    ],
)
def test_what_a_provider_runs_goes_to_it_alone(tool: dict[str, Any], owner: Any) -> None:
    """As it came; others would refuse it."""
    refuse_unknown([tool])

    for write in (anthropic_tools, responses_tools, gemini_tools):
        assert write([tool]) == ([tool] if write is owner else [])


@pytest.mark.parametrize(
    ("tool", "owners"),
    [
        ({"type": "newtool_2099", "name": "x"}, (anthropic_tools, responses_tools)),
        ({"type": "next_years", "q": 1}, (anthropic_tools, responses_tools)),
        ({"newThing": {"a": 1}}, (gemini_tools,)),
        ({"mcpServers": []}, (gemini_tools,)),
    ],
)
def test_a_tool_of_an_unknown_kind_is_never_dropped(tool: dict[str, Any], owners: tuple[Any, ...]) -> None:
    """It goes as it came to whoever writes tools so; to ask another provider without it needs a decision."""
    refuse_unknown([tool])

    for write in (anthropic_tools, responses_tools, gemini_tools):
        if write in owners:
            assert write([tool]) == [tool]
        else:
            with pytest.raises(ConfigError, match="is of a kind that cannot be sent to '"):
                write([tool])
    # As 0.1 sent it.
    assert anthropic_tools([tool], anew=True) == gemini_tools([tool], anew=True) == []


@pytest.mark.parametrize(
    ("tool", "owner"),
    [
        ({"type": "next_years", "name": "read", "parameters": SCHEMA, "more": 1}, responses_tools),
        ({"type": "next_years", "name": "read", "input_schema": SCHEMA, "more": 1}, anthropic_tools),
    ],
)
def test_a_function_of_an_unknown_type_goes_as_it_came_to_whose_it_is(tool: dict[str, Any], owner: Any) -> None:
    """Others are told its name and its schema, and nothing of its type."""
    refuse_unknown([tool])

    assert owner([tool]) == [tool]
    for write in (anthropic_tools, responses_tools, gemini_tools):
        assert write is owner or "next_years" not in json.dumps(write([tool]))
        assert tool_names([tool]) == {"read": None}


def test_a_gemini_tool_may_be_functions_and_more() -> None:
    """Each part goes where it can go; to Gemini it goes as it came."""
    tool = {**FORMS["gemini"], "googleSearch": {}}

    assert gemini_tools([tool]) == [tool]
    assert gemini_tools([tool, {"name": "other", "parameters": {}}])[1] == {"googleSearch": {}}
    assert [one["name"] for one in anthropic_tools([tool])] == ["read"]


GRAMMAR = {"syntax": "lark", "definition": "start: x"}
CUSTOM_CHAT = {"type": "custom", "custom": {"name": "sh", "format": {"type": "grammar", "grammar": GRAMMAR}}}
CUSTOM = {"type": "custom", "name": "sh", "format": {"type": "grammar", **GRAMMAR}}


@pytest.mark.parametrize("tool", [CUSTOM_CHAT, CUSTOM])
def test_a_tool_of_free_text_stays_one_where_there_are_such(tool: dict[str, Any]) -> None:
    """Elsewhere it has a text as its argument, as its calls do."""
    assert responses_tools([tool]) == [CUSTOM]
    (ours,) = anthropic_tools([tool])
    assert (ours["name"], list(ours["input_schema"]["properties"])) == ("sh", ["input"])


def test_strict_is_kept_between_chat_and_responses() -> None:
    """It is the caller's promise about the schema."""
    chat = {"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": True}}

    assert responses_tools([chat]) == [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": True}]


def test_types_are_spelt_as_json_schema_spells_them() -> None:
    """Lists of them too, and those of properties that are called as something else; values stay as they are."""
    schema = {
        "type": "OBJECT",
        "default": {"type": "STRING"},
        "properties": {
            "default": {"type": ["STRING", "NULL"], "enum": ["STRING", "NULL"]},
            "type": {"type": "INTEGER", "default": "STRING"},
            "properties": {"anyOf": [{"type": "BOOLEAN"}]},
        },
    }

    (one,) = responses_tools([{"functionDeclarations": [{"name": "f", "parameters": schema}]}])

    assert one["parameters"] == {
        "type": "object",
        "default": {"type": "STRING"},
        "properties": {
            "default": {"type": ["string", "null"], "enum": ["STRING", "NULL"]},
            "type": {"type": "integer", "default": "STRING"},
            "properties": {"anyOf": [{"type": "boolean"}]},
        },
    }


def test_names_are_those_to_send() -> None:
    """Definitions and calls say the same."""
    names = {"read": "r"}

    assert [one["name"] for one in responses_tools([FORMS["chat"]], names)] == ["r"]
    assert [one["name"] for one in responses_tools([FORMS["responses"]], names)] == ["r"]
    assert [one["name"] for one in anthropic_tools([FORMS["anthropic"]], names)] == ["r"]
    assert gemini_tools([FORMS["gemini"]], names)[0]["functionDeclarations"][0]["name"] == "r"


@pytest.mark.parametrize(
    "tool",
    [
        {},
        {"name": ""},
        {"parameters": SCHEMA},
        {"name": "f", "parameters": "x"},
        {"type": "object"},
        {"type": "function"},
    ],
)
def test_a_tool_that_nobody_understands_is_refused(tool: dict[str, Any]) -> None:
    """Where it is given, not where it would be sent."""
    assert declared(tool) == []
    with pytest.raises(ConfigError, match="a tool in `tools` cannot be understood"):
        refuse_unknown([tool])


def test_two_tools_of_one_name_are_refused() -> None:
    """Only the first would be sent."""
    with pytest.raises(ConfigError, match="two tools in `tools` have the name 'read'; give each its own"):
        refuse_unknown([FORMS["chat"], FORMS["mcp"]])
    assert len(anthropic_tools([FORMS["chat"], FORMS["mcp"]])) == 1


WORDS = st.sampled_from(
    [
        "type",
        "name",
        "function",
        "custom",
        "parameters",
        "input_schema",
        "inputSchema",
        "strict",
        "format",
        "functionDeclarations",
        "object",
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(WORDS, ANYTHING, max_size=4), max_size=3))
def test_any_tools_can_be_written(tools: list[dict[str, Any]]) -> None:
    """Never an error when a request is made of kinds that are known, and every name once."""
    tools = [tool for tool in tools if all(one.known for one in declared(tool))]
    for write in (anthropic_tools, responses_tools):
        names = [one["name"] for one in write(tools) if "name" in one]
        assert len(names) == len(set(map(str, names)))
    json.dumps([*gemini_tools(tools), *tool_names(tools)])
