"""Messages over HTTP: some at a time, one whole, found, pinned."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from foveate import Session
from foveate.store import Store
from tests.api import serving
from tests.api.serving import SLASHED, asking, bad, fill, good
from tests.dialogue import says, user

file = serving.file
client = serving.client
SMALL = f"sessions/{quote(SLASHED)}/messages"


def ids(found: dict[str, Any]) -> list[str]:
    return [one["id"] for one in found["messages"]]


def test_messages_come_page_by_page_and_none_is_left_out(client: TestClient) -> None:
    total = good(client, "sessions/sample")["messages"]
    seen: list[str] = []
    while len(seen) < total:
        page = good(client, "sessions/sample/messages", offset=len(seen), limit=37)
        assert page["total"] == total
        seen += ids(page)
    assert seen == [f"m{number}" for number in range(1, total + 1)]
    assert good(client, "sessions/sample/messages", offset=total)["messages"] == []


def test_a_message_in_a_line_says_who_when_and_how_much(client: TestClient) -> None:
    asked, called, read, *_ = good(client, SMALL, preview=20)["messages"]
    assert asked["time"] == "2023-11-14T22:13:20Z"
    assert (asked["role"], asked["preview"], asked["turn"]) == ("user", "订单总额是多少？", 1)
    assert (called["origin"], called["tool"]) == ("tool_call", "Read")
    assert (read["tool"], read["outcome"], len(read["preview"])) == ("Read", "ok", 20)
    assert read["characters"] > 10_000 and read["tokens"] > 4_000


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"role": "user"}, ["m1"]),
        ({"role": ["user", "assistant"]}, ["m1", "m2", "m5"]),
        ({"tool": "bash"}, ["m4"]),
        ({"tool": "Read", "role": "tool"}, ["m3"]),
        ({"kind": "tool_result"}, ["m3", "m4"]),
        ({"role": ["user", "assistant"], "offset": 1, "limit": 1}, ["m2"]),
        ({"tool": "nothing"}, []),
    ],
)
def test_messages_are_filtered(client: TestClient, query: dict[str, Any], found: list[str]) -> None:
    page = good(client, SMALL, **query)
    assert ids(page) == found
    if not {"offset", "limit"} & query.keys():
        assert page["total"] == len(found)


def test_messages_are_found_by_what_they_say(client: TestClient) -> None:
    """The best first, with the passage that was found, filters included."""
    found = good(client, "sessions/sample/messages", search="expired reservation is released", limit=3)
    assert len(found["messages"]) == 3 and found["total"] > 3
    assert "reservation" in found["messages"][0]["preview"].lower()
    only = good(client, "sessions/sample/messages", search="expired reservation is released", role="user")
    assert {one["role"] for one in only["messages"]} == {"user"}
    page = good(client, "sessions/sample/messages", search="expired reservation is released", offset=1, limit=2)
    assert ids(page) == ids(found)[1:]


def test_a_message_comes_whole(client: TestClient) -> None:
    whole = good(client, f"{SMALL}/m3")
    assert whole["characters"] == len(whole["text"]) == len(whole["parts"][0]["text"])
    assert whole["parts"][0]["call_id"] == "a"
    assert whole["reads"] == ["orders.py"]
    assert good(client, f"{SMALL}/m4")["text"] == "<script>alert(1)</script>"


@pytest.mark.parametrize("id", ["m0", "m6", "m99999999999999999999999999", "nobody", "m", "订单", "m1/x"])
def test_an_unknown_message_is_named(client: TestClient, id: str) -> None:
    error, remedy = bad(client, 404, f"{SMALL}/{quote(id)}")
    assert repr(id) in error
    assert "it has 5, named like m1" in remedy


def test_a_message_keeps_the_id_it_came_with(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with Session.open(path, "s") as session:
        session.extend([user("a"), says("b")])
        session.append({**user("c"), "id": "msg/7"})
    with asking(path) as client:
        listed = ids(good(client, "sessions/s/messages"))
        assert good(client, f"sessions/s/messages/{quote(listed[2])}")["text"] == "c"


def test_roles_that_there_are_not_are_refused(client: TestClient) -> None:
    error, remedy = bad(client, 422, SMALL, role="boss")
    assert error == "`role` has 'boss'" and "known for `role` are user, assistant" in remedy


def test_a_pin_shows_in_the_next_request_and_in_the_list(tmp_path: Path) -> None:
    file = fill(tmp_path / "agent.db")
    with asking(file) as client:
        before = good(client, "sessions/sample/preview")
        assert "m9" not in [item["id"] for item in before["items"]]

        assert client.post("/api/sessions/sample/pins/m9").json()["pins"][-1] == "m9"
        assert client.post("/api/sessions/sample/pins/m9").status_code == 200, "it is pinned already"
        shown = {item["id"]: item["fate"] for item in good(client, "sessions/sample/preview")["items"]}
        assert shown["m9"] == "verbatim"
        assert good(client, "sessions/sample/messages", offset=8, limit=1)["messages"][0]["pinned"] is True
        assert good(client, "sessions/sample")["pins"] == ["m9"]

        assert "m9" not in client.delete("/api/sessions/sample/pins/m9").json()["pins"]
        assert good(client, "sessions/sample/messages/m9")["pinned"] is False
        assert client.delete("/api/sessions/sample/pins/m9").status_code == 404
        assert client.post("/api/sessions/sample/pins/m9999").status_code == 404
        with Store(file) as store:
            pins = [type(event.body).__name__ for event in store.reader(store.session("sample")).events()][-2:]
    assert pins == ["Pinned", "Unpinned"], "each once"


def test_a_damaged_row_hides_no_other(tmp_path: Path) -> None:
    file = fill(tmp_path / "agent.db")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE events SET body = '{' WHERE position = 3 AND role = 'tool' AND tool = 'bash'")
        connection.commit()
    with asking(file) as client:
        page = good(client, SMALL)
        assert [one["damaged"] for one in page["messages"]] == [False, False, False, True, False]
        assert "cannot be read" in bad(client, 500, f"{SMALL}/m4")[0]


def test_fifty_thousand_messages_are_leafed_through(tmp_path: Path) -> None:
    """Written as rows, which takes a second instead of a minute; the last page is as quick as the first."""
    file = tmp_path / "agent.db"
    with Session.open(file, "s") as session:
        session.append(user("m"))
    many = 50_000
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "INSERT INTO events (session, seq, position, kind, role, origin, recorded_at, version, writer, body) "
            "SELECT session, i + 2, i, kind, role, origin, recorded_at, version, writer, body "
            "FROM (SELECT * FROM events WHERE position = 0), n",
            (many - 1,),
        )
        connection.execute("UPDATE sessions SET messages = ?, events = ?", (many, many + 2))
        connection.commit()
    with asking(file) as client:
        page = good(client, "sessions/s/messages", offset=many - 10, limit=100)
        assert (page["total"], len(page["messages"])) == (many, 10)
        filtered = good(client, "sessions/s/messages", role="user", offset=many - 10, limit=100)
        assert [one["position"] for one in filtered["messages"]] == list(range(many - 10, many))
