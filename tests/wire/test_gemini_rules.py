"""What Gemini refuses: each rule is broken once, in a request that was valid."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.dialogue import session_of

from foveate.wire import gemini_rules
from foveate.wire.gemini_rules import problems

WHOLE = tuple(rule.__name__ for rule in gemini_rules.WHOLE)


def request() -> dict[str, Any]:
    """A valid request with everything in it, compiled from a session."""
    contents = [
        {"role": "user", "parts": [{"text": "go"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True, "thoughtSignature": "s"},
                {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "t"},
                {"functionCall": {"name": "g", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"output": "1"}}},
                {"functionResponse": {"name": "g", "response": {"output": "2"}}},
                {"text": "and"},
            ],
        },
        {"role": "model", "parts": [{"text": "done"}]},
    ]
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    asked = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    session = session_of(contents, budget=8_000, system="Be brief.", tools=[tool], response_format=asked)
    sent: dict[str, Any] = session.compile().to("gemini")
    assert sent["contents"] == contents
    return sent


def part(sent: dict[str, Any], content: int, at: int) -> dict[str, Any]:
    found: dict[str, Any] = sent["contents"][content]["parts"][at]
    return found


def declared(sent: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sent["tools"][0]["functionDeclarations"]
    return found


MUTATIONS: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("contents_given", lambda sent: sent["contents"].clear(), "no contents"),
    ("contents_given", lambda sent: sent.pop("contents"), "no contents"),
    (
        "system_says_something",
        lambda sent: sent.update(systemInstruction={"parts": []}),
        "`systemInstruction` is empty",
    ),
    ("roles_known", lambda sent: sent["contents"][0].update(role="function"), "unknown role 'function'"),
    ("parts_given", lambda sent: sent["contents"][0].update(parts=[]), "content 0: no list of parts"),
    ("parts_say_one_thing", lambda sent: part(sent, 0, 0).update(text=" "), "content 0, part 0: empty text"),
    ("parts_say_one_thing", lambda sent: part(sent, 0, 1).update(text="x"), "2 kinds of content"),
    ("parts_say_one_thing", lambda sent: part(sent, 0, 0).clear(), "0 kinds of content"),
    (
        "calls_are_the_models",
        lambda sent: sent["contents"][1].update(role="user"),
        "functionCall in a content of 'user'",
    ),
    ("names_fit", lambda sent: part(sent, 1, 1)["functionCall"].update(name="1f"), "functionCall with the name '1f'"),
    ("names_fit", lambda sent: part(sent, 2, 0)["functionResponse"].pop("name"), "functionResponse with the name None"),
    ("calls_filled", lambda sent: part(sent, 1, 1)["functionCall"].update(args="{}"), "`args` are no object"),
    (
        "responses_filled",
        lambda sent: part(sent, 2, 0)["functionResponse"].update(response="1"),
        "`response` is no object",
    ),
    ("calls_answered", lambda sent: sent["contents"][2]["parts"].pop(0), "0 responses to 1 calls of 'f'"),
    ("calls_answered", lambda sent: sent["contents"][1]["parts"].pop(1), "1 responses to 0 calls of 'f'"),
    ("calls_answered", lambda sent: sent.update(contents=sent["contents"][:2]), "0 responses to 1 calls of"),
    (
        "responses_first",
        lambda sent: sent["contents"][2]["parts"].insert(0, sent["contents"][2]["parts"].pop()),
        "behind other",
    ),
    ("tools_fit", lambda sent: declared(sent)[0].update(name="1f"), "a tool without a name that is allowed"),
    (
        "tools_fit",
        lambda sent: declared(sent)[0].update(parametersJsonSchema={"type": "array"}),
        "no schema of an object",
    ),
    ("tools_fit", lambda sent: declared(sent).append(declared(sent)[0]), "the tool 'f' is there 2 times"),
    ("answer_format_fits", lambda sent: sent["generationConfig"].pop("responseMimeType"), "says no known format"),
    ("media_known", lambda sent: part(sent, 0, 1)["inlineData"].update(mimeType="image/tiff"), "type 'image/tiff'"),
    (
        "media_known",
        lambda sent: part(sent, 0, 1)["inlineData"].update(data="no base64"),
        "inlineData without its `data`",
    ),
]


def test_what_is_compiled_is_valid() -> None:
    assert problems(request()) == []


@pytest.mark.parametrize(("rule", "mutate", "words"), MUTATIONS)
def test_a_broken_rule_is_named(rule: str, mutate: Callable[[dict[str, Any]], object], words: str) -> None:
    """The rule itself finds it, and says so."""
    broken = copy.deepcopy(request())
    mutate(broken)

    assert any(words in problem for problem in problems(broken))
    assert any(
        words in problem for problem in getattr(gemini_rules, rule)(broken if rule in WHOLE else broken["contents"])
    )


def test_every_rule_is_broken_once_and_listed() -> None:
    """A rule without a mutation would be a rule that nobody saw work."""
    rules = {*WHOLE, *(rule.__name__ for rule in gemini_rules.RULES)}

    assert {rule for rule, _, _ in MUTATIONS} == rules
    assert all(f"`{rule}`" in (gemini_rules.__doc__ or "") for rule in rules)


@pytest.mark.parametrize("payload", [None, [], "x", 5, {"contents": 5}, {"contents": [None, [], 5]}])
def test_what_is_no_request_is_refused(payload: object) -> None:
    assert problems(payload)
