"""Calls over HTTP: in numbers, as they were sent with every reason, compared, and the next one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from foveate import Session
from foveate.session.durable import recorded_call
from foveate.store import Store
from foveate.wire.formats import FORMATS
from tests.api import serving
from tests.api.serving import SLASHED, bad, good

file = serving.file
client = serving.client
SMALL = f"sessions/{quote(SLASHED)}"


def test_calls_come_in_numbers_page_by_page(client: TestClient) -> None:
    whole = good(client, "sessions/sample/calls", limit=1_000)
    assert [one["call"] for one in whole["calls"]] == list(range(1, whole["total"] + 1))
    pages = [good(client, "sessions/sample/calls", offset=at, limit=7)["calls"] for at in range(0, whole["total"], 7)]
    assert [one for page in pages for one in page] == whole["calls"], "reductions included, wherever a page begins"
    assert good(client, "sessions/sample/calls", offset=10_000)["calls"] == []


def test_a_call_says_what_it_held_and_why_it_was_reduced(client: TestClient) -> None:
    every = good(client, "sessions/sample/calls", limit=1_000)["calls"]
    reduced = [one for one in every if any(made["trigger"] != "capped" for made in one["reductions"])]
    assert reduced, "the sample does not fit its budget"
    for one in every:
        held = sum(fate["tokens"] for fate in one["fates"].values())
        assert held <= one["tokens"] <= one["budget"] == one["window"] == 4_000
    for made in (made for one in reduced for made in one["reductions"]):
        assert made["reason"] and made["passes"]
    assert [one["logged"] for one in every] == sorted(one["logged"] for one in every)


def test_what_the_provider_reported_is_beside_what_was_predicted(client: TestClient) -> None:
    first, second = good(client, f"{SMALL}/calls")["calls"]
    assert (first["reported_input"], first["reported_cached"], first["time"]) == (2_000, 500, "2023-11-14T22:13:21Z")
    assert first["cost"] == pytest.approx(3e-6 * (500 * 0.1 + 1_500 * 1.25))
    assert second["reported_input"] is None and second["cost"] > first["cost"]
    assert (first["turn"], first["model"]) == (1, "anthropic:claude-sonnet-4-5")


def test_a_call_is_shown_as_it_was_sent(client: TestClient, file: Path) -> None:
    """Each item with its fate, the pass that made it so, its tokens before and after, and where it came from."""
    number = good(client, "sessions/sample/calls")["total"]
    shown = good(client, f"sessions/sample/calls/{number}")
    with Store(file) as store:
        view = recorded_call(store, store.session("sample"), number)
        explanation = view.explain()
    assert shown["payload_sha256"] == view.payload_sha256 == shown["record"]["payload_sha256"]
    assert [item["id"] for item in shown["items"]] == [item.id for item in view.items]
    assert sum(item["tokens_after"] for item in shown["items"]) + shown["framing_tokens"] == shown["tokens"]
    assert shown["counts"] == explanation.counts()
    assert (shown["budget"], shown["window"]) == (4_000, 4_000)
    assert sum(item["cached"] for item in shown["items"]) == shown["cached_items"]
    assert shown["predicted_cached"] == shown["record"]["predicted_cached"]
    digest = next(item for item in shown["items"] if item["fate"] == "folded")
    assert digest["tokens_before"] > digest["tokens_after"]
    assert digest["source_count"] > 10 and digest["event"] is None and digest["by"] and digest["call"]
    for item in shown["items"]:
        if item["event"] is not None:
            assert good(client, f"sessions/sample/messages/{item['id']}")["event"] == item["event"]


def test_what_is_in_no_request_is_accounted_for(client: TestClient) -> None:
    number = good(client, "sessions/sample/calls")["total"]
    counts = good(client, f"sessions/sample/calls/{number}")["counts"]
    every = good(client, f"sessions/sample/calls/{number}/fates", limit=1_000)
    assert every["total"] == sum(counts.values())
    dropped = good(client, f"sessions/sample/calls/{number}/fates", fate="dropped", limit=2)
    assert dropped["total"] == counts["dropped"]
    assert [one["fate"] for one in dropped["fates"]] == ["dropped"] * 2
    assert all(one["why"] for one in dropped["fates"])
    assert bad(client, 422, f"sessions/sample/calls/{number}/fates", fate="lost")


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_call_is_copied_in_each_format(client: TestClient, file: Path, format: str) -> None:
    with Store(file) as store:
        view = recorded_call(store, store.session(SLASHED), 2)
    copied = good(client, f"{SMALL}/calls/2/request", format=format)
    assert copied == FORMATS[format].lower(view.request)
    assert not FORMATS[format].problems(copied)


def test_a_call_is_copied_as_text(client: TestClient) -> None:
    answer = client.get(f"/api/{SMALL}/calls/2/request", params={"format": "text"})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.startswith("[system]\nBe brief.\n\n[user m1]\n订单总额是多少？")


def test_two_calls_are_compared_in_the_order_they_were_made(client: TestClient) -> None:
    there = good(client, "sessions/sample/calls/5/diff/60")
    assert there == good(client, "sessions/sample/calls/60/diff/5")
    assert (there["first"], there["second"]) == (5, 60)
    assert there["entered"] and there["left"]
    assert "both calls are 5" in bad(client, 422, "sessions/sample/calls/5/diff/5")[0]


@pytest.mark.parametrize("path", ["calls/9999", "calls/9999/fates", "calls/9999/request", "calls/1/diff/9999"])
def test_an_unknown_call_is_named(client: TestClient, path: str) -> None:
    assert "no call 9999 in session 'sample'" in bad(client, 404, f"sessions/sample/{path}")[0]


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", "99999999999999999999"])
def test_what_is_no_number_is_no_call(client: TestClient, number: str) -> None:
    assert number in bad(client, 422, f"sessions/sample/calls/{number}")[0]


def test_a_session_without_calls_has_none(client: TestClient, tmp_path: Path) -> None:
    with serving.asking(tmp_path / "agent.db") as other:
        content = b'[{"role": "user", "content": "hi"}]'
        assert other.post("/api/sessions/import", content=content, params={"as": "s"}).status_code == 200
        assert good(other, "sessions/s/calls") == {"total": 0, "calls": [], "waiting": None}
        assert [item["id"] for item in good(other, "sessions/s/preview")["items"]] == ["m1"]


def test_the_next_request_is_shown_and_nothing_is_recorded(client: TestClient, file: Path) -> None:
    """With the budget and the policy of the last call, unless others are given."""
    before = good(client, "sessions/sample")
    shown = good(client, "sessions/sample/preview")
    assert shown["call"] == before["calls"] + 1
    assert (shown["budget"], shown["strategy"]) == (
        4_000,
        good(client, "sessions/sample/calls")["calls"][0]["strategy"],
    )
    smaller = good(client, "sessions/sample/preview", budget=2_500)
    assert smaller["tokens"] <= 2_500 < shown["tokens"]
    assert smaller["trigger"] and smaller["reason"] and smaller["stages"]
    other = good(client, "sessions/sample/preview", budget=2_500, policy="drop")
    assert "drop" in other["strategy"]
    assert good(client, "sessions/sample") == before
    with Session.open(file, "sample", budget=4_000) as session:
        assert session.preview().payload_sha256 == shown["payload_sha256"]


@pytest.mark.parametrize(
    ("query", "said"),
    [({"budget": 10}, "needs"), ({"budget": 0}, "`budget`"), ({"policy": "nope"}, "unknown `policy` 'nope'")],
)
def test_a_preview_that_cannot_be_made_says_why(client: TestClient, query: dict[str, str], said: str) -> None:
    assert said in bad(client, 422, "sessions/sample/preview", **query)[0]


def test_an_empty_session_has_no_request(client: TestClient, file: Path) -> None:
    with Store(file) as store:
        store.begin("empty", vault_name="nowhere")
    assert "append a message first" in bad(client, 404, "sessions/empty/preview")[1]
    assert good(client, "sessions/empty/messages") == {"total": 0, "messages": [], "waiting": None}
    assert client.get("/api/sessions/empty/transcript").text == ""


def test_many_may_ask_at_once(client: TestClient) -> None:
    """Also for the same call: what is remembered of it is not for several threads."""
    paths = [
        *[f"sessions/sample/calls/{number}" for number in (20, 20, 30, 20, 40, 50, 60, 20)],
        *["sessions/sample/calls/20/diff/60", "sessions/sample/preview", "sessions/sample/calls/20/fates"],
    ]
    alone = {path: good(client, path) for path in paths}
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda path: good(client, path), paths * 3))
    assert together == [alone[path] for path in paths * 3]
