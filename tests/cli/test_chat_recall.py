"""A chat without a vault has the recall tool: what is not shown any more can still be looked up by the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from foveate.api import Place, create_app
from tests.api.talking import events
from tests.cli.test_chat_command import MODEL, chat
from tests.scripted_model import Payload, ScriptedModel, call, scripted_model, text

TOLD = "The code of the safe is 40-12-7\t(two  blanks, ünïcödé, 保险箱)."
SMALL_TALK = tuple(f"Turn {turn}: tell me something long about cat number {turn}." for turn in range(12))
ASK = "And now?"


def reply(payload: Payload) -> dict[str, Any]:
    """Talk a lot, and look up the second input when asked for it."""
    last = payload["messages"][-1]
    said = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    if last["role"] == "tool":
        return text(f"It was: {said}")
    if said == ASK:
        assert "保险箱" not in json.dumps(payload, ensure_ascii=False), "it is out of sight, or this shows nothing"
        return call("recall", reference="m3")
    return text("Cats are long, and there is much to be said of them. " * 16)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    monkeypatch.chdir(tmp_path)
    with scripted_model(reply) as running:
        given = {**running.environment, "FOVEATE_STORE": str(tmp_path / "a.db"), "FOVEATE_MODEL": MODEL}
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        yield running


def test_a_chat_in_the_terminal_recalls_what_was_said(model: ScriptedModel) -> None:
    """The model gets the recorded bytes, though there is no vault."""
    done = chat("Good morning.", TOLD, *SMALL_TALK, ASK, options=("--budget", "1200"))
    assert [one["function"]["name"] for one in model.received[0]["tools"]] == ["recall"]
    assert model.received[-1]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "call_recall_1",
        "content": TOLD,
    }
    assert "It was: The code of the safe is 40-12-7" in done.stdout


def test_a_chat_over_http_recalls_what_was_said(model: ScriptedModel, tmp_path: Path) -> None:
    """Nor does it need one over HTTP, where the page chats."""
    (tmp_path / "foveate.toml").write_text("[chat]\nbudget = 1200\n")
    place = Place(store=tmp_path / "a.db", system=tmp_path / "system", model=MODEL)
    with TestClient(create_app(place), base_url="http://127.0.0.1") as client:
        for said in ("Good morning.", TOLD, *SMALL_TALK):
            events(client, "/api/chats/one/messages", text=said)
        told = events(client, "/api/chats/one/messages", text=ASK)
    assert [kind for kind, _ in told][:2] == ["call", "result"]
    assert told[1][1]["text"] == TOLD
    assert told[-1][1]["text"] == f"It was: {TOLD}"
