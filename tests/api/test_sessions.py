"""Sessions over HTTP: listed, searched, sorted, and one as a whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from foveate import Session
from foveate.session.transcript import transcript_text
from foveate.store import Store
from tests.api import serving
from tests.api.serving import SLASHED, asking, bad, good
from tests.dialogue import user

file = serving.file
client = serving.client


def test_sessions_are_listed_with_what_is_known_of_them(client: TestClient) -> None:
    """The cost is as the provider counted the one call, and as predicted for the other."""
    listed = good(client, "sessions", sort="session_id", order="asc")
    assert [one["session_id"] for one in listed["sessions"]] == ["sample", SLASHED]
    assert listed["total"] == 2
    sample, small = listed["sessions"]
    assert sample["messages"] > 100 and sample["calls"] > 50 and sample["tokens"] > 10_000
    assert sample["model"] is None and sample["cost"] is None
    assert small["title"] == "订单总额是多少？" and small["vault"] == "甲"
    assert small["tags"] == {"experiment": "甲", "arm": "8k"}
    assert small["model"] == "anthropic:claude-sonnet-4-5"
    second = good(client, f"sessions/{quote(SLASHED)}/calls")["calls"][1]
    first = 3e-6 * (500 * 0.1 + 1_500 * 1.25)
    assert small["cost"] == pytest.approx(first + second["cost"])


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"search": "订单"}, [SLASHED]),
        ({"search": "EXPERIMENT 甲"}, [SLASHED]),
        ({"search": "sam"}, ["sample"]),
        ({"search": "sam 甲"}, []),
        ({"vault": "甲"}, [SLASHED]),
        ({"vault": "default"}, ["sample"]),
        ({"sort": "messages"}, ["sample", SLASHED]),
        ({"sort": "cost"}, [SLASHED, "sample"]),
        ({"sort": "cost", "order": "asc"}, ["sample", SLASHED]),
        ({"sort": "messages", "offset": 1}, [SLASHED]),
        ({"sort": "messages", "limit": 1}, ["sample"]),
        ({"offset": 5}, []),
    ],
)
def test_sessions_are_searched_sorted_and_paged(client: TestClient, query: dict[str, str], found: list[str]) -> None:
    assert [one["session_id"] for one in good(client, "sessions", **query)["sessions"]] == found


def test_a_session_is_shown_with_its_framing_and_who_said_how_much(client: TestClient) -> None:
    """Its id has a slash in it, sent as it is or in its code."""
    for path in (SLASHED, quote(SLASHED, safe="")):
        small = good(client, f"sessions/{path}")
        assert small["system"] == "Be brief."
        assert small["roles"] == {"user": 1, "assistant": 2, "tool": 2}
        assert small["used_tools"] == {"Read": 2, "bash": 1}
    sample = good(client, "sessions/sample")
    assert "read_file" in sample["tools"]
    assert sum(sample["roles"].values()) == sample["messages"]


def test_an_unknown_session_is_named_with_those_spelt_alike(client: TestClient) -> None:
    for path in ("sampel", "sampel/messages", "sampel/calls/1", "sampel/preview", "sampel/transcript"):
        error, remedy = bad(client, 404, f"sessions/{path}")
        assert "'sampel'" in error
        assert "did you mean 'sample'?" in remedy
    assert client.post("/api/sessions/sampel/pins/m1").status_code == 404
    assert {one["session_id"] for one in good(client, "sessions")["sessions"]} == {"sample", SLASHED}


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 10**9}, {"offset": -1}, {"offset": 10**30}, {"sort": "colour"}, {"order": "up"}]
)
def test_a_value_that_cannot_work_is_named(client: TestClient, query: dict[str, str]) -> None:
    [(name, value)] = query.items()
    error, remedy = bad(client, 422, "sessions", **query)
    assert f"`{name}`" in error and f"{value}" in error
    assert f"`{name}`" in remedy


def test_the_transcript_is_that_of_the_log(client: TestClient, file: Path) -> None:
    answer = client.get(f"/api/sessions/{quote(SLASHED)}/transcript")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{quote(SLASHED, safe='')}.md"
    with Store(file) as store:
        info = store.session(SLASHED)
        assert answer.text == transcript_text(store.reader(info).events(0, info.events))


def test_diagnostics_are_shown_as_soon_as_they_are_recorded(tmp_path: Path) -> None:
    """They are remembered between requests, and what is new comes to them."""
    path = tmp_path / "agent.db"
    with asking(path) as client, Session.open(path, "s") as session:
        session.append(user("hi"))
        assert good(client, "sessions/s/diagnostics") == []

        def fails(_event: object) -> None:
            raise RuntimeError("no room")

        session.subscribe(fails)
        session.append(user("more"))
        session.append(user("and more"))
        [*_, last] = good(client, "sessions/s/diagnostics")
        assert (last["code"], last["phase"]) == ("subscriber_failed", "observe")
        assert "no room" in last["text"]
        assert good(client, "sessions/s")["diagnostics"] == len(good(client, "sessions/s/diagnostics"))


def test_an_empty_store_has_an_answer_to_everything(tmp_path: Path) -> None:
    with asking(tmp_path / "new" / "agent.db") as client:
        assert good(client, "sessions") == {"total": 0, "sessions": []}
        assert good(client, "search", q="anything") == {"hits": []}
        assert "it has 0 of them" in bad(client, 404, "sessions/s")[1]


def test_a_store_that_cannot_be_read_is_no_fault_of_who_asks(tmp_path: Path) -> None:
    with asking(tmp_path / "agent.db") as client:
        with closing(sqlite3.connect(tmp_path / "agent.db")) as connection:
            connection.execute("ALTER TABLE sessions RENAME TO elsewhere")
        assert "no such table" in bad(client, 503, "sessions")[0]


def test_what_is_not_there_is_said_in_json(client: TestClient) -> None:
    assert bad(client, 404, "nothing")[1] == "see /api/docs for what there is"
    assert client.put("/api/sessions").status_code == 405


def test_the_api_is_documented_whole(client: TestClient) -> None:
    """Each endpoint has a tag, a summary and what it may answer; the page for people needs no network."""
    schema = client.get("/api/openapi.json").json()
    operations = [one for path in schema["paths"].values() for one in path.values()]
    assert len(operations) >= 16
    tags = {tag["name"] for tag in schema["tags"]}
    for one in operations:
        assert set(one["tags"]) <= tags and one["tags"]
        assert one["summary"] and one["description"]
        assert {"200", "422", "503"} <= set(one["responses"])
        assert all(parameter.get("description") for parameter in one.get("parameters", ()))
    page = client.get("/api/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text and "https://" not in page.text and "<script" not in page.text
    assert page.text.count("<details>") == len(operations)


def test_a_session_is_deleted_if_its_id_is_given_twice(client: TestClient) -> None:
    """With its branches; what is not confirmed, or not there, stays as it is."""
    store = client.app.state.store  # type: ignore[attr-defined]  # it is a Starlette application
    store.begin("sample~2")
    refused = client.delete("/api/sessions/sample", params={"confirm": "simple"})
    assert refused.status_code == 422 and "`confirm` is 'simple'" in refused.text
    assert client.delete("/api/sessions/sample").status_code == 422
    done = client.delete("/api/sessions/sample", params={"confirm": "sample"})
    assert done.status_code == 200 and done.json()["deleted"] == ["sample", "sample~2"]
    assert bad(client, 404, "sessions/sample")
    assert client.delete("/api/sessions/sample", params={"confirm": "sample"}).status_code == 404
    slashed = quote(SLASHED, safe="")
    assert client.delete(f"/api/sessions/{slashed}", params={"confirm": SLASHED}).status_code == 200
    assert good(client, "sessions")["total"] == 0
