"""An event that was changed outside Foveate is noticed wherever it is read; older stores are upgraded unchanged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from typer.testing import CliRunner

from foveate import LogError, Session, StoreError
from foveate.cli.main import app
from foveate.inspect.log_state import read_log_state
from foveate.store import Store
from foveate.store.check import check
from foveate.store.checksums import checksum_of
from foveate.store.housekeeping import export_lines
from foveate.store.schema import events
from foveate.store.sealing import count_unsealed, seal_session
from tests.dialogue import lines, says, user, work
from tests.store import engines
from tests.store.damage import defects, run_damage

store_url = engines.store_url


def filled(store: Store, *names: str) -> dict[str, list[bytes]]:
    """Sessions with messages, artifacts and calls; for each the requests that were sent."""
    sent: dict[str, list[bytes]] = {}
    for name in names or ("a", "b"):
        with Session.open(store, name, budget=4_000) as session:
            session.extend(
                [user(f"The total of {name} is 4200 cents."), says("Noted."), user(lines(300, name))], time=5
            )
            sent[name] = [session.compile().payload]
            for message in work(2):
                if message["role"] == "assistant":
                    sent[name].append(session.compile().payload)
                session.append(message)
    return sent


def changed(store: Store, statement: str, **values: Any) -> None:
    with store.writing() as connection:
        connection.execute(text(statement), values)


def as_written_by_0_1(store: Store) -> None:
    """Take a store back to the schema that version 0.1 made."""
    changed(store, "ALTER TABLE events DROP COLUMN checksum")
    changed(store, "ALTER TABLE context_summaries DROP COLUMN reported_written")
    changed(store, "ALTER TABLE context_summaries DROP COLUMN reported_written_hour")
    changed(store, "UPDATE alembic_version SET version_num = '0002'")


def test_a_changed_text_is_refused_and_not_believed(store_url: str) -> None:
    """The text stays valid JSON of a valid message: only the checksum tells."""
    with Store(store_url) as store:
        filled(store)
        changed(store, "DELETE FROM checkpoints")
        changed(store, "UPDATE events SET body = replace(body, '4200', '9900') WHERE session = 1 AND seq = 2")

        with pytest.raises(LogError, match=r"event 2 of session 'a' cannot be read: its checksum.*foveate db check"):
            Session.open(store, "a")
        with pytest.raises(LogError, match="event 2 of session 'a'"):
            list(export_lines(store, store.session("a")))
        assert all("9900" not in hit.text for hit in store.search("total cents"))
        assert [(one.session_id, one.place) for one in check(store)] == [("a", "event 2")]
        with Session.open(store, "b") as session:
            assert session.messages[0].text == "The total of b is 4200 cents."


@pytest.mark.parametrize(
    "change",
    [
        "position = 900", "ref = 'm9'", "role = 'assistant'", "tool = 'Bash'", "origin = 'error'", "time = 6",
        "recorded_at = '2020-01-01 00:00:00.000000'", "writer = 1", "checksum = 1",
    ],
)  # fmt: skip
def test_every_column_of_an_event_counts(store_url: str, change: str) -> None:
    """Also those that only repeat what the body says: searches and pages read them alone."""
    with Store(store_url) as store:
        with Session.open(store, "a") as session:
            session.extend([user("one"), user("two")], time=5)
        changed(store, f"UPDATE events SET {change} WHERE seq = 2")  # noqa: S608  a constant
        with pytest.raises(LogError, match="event 2 of session 'a' cannot be read: its checksum"):
            Session.open(store, "a")
        assert any(one.place == "event 2" for one in check(store))


def test_a_changed_mark_is_refused_where_no_message_is_read(store_url: str) -> None:
    """Pages read diagnostics, pins and framings without the log around them."""
    with Store(store_url) as store:
        with Session.open(store, "a", system="Be brief.") as session:
            session.append(user("one"))
        changed(store, "UPDATE events SET body = replace(body, 'brief', 'rude') WHERE seq = 0")
        with pytest.raises(LogError, match="event 0 of session 'a'"):
            read_log_state(store, store.session("a"))


def test_an_event_of_another_session_or_place_is_refused(store_url: str) -> None:
    """With its own checksum: the session's name and the event's number are part of it."""
    with Store(store_url) as store:
        for name in ("a", "b"):
            with Session.open(store, name) as session:
                session.extend([user(f"{name} one"), user(f"{name} two")])
        changed(store, "DELETE FROM events WHERE session = 2 AND seq = 2")
        changed(store, "UPDATE events SET session = 2 WHERE session = 1 AND seq = 2")
        with pytest.raises(LogError, match="event 2 of session 'b'"):
            Session.open(store, "b")


def test_a_log_without_its_end_is_refused(store_url: str) -> None:
    """The session's row says how long it was."""
    with Store(store_url) as store:
        with Session.open(store, "a") as session:
            session.extend([user("one"), user("two")])
        changed(store, "DELETE FROM events WHERE seq = 3")
        with pytest.raises(LogError, match="event 3 of session 'a' is missing"):
            Session.open(store, "a")


@pytest.mark.parametrize("count", [1, 9])
def test_a_wrong_counter_is_no_other_writer(store_url: str, count: int) -> None:
    """An append says so at once, instead of waiting for a writer who is not there."""
    with Store(store_url) as store, Session.open(store, "a") as session:
        session.extend([user("one"), user("two")])
        changed(store, "UPDATE sessions SET events = :count", count=count)
        with pytest.raises(StoreError, match=f"its row counts {count} events.*foveate db check"):
            session.append(user("three"))


def test_the_checksum_is_the_same_for_ever_and_on_every_engine() -> None:
    """Stores hold it: another way to compute it would make all of them look damaged."""
    row = (
        1,
        2,
        "message_appended",
        0,
        None,
        "user",
        None,
        "user",
        5.0,
        "2026-01-02 03:04:05.000006",
        1,
        77,
        "{}",
        None,
    )
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    for when in (row[9], moment, moment.replace(tzinfo=None)):
        for time in (5, 5.0):
            assert checksum_of("a", (*row[:8], time, when, *row[10:])) == GOLDEN
    assert checksum_of("b", row) != GOLDEN


GOLDEN = 1707927198


def test_a_store_of_0_1_is_upgraded_and_every_call_is_the_same(store_url: str) -> None:
    """Old events have no checksum and are read as before; new ones get one; sealing protects the old ones too."""
    with Store(store_url) as store:
        sent = filled(store)
        exported = b"".join(export_lines(store, store.session("a")))
        as_written_by_0_1(store)
    with Store(store_url) as store:
        assert check(store) == []
        before = sum(count_unsealed(store).values())
        with Session.open(store, "a", budget=4_000) as session:
            assert [session.call(number).payload for number in range(1, len(sent["a"]) + 1)] == sent["a"]
            session.append(user("three"))
        assert sum(count_unsealed(store).values()) == before > 50
        assert b"".join(export_lines(store, store.session("a"))).startswith(exported)

        assert sum(seal_session(store, info) for info in store.sessions()) == before
        assert count_unsealed(store) == {} and check(store) == []
        changed(store, "UPDATE events SET body = replace(body, '4200', '9900') WHERE session = 1 AND seq = 2")
        assert [one.place for one in check(store)] == ["event 2"]


def test_an_event_that_lost_its_checksum_is_found(store_url: str) -> None:
    """Only the beginning of a session can be from 0.1."""
    with Store(store_url) as store:
        filled(store, "a")
        changed(store, "UPDATE events SET checksum = NULL WHERE seq = 9")
        assert [(one.place, one.what) for one in check(store)] == [
            ("event 9", "has lost its checksum, events before it have one")
        ]


def test_sealing_leaves_a_damaged_session_alone(tmp_path: Path) -> None:
    """A checksum must not vouch for what is known to be wrong; the command says which sessions it left."""
    with Store(tmp_path / "agent.db") as store:
        filled(store)
        as_written_by_0_1(store)
        changed(store, "UPDATE events SET role = 'tool' WHERE session = 1 AND seq = 2")
    ran = CliRunner().invoke(app, ["db", "seal", "--store", str(tmp_path / "agent.db")])
    assert ran.exit_code == 1 and "a was left as it is" in ran.output and "b: " in ran.output
    with Store(tmp_path / "agent.db") as store:
        assert set(count_unsealed(store)) == {1}
        with store.reading() as connection:
            sealed = connection.execute(select(events.c.checksum).where(events.c.session == 2)).scalars().all()
        assert None not in sealed
    checked = CliRunner().invoke(app, ["db", "check", "--store", str(tmp_path / "agent.db")])
    assert "have no checksum; `foveate db seal` adds them" in checked.output


def test_a_damaged_row_of_a_session_is_named(tmp_path: Path) -> None:
    """By the check, which goes on with the other sessions; a list of sessions says where to look."""
    with Store(tmp_path / "agent.db") as store:
        filled(store)
        changed(store, "UPDATE sessions SET last_activity_at = 'yesterday' WHERE id = 1")
        changed(store, "UPDATE events SET role = 'tool' WHERE session = 2 AND seq = 2")
        with pytest.raises(StoreError, match="'yesterday'; a value in it is damaged, `foveate db check` says which"):
            store.sessions()
        assert [one.place for one in check(store)] == ["row 1 of sessions", "event 2", "event 2"]


def test_damaged_stores_give_the_right_answer_or_a_clear_refusal() -> None:
    """Never a wrong text, never an error of somebody else's, never a hang; `run_damage` says how many it tried."""
    outcomes = run_damage(40, seed=20)
    assert defects(outcomes) == {}
    assert outcomes["stores"] == 40
