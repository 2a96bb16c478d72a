"""Messages that real agents exchanged with Anthropic."""

from __future__ import annotations

import json
import os

import pytest
from bench.logs import data_root

import foveate
from foveate.wire import anthropic, anthropic_rules, openai_rules

ROOT = data_root()
if ROOT is None and not os.environ.get("CI"):
    pytest.skip("no recorded logs: set FOVEATE_DATA to a directory of them", allow_module_level=True)

FILES = sorted((ROOT / "claude_code").glob("*.jsonl")) if ROOT is not None else []
RECORDED = {
    path.name: [
        record["message"]
        for record in map(json.loads, path.read_text().splitlines())
        if record.get("type") in ("user", "assistant")
    ]
    for path in FILES
}
SESSIONS = {name: messages for name, messages in RECORDED.items() if messages}


def place(index: int) -> str:
    return f"message {index}"


def test_the_recorded_messages_are_there() -> None:
    """In CI missing logs are a failure, not a skip."""
    assert sum(map(len, SESSIONS.values())) > 1_000


@pytest.mark.parametrize("name", SESSIONS)
def test_recorded_messages_come_back(name: str) -> None:
    """Byte for byte: every field, every key where it was, texts as texts."""
    raws = SESSIONS[name]

    assert json.dumps(anthropic.encode(anthropic.decode(raws, place))) == json.dumps(raws)


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("budget", [8_000, 32_000])
def test_recorded_messages_are_lowered_to_requests_that_are_accepted(name: str, budget: int) -> None:
    """At every tenth response, for both providers."""
    session = foveate.Session(budget=budget, system="Be brief.")
    messages = anthropic.decode(SESSIONS[name], place)
    responses = 0
    for message in messages:
        responses += message.role == "assistant"
        if message.role == "assistant" and responses % 10 == 1:
            view = session.compile()
            assert anthropic_rules.problems(view.to("anthropic")) == []
            assert openai_rules.problems(view.to("openai")) == []
        session.append(message)
    assert responses
