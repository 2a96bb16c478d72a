"""Chats over HTTP: templates, endless mode, answers as they are written, failures that are seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.api import talking
from tests.api.talking import events
from tests.chat.script import FAILURES, Failure, Scene
from tests.scripted_model import ScriptedModel

scene, model, client = talking.scene, talking.model, talking.client


def test_templates_are_listed_with_name_source_and_path(client: TestClient) -> None:
    listed = client.get("/api/context/templates").json()
    assert [one["name"] for one in listed] == ["chat", "coding", "goal-oriented", "research"]
    assert {one["source"] for one in listed} == {"system"}
    assert Path(listed[0]["path"]).is_file()


def test_a_template_written_into_the_vault_comes_before_the_systems(client: TestClient, tmp_path: Path) -> None:
    written = client.put("/api/context/templates/chat", json={"text": "Mine: {{ topic }}"})
    assert written.json()["source"] == "vault"
    listed = client.get("/api/context/templates", params={"vault_name": "vault"}).json()
    assert (listed[0]["name"], listed[0]["source"]) == ("chat", "vault")
    other = client.get("/api/context/templates", params={"vault_name": "elsewhere"}).json()
    assert {one["source"] for one in other} == {"system"}, "another vault has the system's templates only"
    assert client.get("/api/context/templates/chat").json()["text"] == "Mine: {{ topic }}"


@pytest.mark.parametrize("name", ["../outside", "a/b/c", "_hidden", ".dot"])
def test_a_template_cannot_be_written_elsewhere(client: TestClient, tmp_path: Path, name: str) -> None:
    client.get("/api/context/templates")
    before = sorted(tmp_path.rglob("*.md"))
    refused = client.put(f"/api/context/templates/{name.replace('..', '%2e%2e')}", json={"text": "x"})
    assert refused.status_code in (404, 422)
    assert sorted(tmp_path.rglob("*.md")) == before


def test_an_answer_comes_in_events_and_is_in_the_log(client: TestClient) -> None:
    told = events(client, "/api/chats/one/messages", text="Good morning")
    assert [kind for kind, _ in told] == ["text", "done"]
    assert told[-1][1]["text"] == "You said: Good morning"
    assert told[-1][1]["calls"] == [1]
    listed = client.get("/api/sessions/one/messages").json()
    assert [one["preview"] for one in listed["messages"]] == ["Good morning", "You said: Good morning"]


def test_tools_of_the_vault_are_told_of(client: TestClient) -> None:
    told = events(client, "/api/chats/one/messages", text="What is in my note?")
    assert [kind for kind, _ in told] == ["call", "result", "text", "done"]
    assert told[1][1]["text"].startswith("Buy lemons.")
    assert "Buy lemons." in told[-1][1]["text"]


def test_a_failed_answer_says_why_and_can_be_asked_for_again(client: TestClient, model: ScriptedModel) -> None:
    told = events(client, "/api/chats/one/messages", text="please fail")
    assert told[-1][0] == "error"
    assert "the script fails" in told[-1][1]["error"]
    assert [one["preview"] for one in client.get("/api/sessions/one/messages").json()["messages"]] == ["please fail"]
    assert events(client, "/api/chats/one/retry")[-1][0] == "error"


def test_endless_mode_is_switched_and_remembered(client: TestClient) -> None:
    events(client, "/api/chats/one/messages", text="Hello")
    mode = client.put("/api/chats/one/mode", json={"endless": True, "template": "coding"}).json()
    assert mode == {"endless": True, "template": "coding"}
    events(client, "/api/chats/one/messages", text="Hello again")
    state = client.get("/api/chats/one/state").json()
    assert (state["endless"], state["template"], state["messages"]) == (True, "coding", 4)
    assert state["tokens"] > 0
    assert state["limit"] == 16_000
    calls = client.get("/api/sessions/one/calls").json()
    assert "endless:coding" in json.dumps(calls)
    assert client.put("/api/chats/one/mode", json={"endless": False}).json()["endless"] is False


def test_an_unknown_template_is_refused_by_name(client: TestClient) -> None:
    refused = client.put("/api/chats/one/mode", json={"endless": True, "template": "nowhere"})
    assert refused.status_code == 422
    assert "there are chat, coding" in json.dumps(refused.json())


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_each_failure_costs_no_answer_and_is_seen(
    failure: Failure, scene: Scene, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in failure.environment.items():
        monkeypatch.setenv(name, value)
    scene.write_template(failure.template)
    client.put("/api/chats/one/mode", json={"endless": True, "template": "mine"})
    for said in ("I have three cats.", "They must never eat onions."):
        assert [kind for kind, _ in events(client, "/api/chats/one/messages", text=said)] == ["text", "done"]
    failure.cause(scene)
    told = events(client, "/api/chats/one/messages", text="What may they eat?")
    assert told[-1][0] == "done"
    assert told[-1][1]["text"] == "You said: What may they eat?"
    noted = [data for kind, data in told if kind == "diagnostic"][-1]
    assert (noted["code"], noted["phase"], noted["subject"]) == (failure.code, failure.phase, failure.subject)
    assert failure.said in noted["text"]
    kept = scene.diagnostics("one")[-1]
    listed = client.get("/api/sessions/one/diagnostics").json()
    assert failure.said in json.dumps(listed, ensure_ascii=False)
    assert (kept.code, kept.phase, kept.subject) == (failure.code, failure.phase, failure.subject)


def test_nothing_is_no_message(client: TestClient) -> None:
    assert client.post("/api/chats/one/messages", json={"text": ""}).status_code == 422
    refused = client.post("/api/chats/one/messages", json={"text": "  "})
    assert refused.status_code == 422
    assert "empty" in refused.json()["error"]


def test_the_transcript_is_in_the_vault(client: TestClient, tmp_path: Path) -> None:
    events(client, "/api/chats/one/messages", text="Keep this")
    assert "Keep this" in (tmp_path / "vault" / "AssistantMD" / "Chats" / "one.md").read_text()


def test_what_would_be_sent_now_is_by_the_chats_template(client: TestClient) -> None:
    events(client, "/api/chats/one/messages", text="Hello")
    client.put("/api/chats/one/mode", json={"endless": True, "template": "coding"})
    assert client.get("/api/sessions/one/preview").json()["strategy"] == "endless:coding"


def test_a_message_of_a_chat_can_be_pinned_whatever_model_answers(client: TestClient) -> None:
    events(client, "/api/chats/one/messages", text="Hello")
    assert client.post("/api/sessions/one/pins/m1").json() == {"pins": ["m1"]}
    assert client.delete("/api/sessions/one/pins/m1").json() == {"pins": []}


def test_an_unknown_template_is_not_found(client: TestClient) -> None:
    assert client.get("/api/context/templates/nowhere").status_code == 404


def test_nobody_is_answered_twice(client: TestClient) -> None:
    events(client, "/api/chats/one/messages", text="Hello")
    assert events(client, "/api/chats/one/retry")[-1][1]["error"] == "there is nothing to answer"
