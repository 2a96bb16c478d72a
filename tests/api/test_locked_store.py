"""A chat over HTTP while the store is locked: every turn is answered, none is lost, also if the server is killed."""

from __future__ import annotations

import json
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from fastapi.testclient import TestClient

from foveate import Session
from foveate.cli.store import say_held
from foveate.store import Store
from foveate.store.check import check
from tests.api import talking
from tests.api.serving import asking, bad, good
from tests.api.test_serve import served
from tests.chat.script import Scene
from tests.dialogue import says, user
from tests.scripted_model import ScriptedModel
from tests.store import engines
from tests.store.locking import locked

store_url = engines.store_url
# A store is said to be busy within two seconds; the machine may be slow, and half a minute was what it took before.
SOON = 10.0


scene, model, client = talking.scene, talking.model, talking.client


def said(address: str, session: str, text: str) -> list[tuple[str, dict[str, Any]]]:
    """What is told until a message is answered."""
    request = Request(  # noqa: S310  it was just started
        f"{address}api/chats/{session}/messages",
        json.dumps({"text": text}).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=90) as answer:  # noqa: S310
        blocks = [block.split("\n") for block in answer.read().decode().strip().split("\n\n")]
    return [(block[0].removeprefix("event: "), json.loads(block[1].removeprefix("data: "))) for block in blocks]


def texts(url: str, session: str) -> list[tuple[str, str]]:
    with Session.open(url, session, budget=8_000) as opened:
        return [(message.id, message.text) for message in opened.messages]


def expected(*said: str) -> list[tuple[str, str]]:
    lines = [line for one in said for line in (one, f"You said: {one}")]
    return [(f"m{number}", line) for number, line in enumerate(lines, start=1)]


def test_a_kill_during_the_lock_loses_no_turn(
    tmp_path: Path, store_url: str, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old and new chats are answered at once, it is said why, and all of it is there when the store can be written."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    options = ("--store", store_url, "--model", "openai-chat:scripted")
    with served(tmp_path, *options, **model.environment) as (process, address, _):
        said(address, "old", "one")
        with locked(store_url):
            began = time.monotonic()
            answers = [said(address, "old", "two"), said(address, "old", "three"), said(address, "new", "hello")]
            assert time.monotonic() - began < 3 * SOON
            process.send_signal(signal.SIGKILL)
            process.wait()
            for told in answers:
                assert told[-1][0] == "done"
                assert "store_failed" in [facts["code"] for kind, facts in told if kind == "diagnostic"]
            assert [told[-1][1]["message_id"] for told in answers] == ["m4", "m6", "m2"]
            assert [told[-1][1]["calls"] for told in answers] == [[2], [3], [1]]
            files = [*tmp_path.rglob("*.jsonl")]
            assert len(files) == 2
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
            assert {stat.S_IMODE(file.parent.stat().st_mode) for file in files} == {0o700}
    # What a model was sent while the store was locked has what was said just before.
    assert [content(one) for one in model.received[2]["messages"][1:]] == [
        text for _, text in expected("one", "two", "three")[:-1]
    ]
    assert texts(store_url, "old") == expected("one", "two", "three")
    assert texts(store_url, "new") == expected("hello")
    assert not [*tmp_path.rglob("*.jsonl")]
    with Store(store_url) as store:
        assert check(store) == []
        with Session.open(store, "old", budget=8_000) as session:
            assert [session.call(number).number for number in (1, 2, 3)] == [1, 2, 3]
            session.append({"role": "user", "content": "four"})
            view = session.compile()
    assert (view.number, view.recorded_in) == (4, "store")
    assert [message.id for message in view.messages] == [f"m{number}" for number in range(1, 8)]


def content(message: dict[str, Any]) -> str:
    said = message["content"]
    return said if isinstance(said, str) else str(said[0]["text"])


def test_the_same_server_writes_it_without_another_message(client: TestClient, scene: Scene) -> None:
    """As soon as the lock is gone, whether or not anybody says anything more."""
    held = scene.store.with_name(f"{scene.store.name}.held")
    with locked(f"sqlite:///{scene.store}"):
        told = talking.events(client, "/api/chats/new/messages", text="one")
        assert told[-1][0] == "done"
        assert [*held.glob("*.jsonl")]
        # A switch of the mode is held, too, and holds for the next message.
        assert client.put("/api/chats/new/mode", json={"endless": True, "template": "coding"}).status_code == 200
        assert client.get("/api/chats/new/state").json()["template"] == "coding"
    deadline = time.monotonic() + 60
    while [*held.glob("*.jsonl")]:
        assert time.monotonic() < deadline, "what is held is never written"
        time.sleep(0.05)
    assert client.get("/api/sessions/new").json()["messages"] == 2
    assert client.get("/api/chats/new/state").json()["template"] == "coding"
    assert talking.events(client, "/api/chats/new/messages", text="two")[-1][1]["message_id"] == "m4"


def test_what_cannot_wait_is_refused_at_once(client: TestClient, scene: Scene) -> None:
    """A pin is no answer of a model: it is refused with the remedy, and not after half a minute."""
    talking.events(client, "/api/chats/new/messages", text="one")
    with locked(f"sqlite:///{scene.store}"):
        began = time.monotonic()
        answer = client.post("/api/sessions/new/pins/m1")
        assert time.monotonic() - began < SOON
    assert answer.status_code == 503, answer.text
    assert "try again" in answer.json()["remedy"]


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[TestClient]:
    """A server over a locked store that has one call of a session, of which another one waits."""
    file = tmp_path / "agent.db"
    with Session.open(file, "a/b", budget=4_000) as session:
        session.append(user("one"))
        session.compile()
        session.append(says("first"))
    with asking(file) as asked, locked(f"sqlite:///{file}"):
        with Session.open(file, "a/b", budget=4_000) as session:
            session.append(user("two"), hold=True)
            assert session.compile().recorded_in == "held"
        yield asked


@pytest.mark.parametrize("path", ["", "/messages", "/messages/m1", "/calls", "/calls/1", "/calls/1/fates"])
def test_answers_say_what_waits_and_is_not_in_them(
    waiting: TestClient, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many events, and at the place, that commands name."""
    found = good(waiting, f"sessions/a/b{path}")["waiting"]
    store: Store = waiting.app.state.store  # type: ignore[attr-defined]
    say_held(store, "a/b")
    assert found["events"] >= 2
    assert (
        f"{found['events']} events of this session wait {found['place']} and are not shown" in capsys.readouterr().err
    )
    assert ".held/" in found["place"]


def test_nothing_is_said_to_wait_where_nothing_does(client: TestClient) -> None:
    """Once all is written, and of other sessions."""
    talking.events(client, "/api/chats/new/messages", text="one")
    for path in ("", "/messages", "/messages/m1", "/calls", "/calls/1", "/calls/1/fates"):
        assert good(client, f"sessions/new{path}")["waiting"] is None


@pytest.mark.parametrize("path", ["calls/2", "calls/2/fates", "calls/2/request", "calls/1/diff/2", "messages/m3"])
def test_what_waits_is_not_called_unknown(waiting: TestClient, path: str) -> None:
    """Nor answered as if it were in the log for good: another writer may come first. It is said where it waits."""
    error, remedy = bad(waiting, 404, f"sessions/a/b/{path}")
    assert "of session 'a/b' is not in store" in error
    assert ".held/" in error and "written once the store can be" in error
    assert remedy == "look whether another process locks it"


@pytest.mark.parametrize("path", ["calls/3", "calls/1/diff/3", "messages/m9"])
def test_what_does_not_even_wait_is_unknown(waiting: TestClient, path: str) -> None:
    assert "in session 'a/b'" in bad(waiting, 404, f"sessions/a/b/{path}")[0]
