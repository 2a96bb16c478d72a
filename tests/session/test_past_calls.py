"""A past call is explained as fully as it was when it was sent, and goes out with the same bytes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.dialogue import exchange, lines, says, user
from tests.properties.play import Player, random_ops
from tests.store.test_stores_of_earlier_versions import sqlite_copy
from typer.testing import CliRunner

import foveate
from foveate import ModelProfile, Session, TokenBudget
from foveate.budget.profiles import CacheRules
from foveate.budget.tokens import SplintrCounter
from foveate.cli.main import app
from foveate.compile.compiled import CompiledContext
from foveate.compile.rebuild import rebuilt_calls
from foveate.log.events import CacheTerms

RULES = CacheRules(minimum_tokens=64, ttl_seconds=900, breakpoints=2, lookback_blocks=5, write=2.0, read=0.25)
MODEL = ModelProfile(name="of-our-own", window=200_000, cache=RULES)


def account_of(view: CompiledContext) -> dict[str, Any]:
    """Everything that is said of a call, but where its record is."""
    return {
        "explain": {**view.explain(json=True), "recorded_in": None},
        "text": str(view.explain()),
        "budget": view.budget,
        "decision": view.decision,
        "records": view.records,
        "proposed": view.proposed,
        "before": view.before,
        "items": view.items,
        "fates": dict(view.fates),
        "cache": view.cache,
        "marks": view.breakpoints,
        "numbers": (view.number, view.strategy, view.tokens, view.predicted_cached, view.logged, view.shared),
        "state": (view.state.now, view.state.sections, view.state.override, view.state.context.length),
        "formats": sent_in_formats(view),
    }


def sent_in_formats(view: CompiledContext) -> dict[str, str]:
    """What each provider gets; frameworks' own objects say when they were made, so they are left out."""
    found = {}
    for name in ("openai", "anthropic", "gemini", "openai-responses", "text"):
        try:
            found[name] = repr(view.to(name))
        except foveate.EmptyRequestError as error:
            found[name] = str(error)
    return found


def played(rng: random.Random, session: Session, count: int) -> list[CompiledContext]:
    """The views of a random session, as they were sent."""
    player, views = Player(session), []
    for op in random_ops(rng, count):
        try:
            view = player.apply(op)
        except (foveate.BudgetError, foveate.EmptyRequestError):
            continue
        if view is not None and view.number == len(views) + 1:
            views.append(view)
    return views


@pytest.mark.parametrize("seed", range(6))
def test_a_past_call_says_what_it_said_when_it_was_sent(seed: int, tmp_path: Path) -> None:
    """Budget, decision, stages, strategy, cache marks and every fate, in memory, by number, and from a store."""
    rng = random.Random(seed)
    options: dict[str, Any] = {
        "budget": TokenBudget(window=3_000, reserved_output=300, reserved_system=40, soft_threshold=2_000),
        "model": MODEL,
        "system": "Be brief.",
        "policy": ("default", "lean", "drop")[seed % 3],
    }
    with Session.open(tmp_path / "a.db", "a", **options) as session:
        views = played(rng, session, 90)
        sent = [account_of(view) for view in views]
        again = [view for _, view in rebuilt_calls(session.events, SplintrCounter())]
        by_number = [session.call(view.number) for view in views]
        memory = Session.from_events(session.events, **options)
        in_memory = [memory.call(view.number) for view in views[-3:]]
    assert any(view.decision is not None for view in views)
    assert [account_of(view) for view in again[: len(views)] if isinstance(view, CompiledContext)] == sent
    assert [account_of(view) for view in by_number] == sent
    assert [account_of(view) for view in in_memory] == sent[-3:]


def test_a_past_call_carries_the_cache_marks_that_it_was_sent_with() -> None:
    """Under rules that are not the default ones, and after the session has others."""
    session = Session(budget=4_000, model=MODEL, system="Be brief.")
    sent = []
    for number in range(12):
        session.extend(
            [user(f"look at {number}"), *exchange(f"c{number}", "Read", lines(30), file_path=f"{number}.py")]
        )
        sent.append(sent_in_formats(session.compile()))
    session.reframe(model=ModelProfile(name="another", window=200_000))

    for number, formats in enumerate(sent, 1):
        assert sent_in_formats(session.call(number)) == formats


def test_the_command_line_explains_a_past_call_completely(tmp_path: Path) -> None:
    """With budget, decision, stages, strategy and cache marks: what the view said when it was sent."""
    path = tmp_path / "a.db"
    with Session.open(path, "a", budget=2_000, policy="patient") as session:
        for number in range(12):
            session.extend([user(f"look at {number}"), *exchange(f"c{number}", "Read", lines(40), file_path="a.py")])
            view = session.compile()
            session.report_usage(input_tokens=view.tokens + 300)
            if view.decision is not None:
                break
        session.append(says("done"))
    asked = ["explain", "a", "--store", str(path), "--call", str(view.number)]
    done = CliRunner().invoke(app, [*asked, "--json"])
    said = CliRunner().invoke(app, asked).stdout

    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps({**view.explain(json=True), "recorded_in": None}))
    assert view.decision is not None
    assert f"of 2,000 ({view.framing.tokens:,} framing)" in said
    assert f"reduced (must): {view.decision.reason}" in said
    assert "cache marks behind" in said
    assert view.budget is not None
    assert f"the provider will probably count {view.budget.used:,} tokens" in said
    assert all(record.name in said for record in view.records)


def test_what_0_1_did_not_record_of_a_call_is_named(tmp_path: Path) -> None:
    """Its budget is known, and the decision where something was reduced; the rest is said to be missing."""
    with Session.open(sqlite_copy(tmp_path), "coding") as session:
        accounts = [session.call(number).explain() for number in range(1, 10)]

    assert all(account.budget is not None and "stages" in account.unrecorded for account in accounts)
    assert all((account.trigger is None) == ("decision" in account.unrecorded) for account in accounts)
    assert all("not recorded by 0.1: " in str(account) for account in accounts)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"proposed": 99}, "behind 99 events of its own"),
        ({"proposed": -1}, "behind -1 events of its own"),
        ({"marks": (7,)}, "cache marks behind messages"),
        ({"marks": (-1,)}, "cache marks behind messages"),
        ({"budget": 0}, "options that no call has"),
        ({"cache": CacheTerms(64, 900, -2, 5, 2.0, 0.25)}, "options that no call has"),
    ],
)
def test_a_damaged_record_of_a_call_is_named(damage: dict[str, Any], said: str) -> None:
    """Never an index error, and never a call that was not sent."""
    session = Session(budget=4_000, system="Be brief.")
    session.append(user("hello"))
    session.compile()
    *before, last = session.events
    events = [*before, msgspec.structs.replace(last, body=msgspec.structs.replace(last.body, **damage))]

    ((_, found),) = rebuilt_calls(events, SplintrCounter())
    assert isinstance(found, foveate.LogError)
    assert said in str(found)
