"""Every call of recorded logs, made again from the store, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from bench.logs import RecordedSession, data_root, load_sessions

from foveate import Session
from foveate.budget.tokens import SplintrCounter
from foveate.compile.rebuild import rebuilt_calls
from foveate.store import Store
from tests.store import engines

store_url = engines.store_url
ROOT = data_root()
if ROOT is None and not os.environ.get("CI"):
    pytest.skip("no recorded logs: set FOVEATE_DATA to a directory of them", allow_module_level=True)

SESSIONS = load_sessions(ROOT) if ROOT is not None else []
BUDGET = 8_000


def _chosen(url: str) -> Iterator[tuple[str, RecordedSession]]:
    """All sessions on SQLite; on PostgreSQL every fourth, as there only the engine is another."""
    for number, recorded in enumerate(SESSIONS):
        if url.startswith("sqlite") or number % 4 == 0:
            yield f"{recorded.source}-{number}", recorded


def test_every_past_call_recomputes_to_its_hash(store_url: str) -> None:
    """After a restart, and with another policy than it was made with."""
    sent: dict[str, list[str]] = {}
    with Store(store_url) as store:
        for name, recorded in _chosen(store_url):
            sent[name] = _played(store, name, recorded)
    with Store(store_url) as store:
        for name, hashes in sent.items():
            events = store.reader(store.session(name)).events()
            views = [view for _, view in rebuilt_calls(events, SplintrCounter())]
            assert [getattr(view, "payload_sha256", view) for view in views] == hashes, name
            with Session.open(store, name, budget=32_000, policy="drop") as session:
                for number in {1, len(hashes) // 2, len(hashes)} - {0}:
                    assert session.call(number).payload_sha256 == hashes[number - 1]
    calls = sum(map(len, sent.values()))
    print(f"{calls} calls of {len(sent)} sessions")
    assert calls > 400


def _played(store: Store, name: str, recorded: RecordedSession) -> list[str]:
    hashes = []
    with Session.open(store, name, budget=BUDGET, system=recorded.system or None) as session:
        for index, message in enumerate(recorded.messages):
            if index and message["role"] == "assistant":
                hashes.append(session.compile(now=recorded.timestamps[index]).payload_sha256)
            session.append(message, time=recorded.timestamps[index])
    return hashes
