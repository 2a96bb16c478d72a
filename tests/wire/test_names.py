"""Names and ids that providers allow, and the way back to those that were recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialogue import call, calls, result, user

import foveate
from foveate.log.messages import Message, Text, ToolCall
from foveate.wire.format import Request
from foveate.wire.formats import FORMATS
from foveate.wire.names import (
    ANTHROPIC_IDS,
    ANTHROPIC_NAMES,
    GEMINI_NAMES,
    OPENAI_IDS,
    OPENAI_NAMES,
    RESPONSES_IDS,
    originals_of,
    restored,
    spelling,
)

NAMES = st.text(min_size=1, max_size=140) | st.text("ab.-_1", min_size=1, max_size=5)
PAIRS = (
    (OPENAI_NAMES, OPENAI_IDS),
    (OPENAI_NAMES, RESPONSES_IDS),
    (ANTHROPIC_NAMES, ANTHROPIC_IDS),
    (GEMINI_NAMES, OPENAI_IDS),
)


def tools(names: list[str]) -> tuple[dict[str, Any], ...]:
    return tuple({"name": name, "input_schema": {"type": "object"}} for name in names)


@given(st.lists(NAMES, unique=True, max_size=5), st.lists(NAMES, max_size=5), st.sampled_from(PAIRS))
def test_every_name_fits_and_leads_back(defined: list[str], called: list[str], allowed: tuple[Any, Any]) -> None:
    """All are allowed, no two become one, and the name of a tool is known by what was sent for it."""
    parts = tuple(ToolCall(id=name, name=name) for name in called)
    request = Request(messages=(Message(id="", role="assistant", parts=parts),), tools=tools(defined))
    names, ids = allowed

    spelled = spelling(request, names=names, ids=ids)

    assert all(sent in names for sent in spelled.names.values())
    assert all(sent in ids for sent in spelled.ids.values())
    assert len(set(spelled.names.values())) == len(spelled.names) == len({*defined, *called})
    originals = originals_of(tools(defined))
    assert [originals.get(spelled.names[name], spelled.names[name]) for name in defined] == defined


def test_an_answer_gets_the_names_of_the_tools_back() -> None:
    """The log has one name for a tool, whatever it was sent as."""
    defined = tools(["mcp.read", "write"])
    sent = spelling(Request(messages=(), tools=defined), names=OPENAI_NAMES, ids=OPENAI_IDS).names["mcp.read"]
    said = Message(
        id="",
        role="assistant",
        parts=(Text(text="x"), ToolCall(id="a", name=sent), ToolCall(id="b", name="write"), ToolCall(id="c", name="?")),
    )

    (back,) = restored([said], originals_of(defined))

    assert sent != "mcp.read"
    assert [call.name for call in back.calls] == ["mcp.read", "write", "?"]
    assert restored([said], {}) == [said]


def test_gemini_takes_colons() -> None:
    """A name that is allowed is sent as it is."""
    assert "mcp:read" in GEMINI_NAMES
    assert "mcp:read" not in OPENAI_NAMES


@pytest.mark.parametrize("length", [64, 65, 128])
def test_anthropic_takes_long_names_as_they_are(length: int) -> None:
    """Its API answers to a longer one that `^[a-zA-Z0-9_-]{1,128}$` should match: the caller's own definitions fit."""
    name = "n" * length
    session = foveate.Session(tools=[{"name": name, "input_schema": {"type": "object", "properties": {}}}])
    session.extend([user("go"), calls(call("c1", name)), result("c1", "ok")])

    request = session.compile().to("anthropic")

    assert request["tools"][0]["name"] == name
    assert request["messages"][1]["content"][0]["name"] == name
    assert FORMATS["anthropic"].problems(request) == []
    request["tools"][0]["name"] = "n" * 129
    assert len(FORMATS["anthropic"].problems(request)) == 1
    for other in ("openai", "openai-responses", "gemini"):
        assert (name in json.dumps(session.preview().to(other))) == (length == 64)
