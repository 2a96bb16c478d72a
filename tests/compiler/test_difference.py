"""Two calls are compared: what entered, what left, what changed its form, where the cached prefix broke."""

from __future__ import annotations

from itertools import pairwise

from tests.dialogue import exchange, lines, user

from foveate import Session
from foveate.compile.compiled import CompiledContext
from foveate.compile.difference import difference


def grown(steps: int, budget: int = 2_000) -> list[CompiledContext]:
    """The calls of a session that reads one file after the other."""
    session = Session(budget=budget, system="You are a careful engineer.")
    session.extend([user("Find the fault.")])
    views = []
    for step in range(steps):
        views.append(session.compile())
        session.extend(exchange(f"c{step}", "read_file", lines(30, f"part {step}"), path=f"src/part_{step}.py"))
    return views


def test_a_call_that_only_goes_on_keeps_its_prefix() -> None:
    first, second = grown(3)[:2]
    made = difference(first, second)
    assert made.broke_at is None and not made.left and not made.changed
    assert made.shared == len(first.items)
    assert made.shared_tokens == first.tokens
    assert [one.id for one in made.entered] == [item.id for item in second.items[len(first.items) :]]


def test_a_reduction_shows_what_left_and_where_the_prefix_broke() -> None:
    views = grown(12)
    place = next(index for index, view in enumerate(views) if view.proposed)
    made = difference(views[place - 1], views[place])
    assert made.broke_at is not None
    assert made.left or made.changed
    assert made.shared < len(views[place - 1].items)
    shown = {item.id for item in views[place].items}
    assert all(one.id not in shown for one in made.left)
    assert all(one.why for one in made.left)
    assert made.broke_at in made.why


def test_the_sums_add_up() -> None:
    """What was there, minus what left, plus what entered and grew, is what is there."""
    views = grown(12)
    for first, second in pairwise(views):
        made = difference(first, second)
        left = sum(one.tokens_before for one in made.left)
        entered = sum(one.tokens_after for one in made.entered)
        changed = sum(one.tokens_after - one.tokens_before for one in made.changed)
        assert first.tokens - left + entered + changed == second.tokens


def test_another_system_prompt_breaks_the_prefix_at_once() -> None:
    session = Session(system="one")
    session.extend([user("hello")])
    first = session.compile()
    session.reframe(system="two")
    made = difference(first, session.compile())
    assert (made.shared, made.shared_tokens) == (0, 0)
    assert made.why == "system prompt or tools changed"


def test_calls_that_were_rebuilt_from_the_log_compare_as_they_were_sent() -> None:
    """A rebuilt call has other objects with the same words."""
    session = Session(budget=2_000)
    session.extend([user("Find the fault.")])
    for step in range(12):
        session.compile()
        session.extend(exchange(f"c{step}", "read_file", lines(30, f"part {step}"), path=f"src/part_{step}.py"))
    again = Session.from_events(session.events, budget=2_000)
    for number in range(1, 12):
        sent = difference(session.call(number), session.call(number + 1))
        rebuilt = difference(again.call(number), session.call(number + 1))
        assert (sent.shared, sent.broke_at, sent.why) == (rebuilt.shared, rebuilt.broke_at, rebuilt.why)
    assert difference(session.call(1), again.call(2)).broke_at is None
