"""What OpenAI Responses refuses: each rule is broken once, in a request that was valid."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.dialogue import session_of

from foveate.wire import responses_rules
from foveate.wire.responses_rules import problems

Items = list[dict[str, Any]]


def request() -> dict[str, Any]:
    """A valid request with everything in it, compiled from a session."""
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "ls", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "x"},
        {"type": "function_call_output", "call_id": "a", "output": "x.py"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": "ok"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    tool = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
    asked = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    session = session_of(items, budget=8_000, system="Be brief.", tools=[tool], response_format=asked)
    sent: dict[str, Any] = session.compile().to("openai-responses")
    assert [item["type"] for item in sent["input"][1:4]] == ["reasoning", "web_search_call", "function_call"]
    return sent


def _swap(items: Items, one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]


MUTATIONS: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("input_given", lambda sent: sent["input"].clear(), "no items"),
    ("input_given", lambda sent: sent.pop("input"), "no items"),
    ("instructions_say_something", lambda sent: sent.update(instructions=" "), "`instructions` are empty"),
    ("items_typed", lambda sent: sent["input"][0].update(type=None), "item 0: no object with a `type`"),
    ("roles_known", lambda sent: sent["input"][0].update(role="tool"), "unknown role 'tool'"),
    ("content_given", lambda sent: sent["input"][0].update(content=[]), "message without content"),
    ("content_given", lambda sent: sent["input"][0]["content"][0].update(text=" "), "empty block"),
    ("content_fits_role", lambda sent: sent["input"][-1]["content"][0].update(type="input_text"), "block 'input_text'"),
    (
        "content_fits_role",
        lambda sent: sent["input"][0]["content"][0].update(type="output_text"),
        "block 'output_text'",
    ),
    ("calls_named", lambda sent: sent["input"][3].update(name="a.b"), "the name 'a.b'"),
    ("calls_filled", lambda sent: sent["input"][3].update(arguments={}), "`arguments` of a call is no text"),
    ("calls_filled", lambda sent: sent["input"][4].pop("input"), "`input` of a call is no text"),
    ("call_ids_fit", lambda sent: [sent["input"][at].update(call_id="x" * 65) for at in (3, 5)], "1 to 64 characters"),
    ("call_ids_unique", lambda sent: sent["input"].insert(3, dict(sent["input"][3], id=None)), "is there 2 times"),
    ("outputs_have_calls", lambda sent: _swap(sent["input"], 3, 5), "without its call before it"),
    ("outputs_have_calls", lambda sent: sent["input"][6].update(type="function_call_output"), "for a call that wants"),
    (
        "outputs_have_calls",
        lambda sent: sent["input"].append({"type": "tool_search_output", "call_id": "c", "tools": []}),
        "without its call before it",
    ),
    ("calls_answered", lambda sent: sent["input"].pop(5), "has no output"),
    ("outputs_given", lambda sent: sent["input"][5].update(output={"x": 1}), "neither text nor a list"),
    ("reasoning_replayable", lambda sent: sent["input"][1].pop("summary"), "reasoning without a `summary`"),
    ("reasoning_replayable", lambda sent: sent["input"][1].pop("id"), "without `encrypted_content` or `id`"),
    ("reasoning_followed", lambda sent: sent["input"].append(sent["input"].pop(1)), "the item that followed it"),
    (
        "programs_stand_first",
        lambda sent: sent["input"].append({"type": "program_output", "call_id": "p", "result": "1"}),
        "the output of a program 'p' that does not stand before it",
    ),
    (
        "programs_stand_first",
        lambda sent: sent["input"][3].update(caller={"type": "program", "caller_id": "p"}),
        "called by a program 'p'",
    ),
    (
        "approvals_asked",
        lambda sent: sent["input"].append({"type": "mcp_approval_response", "approval_request_id": "r"}),
        "an approval of 'r'",
    ),
    ("tools_fit", lambda sent: sent["tools"][0].update(name="a.b"), "tool 0: the name 'a.b'"),
    ("tools_fit", lambda sent: sent["tools"][0].pop("type"), "tool 0: no object with a `type`"),
    ("tools_fit", lambda sent: sent["tools"][0].update(parameters={"type": "array"}), "not those of an object"),
    ("tools_fit", lambda sent: sent["tools"].append(sent["tools"][0]), "the tool 'ls' is there 2 times"),
    ("answer_format_fits", lambda sent: sent["text"]["format"].pop("name"), "`text` has no known `format`"),
    (
        "answer_format_fits",
        lambda sent: sent["text"]["format"].update(schema={"type": "array"}),
        "`text` has no known `format`",
    ),
    (
        "system_is_text",
        lambda sent: sent["input"][0].update(
            role="system", content=[{"type": "input_image", "image_url": "https://x.org/a.png"}]
        ),
        "more than text in a message of 'system'",
    ),
    (
        "media_taken",
        lambda sent: sent["input"][0]["content"].append(
            {"type": "input_image", "image_url": "data:image/svg+xml;base64,AAAA"}
        ),
        "input_image of no type",
    ),
    ("media_taken", lambda sent: sent["input"][0]["content"].append({"type": "input_file"}), "input_file of no type"),
    ("item_ids_fit", lambda sent: sent["input"][3].update(id="call_1"), "does not begin with 'fc_'"),
    ("item_ids_fit", lambda sent: sent["input"][2].update(id="rs_1"), "is there twice"),
]


def test_what_is_compiled_is_valid() -> None:
    assert problems(request()) == []


@pytest.mark.parametrize(("rule", "mutate", "words"), MUTATIONS)
def test_a_broken_rule_is_named(rule: str, mutate: Callable[[dict[str, Any]], object], words: str) -> None:
    """The rule itself finds it, and says so."""
    broken = copy.deepcopy(request())
    mutate(broken)

    assert any(words in problem for problem in problems(broken))
    found = getattr(responses_rules, rule)
    whole = found in responses_rules.WHOLE
    assert any(words in problem for problem in found(broken if whole else broken["input"]))


def test_every_rule_is_broken_once_and_listed() -> None:
    """A rule without a mutation would be a rule that nobody saw work."""
    rules = {rule.__name__ for rule in responses_rules.RULES}
    rules |= {"items_typed", *(rule.__name__ for rule in responses_rules.WHOLE)}

    assert {rule for rule, _, _ in MUTATIONS} == rules
    assert all(f"`{rule}`" in (responses_rules.__doc__ or "") for rule in rules)


@pytest.mark.parametrize("payload", [None, [], "x", 5, {"input": 5}, {"input": [None, [], 5]}])
def test_what_is_no_request_is_refused(payload: object) -> None:
    assert problems(payload)


@pytest.mark.parametrize(
    "items",
    [
        [
            {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {}},
            {"type": "tool_search_output", "call_id": "s", "execution": "client", "tools": []},
        ],
        [
            {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
            {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []},
        ],
        [
            {"type": "program", "id": "p_1", "call_id": "p", "code": "x"},
            {"type": "program_output", "id": "po_1", "call_id": "p", "result": "y"},
        ],
    ],
)
def test_a_call_is_answered_by_its_output_under_either_name(items: Items) -> None:
    """A tool search is answered by a `tool_search_output`; what the provider ran itself waits for nobody."""
    assert problems({"input": [{"role": "user", "content": "Go."}, *items]}) == []
