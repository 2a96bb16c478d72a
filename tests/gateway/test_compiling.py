"""Compile mode: what is reduced, and that all else stays as the agent sent it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.gateway_rules import count_marks
from bench.provider import Request, Step

from foveate.gateway.matching import canonical
from foveate.log.events import ReductionRecorded
from foveate.session.session import Session
from foveate.store import Store
from foveate.wire.anthropic_rules import problems
from tests.gateway.serving import (
    PATHS,
    TOOL,
    ask,
    before_provider,
    exchange,
    long_conversation,
    marked,
    packed,
    sent,
)

BUDGET = 6_000
Json = dict[str, Any]


def play(client: Any, messages: list[Json], first: int = 1, **more: Any) -> list[Any]:
    """The requests of an agent that appends a step after each."""
    return [ask(client, marked(messages[:count]), **more) for count in range(first, len(messages) + 1, 2)]


def test_a_long_session_stays_within_its_budget(tmp_path: Path) -> None:
    """Valid, with four marks at most, each kept item byte for byte, and appended to between rewrites."""
    messages = long_conversation(24)
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=BUDGET) as (provider, gateway, client):
        answers = play(client, messages)
        assert [one.headers.get("x-foveate-fallback") for one in answers] == [None] * len(answers)
        assert all(int(one.headers["x-foveate-sent-tokens"]) <= BUDGET for one in answers)
        assert gateway.seen["fell back"] == 0
        rewrites, before = 0, []
        for request, count in zip(provider.requests, range(1, len(messages) + 1, 2), strict=True):
            body = json.loads(request.body)
            assert problems(body) == []
            assert count_marks(body) <= 4
            came = {packed(message) for message in marked(messages[:count])}
            kept = [packed(message) for message in body["messages"] if packed(message) in came]
            assert len(kept) >= min(2, count), "the newest step is there as it came"
            items = [canonical(message) for message in body["messages"]]
            rewrites += items[: len(before)] != before
            before = items
        assert 1 <= rewrites <= 8


def test_what_is_not_reduced_is_the_body_as_it_came(tmp_path: Path) -> None:
    """Up to the first reduction, whatever the client writes between its values."""
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=BUDGET) as (provider, _, client):
        body = b'{ "messages" : [ {"role":"user", "content":"H\\u00e9llo"} ],\n "model":"claude-sonnet-4-5"}'
        client.post(PATHS["anthropic"], content=body)
        assert provider.received[0].wire == body


def test_a_restart_changes_no_byte(tmp_path: Path) -> None:
    """A gateway that is ended after each request sends what one that runs through sends."""
    messages = long_conversation(12)
    options: Json = {"mode": "compile", "budget": BUDGET}
    with before_provider(store=tmp_path / "whole.db", **options) as (provider, _, client):
        play(client, messages)
        whole = [one.wire for one in provider.received]
    parts = []
    for count in range(1, len(messages) + 1, 2):
        with before_provider(store=tmp_path / "parts.db", **options) as (provider, _, client):
            ask(client, marked(messages[:count]))
            parts += [one.wire for one in provider.received]
    # The time between two calls is what a cache goes by, and here both are made within its life.
    assert parts == whole


def test_a_retry_after_a_restart_sends_the_same(tmp_path: Path) -> None:
    """The layout is read from the log."""
    messages = marked(long_conversation(12))
    options: Json = {"mode": "compile", "budget": BUDGET, "store": tmp_path / "s.db"}
    with before_provider(**options) as (provider, _, client):
        ask(client, messages)
        first = provider.received[0].wire
    with before_provider(**options) as (provider, _, client):
        ask(client, messages)
        assert provider.received[0].wire == first
        assert first != packed({"messages": messages})


def test_a_missed_part_is_caught_up(tmp_path: Path) -> None:
    """An agent that went on without the gateway for a while."""
    messages = long_conversation(6)
    options: Json = {"mode": "compile", "budget": 100_000, "store": tmp_path / "s.db"}
    with before_provider(**options) as (_, _, client):
        ask(client, messages[:3])
    with before_provider(**options) as (_, _, client):
        ask(client, messages)
    with Store(tmp_path / "s.db") as store:
        assert [info.messages for info in store.sessions()] == [len(messages)]


def test_the_count_is_of_what_would_be_sent(tmp_path: Path) -> None:
    """An agent that compacts by the count must not see another size."""
    messages = long_conversation(16)
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=BUDGET) as (provider, _, client):
        ask(client, messages)
        reduced = sent(provider)["messages"]
        body = {"model": "claude-sonnet-4-5", "messages": messages, "system": "Be brief.", "tools": [TOOL]}
        headers = {"x-claude-code-session-id": "s-1", "user-agent": "claude-cli/2.1"}
        client.post("/v1/messages/count_tokens", content=packed(body), headers=headers)
        assert json.loads(provider.received[-1].body)["messages"] == reduced


def test_an_aside_does_not_disturb_the_session(tmp_path: Path) -> None:
    """A request that replaces the last items is a branch; the session goes on as if it had not been."""
    messages = long_conversation(16)
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=BUDGET) as (provider, _, client):
        play(client, messages[:29], first=27)
        before = [canonical(one) for one in sent(provider)["messages"]]
        ask(client, [*messages[:28], {"role": "user", "content": "What would you name this?"}])
        aside = [canonical(one) for one in sent(provider)["messages"]]
        ask(client, marked(messages[:31]))
        after = [canonical(one) for one in sent(provider)["messages"]]
        assert after[: len(before)] == before
        assert aside[:2] == before[:2], "it begins with what is cached"
    with Store(tmp_path / "s.db") as store:
        assert {info.session_id for info in store.sessions()} == {"claude-code-s1", "claude-code-s1~2"}


def test_an_agents_own_compaction_begins_an_epoch(tmp_path: Path) -> None:
    """Nothing of what it dropped is sent again, all of it is in the log, and recall reaches back."""
    messages = long_conversation(8)
    messages[2]["content"][0]["content"] += "\nthe vault opens with quillfeather"
    summary = [{"role": "user", "content": "This session is being continued. Eight steps were done."}]
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=100_000) as (provider, _, client):
        ask(client, messages)
        ask(client, summary)
        recalled = sent(provider)["messages"][:-1]
        assert sent(provider)["messages"][-1:] == summary
        assert "recalled from earlier in this session" in json.dumps(recalled)
        again = [*summary, *exchange(1, "again with the same id")]
        ask(client, again)
        assert sent(provider)["messages"] == [*recalled, *again]
    with Store(tmp_path / "s.db") as store:
        (info,) = store.sessions()
        session = Session.open(store, info.session_id)
        assert info.messages == len(messages) + 3
        (dropped,) = [one.body for one in session.events if isinstance(one.body, ReductionRecorded)]
        assert dropped.reason == f"the agent replaced {len(messages)} messages of its own history"
        assert "quillfeather" in session.recall("m3")


def test_codex_windows_are_epochs(tmp_path: Path) -> None:
    """It says by a header that it has compacted, and keeps the first items of its list."""

    def body(*items: Json) -> bytes:
        return packed({"model": "gpt-5", "input": [{"role": "developer", "content": "Rules."}, *items], "tools": []})

    def user(text: str) -> Json:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def headers(window: int) -> dict[str, str]:
        return {"session-id": "c-1", "x-codex-window-id": f"c-1:{window}", "user-agent": "codex_exec/0.169"}

    options: Json = {"mode": "compile", "budget": 100_000, "store": tmp_path / "s.db"}
    with before_provider(**options) as (provider, _, client):
        client.post(PATHS["responses"], content=body(user("One.")), headers=headers(0))
        client.post(PATHS["responses"], content=body(user("One."), user("Two.")), headers=headers(0))
        again = body(user("One."), user("What happened so far."))
        client.post(PATHS["responses"], content=again, headers=headers(1))
        came, went = json.loads(again)["input"], json.loads(provider.received[-1].body)["input"]
        assert [item for item in went if "recalled from earlier" not in json.dumps(item)] == came
    with Store(tmp_path / "s.db") as store:
        assert len(store.sessions()) == 1


@pytest.mark.parametrize("agent", ["codex", "claude-code"])
def test_an_overflow_is_retried_once_for_agents_that_die_of_it(agent: str, tmp_path: Path) -> None:
    """The others have ways of their own, and get the provider's error."""
    items = [{"role": "user", "content": "Build it all."}]
    for number in range(20):
        text = "\n".join(f"step {number} wrote line {line}" for line in range(60))
        items.append({"type": "function_call", "call_id": f"c{number}", "name": "run", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": text})
    headers = {"user-agent": {"codex": "codex_exec/0.169", "claude-code": "claude-cli/2"}[agent], "session-id": "o-1"}
    content = packed({"model": "gpt-5", "input": items, "stream": True})
    options: Json = {"mode": "compile", "budget": 50_000, "window": 8_000, "store": tmp_path / "s.db"}
    with before_provider(**options) as (provider, gateway, client):
        answer = client.post(PATHS["responses"], content=content, headers=headers)
        is_retried = agent == "codex"
        assert len(provider.received) == 1 + is_retried
        assert ("response.completed" in answer.text) is is_retried
        assert ("context_length_exceeded" in answer.text) is not is_retried
        assert gateway.seen["retried shorter"] == is_retried


def test_usage_is_passed_on_as_the_provider_counted_it(tmp_path: Path) -> None:
    """Agents compact by it: it is of the request that was sent, and is not changed."""

    def answer(request: Request) -> Step:
        return Step(f"{request.tokens} tokens")

    with before_provider(answer, tmp_path / "s.db", mode="compile", budget=BUDGET) as (provider, _, client):
        told = ask(client, long_conversation(16)).json()
        assert told["usage"]["input_tokens"] == len(provider.received[0].body) // 4
