"""Chats over HTTP with a model that follows a script, for the tests of the API; see `serving` for how to take them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from foveate.api import Place, create_app
from tests.chat.script import Scene
from tests.scripted_model import ScriptedModel, scripted_model


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A vault and a store."""
    scene = Scene(tmp_path / "vault", tmp_path / "a.db")
    scene.vault.mkdir()
    yield scene
    scene.over.set()


@pytest.fixture
def model(scene: Scene) -> Iterator[ScriptedModel]:
    """Who answers."""
    with scripted_model(scene.reply) as running:
        yield running


@pytest.fixture
def client(tmp_path: Path, scene: Scene, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Somebody who chats."""
    for name, value in model.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (scene.vault / "note.md").write_text("Buy lemons.")
    place = Place(store=scene.store, system=tmp_path / "system", vault=scene.vault, model="openai-chat:scripted")
    with TestClient(create_app(place), base_url="http://127.0.0.1") as client:
        yield client


def events(client: TestClient, path: str, **body: Any) -> list[tuple[str, dict[str, Any]]]:
    """What is told until something that is said is answered."""
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    return [(block[0].removeprefix("event: "), json.loads(block[1].removeprefix("data: "))) for block in blocks]
