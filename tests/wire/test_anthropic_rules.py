"""Every rule of Anthropic refuses what breaks it, and nothing else does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.dialogue import call, calls, result, says, session_of, user

from foveate.wire import anthropic_rules
from foveate.wire.anthropic_rules import RULES, problems

PIXEL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
THOUGHT = {"type": "thinking", "thinking": "Which file?", "signature": "c2ln"}
CONVERSATION = [
    user([{"type": "text", "text": "Look at this."}, PIXEL]),
    {
        "role": "assistant",
        "content": [
            THOUGHT,
            {"type": "text", "text": "Reading."},
            {"type": "tool_use", "id": "a", "name": "Read", "input": {"path": "x"}},
            {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "ls"}},
        ],
    },
    result("a", [{"type": "text", "text": "one"}, PIXEL]),
    {**result("b", "no such file"), "is_error": True},
    user("And now?"),
    calls(call("c", "Read", path="y")),
    result("c", "two"),
    says("Done."),
]
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("Read", "Bash")
]

Payload = dict[str, Any]
Mutation = Callable[[Payload], Any]


@pytest.fixture(scope="module")
def valid() -> Payload:
    """A request with something for every rule to look at, compiled from a session."""
    session = session_of(CONVERSATION, system="Be kind.", tools=TOOLS, model="anthropic:claude-sonnet-4-5")
    payload: Payload = session.compile().to("anthropic")
    assert problems(payload) == []
    return payload


def content(payload: Payload, turn: int) -> list[Any]:
    blocks: list[Any] = payload["messages"][turn]["content"]
    return blocks


def swapped(blocks: list[Any], one: int, other: int) -> None:
    blocks[one], blocks[other] = blocks[other], blocks[one]


def marked_everywhere(payload: Payload) -> None:
    for turn in payload["messages"]:
        for block in turn["content"]:
            if block["type"] != "thinking":
                block["cache_control"] = {"type": "ephemeral"}


def renamed(payload: Payload, call_id: str) -> None:
    content(payload, 3)[0]["id"] = call_id
    content(payload, 4)[0]["tool_use_id"] = call_id


def hour_behind(payload: Payload) -> None:
    payload["system"][0].update(cache_control={"type": "ephemeral"})
    content(payload, 0)[0].update(cache_control={"type": "ephemeral", "ttl": "1h"})


MUTATIONS: list[tuple[str, str, Mutation]] = [
    ("messages_exist", "no messages", lambda p: p.update(messages=[])),
    ("messages_exist", "no messages", lambda p: p.update(messages="hello")),
    ("roles_known", "unknown role 'robot'", lambda p: p["messages"].append({"role": "robot", "content": "x"})),
    ("first_is_user", "message 0: first message is not the user's", lambda p: p["messages"].pop(0)),
    (
        "system_is_text",
        "image in a message of the role 'system'",
        lambda p: p["messages"].append({"role": "system", "content": [content(p, 0)[1]]}),
    ),
    ("content_present", "no content", lambda p: p["messages"].append({"role": "user", "content": []})),
    ("content_present", "no content", lambda p: p["messages"].append({"role": "user", "content": None})),
    ("end_is_trimmed", "ends in white space", lambda p: content(p, 5)[0].update(text="Done.\n")),
    ("blocks_typed", "block type None", lambda p: content(p, 0).append("text")),
    (
        "blocks_on_their_side",
        "image in a message of the role 'assistant'",
        lambda p: content(p, 5).append(content(p, 0)[1]),
    ),
    (
        "blocks_on_their_side",
        "thinking in a message of the role 'user'",
        lambda p: content(p, 0).insert(0, dict(THOUGHT)),
    ),
    ("text_not_blank", "blank text", lambda p: content(p, 0)[0].update(text=" \n")),
    ("text_not_blank", "blank text", lambda p: content(p, 2)[0]["content"][0].update(text="")),
    ("media_readable", "unreadable source", lambda p: content(p, 0)[1]["source"].update(media_type="image/tiff")),
    ("media_readable", "unreadable source", lambda p: content(p, 2)[0]["content"][1]["source"].update(data="~")),
    ("media_readable", "unreadable source", lambda p: content(p, 0)[1].update(source={"type": "url", "url": "here"})),
    ("thinking_signed", "thinking without a signature", lambda p: content(p, 1)[0].update(signature="")),
    ("thinking_signed", "thinking without its text", lambda p: content(p, 1)[0].pop("thinking")),
    (
        "thinking_signed",
        "thinking without a signature",
        lambda p: content(p, 1).insert(0, {"type": "redacted_thinking", "data": None}),
    ),
    ("thinking_not_last", "thinking ends the message", lambda p: content(p, 1).append(dict(THOUGHT))),
    ("call_ids_allowed", "call id 'c:1' is not allowed", lambda p: renamed(p, "c:1")),
    ("call_ids_allowed", "is not allowed", lambda p: renamed(p, "c" * 65)),
    ("call_names_allowed", "tool name 'db.query' is not allowed", lambda p: content(p, 3)[0].update(name="db.query")),
    ("call_inputs_are_objects", "input is not an object", lambda p: content(p, 3)[0].update(input="{}")),
    ("call_ids_unique", "call id 'a' occurs 2 times", lambda p: renamed(p, "a")),
    ("calls_answered", "call 'b' is not answered in the next message", lambda p: content(p, 2).pop(1)),
    (
        "results_called",
        "which the message before does not call",
        lambda p: content(p, 3).pop(0) and content(p, 3).append({"type": "text", "text": "x"}),
    ),
    ("results_single", "2 results for 'c'", lambda p: content(p, 4).append(dict(content(p, 4)[0]))),
    ("results_first", "result after other content", lambda p: swapped(content(p, 2), 1, 2)),
    ("results_have_content", "neither text nor blocks", lambda p: content(p, 4)[0].update(content=7)),
    (
        "results_have_content",
        "block type 'tool_use' in a result",
        lambda p: content(p, 4)[0].update(content=[{"type": "tool_use"}]),
    ),
    ("errors_say_text", "an error must have text and nothing else", lambda p: content(p, 2)[0].update(is_error=True)),
    ("errors_say_text", "an error must have text and nothing else", lambda p: content(p, 2)[1].update(content=" ")),
    ("system_says_something", "must be text that is not blank", lambda p: p.update(system="  ")),
    ("system_says_something", "must be text that is not blank", lambda p: p.update(system=[])),
    ("tools_defined", "tool name '' is not allowed", lambda p: p["tools"][0].update(name="")),
    ("tools_defined", "is not the schema of an object", lambda p: p["tools"][0].update(input_schema={})),
    ("tools_unique", "tool name 'Read' occurs 2 times", lambda p: p["tools"].append(dict(p["tools"][0]))),
    ("marks_few", "cache marks, of which 4 are allowed", marked_everywhere),
    ("marks_formed", "is not known", lambda p: p["system"][0].update(cache_control={"type": "eternal"})),
    ("marks_formed", "is not known", lambda p: p["system"][0].update(cache_control={"type": "ephemeral", "ttl": "1y"})),
    ("marks_ordered", "cache mark of an hour behind a shorter one (system", hour_behind),
    (
        "marks_beside_thinking",
        "cache mark on thinking",
        lambda p: content(p, 1)[0].update(cache_control={"type": "ephemeral"}),
    ),
]


@pytest.mark.parametrize(("rule", "said", "mutate"), MUTATIONS)
def test_a_broken_rule_is_named(
    rule: str, said: str, mutate: Mutation, valid: Payload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The validator says what is wrong; without this one rule it would say nothing."""
    payload = copy.deepcopy(valid)
    mutate(payload)

    found = problems(payload)

    assert found
    assert all(said in problem for problem in found), found
    monkeypatch.setattr(anthropic_rules, "RULES", tuple(one for one in RULES if one.__name__ != rule))
    assert problems(payload) == []


def test_every_rule_has_a_request_that_breaks_it() -> None:
    """A rule that nothing breaks says nothing."""
    assert {rule for rule, _, _ in MUTATIONS} == {rule.__name__ for rule in RULES}


def test_a_request_is_an_object() -> None:
    """A list of messages alone is another provider's."""
    assert problems([]) == ["request: expected `messages` and what goes with them, got list"]
