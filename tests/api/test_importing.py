"""Logs that are sent to a server: they come in whole, or not at all and with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from foveate.api import importing
from tests.api.serving import asking, good, sample_lines
from tests.importers.logs import NEEDS_DATA, recorded

CHAT = json.dumps([{"role": "user", "content": "订单?"}, {"role": "assistant", "content": "42 欧元"}]).encode()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """Somebody who asks a server with an empty store."""
    with asking(tmp_path / "agent.db") as asked:
        yield asked


def sent(client: TestClient, content: bytes, status: int = 200, **query: Any) -> dict[str, Any]:
    answer = client.post("/api/sessions/import", content=content, params=query)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def events(text: str) -> list[tuple[str, Any]]:
    """The events of a stream."""
    parts = [part.split("\n") for part in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


@NEEDS_DATA
def test_a_recorded_log_of_a_real_agent_comes_in_whole(client: TestClient) -> None:
    logs = [path for path in recorded("claude_code/**/*.jsonl") if "metadata" not in path.name]
    path = min(logs, key=lambda one: one.stat().st_size)
    done = sent(client, path.read_bytes(), name=path.name, lenient=True)
    assert done["format"] == "claude-code"
    [first, *_] = done["sessions"]
    assert first["messages"] > 1 and not first["was_there"]
    page = good(client, f"sessions/{first['session_id']}/messages", limit=1_000)
    assert page["total"] == first["messages"]
    assert good(client, f"sessions/{first['session_id']}/preview")["items"]
    again = sent(client, path.read_bytes(), name=path.name, lenient=True)
    assert again["sessions"][0] == {**first, "added_events": 0, "was_there": True}


def test_a_session_goes_by_the_name_of_its_file(client: TestClient) -> None:
    for name, called in (
        ("chat.json", "chat"),
        ("C:\\logs\\订单.json", "订单"),
        ("../../etc/passwd", "passwd"),
        ("", "log"),
    ):
        assert sent(client, CHAT, name=name)["sessions"][0]["session_id"] == called
    assert sent(client, CHAT, **{"as": "other/名"})["sessions"][0]["session_id"] == "other/名"


def test_an_own_export_comes_with_its_calls(client: TestClient) -> None:
    [arrived] = sent(client, b"\n".join(sample_lines()))["sessions"]
    assert arrived["session_id"] == "sample"
    assert good(client, "sessions/sample/calls")["total"] == arrived["calls"] > 50


@pytest.mark.parametrize(
    ("content", "query", "error", "remedy"),
    [
        (b"", {}, "there is nothing in it", "correct the log"),
        (b"what is this", {}, "no known log format", "`format` can say"),
        (CHAT, {"format": "nonsense"}, "'nonsense'", "known are auto"),
        (b"\xff\xfe\x00\x01" * 100, {}, "log", ""),
        (b"[" * 100_000, {}, "log", ""),
        (b"\n".join(sample_lines()[:5]) + b"\n{broken", {}, "line 6", "lenient"),
        (CHAT, {"as": "\n"}, "no name", ""),
    ],
)
def test_what_is_no_log_is_refused_and_nothing_is_kept(
    client: TestClient, content: bytes, query: dict[str, str], error: str, remedy: str
) -> None:
    said = sent(client, content, 422, **query)
    assert error in said["error"]
    assert remedy in said["remedy"]
    assert good(client, "sessions")["total"] == 0


def test_a_log_that_differs_from_the_session_of_its_name_is_refused(client: TestClient) -> None:
    sent(client, CHAT, name="chat.json")
    other = json.dumps(
        [{"role": "user", "content": "something else"}, {"role": "assistant", "content": "yes"}]
    ).encode()
    said = sent(client, other, 409, name="chat.json")
    assert (
        "differs from what comes" in said["error"]
        and "`as`, or delete it first with `foveate delete`" in said["remedy"]
    )
    assert good(client, "sessions/chat/messages/m1")["text"] == "订单?"


def test_a_log_that_is_too_large_is_refused_before_it_is_read(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MOST", 1_000)
    said = sent(client, CHAT * 100, 413)
    assert "1,000 bytes" in said["error"] and "foveate import" in said["remedy"]
    assert good(client, "sessions")["total"] == 0


def test_progress_is_told_to_who_wants_it(client: TestClient) -> None:
    content = b"\n".join(sample_lines())
    answer = client.post("/api/sessions/import", content=content, headers={"accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *progress, (last, done) = events(answer.text)
    assert {name for name, _ in progress} == {"progress"}
    assert all(0 <= data["read"] <= data["size"] == len(content) for _, data in progress)
    assert last == "done" and done["sessions"][0]["session_id"] == "sample"


def test_a_stream_ends_with_what_was_wrong(client: TestClient) -> None:
    answer = client.post("/api/sessions/import", content=b"?", headers={"accept": "text/event-stream"})
    [(last, said)] = events(answer.text)
    assert last == "failed" and "no known log format" in said["error"]


def test_what_was_said_is_found_in_all_sessions(client: TestClient) -> None:
    sent(client, CHAT, name="chat.json")
    sent(client, b"\n".join(sample_lines()))
    [hit] = good(client, "search", q="欧元")["hits"]
    assert (hit["session_id"], hit["message_id"], hit["role"]) == ("chat", "m2", "assistant")
    assert good(client, "search", q="欧元", session="sample")["hits"] == []
    assert good(client, "search", q="欧元", role="user")["hits"] == []
    assert len(good(client, "search", q="reservation", limit=2)["hits"]) == 2
    assert good(client, "search", q="欧元", until="2000-01-01T00:00:00Z")["hits"] == []
    for query, status in (
        ({"q": " "}, 422),
        ({}, 422),
        ({"q": "x", "since": "soon"}, 422),
        ({"q": "x", "session": "z"}, 404),
    ):
        assert client.get("/api/search", params=query).status_code == status
