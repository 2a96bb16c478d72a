"""Sessions are carried over, copied, made findable, checked and deleted; on every engine alike."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import func, select, update

from foveate import ContextSection, Session
from foveate.errors import ConfigError, FoveateError, LogError, StoreError
from foveate.inspect.calls import read_calls
from foveate.log.codec import decode_event
from foveate.log.events import MessageAppended
from foveate.store import Store
from foveate.store.arrivals import import_lines
from foveate.store.backlog import index_backlog
from foveate.store.check import check
from foveate.store.housekeeping import branches_of, delete, export_lines, fork
from foveate.store.schema import artifact_uses, artifacts, checkpoints, context_summaries, embeddings, events, sessions
from tests.dialogue import call, calls, exchange, lines, result, says, user, work
from tests.store import engines

store_url = engines.store_url

TABLES = (sessions, events, context_summaries, checkpoints, artifact_uses, artifacts, embeddings)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store, once for each engine."""
    with Store(store_url) as opened:
        yield opened


def recorded(name: str = "a", *, turns: int = 3, words: str = "") -> bytes:
    """The log of a session with calls, large texts, sections, tags, usage and other scripts than Latin."""
    session = Session(budget=4_000, system="Be brief. 简短。", session_id=name)
    session.extend(
        [user(f"订单总额是多少？ 🦊 {words}"), *exchange("x", "Read", lines(400), file_path="数据.py")], time=1.5
    )
    session.compile(now=2.25, sections=[ContextSection(name="notes", content=lines(40, "note"))])
    session.append(says("It is 4200 cents.\u2028Done."))
    session.report_usage(1_000, 10)
    session.tag(arm="甲")
    for message in work(turns):
        if message["role"] == "assistant":
            session.compile()
        session.extend([message])
    return session.dump()


def brought(store: Store, data: bytes, **options: Any) -> Any:
    return import_lines(store, data.splitlines(keepends=True), **options).info


def exported(store: Store, name: str = "a") -> bytes:
    return b"".join(export_lines(store, store.session(name)))


def counted(store: Store) -> dict[str, int]:
    with store.reading() as connection:
        return {table.name: connection.scalar(select(func.count()).select_from(table)) or 0 for table in TABLES}


def plain_log(count: int, name: str = "long") -> Iterator[bytes]:
    """Lines of a log that has nothing but a framing and messages."""
    session = Session(session_id=name)
    session.extend([user(f"message {number} about topic{number}") for number in range(count)])
    yield from session.dump().splitlines(keepends=True)


# --- carried over -------------------------------------------------------------------------------------------------


def test_an_export_is_the_log_and_comes_back_the_same(store: Store) -> None:
    """Byte for byte, with its calls, counters and tags."""
    data = recorded()
    info = brought(store, data)

    assert exported(store) == data
    with Session.open(store, "a") as session:
        assert session.dump() == data
        assert session.call(2).payload_sha256 == read_calls(store, info)[1].payload_sha256
    assert (info.messages, info.calls) == (34, 16)
    assert info.tags == {"arm": "甲"}
    assert info.title.startswith("订单总额是多少？")
    first = read_calls(store, info)[0]
    assert (first.number, first.budget, first.reported_input, first.reported_cached) == (1, 4_000, 1_000, 10)


def test_from_engine_to_engine_nothing_changes(store: Store, tmp_path: Path) -> None:
    """What left one store enters another, and leaves that one the same."""
    data = recorded()
    brought(store, data)
    with Store(tmp_path / "other.db") as other:
        import_lines(other, export_lines(store, store.session("a")))
        assert exported(other) == data


def test_under_another_name_only_the_name_changes(store: Store) -> None:
    """Twice the same log, side by side."""
    data = recorded()
    brought(store, data)
    brought(store, data, as_session="复制")

    assert exported(store, "复制") == data.replace(b'{"session":"a"', '{"session":"复制"'.encode())
    assert check(store) == []


def test_tokens_are_counted_as_the_session_does(store: Store) -> None:
    """A log without calls is counted anew, one with calls as they were told."""
    session = Session(session_id="a")
    session.extend(work(3))
    expected = session.compile().tokens - Session().preview().tokens

    assert brought(store, session.dump()).tokens == expected
    before = b"".join(line for line in session.dump().splitlines(keepends=True) if b"call_recorded" not in line)
    assert brought(store, before, as_session="b").tokens == expected


def test_a_session_that_is_there_is_left_alone(store: Store) -> None:
    """The error says what to do instead."""
    data = recorded()
    brought(store, data)
    other = data.replace(b'"user"', b'"system"', 1)
    with pytest.raises(StoreError, match=r"session 'a' is in this store already and differs .* give another name"):
        brought(store, other)
    assert exported(store) == data


def test_a_log_that_grew_is_taken_in_where_it_was_left(store: Store) -> None:
    """Only what is new is written; the same or an older state of the log changes nothing."""
    data = recorded()
    lines = data.splitlines(keepends=True)
    for length in (len(lines) // 2, len(lines), 3):
        before = len(exported(store).splitlines()) if store.find("a") is not None else 0
        arrival = import_lines(store, lines[:length])
        assert (arrival.added, arrival.was_there) == (max(0, length - before), before > 0)
    assert exported(store) == data
    whole = brought(store, data, as_session="b")
    assert (arrival.info.tokens, arrival.info.messages) == (whole.tokens, whole.messages)


def bad(data: bytes) -> dict[str, tuple[bytes, str]]:
    rows = data.splitlines(keepends=True)
    numbered = [json.loads(row) for row in rows]
    call_line = next(place for place, row in enumerate(numbered) if row["body"]["kind"] == "call_recorded")
    repeated = {**numbered[call_line], "seq": len(rows)}
    newer = {**numbered[3], "version": 99}
    return {
        "empty": (b"\n\n", "no event in it"),
        "begins late": (b"".join(rows[1:]), "line 1: event 1 where event 0 should be"),
        "gap": (b"".join(rows[:5] + rows[6:]), "line 6: event 6 where event 5 should be"),
        "twice": (b"".join(rows[:5] + rows[4:]), "line 6: event 4 where event 5 should be"),
        "mixed": (b"".join(rows[:4]) + rows[4].replace(b'"a"', b'"b"', 1), "line 5: an event of session 'b' among"),
        "cut short": (data[:-20], f"line {len(rows)}: cannot read event"),
        "not JSON": (b"".join(rows[:2]) + b"hello\n", "line 3: cannot read event 'hello"),
        "no event": (b"[1]\n", r"line 1: not an event: '\[1\]"),
        "no text": (b"".join(rows[:2]) + b"\xff\xfe\n", "line 3: cannot read event"),
        "newer": (b"".join(rows[:3]) + json.dumps(newer).encode(), "line 4: event has schema version 99"),
        "call twice": (data + json.dumps(repeated).encode(), r"call 1 behind call \d+"),
        "too deep": (b"".join(rows[:2]) + b"[" * 100_000, "line 3: "),
        "too large": (data + json.dumps({**repeated, "body": {"kind": "usage_reported", "call": 1, "input_tokens": 2**70}}).encode(), "too large|out of range"),
    }  # fmt: skip


@pytest.mark.parametrize("case", sorted(bad(recorded())))
def test_a_broken_line_is_named_and_nothing_is_kept(store: Store, case: str) -> None:
    """All or nothing: also what was written before the broken line is gone."""
    data, says_so = bad(recorded())[case]
    # A number that is too large is refused by the database, in its own words.
    with pytest.raises(FoveateError if case == "too large" else LogError, match=says_so):
        brought(store, data)
    assert set(counted(store).values()) == {0}


def test_an_empty_name_is_refused(store: Store) -> None:
    """As when a session is begun."""
    with pytest.raises(ConfigError, match="is no name"):
        brought(store, recorded(), as_session=" ")


def test_a_slow_sender_keeps_nobody_waiting(store: Store) -> None:
    """All lines are there before anything is written; a late error takes all back."""
    done: list[int] = []

    def slow() -> Iterator[bytes]:
        for number, line in enumerate(plain_log(2_500)):
            if number % 1_000 == 0:
                # Somebody else can write while lines come in.
                store.begin(f"meanwhile-{number}")
            yield line

    info = import_lines(
        store, slow(), progress=lambda what, count: done.append(count) if what == "events" else None
    ).info
    assert (info.messages, info.indexed) == (2_500, 2_500)
    assert len(done) > 2
    rows = list(plain_log(2_500, "other"))
    with pytest.raises(LogError, match=f"line {len(rows) + 1}: "):
        import_lines(store, [*rows, b"broken\n"])
    assert store.find("other") is None


def test_a_log_with_a_hole_is_not_exported_as_if_it_were_whole(store: Store) -> None:
    """Neither in the middle nor at the end."""
    info = brought(store, recorded())
    with store.writing() as connection:
        connection.execute(events.delete().where(events.c.seq == info.events - 1))
    with pytest.raises(LogError, match=f"event {info.events - 1} of session .* is missing"):
        exported(store)


# --- made findable ------------------------------------------------------------------------------------------------


def test_what_was_appended_in_bulk_is_indexed_once_by_however_many(store: Store, store_url: str) -> None:
    """Several processes that complete the index at once share the work; none does it twice."""
    info = import_lines(store, plain_log(40)).info
    with Session.open(store, "bulk") as session:
        session.extend([user(f"message {number} about topic{number}") for number in range(1_300)])
        info = store.session("bulk")
        assert info.indexed == 0
        assert index_backlog(store, info, most=10) == 10
        with ThreadPoolExecutor(4) as pool:
            shares = list(pool.map(lambda _: _indexed(store_url), range(4)))
    assert sum(shares) == 1_290
    assert store.session("bulk").indexed == 1_300
    assert index_backlog(store, info) == 0
    assert check(store) == []


def _indexed(url: str) -> int:
    with Store(url) as other:
        return index_backlog(other, other.session("bulk"))


# --- copied -------------------------------------------------------------------------------------------------------


def test_a_fork_is_the_log_up_to_a_message(store: Store) -> None:
    """Everything before the next message, under another id; going on in it leaves the first one alone."""
    data = recorded()
    info = brought(store, data)
    copy = fork(store, info, "b", at=4)

    rows = [decode_event(line) for line in data.splitlines()]
    until = [row.seq for row in rows if isinstance(row.body, MessageAppended)][4]
    expected = b"".join(data.splitlines(keepends=True)[:until]).replace(b'{"session":"a"', b'{"session":"b"')
    assert exported(store, "b") == expected
    assert (copy.messages, copy.indexed, copy.tags) == (4, 4, {"arm": "甲"})
    with Session.open(store, "b") as session:
        session.append(user("another way"))
        assert session.compile().to("openai")[-1]["content"] == "another way"
    assert exported(store) == data


def test_a_fork_of_all_is_the_same_log(store: Store) -> None:
    """Without a place, or at the last message."""
    info = brought(store, recorded())
    whole = exported(store).replace(b'{"session":"a"', b'{"session":"b"')
    fork(store, info, "b")
    assert exported(store, "b") == whole
    fork(store, info, "c", at=info.messages)
    assert exported(store, "c") == whole.replace(b'{"session":"b"', b'{"session":"c"')
    assert check(store) == []


def test_a_fork_needs_a_place_that_is_there(store: Store) -> None:
    """Places are numbered from 1 to the last message."""
    info = brought(store, recorded())
    for place in (0, -1, info.messages + 1):
        with pytest.raises(ConfigError, match=f"`at` {place} is no message of session 'a'; it has 1 to 34"):
            fork(store, info, "b", at=place)
    with pytest.raises(StoreError, match="already"):
        fork(store, info, "a")
    assert [one.session_id for one in store.sessions()] == ["a"]


def test_a_fork_parts_no_call_from_its_result(store: Store) -> None:
    """A place inside a batch is refused with the nearest ones outside, also if somebody spoke in between."""
    session = Session(session_id="a")
    session.extend([user("1"), calls(call("x", "ls"), call("y", "ls")), result("x", "3"), user("4"), result("y", "5")])
    session.extend([says("6"), calls(call("x", "ls")), result("x", "8"), calls(call("open", "ls"))])
    info = brought(store, session.dump())

    for place in (2, 3, 4):
        with pytest.raises(ConfigError, match=rf"`at` {place} lies between .*; the nearest places are 1 and 5$"):
            fork(store, info, "b", at=place)
    with pytest.raises(ConfigError, match="nearest places are 6 and 8"):
        fork(store, info, "b", at=7)
    for place in (1, 5, 6, 8, 9):
        assert fork(store, info, f"at {place}", at=place).messages == place


def test_a_log_that_begins_with_a_call_has_one_place_to_go(store: Store) -> None:
    """Nothing is in front of it."""
    session = Session(session_id="a")
    session.extend([*exchange("x", "ls", "out"), says("done")])
    with pytest.raises(ConfigError, match=r"the nearest place is 2$"):
        fork(store, brought(store, session.dump()), "b", at=1)


# --- deleted ------------------------------------------------------------------------------------------------------


def test_a_deleted_session_leaves_nothing(store: Store) -> None:
    """Nor an artifact that only it used; what others use stays, and they are whole."""
    brought(store, recorded(words="only here"))
    other = recorded("b")
    brought(store, other)
    fork(store, store.session("a"), "c", at=9)
    with store.writing() as connection:
        for name in ("a", "b"):
            first = store.session(name).key << 40
            connection.execute(embeddings.insert(), {"model": "m", "passage": first + 7, "vector": b"0"})
    with Session.open(store, "a") as session:
        session.append(user(lines(300, "a secret")))
    before = counted(store)
    delete(store, store.session("a"))
    after = counted(store)

    assert store.find("a") is None
    assert after["artifacts"] == before["artifacts"] - 1
    assert after["embeddings"] == 1
    assert exported(store, "b") == other
    assert check(store) == []
    for name in ("b", "c"):
        delete(store, store.session(name))
    assert set(counted(store).values()) == {0}


def test_a_deleted_session_is_not_found(store: Store) -> None:
    """The index forgets it, and only it."""
    for name in ("a", "b"):
        session = Session(session_id=name)
        session.extend([user(f"the zebra of {name}"), *(user(f"filler {number}") for number in range(100))])
        brought(store, session.dump())
    delete(store, store.session("a"))
    assert {hit.session_id for hit in store.search("zebra")} == {"b"}


def test_deleting_twice_is_an_error(store: Store) -> None:
    """Not a silent success on something else."""
    info = brought(store, recorded())
    delete(store, info)
    with pytest.raises(StoreError, match="was deleted"):
        delete(store, info)
    store.begin("b")
    with pytest.raises(StoreError, match="was deleted"):
        delete(store, info)
    assert store.find("b") is not None


def test_deleted_words_are_not_in_the_file(tmp_path: Path) -> None:
    """SQLite overwrites them, in the file and in its write-ahead log."""
    session = Session(session_id="a")
    secret = "xyzzyplugh"  # noqa: S105  of nobody
    session.extend([user(f"my password is {secret}"), *exchange("x", "Read", lines(200) + secret, file_path="f")])
    session.compile()
    path = tmp_path / "agent.db"
    with Store(path) as store:
        brought(store, recorded("b"))
        brought(store, session.dump())
        with closing(sqlite3.connect(path)) as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert secret.encode() in path.read_bytes()
        delete(store, store.session("a"))
        found = [file.name for file in tmp_path.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]
    assert found == []


def test_deleted_words_are_not_in_the_tables_of_postgresql(request: pytest.FixtureRequest) -> None:
    """They are written anew, without dead rows; its write-ahead log is the server's, and keeps them for a while."""
    with Store(engines.fresh_postgresql(request)) as store:
        secret = "xyzzyplugh"  # noqa: S105  of nobody
        session = Session(session_id="a")
        session.extend([user(f"my password is {secret}"), *exchange("x", "Read", lines(200) + secret, file_path="f")])
        brought(store, recorded("b"))
        brought(store, session.dump())
        with store.reading() as connection:
            folder = Path(connection.exec_driver_sql("SHOW data_directory").scalar() or "")
            number = connection.exec_driver_sql(
                "SELECT oid FROM pg_database WHERE datname = current_database()"
            ).scalar()

        def having() -> list[str]:
            with store.reading() as connection:
                connection.exec_driver_sql("CHECKPOINT")
            files = [file for file in (folder / "base" / str(number)).iterdir() if file.is_file()]
            return [file.name for file in files if secret.encode() in file.read_bytes()]

        assert having()
        assert delete(store, store.session("a")) == []
        assert having() == []
        assert exported(store, "b") == recorded("b")


def test_what_cannot_be_erased_now_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody reads the store: the session is gone for all who look, and the bytes when they are done."""
    monkeypatch.setattr("foveate.store.erasing._LOCK_TIMEOUT", 200)
    for name in ("a", "b"):
        brought(store, recorded(name))
    with store.reading() as reading:
        reading.execute(select(events.c.body)).all()
        (note,) = delete(store, store.session("a"))
        assert "another process reads the store" in note or "`VACUUM FULL`, which could not be done now" in note
        assert store.find("a") is None
    assert delete(store, store.session("b")) == []


def test_branches_are_those_that_a_gateway_numbers(store: Store) -> None:
    """A name that only begins alike is another session."""
    for name in ("a", "a~2", "a~10", "a~x", "ab~2"):
        store.begin(name)
    assert {info.session_id for info in branches_of(store, "a")} == {"a~2", "a~10"}


# --- checked ------------------------------------------------------------------------------------------------------


def test_a_whole_store_has_no_problems(store: Store) -> None:
    """Also with sessions that never said anything, and with checkpoints."""
    store.begin("nothing said")
    brought(store, recorded())
    with Session.open(store, "open", budget=4_000) as session:
        for message in work(30):
            session.extend([message])
        session.compile()
    assert check(store) == []


def test_everything_that_is_wrong_is_listed(store: Store) -> None:
    """A broken row does not end the search; each problem names its place and a remedy."""
    damaged = brought(store, recorded())
    brought(store, recorded("b"))
    with store.writing() as connection:
        mine = events.c.session == damaged.key
        large = connection.scalars(
            select(events.c.seq).where(mine, events.c.spilled.is_not(None), events.c.kind == "message_appended")
        ).first()
        connection.execute(events.delete().where(mine, events.c.seq == 3))
        connection.execute(update(events).where(mine, events.c.seq == 9).values(body='{"kind":'))
        connection.execute(update(events).where(mine, events.c.seq == 10).values(spilled="nonsense"))
        connection.execute(update(artifacts).values(data=b"something else", encoding="plain"))
        connection.execute(
            context_summaries.delete().where(context_summaries.c.session == damaged.key, context_summaries.c.call == 3)
        )
        connection.execute(
            update(context_summaries)
            .where(context_summaries.c.session == damaged.key, context_summaries.c.call == 4)
            .values(payload_sha256="0")
        )
        connection.execute(update(sessions).where(sessions.c.id == damaged.key).values(calls=99, indexed=9_999))
        connection.execute(checkpoints.insert(), {"session": damaged.key, "name": "1:x", "seq": 10_000, "data": b""})
        connection.execute(embeddings.insert(), {"model": "m", "passage": (77 << 40) + 1, "vector": b""})

    problems = check(store)
    said = {(problem.session_id, problem.place) for problem in problems}
    assert {("a", place) for place in ("event 3", "event 9", "event 10", "call 3", "call 4")} < said
    assert {("a", "sessions.calls"), ("a", "search index"), ("a", "checkpoint")} < said
    assert not any("differ from its body" in problem.what for problem in problems), "one hole, one problem"
    assert (None, "embeddings") in said
    assert ("b", f"event {large}") in said
    assert sum(problem.place.startswith("artifact ") for problem in problems) == counted(store)["artifacts"]
    assert all(problem.what and problem.remedy for problem in problems)


def test_columns_that_tell_another_story_are_found(store: Store) -> None:
    """And counters and passages that go beyond the log, or artifacts that nobody seems to use."""
    info = brought(store, recorded())
    with store.writing() as connection:
        connection.execute(update(events).where(events.c.seq == 4).values(role="system", tool="other"))
        connection.execute(events.delete().where(events.c.seq > 60))
        connection.execute(artifact_uses.delete())
    said = [(problem.place, problem.what) for problem in check(store)]
    assert ("event 4", "its role and tool in the table differ from its body") in said
    assert ("sessions.events", f"says {info.events}, the log has 61") in said
    assert any(place == "search index" and "that the log has not" in what for place, what in said)
    assert any("without a row in artifact_uses" in what for _, what in said)
    assert any("is used by no session" in what for _, what in said)


def test_a_check_is_not_confused_by_who_writes_meanwhile(store: Store, store_url: str) -> None:
    """What is appended while it reads is no problem."""
    done = Event()

    def write() -> None:
        with Session.open(store_url, "busy", budget=4_000) as session:
            number = 0
            while not done.is_set():
                number += 1
                session.extend([user(f"message {number}"), *exchange(f"c{number}", "Read", lines(150, f"n{number}"))])
                session.compile()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            found = [check(store) for _ in range(12)]
        finally:
            done.set()
        writing.result()
    assert found == [[]] * 12


def test_rows_without_their_session_are_found(tmp_path: Path) -> None:
    """SQLite can be changed by a program that does not mind its references."""
    path = tmp_path / "agent.db"
    with Store(path) as store:
        brought(store, recorded())
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("DELETE FROM sessions")
        places = [problem.place for problem in check(store)]
        assert places == ["events"], "all else comes back with the session"
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("DELETE FROM events")
        places = [problem.place for problem in check(store)]
    assert places == ["context_summaries", "artifact_uses", "passages"]


def test_a_damaged_file_is_reported_and_not_fatal(tmp_path: Path) -> None:
    """Pages that are garbage end one part of the check, not all of it."""
    path = tmp_path / "agent.db"
    with Store(path) as store:
        brought(store, recorded(turns=20))
        brought(store, recorded("b"))
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size, root = raw.execute(
            "SELECT (SELECT * FROM pragma_page_size), rootpage FROM sqlite_master WHERE name = 'events'"
        ).fetchone()
        page = (
            raw.execute("SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = 'leaf' LIMIT 1").fetchone()
            if _has_dbstat(raw)
            else (root,)
        )
    data = bytearray(path.read_bytes())
    start = (page[0] - 1) * size
    data[start : start + size] = b"\xa5" * size
    path.write_bytes(bytes(data))
    with Store(path) as store:
        problems = check(store)
    assert any(problem.place == "database file" for problem in problems)
    assert any(problem.session_id == "a" for problem in problems)


def _has_dbstat(raw: sqlite3.Connection) -> bool:
    try:
        raw.execute("SELECT 1 FROM dbstat LIMIT 1")
    except sqlite3.OperationalError:
        return False
    return True


def test_calls_are_handed_to_who_can_compute_them(store: Store) -> None:
    """What they say becomes a problem, and so does a failure of theirs."""
    brought(store, recorded())
    store.begin("b")

    def recompute(info: Any) -> Iterator[tuple[int, str]]:
        if info.session_id == "b":
            raise FoveateError("no luck")
        yield 2, "another hash"

    problems = check(store, recompute=recompute)
    assert [(one.session_id, one.place, one.what) for one in problems] == [
        ("a", "call 2", "cannot be computed again: another hash"),
        ("b", "calls", "cannot be computed again: no luck"),
    ]
