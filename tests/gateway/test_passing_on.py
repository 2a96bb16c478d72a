"""Shadow mode: what goes in comes out, in both directions, and all of it is in the log."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from bench.provider import Step, serve

from foveate.session.session import Session
from foveate.store import Store
from tests.gateway.serving import PATHS, ask, before_provider, exchange, long_conversation, packed, sent

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "requests").glob("*.json"))


def path_of(body: dict[str, Any]) -> str:
    if "input" in body:
        return PATHS["responses"]
    if "contents" in body:
        return PATHS["gemini"]
    return PATHS["anthropic"] if "system" in body else PATHS["openai"]


@pytest.mark.parametrize("mode", ["shadow", "compile"])
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_a_request_goes_out_as_it_came(fixture: Path, mode: str, tmp_path: Path) -> None:
    """Of every agent and every protocol, byte for byte, as long as nothing is to be reduced."""
    body = packed(json.loads(fixture.read_bytes()))
    path = path_of(json.loads(body))
    with before_provider(store=tmp_path / "s.db", mode=mode, budget=500_000) as (provider, gateway, client):
        answer = client.post(path, content=body, headers={"user-agent": "someone"})

        assert provider.received[0].wire == body
        assert answer.status_code == 200, answer.text
        assert answer.content == straight(path, body)
        assert gateway.seen["recorded"] == 1
        assert gateway.seen["fell back"] == 0
    with Store(tmp_path / "s.db") as store:
        (info,) = store.sessions()
        assert info.messages > 0
        assert info.calls == 1


def straight(path: str, body: bytes) -> bytes:
    """The answer of a provider like the other one, without a gateway."""
    with serve(lambda _: Step("Yes.")) as provider:
        return httpx.post(provider.address + path, content=body, trust_env=False).content


def test_headers_pass_but_for_those_of_the_connection(tmp_path: Path) -> None:
    """Whatever the provider is told by header, with its query; and what it tells comes back."""
    with before_provider(store=tmp_path / "s.db") as (provider, _, client):
        headers = {"anthropic-beta": "a-1,b-2", "x-other": "kept", "connection": "keep-alive, x-hop", "x-hop": "gone"}
        answer = ask(client, [{"role": "user", "content": "Hello"}], headers=headers)

        came = dict(provider.received[0].headers)
        assert came["anthropic-beta"] == "a-1,b-2"
        assert came["x-other"] == "kept"
        assert "x-hop" not in came
        assert provider.received[0].path == PATHS["anthropic"]
        assert answer.headers["x-foveate-mode"] == "shadow"


def test_keys_are_nowhere_in_the_store(tmp_path: Path) -> None:
    """They are passed on and forgotten."""
    with before_provider(store=tmp_path / "s.db") as (_, _, client):
        ask(client, [{"role": "user", "content": "Hello"}], headers={"x-api-key": "sk-very-secret-77"})
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert all(b"sk-very-secret-77" not in path.read_bytes() for path in files)


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b'{"messages": []}'), b"no JSON at all", b'{"messages": "text"}', b""],
    ids=["packed", "no JSON", "no list", "empty"],
)
def test_a_body_that_cannot_be_read_passes_untouched(content: bytes) -> None:
    """Nobody but its provider needs to understand it."""
    headers = {"content-encoding": "gzip"} if content.startswith(b"\x1f") else {}
    with before_provider(mode="compile", budget=1_000) as (provider, gateway, client):
        client.post("/v1/messages", content=content, headers=headers)

        assert provider.received[0].wire == content
        assert gateway.seen["recorded"] == 0


def test_other_paths_are_forwarded() -> None:
    """Lists of models, greetings, and what nobody knows yet."""
    with before_provider() as (provider, _, client):
        assert client.get("/v1/models?limit=1000").status_code == 200
        assert client.head("/api/hello").status_code == 404
        assert client.get("/somewhere", headers={"x-api-key": "sk"}).status_code == 404
        assert [(one.method, one.path) for one in provider.received] == [
            ("GET", "/v1/models?limit=1000"),
            ("HEAD", "/api/hello"),
            ("GET", "/somewhere"),
        ]


def test_an_upgrade_to_websocket_is_refused_with_426() -> None:
    """With any other status Codex tries again for seconds."""
    with before_provider() as (provider, _, client):
        headers = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        }
        assert client.get("/v1/responses", headers=headers).status_code == 426
        assert provider.received == []


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "https://evil.example"}])
def test_other_hosts_and_origins_are_refused(headers: dict[str, str]) -> None:
    """A page of somebody else must not spend the user's money."""
    with before_provider() as (provider, _, client):
        assert ask(client, [{"role": "user", "content": "Hello"}], headers=headers).status_code == 403
        assert provider.received == []


def test_a_retry_is_one_entry(tmp_path: Path) -> None:
    """The same body nine times is one request, and goes out the same nine times."""
    with before_provider(store=tmp_path / "s.db") as (provider, _, client):
        messages = [{"role": "user", "content": "Hello"}, *exchange(1, "done")]
        for _ in range(9):
            assert ask(client, messages).status_code == 200
        assert len({one.wire for one in provider.received}) == 1
    with Store(tmp_path / "s.db") as store:
        (info,) = store.sessions()
        assert (info.messages, info.calls) == (3, 1)


def test_usage_is_recorded_as_it_was_reported(tmp_path: Path) -> None:
    """Of a stream as of a plain answer, and nothing of the answer is changed for it."""
    with before_provider(store=tmp_path / "s.db") as (_, _, client):
        for body in ({"stream": True}, {"stream": False}):
            ask(client, [{"role": "user", "content": "Hello"}], session=f"s-{body['stream']}", **body)
    with Store(tmp_path / "s.db") as store:
        for info in store.sessions():
            events = Session.open(store, info.session_id).events
            (usage,) = [one.body for one in events if type(one.body).__name__ == "UsageReported"]
            assert usage.input_tokens > 0  # type: ignore[union-attr]


def test_what_foveate_would_have_sent_is_told(tmp_path: Path) -> None:
    """Tokens as they were sent and as they would have been, for each session in the status."""
    with before_provider(store=tmp_path / "s.db", budget=4_000) as (provider, _, client):
        messages = long_conversation(20)
        for steps in range(1, len(messages) + 1, 4):
            ask(client, messages[:steps])
        (told,) = client.get("/api/gateway").json()["sessions"]
        assert told["sent_tokens"] == told["raw_tokens"] > 10_000
        assert told["compiled_tokens"] <= 4_000
        assert sent(provider)["messages"] == messages[:steps]


def test_sub_agents_are_sessions_of_their_own(tmp_path: Path) -> None:
    """They have the session's id and an id of their own, and nothing of one is in the other."""
    with before_provider(store=tmp_path / "s.db") as (_, _, client):
        ask(client, [{"role": "user", "content": "Hello"}])
        ask(client, [{"role": "user", "content": "Look."}], headers={"x-claude-code-agent-id": "a-1"})
        ask(client, [{"role": "user", "content": "Hello"}, *exchange(1, "done")])
    with Store(tmp_path / "s.db") as store:
        assert {info.session_id: info.messages for info in store.sessions()} == {
            "claude-code-s1": 3,
            "claude-code-s1-a1": 1,
        }


def test_a_session_that_is_switched_off_passes_untouched(tmp_path: Path) -> None:
    """Until it is switched on again, and then the log has what it missed."""
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=100_000) as (_, gateway, client):
        ask(client, [{"role": "user", "content": "Hello"}])
        assert client.post("/api/gateway/sessions/claude-code-s1/off").json()["mode"] == "off"
        ask(client, [{"role": "user", "content": "Hello"}, *exchange(1, "done")])
        assert gateway.seen["recorded"] == 1
        assert client.post("/api/gateway/sessions/claude-code-s1/on").json()["mode"] == "compile"
        ask(client, [{"role": "user", "content": "Hello"}, *exchange(1, "done"), *exchange(2, "done")])
    with Store(tmp_path / "s.db") as store:
        assert [info.messages for info in store.sessions()] == [5]


def test_a_stream_comes_back_as_the_provider_sent_it() -> None:
    """Every event, with nothing between them."""
    with before_provider() as (provider, _, client):
        through = ask(client, [{"role": "user", "content": "Hello"}], stream=True, thinking={"type": "adaptive"})
        assert through.content == straight(PATHS["anthropic"], provider.received[0].wire)
        assert through.headers["content-type"] == "text/event-stream"


def test_secrets_are_sent_and_not_stored(tmp_path: Path) -> None:
    """What is sent is the agent's; what is kept has marks in their place, and still goes on as one session."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    messages = [{"role": "user", "content": f"Use {token} to push."}, *exchange(1, f"remote: {token}")]
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=100_000) as (provider, _, client):
        ask(client, messages[:1])
        ask(client, messages)
        assert sent(provider)["messages"] == messages
    with Store(tmp_path / "s.db") as store:
        (info,) = store.sessions()
        assert info.messages == 3
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(token.encode() not in path.read_bytes() for path in files)


def test_the_agents_folder_is_noted(tmp_path: Path) -> None:
    """So that what runs there finds its session."""
    with before_provider(store=tmp_path / "s.db") as (_, _, client):
        ask(client, [{"role": "user", "content": "<env>\nWorking directory: /home/me/shop\n</env>"}])
    with Store(tmp_path / "s.db") as store:
        (info,) = store.sessions()
        assert info.tags["cwd"] == "/home/me/shop"
