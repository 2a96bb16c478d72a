"""Every rule of OpenAI chat refuses what breaks it, and nothing else does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.dialogue import call, calls, result, says, session_of, user

from foveate.wire import openai_rules
from foveate.wire.openai_rules import RULES, SENT_RULES, problems, sent_problems

PIXEL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CONVERSATION = [
    user([{"type": "text", "text": "Look at this."}, PIXEL]),
    calls(call("a", "Read", path="x"), call("b", "Bash", command="ls"), text="Reading."),
    result("a", [{"type": "text", "text": "one"}, PIXEL]),
    result("b", ""),
    user("And now?"),
    calls(call("c", "Read", path="y")),
    result("c", "two"),
    says("Done."),
]

Payload = list[dict[str, Any]]
Mutation = Callable[[Payload], Any]


@pytest.fixture(scope="module")
def valid() -> Payload:
    """A request with something for every rule to look at, compiled from a session."""
    payload: Payload = session_of(CONVERSATION, system="Be kind.").compile().to("openai")
    assert sent_problems(payload) == []
    return payload


def third(payload: Payload) -> dict[str, Any]:
    """The call of the second response."""
    found: dict[str, Any] = payload[7]["tool_calls"][0]
    return found


MUTATIONS: list[tuple[str, str, Mutation]] = [
    ("roles_known", "unknown role 'robot'", lambda p: p.append({"role": "robot", "content": "x"})),
    ("content_present", "user message without content", lambda p: p[6].update(content=" ")),
    ("content_present", "assistant message without content", lambda p: p[9].update(content=None)),
    ("content_present", "user message without content", lambda p: p[6].update(content=[{"type": "text", "text": ""}])),
    ("result_content_present", "tool message without content", lambda p: p[8].pop("content")),
    ("result_content_present", "tool message without content", lambda p: p[8].update(content=None)),
    (
        "blocks_known",
        "block type 'image_url' in a message of the role 'assistant'",
        lambda p: p[9].update(content=[PIXEL]),
    ),
    ("blocks_complete", "block without what it shows", lambda p: p[1]["content"][1].update(image_url="")),
    ("blocks_complete", "block without what it shows", lambda p: p[1]["content"].append({"type": "file", "file": {}})),
    ("blocks_complete", "block without what it shows", lambda p: p[1]["content"].append({"type": "input_audio"})),
    ("blocks_complete", "block without what it shows", lambda p: p[3]["content"][0].update(text=None)),
    ("calls_by_the_assistant", "user message with tool calls", lambda p: p[7].update(role="user", content="x")),
    ("call_lists_not_empty", "`tool_calls` must be a list of calls, got []", lambda p: p[9].update(tool_calls=[])),
    ("call_lists_not_empty", "`tool_calls` must be a list of calls", lambda p: p[9].update(tool_calls={"id": "x"})),
    (
        "call_ids_given",
        "call id None is no text",
        lambda p: (third(p).update(id=None), p[8].update(tool_call_id=None)),
    ),
    ("call_names_given", "call without the name of a function", lambda p: third(p)["function"].pop("name")),
    (
        "call_arguments_are_text",
        "`arguments` of a call are no text",
        lambda p: third(p)["function"].update(arguments={}),
    ),
    ("call_ids_unique", "call id 'c' repeated", lambda p: p[7]["tool_calls"].append(dict(third(p)))),
    ("calls_answered", "before message 4: call 'b' unanswered", lambda p: p.pop(4)),
    ("calls_answered", "before the end: call 'd' unanswered", lambda p: p.append(calls(call("d", "f")))),
    ("results_called", "result 'x' without its call", lambda p: p.append(result("x", "?"))),
    ("results_single", "second result for 'c'", lambda p: p.insert(9, dict(p[8]))),
    (
        "functions_answered",
        "the function 'f' is not both called and answered",
        lambda p: p.append({"role": "function", "name": "f", "content": "x"}),
    ),
    (
        "functions_answered",
        "the function 'f' is not both called and answered",
        lambda p: p[9].update(function_call={"name": "f", "arguments": "{}"}),
    ),
    (
        "call_ids_allowed",
        "is not allowed",
        lambda p: (third(p).update(id="x" * 41), p[8].update(tool_call_id="x" * 41)),
    ),
    ("call_names_allowed", "'a.b' is not allowed", lambda p: third(p)["function"].update(name="a.b")),
    ("names_allowed", "name 'Ada L.' is not allowed", lambda p: p[6].update(name="Ada L.")),
    (
        "media_taken",
        "of a type that is not taken",
        lambda p: p[1]["content"][1].update(image_url={"url": "data:image/svg+xml;base64,AAAA"}),
    ),
    (
        "media_taken",
        "of a type that is not taken",
        lambda p: p[1]["content"].append(
            {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,AAAA"}}
        ),
    ),
]


@pytest.mark.parametrize(("rule", "said", "mutate"), MUTATIONS)
def test_a_broken_rule_is_named(
    rule: str, said: str, mutate: Mutation, valid: Payload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The validator says what is wrong; without this one rule it would say nothing."""
    payload = copy.deepcopy(valid)
    mutate(payload)

    found = sent_problems(payload)

    assert found
    assert all(said in problem for problem in found), found
    assert bool(problems(payload)) == (rule in {one.__name__ for one in RULES})
    monkeypatch.setattr(openai_rules, "RULES", tuple(one for one in RULES if one.__name__ != rule))
    monkeypatch.setattr(openai_rules, "SENT_RULES", tuple(one for one in SENT_RULES if one.__name__ != rule))
    assert sent_problems(payload) == []


def test_every_rule_has_a_request_that_breaks_it() -> None:
    """A rule that nothing breaks says nothing."""
    assert {rule for rule, _, _ in MUTATIONS} == {rule.__name__ for rule in (*RULES, *SENT_RULES)}


def test_a_request_has_messages() -> None:
    """A system prompt alone will do; nothing, or something else than a list, will not."""
    assert problems([{"role": "system", "content": "Be kind."}]) == []
    assert problems([]) == problems({"messages": []}) == ["no messages"]
    assert "message 0: unknown role None" in problems(["hello"])
