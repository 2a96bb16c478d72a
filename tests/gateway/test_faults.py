"""Faults: whatever goes wrong in the gateway or behind it, the agent gets what it would have got without one."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from bench.gateway_trial import gateway_at

from foveate.errors import FoveateError
from foveate.gateway.conversations import Conversations
from foveate.session.session import Session
from foveate.store import Store
from tests.gateway.serving import PATHS, ask, before_provider, long_conversation, marked, packed, sent

BUDGET = 6_000
Json = dict[str, Any]


def failing(*_: object, **__: object) -> Any:
    raise FoveateError("broken on purpose")


def test_a_compile_that_fails_sends_the_original(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Byte for byte, and the header says so."""
    monkeypatch.setattr(Session, "compile", failing)
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=BUDGET) as (provider, gateway, client):
        answer = ask(client, long_conversation(16))
        assert answer.status_code == 200
        assert answer.headers["x-foveate-fallback"] == "failed"
        assert sent(provider)["messages"] == long_conversation(16)
        assert gateway.seen["fell back"] == 1
    with Store(tmp_path / "s.db") as store:
        assert "failed_open" in [getattr(one.body, "code", "") for one in Session.open(store, "claude-code-s1").events]


def test_a_session_that_was_reduced_goes_on_as_it_was_sent_last(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The original would be a full price, or too much; and the next call has all of it again."""
    messages = long_conversation(20)
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=BUDGET) as (provider, _, client):
        ask(client, messages[:37])
        reduced = sent(provider)["messages"]
        with monkeypatch.context() as broken:
            broken.setattr(Session, "compile", failing)
            answer = ask(client, messages[:39])
            assert answer.headers["x-foveate-fallback"] == "failed"
            assert sent(provider)["messages"] == [*reduced, *messages[37:39]]
        answer = ask(client, messages)
        assert "x-foveate-fallback" not in answer.headers
        assert int(answer.headers["x-foveate-sent-tokens"]) <= BUDGET


def test_a_late_compile_serves_the_next_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A request does not wait for it, and nothing of it is lost."""
    messages = long_conversation(20)
    gate = threading.Event()
    prepare = Conversations.prepare

    def slow(self: Conversations, incoming: Any) -> Any:
        assert gate.wait(30)
        return prepare(self, incoming)

    options: Json = {"mode": "compile", "budget": BUDGET, "store": tmp_path / "s.db", "patience": 0.2}
    with before_provider(**options) as (provider, _, client):
        ask(client, messages[:3])
        monkeypatch.setattr(Conversations, "prepare", slow)
        late = ask(client, messages[:5])
        assert late.headers["x-foveate-fallback"] == "late"
        assert sent(provider)["messages"] == messages[:5]
        gate.set()
        client.get("/api/gateway")
        assert ask(client, messages[:7]).headers.get("x-foveate-fallback") is None
    with Store(tmp_path / "s.db") as store:
        assert [info.messages for info in store.sessions()] == [7]


def test_a_store_that_can_only_be_read_costs_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Requests pass; what could not be recorded is said."""
    Store(tmp_path / "s.db").close()
    # The superuser may write anything: the mark that SQLite gives such a store stands for its permissions.
    monkeypatch.setattr(Store, "read_only", property(lambda _: True))
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=BUDGET) as (provider, _, client):
        answer = ask(client, long_conversation(16))
        assert answer.status_code == 200
        assert answer.headers["x-foveate-fallback"] == "failed"
        assert sent(provider)["messages"] == long_conversation(16)


def test_a_locked_store_delays_nothing(tmp_path: Path) -> None:
    """What comes meanwhile is held beside it, and is in the log once it can be."""
    Store(tmp_path / "s.db").close()
    messages = long_conversation(4)
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=100_000) as (_, _, client):
        assert ask(client, messages[:3]).status_code == 200
        lock = sqlite3.connect(tmp_path / "s.db")
        lock.execute("BEGIN EXCLUSIVE")
        assert ask(client, messages[:5]).status_code == 200
        lock.rollback()
        lock.close()
        assert ask(client, messages).status_code == 200
    with Store(tmp_path / "s.db") as store:
        assert [info.messages for info in store.sessions()] == [len(messages)]


def test_a_provider_that_is_not_there_is_said(tmp_path: Path) -> None:
    """As a server error of the kind the agent knows, and it tries again by its own rules."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with gateway_at(address, tmp_path / "s.db") as (_, at), httpx.Client(base_url=at, trust_env=False) as client:
        answer = ask(client, [{"role": "user", "content": "Hello"}])
        assert answer.status_code == 502
        assert "cannot be reached" in answer.json()["error"]["message"]


@contextmanager
def slow_provider(pause: threading.Event, closed: threading.Event) -> Iterator[str]:
    """A provider that begins a stream, pauses, and notes whether its client left meanwhile."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(30)
            connection.recv(65_536)
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            connection.sendall(head + b'event: ping\ndata: {"type": "ping"}\n\n')
            connection.settimeout(0.05)
            while not pause.is_set():
                try:
                    if not connection.recv(1):
                        closed.set()
                        return
                except TimeoutError:
                    continue
            connection.sendall(b'event: done\ndata: {"type": "done"}\n\n')

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        pause.set()
        thread.join(30)
        listener.close()


def test_a_silent_stream_gets_comments() -> None:
    """Agents give up on a connection that says nothing; a comment is no event."""
    pause, closed = threading.Event(), threading.Event()
    with slow_provider(pause, closed) as address, gateway_at(address, None, silence=0.05) as (_, at):
        body = packed({"messages": [{"role": "user", "content": "Hello"}], "stream": True})
        with httpx.stream("POST", f"{at}{PATHS['anthropic']}", content=body, trust_env=False, timeout=30) as answer:
            seen = b""
            for chunk in answer.iter_raw():
                seen += chunk
                if seen.count(b": waiting") == 2:
                    pause.set()
        events = [block for block in seen.split(b"\n\n") if block and not block.startswith(b":")]
        assert [json.loads(block.split(b"data: ")[1])["type"] for block in events] == ["ping", "done"]


def test_a_client_that_leaves_takes_its_request_along() -> None:
    """The provider is not kept busy for nobody."""
    pause, closed = threading.Event(), threading.Event()
    with slow_provider(pause, closed) as address, gateway_at(address, None) as (_, at):
        body = packed({"messages": [{"role": "user", "content": "Hello"}], "stream": True})
        with httpx.stream("POST", f"{at}{PATHS['anthropic']}", content=body, trust_env=False, timeout=30) as answer:
            next(answer.iter_raw())
        assert closed.wait(20)


def test_a_gateway_that_is_killed_has_what_arrived(tmp_path: Path) -> None:
    """The next one goes on where it was."""
    messages = long_conversation(20)
    options: Json = {"mode": "compile", "budget": BUDGET, "store": tmp_path / "s.db"}
    with before_provider(**options) as (provider, gateway, client):
        ask(client, messages[:37])
        last = sent(provider)["messages"]
        # What a kill leaves: sessions that nobody closed.
        gateway.conversations._branches.clear()
    with before_provider(**options) as (provider, _, client):
        ask(client, messages[:39])
        assert sent(provider)["messages"][: len(last)] == last
    with Store(tmp_path / "s.db") as store:
        assert [info.messages for info in store.sessions()] == [39]


def test_items_that_nobody_knows_pass(tmp_path: Path) -> None:
    """Of a type that was invented after this was written."""
    strange: Json = {"role": "user", "content": [{"type": "hologram", "of": [1, 2.5, None]}]}
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=BUDGET) as (provider, _, client):
        assert ask(client, [*long_conversation(2), strange]).status_code == 200
        assert sent(provider)["messages"][-1] == strange


def test_fifty_sessions_at_once(tmp_path: Path) -> None:
    """Each gets its own, none waits for another's mistake."""
    with before_provider(store=tmp_path / "s.db", mode="compile", budget=BUDGET) as (_, gateway, client):
        answers: dict[int, int] = {}

        def one(number: int) -> None:
            for count in (5, 9, 13):
                messages = [{"role": "user", "content": f"Task {number}."}, *long_conversation(6)[1:count]]
                answers[number] = ask(client, messages, session=f"many-{number}").status_code

        threads = [threading.Thread(target=one, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert answers == dict.fromkeys(range(50), 200)
        assert gateway.seen["recorded"] == 150
    with Store(tmp_path / "s.db") as store:
        assert len(store.sessions()) == 50


def test_two_gateways_take_turns_on_one_session(tmp_path: Path) -> None:
    """What one sent the other goes on from."""
    messages = long_conversation(20)
    options: Json = {"mode": "compile", "budget": BUDGET, "store": tmp_path / "s.db"}
    with before_provider(**options) as (one, _, client), before_provider(**options) as (other, _, second):
        for count in range(31, 42, 2):
            provider, turn = (one, client) if count % 4 == 3 else (other, second)
            answer = ask(turn, marked(messages[:count]))
            assert "x-foveate-fallback" not in answer.headers
            assert int(answer.headers["x-foveate-sent-tokens"]) <= BUDGET
            assert {"role": "user", "content": "Build it all."} in sent(provider)["messages"]
    with Store(tmp_path / "s.db") as store:
        (info,) = store.sessions()
        assert (info.messages, info.calls) == (41, 6)
