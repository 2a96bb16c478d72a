"""Chats over HTTP where it gets narrow: odd vaults, odd names, large messages, many at once."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from foveate import ModelProfile, Session
from foveate.api import Place, create_app
from foveate.chat.opening import file_name, is_chat
from foveate.store import Store
from tests.api import talking
from tests.api.talking import events
from tests.chat.script import Scene
from tests.scripted_model import ScriptedModel

scene, model, client = talking.scene, talking.model, talking.client
CHATS = Path("AssistantMD/Chats")


@pytest.mark.parametrize("vault", [".", "inner/..", "../vault"])
def test_a_vault_may_be_where_one_is(
    scene: Scene, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, vault: str
) -> None:
    """A vault that is given as `.` has the name of its folder: chats are answered, and its templates are listed."""
    for name, value in model.environment.items():
        monkeypatch.setenv(name, value)
    (scene.vault / "inner").mkdir()
    monkeypatch.chdir(scene.vault)
    scene.write_template("Mine")
    place = Place.found(scene.store, system=scene.store.parent / "system", vault=vault, model="openai-chat:scripted")
    with TestClient(create_app(place), base_url="http://127.0.0.1") as client:
        assert [kind for kind, _ in events(client, "/api/chats/one/messages", text="Hello")] == ["text", "done"]
        listed = client.get("/api/context/templates", params={"vault_name": "vault"}).json()
        assert "mine" in {one["name"] for one in listed if one["source"] == "vault"}
        assert client.get("/api/sessions/one").json()["vault"] == "vault"


def test_whatever_is_a_chat_is_known_as_one(client: TestClient, scene: Scene) -> None:
    """A session that was talked to is tagged as a chat; one that is only looked at is not."""
    events(client, "/api/chats/one/messages", text="Hello")
    content = b'[{"role": "user", "content": "hi"}]'
    client.post("/api/sessions/import", content=content, params={"as": "log"})
    assert client.get("/api/chats/log/state").json()["messages"] == 1
    with Store(scene.store) as store:
        assert is_chat(store.session("one"))
        assert not is_chat(store.session("log"))


def test_a_template_is_checked_and_kept_in_either_mode(client: TestClient) -> None:
    """What is not given stays as it is, and a template that there is not is refused before a chat begins with it."""
    refused = client.put("/api/chats/one/mode", json={"endless": False, "template": "nope"})
    assert refused.status_code == 422 and "'nope'" in refused.json()["error"]
    assert client.get("/api/sessions/one").status_code == 404
    put = {"endless": False, "template": "coding"}
    assert client.put("/api/chats/one/mode", json=put).json() == put
    assert client.put("/api/chats/one/mode", json={"endless": True}).json() == {"endless": True, "template": "coding"}
    changed = client.put("/api/chats/one/mode", json={"template": "research"}).json()
    assert changed == {"endless": True, "template": "research"}
    assert "neither `endless` nor `template`" in client.put("/api/chats/one/mode", json={}).json()["error"]


def test_an_answer_cannot_be_asked_for_where_nothing_was_said(client: TestClient, scene: Scene) -> None:
    """Nothing is left of it, neither a session nor a file."""
    refused = client.post("/api/chats/never/retry")
    assert refused.status_code == 404 and "no session 'never'" in refused.json()["error"]
    assert client.get("/api/sessions").json()["total"] == 0
    assert not (scene.vault / CHATS).exists()


@pytest.mark.parametrize("name", ["", "%00", "%20"])
def test_a_chat_without_a_name_is_refused_before_it_is_answered(client: TestClient, name: str) -> None:
    refused = client.post(f"/api/chats/{name}/messages", json={"text": "Hello"})
    assert refused.status_code == 422 and "is no name" in refused.json()["error"]
    assert client.post(f"/api/chats/{name}/retry").status_code == 404


def test_each_chat_has_a_transcript_of_its_own(client: TestClient, scene: Scene) -> None:
    """However a chat is called: no two share a file, plain names stay, and none is hidden or elsewhere."""
    for name in ("a/b", "a_b", "%2e%2e/%2e%2e/x"):
        told = events(client, f"/api/chats/{name}/messages", text=f"In {name.replace('%2e', '.')}.")
        assert [kind for kind, _ in told] == ["text", "done"]
    written = {path.name: path.read_text() for path in scene.vault.rglob("*.md") if CHATS.name in path.parts}
    assert len(written) == 3
    assert "In a_b." in written["a_b.md"]
    assert "In a/b." in written[f"{file_name('a/b')}.md"]
    assert "In ../../x." in written[f"{file_name('../../x')}.md"]
    assert not any(name.startswith(".") for name in written)
    assert file_name("Größe 2.1") == "Größe 2.1"
    assert len(f"{file_name('日' * 200)}.md".encode()) < 255


def test_a_transcript_that_cannot_be_written_is_told_to_who_chats(client: TestClient, scene: Scene) -> None:
    (scene.vault / CHATS).mkdir(parents=True)
    (scene.vault / CHATS / "one.md").mkdir()
    for said in ("Hello", "Hello again"):
        told = events(client, "/api/chats/one/messages", text=said)
        assert [kind for kind, _ in told] == ["diagnostic", "text", "done"]
        assert told[0][1]["code"] == "transcript_failed"
    assert len(client.get("/api/sessions/one/diagnostics").json()) == 1, "it is kept once"


def test_what_no_request_can_hold_is_not_kept(client: TestClient) -> None:
    """A message that is too large for the wire, or for any window of the chat, leaves nothing behind."""
    large = client.post("/api/chats/one/messages", json={"text": "x" * 2_000_000})
    assert large.status_code == 413 and "2,000,000 bytes" in large.json()["error"] and large.json()["remedy"]
    pieces = (b"x" * 100_000 for _ in range(30))
    unannounced = client.post("/api/chats/one/messages", content=pieces, headers={"content-type": "application/json"})
    assert unannounced.status_code == 413
    long = client.post("/api/chats/one/messages", json={"text": "one two three " * 20_000})
    assert long.status_code == 422
    assert "a request may have 16,000" in long.json()["error"] and "shorten it" in long.json()["remedy"]
    assert client.get("/api/sessions").json()["total"] == 0


def test_whoever_waits_for_an_answer_keeps_nobody_else_waiting(
    client: TestClient, scene: Scene, model: ScriptedModel
) -> None:
    """More open answers than a server has threads; meanwhile it is said of each how it goes on."""
    go_on, asked = threading.Event(), threading.Semaphore(0)

    def wait(_number: int) -> None:
        asked.release()
        assert go_on.wait(60)

    model.before = wait
    several = 45
    with ThreadPoolExecutor(several + 1) as pool:
        try:
            answers = [pool.submit(events, client, f"/api/chats/c{at}/messages", text="Hi") for at in range(several)]
            assert all(asked.acquire(timeout=60) for _ in range(several))
            state = pool.submit(client.get, "/api/chats/c7/state").result(timeout=20).json()
            assert (state["messages"], state["model"]) == (1, "openai-chat:scripted")
            busy = client.put("/api/chats/c7/mode", json={"endless": True})
            assert busy.status_code == 409
        finally:
            go_on.set()
        assert {told.result()[-1][0] for told in answers} == {"done"}
    # A store that so many write to at once may have had some of them held for a moment.
    deadline = time.monotonic() + 60
    while client.get("/api/sessions").json()["total"] < several and time.monotonic() < deadline:
        time.sleep(0.1)
    assert client.get("/api/sessions").json()["total"] == several


@pytest.mark.parametrize(
    ("content", "status", "error"),
    [
        (b'{"text": ', 422, "the body is no JSON: Expecting value, at character"),
        (b'{"text": "\xff"}', 400, "the body cannot be read as JSON"),
        (b"[" * 200_000, 400, "the body cannot be read as JSON"),
        (b"", 422, "`body` is missing"),
    ],
)
def test_what_is_no_json_is_said_to_be_none(client: TestClient, content: bytes, status: int, error: str) -> None:
    headers = {"content-type": "application/json"}
    refused = client.post("/api/chats/one/messages", content=content, headers=headers)
    assert refused.status_code == status, refused.text
    assert refused.json()["error"].startswith(error)
    assert "Content-Type: application/json" in refused.json()["remedy"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/chats/one/messages", "POST"),
        ("POST", "/api/context/templates/chat", "GET, PUT"),
        ("GET", "/api/nowhere", ""),
    ],
)
def test_another_method_is_said_to_be_one(client: TestClient, method: str, path: str, allowed: str) -> None:
    """405 with the methods that there are, and 404 only where there is nothing."""
    refused = client.request(method, path)
    assert refused.status_code == (405 if allowed else 404)
    assert refused.headers.get("allow", "") == allowed
    assert path in refused.json()["error"] and refused.json()["remedy"]


def test_the_schema_says_what_is_answered(client: TestClient) -> None:
    """Streams are declared as such, and every answer has the statuses that it may come with."""
    paths = client.get("/api/openapi.json").json()["paths"]
    for path in ("messages", "retry"):
        answers = paths[f"/api/chats/{{session_id}}/{path}"]["post"]["responses"]
        assert list(answers["200"]["content"]) == ["text/event-stream"]
        assert "event: done" in json.dumps(answers["200"])
    assert "404" in paths["/api/chats/{session_id}/retry"]["post"]["responses"]
    assert "404" in paths["/api/context/templates/{name}"]["get"]["responses"]
    assert {"400", "413"} <= paths["/api/chats/{session_id}/messages"]["post"]["responses"].keys()
    for operations in paths.values():
        for operation in operations.values():
            assert {"401", "403", "422", "503"} <= operation["responses"].keys()


def test_a_chat_can_be_previewed_before_its_first_call(client: TestClient, scene: Scene) -> None:
    """From its first message on, which is written before the call is: as this server would ask, whatever its model."""
    assert client.get("/api/sessions/new/preview").status_code == 404
    assert client.put("/api/chats/new/mode", json={"endless": True}).status_code == 200
    # It is there, and nobody has said anything in it.
    assert client.get("/api/sessions/new/preview").status_code == 404
    for name, tags in (
        ("new", {}),
        ("plain", {"kind": "chat", "endless": "off"}),
        ("no-chat", {"origin": "elsewhere"}),
    ):
        with Session.open(scene.store, name, model=ModelProfile(name="openai-chat:scripted"), budget=8_000) as session:
            session.append({"role": "user", "content": "Hi"})
            session.tag(experiment="a", **tags)
        seen = client.get(f"/api/sessions/{name}/preview")
        assert seen.status_code == 200, seen.text
        assert [one["role"] for one in seen.json()["items"]] == ["user"]
        assert seen.json()["budget"] == (None if name == "no-chat" else 16_000)
