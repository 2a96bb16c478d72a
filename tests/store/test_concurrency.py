"""Several processes on one store: order and pairs stay intact."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from foveate import Session
from foveate.log.events import CallRecorded, FramingSet
from foveate.store import Store
from tests.dialogue import says, user
from tests.store import engines
from tests.store.writing import turns

store_url = engines.store_url
ROOT = Path(__file__).parents[2]
WRITERS = 8
TURNS = 6


def written(url: str, sessions: list[str]) -> None:
    """One writing process for each of these sessions, all at once."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.store.writing", url, session, f"w{number}", str(TURNS)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment,
        )
        for number, session in enumerate(sessions)
    ]  # fmt: skip
    for process in processes:
        _, problems = process.communicate(timeout=300)
        assert process.returncode == 0, problems


def test_eight_processes_append_to_one_session(store_url: str) -> None:
    """Nothing is lost, nothing interleaves inside a batch, each writer's own order is kept, calls count up by one."""
    written(store_url, ["one"] * WRITERS)
    with Session.open(store_url, "one", budget=4_000) as session:
        messages = list(session.messages)
        numbers = [event.body.number for event in session.events if isinstance(event.body, CallRecorded)]
        framings = sum(isinstance(event.body, FramingSet) for event in session.events)
        view = session.compile()

    assert len(messages) == WRITERS * TURNS * 4
    assert [message.id for message in messages] == [f"m{number + 1}" for number in range(len(messages))]
    assert numbers == list(range(1, WRITERS * (TURNS // 3) + 1))
    assert framings == 1
    for place, message in enumerate(messages):
        if message.calls:
            answers = [one.result.call_id for one in messages[place + 1 : place + 3] if one.result is not None]
            assert answers == [call.id for call in message.calls]
    for writer in range(WRITERS):
        mine = [
            message.text for message in messages if message.role == "user" and message.text.startswith(f"w{writer}-")
        ]
        assert mine == [step[0][0]["content"] for step in turns(f"w{writer}", TURNS)]
    assert view.number == numbers[-1] + 1


def test_eight_processes_append_to_eight_sessions(store_url: str) -> None:
    """Sessions do not see each other, and share what they both read."""
    written(store_url, [f"s{number}" for number in range(WRITERS)])
    with Store(store_url) as store:
        assert Counter(info.messages for info in store.sessions()) == {TURNS * 4: WRITERS}
        for number in range(WRITERS):
            with Session.open(store, f"s{number}", budget=4_000) as session:
                assert all(f"w{number}-" in message.text for message in session.messages if message.role == "user")
                for call in range(1, session.compile().number):
                    assert session.call(call).number == call


def test_a_reader_sees_one_moment_while_others_write(store_url: str) -> None:
    """It neither waits for a writer nor keeps one waiting."""
    with Store(store_url) as store, Session.open(store, "a") as session:
        session.append(user("before"))
        with store.reading() as connection:
            count = connection.exec_driver_sql("SELECT count(*) FROM events").scalar_one()
            session.append(user("meanwhile"))
            again = connection.exec_driver_sql("SELECT count(*) FROM events").scalar_one()
            if connection.dialect.name == "sqlite":
                assert again == count
        with store.writing() as connection:
            connection.exec_driver_sql("UPDATE sessions SET title = 'half done'")
            with Session.open(store_url, "a") as reader:
                assert [message.text for message in reader.messages] == ["before", "meanwhile"]


def test_threads_with_a_session_each(store_url: str) -> None:
    """One store may be shared by threads; a session belongs to one of them."""
    with Store(store_url) as store:
        failures: list[BaseException] = []

        def write(name: str) -> None:
            try:
                with Session.open(store, "shared", budget=4_000) as session:
                    for number in range(10):
                        session.extend([user(f"{name} asks {number}"), says(f"{name} answers {number}")])
            except BaseException as error:  # noqa: BLE001  shown by the test
                failures.append(error)

        threads = [threading.Thread(target=write, args=(f"t{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert not failures
        with Session.open(store, "shared") as session:
            texts = [message.text for message in session.messages]
        assert len(texts) == 80
        for question, answer in zip(texts[::2], texts[1::2], strict=True):
            assert answer == question.replace("asks", "answers")


@pytest.mark.parametrize("handles", [5])
def test_a_session_begun_by_several_at_once_is_one_session(store_url: str, handles: int) -> None:
    """Whoever opens it, it has one beginning."""
    barrier = threading.Barrier(handles)
    failures: list[BaseException] = []

    def begin() -> None:
        barrier.wait()
        try:
            Session.open(store_url, "new", system="Be brief.").close()
        except BaseException as error:  # noqa: BLE001  shown by the test
            failures.append(error)

    threads = [threading.Thread(target=begin) for _ in range(handles)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    with Session.open(store_url, "new") as session:
        assert session.context.length == 1


def test_the_same_large_texts_from_many_writers_at_once(store_url: str) -> None:
    """They are stored once, and nobody waits for each other for ever."""
    texts = [f"text {number} " * 1_000 for number in range(8)]
    failures: list[BaseException] = []
    with Store(store_url) as store:

        def write(number: int) -> None:
            rng = random.Random(number)
            try:
                with Session.open(store, f"s{number}") as session:
                    for _ in range(5):
                        session.extend([user(text) for text in rng.sample(texts, len(texts))])
            except BaseException as error:  # noqa: BLE001  shown by the test
                failures.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert not failures
        assert len({one.sha256 for info in store.sessions() for one in store.artifacts(info)}) == len(texts)
