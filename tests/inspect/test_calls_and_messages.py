"""Some messages or calls of a session at a time, on both engines."""

from __future__ import annotations

import pytest
from tests.dialogue import reading, user
from tests.store import engines

from foveate import Session
from foveate.errors import LogError
from foveate.inspect.calls import read_call, read_calls
from foveate.inspect.log_state import read_log_state
from foveate.inspect.messages import count_roles_and_tools, event_numbers, list_messages, messages_at
from foveate.store import Store
from foveate.store.find import Filters
from foveate.store.schema import events

store_url = engines.store_url


def test_a_session_is_leafed_through(store_url: str) -> None:
    with Store(store_url) as store, Session.open(store, "s", budget=3_000) as session:
        session.append({**user("begin"), "id": "first/1"}, time=1_700_000_000.0)
        for number in range(12):
            session.extend(reading(2, size=60, first=2 * number))
            session.compile(now=1_700_000_100.0 + number)
        session.pin("m3")
        info = store.session("s")

        page = list_messages(store, info, Filters(), offset=1, limit=3)
        assert page.total == info.messages == 49
        assert [row.position for row in page.rows] == [1, 2, 3]
        tools = list_messages(store, info, Filters(roles=["tool"]), offset=20, limit=10)
        assert (tools.total, len(tools.rows)) == (24, 4)
        assert {row.message.role for row in tools.rows if row.message is not None} == {"tool"}
        assert [row.position for row in messages_at(store, info, [7, 0, 99])] == [7, 0], "as asked, what there is"
        assert count_roles_and_tools(store, info) == ({"user": 1, "assistant": 24, "tool": 24}, {"Read": 48})

        reader = store.reader(info)
        [first] = messages_at(store, info, [0])
        assert first.message is not None
        assert reader.position(first.message.id) == 0
        assert reader.position("m3") == 2
        assert reader.position("m" + "9" * 5_000) is None
        assert event_numbers(store, info, [0, 2]) == {row.position: row.seq for row in messages_at(store, info, [0, 2])}

        every = read_calls(store, info)
        assert [one.number for one in every] == list(range(1, 13))
        assert any(one.reductions for one in every)
        for offset in range(12):
            assert read_calls(store, info, offset=offset, limit=2) == every[offset : offset + 2]
        assert read_calls(store, info, offset=12) == read_calls(store, info, offset=99, limit=1) == []
        assert [read_call(store, info, one.number) for one in every] == every
        assert [one.time.timestamp() for one in every] == [1_700_000_100.0 + number for number in range(12)]


def test_marks_go_on_from_those_that_are_known(store_url: str) -> None:
    with Store(store_url) as store, Session.open(store, "s", system="Be brief.") as session:
        session.append(user("a"))
        session.pin("m1")
        known = read_log_state(store, store.session("s"))
        assert (known.framing.system, known.pins, known.diagnostics) == ("Be brief.", {"m1": True}, ())
        session.unpin("m1")
        session.reframe(system="Be long.")
        info = store.session("s")
        assert read_log_state(store, info, known) == read_log_state(store, info)
        assert read_log_state(store, info).framing.system == "Be long."
        assert read_log_state(store, info).pins == {"m1": False}
        assert known.pins == {"m1": True}, "what was known stays as it was"


def test_a_damaged_row_is_named(store_url: str) -> None:
    with Store(store_url) as store, Session.open(store, "s") as session:
        session.append(user("a"))
        session.compile()
        with store.writing() as connection:
            connection.execute(events.update().where(events.c.kind == "call_recorded").values(body="{"))
        with pytest.raises(LogError, match=r"event .* of session 's' cannot be read.*`foveate db check`"):
            read_calls(store, store.session("s"))
