"""Threads that share a session, and what sessions share: nothing lost, nothing twice, nobody waits for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.dialogue import says, user
from tests.store import engines

from foveate import MessageError, Session
from foveate.budget import SplintrCounter
from foveate.budget.window import TokenBudget
from foveate.compile.compilers import PipelineCompiler
from foveate.log.events import CallRecorded, Event
from foveate.log.messages import MessageMeta, text_message
from foveate.session import durable
from foveate.session.beside import Turns
from foveate.store import Store

store_url = engines.store_url
THREADS = 8
EACH = 15
DEADLINE = 120.0


def at_once(*works: Callable[[], object]) -> None:
    """Do all of it at the same time, each in a thread, and raise what one of them raised."""
    failures: list[BaseException] = []
    together = threading.Barrier(len(works))

    def done(work: Callable[[], object]) -> None:
        try:
            together.wait(DEADLINE)
            work()
        except BaseException as error:  # noqa: BLE001  whatever it is, the test must know
            failures.append(error)

    threads = [threading.Thread(target=done, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    if failures:
        raise failures[0]


def talk(session: Session, name: str) -> None:
    """Say things, and compile now and then."""
    for number in range(EACH):
        said = f"{name}-{number} " + "word " * 20
        session.append(user(said) if number % 2 == 0 else says(said))
        if number % 5 == 0:
            view = session.compile()
            assert len(view.explain().fates) == view.state.context.message_count
            assert len(list(session.messages)) <= len(session.messages)


def check_whole(session: Session) -> None:
    """Everything is there once, in one order, and each call has its own number."""
    texts = [message.text.split()[0] for message in session.messages]
    assert sorted(texts) == sorted(f"t{thread}-{number}" for thread in range(THREADS) for number in range(EACH))
    assert [message.id for message in session.messages] == [f"m{number}" for number in range(1, len(texts) + 1)]
    for thread in range(THREADS):
        own = [text for text in texts if text.startswith(f"t{thread}-")]
        assert own == [f"t{thread}-{number}" for number in range(EACH)]
    calls = [event.body for event in session.events if isinstance(event.body, CallRecorded)]
    assert [call.number for call in calls] == list(range(1, THREADS * 3 + 1))
    assert [session.call(call.number).payload_sha256 for call in calls] == [call.payload_sha256 for call in calls]


def test_threads_share_a_session_in_memory() -> None:
    """No message is lost, no call has another's number."""
    session = Session(budget=4_000)
    at_once(*(lambda name=f"t{number}": talk(session, name) for number in range(THREADS)))
    check_whole(session)


def test_threads_share_a_session_in_a_store(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the older part of its log leaves memory."""
    monkeypatch.setattr(durable, "CHECKPOINT_EVENTS", 20)
    monkeypatch.setattr(durable, "_IN_MEMORY", 10)
    with Session.open(store_url, "shared", budget=4_000) as session:
        at_once(*(lambda name=f"t{number}": talk(session, name) for number in range(THREADS)))
        assert session.context.log.base > 0
        check_whole(session)


def test_sessions_of_several_threads_share_a_store_a_counter_and_a_compiler(store_url: str) -> None:
    """What they share gives each what it would have given it alone."""
    counter = SplintrCounter()
    compiler = PipelineCompiler(budget=TokenBudget(window=4_000), counter=counter)
    alone = Session(compiler=compiler)
    talk(alone, "t")
    with Store(store_url) as store:

        def work(name: str) -> None:
            with Session.open(store, name, compiler=compiler) as session:
                talk(session, "t")
                assert session.preview().payload == alone.preview().payload

        at_once(*(lambda name=f"s{number}": work(name) for number in range(THREADS)))
        assert [one.messages for one in store.sessions()] == [EACH] * THREADS


def test_a_log_can_be_read_while_another_thread_waits_for_its_store(tmp_path: Path) -> None:
    """What was said is in memory, and nobody waits for it."""
    file = tmp_path / "a.db"
    with Session.open(file, "a", budget=4_000) as session, Store(file) as other:
        session.append(user("hello"))
        with other.writing():
            waiting = threading.Thread(target=session.append, args=(says("hi"),))
            waiting.start()
            # Once it is inside the session, which it leaves with the answer written.
            while session.context.log.message_count < 2:
                assert waiting.is_alive()
            assert [message.text for message in session.messages] == ["hello"]
            assert len(session.events) == session.context.length
            assert session.conversation[0].text == "hello"
        waiting.join(DEADLINE)
        assert [message.text for message in session.messages] == ["hello", "hi"]


def test_a_view_stays_as_it_was_compiled() -> None:
    """Whatever others append: its numbers, its history and its account are those of the request that was sent."""
    session = Session(budget=4_000)
    session.extend([user("one"), says("two"), user("three")])
    view = session.compile()
    before = (view.fates, view.logged, view.before, view.failures, view.payload, view.explain(json=True))
    session.extend([says("four"), user("five")])
    session.compile()

    assert (view.fates, view.logged, view.before, view.failures, view.payload, view.explain(json=True)) == before


def test_observers_see_every_event_once_and_in_order() -> None:
    """However many threads append, and also when an observer appends itself."""
    session = Session(budget=4_000)
    seen: list[int] = []
    telling = threading.Lock()

    def observe(event: Event) -> None:
        assert telling.acquire(blocking=False), "one event is told after the other"
        try:
            seen.append(event.seq)
            if event.seq == 5:
                session.append(says("I see."))
        finally:
            telling.release()

    session.subscribe(observe)
    first = session.context.length
    at_once(*(lambda name=f"t{number}": talk(session, name) for number in range(THREADS)))

    # Whoever was told last may have told what others appended.
    assert seen == list(range(first, session.context.length))


def test_sessions_that_append_to_each_other_do_not_wait_for_each_other() -> None:
    """Observers run when nobody is inside the session."""
    one, other = Session(budget=4_000), Session(budget=4_000)
    both = threading.Barrier(2)

    def mirrored(source: Session, target: Session) -> None:
        def observe(event: Event) -> None:
            if source.messages and source.messages[-1].text == "begin":
                stop()
                # Now each thread is in an observer of its own session, and goes on with the other one.
                both.wait(DEADLINE)
                target.append(says("mirrored"))

        stop = source.subscribe(observe)
        source.append(user("begin"))

    at_once(lambda: mirrored(one, other), lambda: mirrored(other, one))
    assert {message.text for message in (*one.messages, *other.messages)} == {"begin", "mirrored"}
    assert len(one.messages) == len(other.messages) == 2


def test_an_append_that_fails_takes_nothing_from_who_went_on_from_the_same_snapshot() -> None:
    """What is taken back is only one's own."""
    session = Session(budget=4_000)
    session.append(user("hello"))
    mine = session.context.with_events([event.body for event in session.events[-1:]])
    with pytest.raises(MessageError, match="looks like one of ours"):
        session.append(text_message("m7", "user", "hello", MessageMeta()))
    assert len(mine.events) == session.context.length + 1


async def test_turns_go_on_when_somebody_stops_waiting() -> None:
    """A turn that nobody takes is passed on."""
    turns, done = Turns(), list[str]()

    async def take(name: str) -> None:
        async with turns:
            done.append(name)
            await asyncio.sleep(0)

    async with turns:
        waiting = [asyncio.create_task(take(name)) for name in "abc"]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
    # The turn is b's by now, who does not want it any more either.
    waiting[1].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    async with asyncio.timeout(DEADLINE), turns:
        assert done == ["c"]
