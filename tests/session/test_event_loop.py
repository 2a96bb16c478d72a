"""Event loops go on while a session waits for its store, and coroutines that share a session take turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelRequest, UserPromptPart
from tests.agents.states import marked_state
from tests.agents.test_agent import Driver, agent
from tests.chat.talking import Model
from tests.dialogue import user
from tests.scripted_model import call
from tests.session.test_session import LOG, Fixed, session_of
from tests.store import engines

from foveate import Session
from foveate.chat.conversation import Conversation
from foveate.chat.processing import build_compiling_history_processor
from foveate.log.events import CallRecorded, SummaryRecorded
from foveate.session.beside import run_beside
from foveate.store import Store
from foveate.store.writer import locked

store_url = engines.store_url
TICKS = 20
FEW = 5


async def ticks_during(url: str, session_id: str, work: Callable[[], Awaitable[object]]) -> int:
    """How often the loop's heart beats until `work` is done, with the session locked until it has beaten often enough.

    A loop that waits for the store does not beat, and the store stays locked.
    """
    beats = 0
    with Store(url) as store:
        lock = store.writing()
        connection = lock.__enter__()
        info = store.session(session_id)
        locked(connection, info.key, info.session_id)

        async def beat() -> None:
            nonlocal beats
            while beats < TICKS:
                await asyncio.sleep(0.005)
                beats += 1
            lock.__exit__(None, None, None)

        beating = asyncio.create_task(beat())
        # It has begun to beat when the work begins.
        await asyncio.sleep(0)
        await work()
        seen = beats
        await beating
    return seen


async def test_acompile_waits_for_a_store_beside_the_loop(store_url: str) -> None:
    """SQL, waits for a lock and back-off keep no other coroutine waiting."""
    with Session.open(store_url, "a", budget=4_000) as session:
        session.append(user("hello"))

        assert await ticks_during(store_url, "a", session.acompile) >= FEW
        assert session.call(1).to("openai") == [{"role": "user", "content": "hello"}]


async def test_a_conversation_waits_for_a_store_beside_the_loop(store_url: str) -> None:
    """From what is said until it is answered."""
    with Session.open(store_url, "a", budget=4_000) as session:
        chat = Conversation(session, Model(lambda _: "Good morning!"))

        assert await ticks_during(store_url, "a", lambda: chat.say("Hello")) >= FEW
        assert [message.text for message in session.messages] == ["Hello", "Good morning!"]


async def test_a_history_processor_waits_for_a_store_beside_the_loop(store_url: str, tmp_path: Path) -> None:
    """An agent of somebody else's has one loop for everything."""
    with Session.open(store_url, "a", budget=4_000) as session:
        history = build_compiling_history_processor(system=tmp_path, session=session)
        messages = [ModelRequest(parts=[UserPromptPart(content="Hello")])]

        assert await ticks_during(store_url, "a", lambda: history(messages)) >= FEW
        assert [message.text for message in session.messages] == ["Hello"]


async def test_an_agent_waits_for_a_store_beside_the_loop(store_url: str) -> None:
    """Several agents work in one loop, and so may a user's server."""
    with Session.open(store_url, "a", budget=8_000) as session:
        developer = agent(Driver(call("finish", summary="done")))

        assert await ticks_during(store_url, "a", lambda: developer.run(marked_state(), session)) >= FEW
        assert session.messages[-1].text == "accepted"


async def test_two_compiles_at_once_write_one_summary() -> None:
    """The second finds the first one's summary, and each has a number of its own."""
    summarizer = Fixed("All eight modules were read and are fine.")
    session = session_of(LOG, budget=3_000, summarizer=summarizer)
    views = await asyncio.gather(*(session.acompile() for _ in range(4)))

    assert len(summarizer.asked) == 1
    assert sorted(view.number for view in views) == [1, 2, 3, 4]
    assert len({view.payload for view in views}) == 1
    bodies = [event.body for event in session.events]
    assert sum(isinstance(body, SummaryRecorded) for body in bodies) == 1
    assert [body.number for body in bodies if isinstance(body, CallRecorded)] == [1, 2, 3, 4]


def test_loops_of_several_threads_share_a_session() -> None:
    """No summary is written twice, whichever loop asks for it."""
    summarizer = Fixed("All eight modules were read and are fine.")
    session = session_of(LOG, budget=3_000, summarizer=summarizer)
    numbers: list[int] = []

    def work() -> None:
        numbers.append(asyncio.run(session.acompile()).number)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(numbers) == [1, 2, 3, 4]
    assert len(summarizer.asked) == 1


async def test_what_was_begun_beside_the_loop_is_done_when_it_is_cancelled() -> None:
    """Who cancels a coroutine finds what it wrote written, not half of it a moment later."""
    session = Session(budget=4_000)
    began, go_on = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        assert go_on.wait(60)
        session.append(user("hello"))

    task = asyncio.create_task(run_beside(work))
    await asyncio.to_thread(began.wait, 60)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [message.text for message in session.messages] == ["hello"]
