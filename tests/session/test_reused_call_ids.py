"""Calls that share an id, or have none, beside pins: requests stay valid, whatever is restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.dialogue import COUNTER, call, calls, result, user
from tests.properties.fuzz import play_seed
from tests.views.test_checkpoint import reopened

import foveate
from foveate import Session
from foveate.compile.rebuild import rebuilt_calls
from foveate.log.events import Event, ReductionRecorded
from foveate.wire.formats import FORMATS

Exchange = Callable[[int], list[dict[str, Any]]]


def same_ids(number: int) -> list[dict[str, Any]]:
    return [calls(call("c1", "read_file", path=f"a{number}.py")), result("c1", f"line of output {number}\n" * 20)]


def no_ids(number: int) -> list[dict[str, Any]]:
    """As Gemini writes calls: a name and arguments, nothing else."""
    output = {"output": f"line of output {number}\n" * 20}
    return [
        {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {"path": f"a{number}.py"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": output}}]},
    ]


def play(session: Session, exchange: Exchange, turns: range) -> None:
    for number in turns:
        session.append(user(f"do {number} " + "word " * 10))
        for raw in exchange(number):
            session.append(raw)
        if number in (14, 18):
            session.pin({14: "m3", 18: "m6"}[number])
        assert_valid(session.compile(now=float(number)))


def assert_valid(view: foveate.CompiledContext) -> None:
    for name, format in FORMATS.items():
        assert (name, format.problems(format.lower(view.request))) == (name, [])


@pytest.mark.parametrize("exchange", [same_ids, no_ids])
@pytest.mark.parametrize("policy", foveate.POLICIES)
def test_a_pin_restores_calls_whose_id_came_again(policy: str, exchange: Exchange) -> None:
    """Every request is valid: ids are unique in it, also after a reduction renamed some."""
    session = Session(budget=1_500, policy=policy)

    play(session, exchange, range(24))

    shown = {item.id: item for item in session.preview().items}
    assert shown["m3"].message.text == session.messages[2].text
    assert shown["m6"].message.text == session.messages[5].text


def test_a_result_stays_with_the_call_it_answered() -> None:
    """A pinned call that was never answered does not take the result of a later call with the same id."""
    session = Session(budget=900, policy="drop")
    session.extend([user("go"), calls(call("c1", "read_file", path="a.py")), user("again")])
    session.extend([calls(call("c1", "read_file", path="b.py")), result("c1", "the text of b")])
    for number in range(12):
        session.extend([user(f"then {number}"), {"role": "assistant", "content": "word " * 60}])
        session.compile(now=float(number))
    assert "m2" not in {item.id for item in session.preview().items}

    session.pin("m2")
    request = session.compile(now=99.0).to("openai")

    asked = next(index for index, raw in enumerate(request) if raw.get("tool_calls"))
    assert request[asked + 1]["content"] == "[no result was recorded for this call]"


def test_a_log_of_0_1_goes_on_though_its_ids_clash() -> None:
    """Its calls are rebuilt byte for byte, and the next one is repaired instead of refused."""
    session = Session(budget=1_500)
    play(session, same_ids, range(16))
    old = [_as_in_0_1(event) for event in session.events]
    recorded = [view for _, view in rebuilt_calls(old[:-1], COUNTER)]
    assert all(isinstance(view, foveate.CompiledContext) for view in recorded)

    resumed = Session.from_events(old, budget=1_500)
    for again in (reopened(resumed, budget=1_500), resumed):
        for number in range(3):
            again.extend([user(f"more {number}"), *same_ids(number)])
            assert_valid(again.compile(now=100.0 + number))


def _as_in_0_1(event: Event) -> Event:
    """An event as 0.1 wrote it: its reductions did not note the ids that they gave."""
    if not isinstance(event.body, ReductionRecorded):
        return event
    return msgspec.structs.replace(event, body=msgspec.structs.replace(event.body, claims=False))


@pytest.mark.parametrize("seed", [77, 361, 1041, 1081, 1086, 1029])
def test_sessions_that_once_failed(seed: int) -> None:
    """Random sessions in every format that the fuzzer found a fault with; each keeps every promise now."""
    assert play_seed(seed).compiles


@pytest.mark.parametrize("said", ["", "the third answer"])
def test_a_pin_restores_one_of_several_calls_made_at_once_with_one_id(said: str) -> None:
    """Each of them took one of the results, also the empty one."""
    session = Session(budget=900, policy="drop")
    session.append(user("go"))
    session.append(calls(*(call("c1", "read_file", path=f"{name}.py") for name in "abc")))
    session.extend([result("c1", "one"), result("c1", "two"), result("c1", said)])
    for number in range(12):
        session.extend([user(f"then {number}"), {"role": "assistant", "content": "word " * 60}])
        session.compile(now=float(number))
    assert "m5" not in {item.id for item in session.preview().items}

    session.pin("m5")
    view = session.compile(now=99.0)

    assert_valid(view)
    assert {item.id: item.message.text for item in view.items}["m5"] == said
