"""A compile is a function of its state, and what it returns is a value: nothing said later changes either."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.dialogue import exchange, lines, reading, says, session_of, user, work

from foveate import Session
from foveate.budget.tokens import SplintrCounter
from foveate.budget.window import TokenBudget
from foveate.compile.compiled import CompiledContext
from foveate.compile.compilers import Compiler, PipelineCompiler
from foveate.compile.timeline import Projector
from foveate.log.events import RecallRecorded
from foveate.log.state import AgentState

THREADS = 8
ROUNDS = 100
COMPILER = PipelineCompiler(budget=TokenBudget(window=4_000))


def facts_of(view: CompiledContext) -> dict[str, Any]:
    """Everything that a view says."""
    return {
        "logged": view.logged,
        "fates": dict(view.fates),
        "before": view.before,
        "items": view.items,
        "messages": view.messages,
        "payload": view.payload,
        "anthropic": view.to("anthropic"),
        "breakpoints": view.breakpoints,
        "failures": view.failures,
        "position": view.position("m90"),
        "unseen": view.position("m2"),
        "explain": view.explain(json=True),
        "text": str(view.explain()),
    }


def test_a_view_stays_as_it_is_while_sixty_exchanges_follow() -> None:
    """Each of its numbers, its history before the reductions, and its account."""
    session = Session(budget=4_000)
    session.extend([user("look at parse_order"), *exchange("a", "Read", lines(40), file_path="a.py")])
    # What stands last here is reasoning, which is joined to what the assistant says next.
    session.append({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]})
    session.pin("m1")
    view = session.compile()
    before = facts_of(view)
    for number in range(60):
        failed = "Error: no such file" if number % 7 == 0 else lines(20, f"file{number}")
        session.extend(
            [user(f"go on with {number}"), *exchange(f"c{number}", "Read", failed, file_path=f"b{number}.py")]
        )
        session.append(says(f"done with {number}"))
        session.compile()
    session.unpin("m1")
    session.compile()

    assert session.context.message_count > 200
    assert facts_of(view) == before


def in_threads(compile_one: Callable[[], str]) -> set[str]:
    """What eight threads get that compile a hundred times each, all at the same time."""
    found: list[str] = []
    failures: list[BaseException] = []
    together = threading.Barrier(THREADS)

    def compile_all() -> None:
        try:
            together.wait(60)
            found.extend(compile_one() for _ in range(ROUNDS))
        except BaseException as error:  # noqa: BLE001  whatever it is, the test must know
            failures.append(error)

    threads = [threading.Thread(target=compile_all, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not failures, failures
    assert len(found) == THREADS * ROUNDS
    return set(found)


@pytest.mark.parametrize("carried", [True, False])
def test_eight_threads_compile_one_state(carried: bool) -> None:
    """All get the same bytes, with a projection that the state carries and with one that each compile makes."""
    session = Session(budget=4_000)
    for number in range(12):
        session.extend([user(f"look at {number}"), *reading(2, size=10, first=2 * number)])
        session.compile()
    session.extend([user("and now?"), *reading(2, size=10, first=100)])
    projection = Projector(SplintrCounter()).projection(session.context)
    state = AgentState(context=session.context, projection=projection if carried else None)
    alone = COMPILER.compile(state).payload_sha256

    assert in_threads(lambda: COMPILER.compile(state).payload_sha256) == {alone}


def test_a_compile_needs_no_lock_and_sees_nothing_that_is_appended_meanwhile() -> None:
    """Somebody else may hold the log for as long as they like, and go on with it."""
    session = session_of(work(6), budget=4_000)
    state = AgentState(context=session.context)
    alone = COMPILER.compile(state).payload_sha256
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with session.context.log.lock:
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    assert held.wait(60)
    found: list[str] = []
    compiling = threading.Thread(target=lambda: found.append(COMPILER.compile(state).payload_sha256), daemon=True)
    compiling.start()
    compiling.join(60)
    done.set()
    holder.join(60)
    session.extend(work(6))

    assert found == [alone]
    assert COMPILER.compile(state).payload_sha256 == alone


def test_a_projection_of_another_snapshot_or_counter_is_not_believed() -> None:
    """A caller who leaves an old one in a state gets the request of the state."""
    session = session_of(work(2), budget=4_000)
    old = Projector(SplintrCounter()).projection(session.context)
    session.extend(work(1))
    context = session.context
    plain = COMPILER.compile(AgentState(context=context))
    other = Projector(SplintrCounter(encoding="cl100k_base")).projection(context)

    for wrong in (old, other, "no projection"):
        view = COMPILER.compile(AgentState(context=context, projection=wrong))
        assert (view.payload, view.tokens) == (plain.payload, plain.tokens)


@dataclass(frozen=True)
class Wrapping:
    """A compiler of somebody's own, which has no budget and no policy that anybody could look at."""

    inner: Compiler

    def compile(self, state: AgentState, /) -> CompiledContext:
        return self.inner.compile(state)


@dataclass(frozen=True)
class Newest:
    """A compiler of somebody's own that sends what was recalled and the last few messages, and reduces nothing."""

    count: int

    def compile(self, state: AgentState, /) -> CompiledContext:
        recalled = [body.item.message for body in state.recalled]
        newest = state.context.messages[-self.count :]
        return COMPILER.compile(replace(state, override=(*newest[:-1], *recalled, newest[-1])))


@pytest.mark.parametrize("compiler", [COMPILER, Wrapping(COMPILER), Newest(3)])
def test_every_compiler_gets_what_is_recalled(compiler: Compiler) -> None:
    """Ours, one around ours, and one that sends what it likes: what the model does not see any more is looked up."""
    session = Session(compiler=compiler)
    session.extend([user("Let us read a book."), says("Gladly.")])
    # In the middle of more words than a digest has of what was said.
    told = f"{'So it goes on and on. ' * 20}The access code of the vault is heliotrope-77. {'And so on it goes. ' * 20}"
    session.extend([user(told), says("I will remember that.")])
    for number in range(40):
        session.extend([user(f"Now read chapter {number}: {lines(12, f'chapter{number}')}"), says(f"Read {number}.")])
        session.compile()
    session.append(user("What was the access code of the vault?"))
    view = session.compile()

    found = [event.body for event in session.events if isinstance(event.body, RecallRecorded)]
    assert any("m3" in body.references for body in found)
    assert "heliotrope-77" in view.to("text")
    assert session.call(view.number).payload == view.payload
