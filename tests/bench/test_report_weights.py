"""How much the numbers on the page hang on: intervals, the heaviest session, arms of another run, calls in common."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench.added import added_later
from bench.behind import behind_elsewhere
from bench.engine_reading import readings
from bench.headline import headline_table, lighter_table, weight_note
from bench.heaviest import heaviest, without
from bench.intervals import difference_interval
from bench.outcome import EngineOutcome, EngineRow, ReplayOutcome, saved
from bench.report import headline, written
from bench.standings import contests
from tests.bench.report_outcomes import STAMP, engine, growth, recall, replay

Calls = tuple[tuple[int, int, float, int], ...]


def heavy() -> ReplayOutcome:
    """One of four sessions has as much cost and references as nine others."""
    outcome = replay(sessions=4, budgets=(8_000,))
    (run,) = outcome.runs
    tallies = {
        name: (replace(rows[0], cost=tuple(9 * one for one in rows[0].cost), raw_cost=(75.6, 31.5, 31.5)), *rows[1:])
        for name, rows in run.tallies.items()
    }
    return replace(outcome, runs=(replace(run, tallies=tallies),))


def test_the_headline_has_intervals_of_cost_and_of_references() -> None:
    """Both, in the README too."""
    row = next(line for line in headline(replay()).splitlines() if line.startswith("| **foveate** "))
    assert row.count("(0.") == row.count("–") == 4


def test_the_difference_of_two_ratios_is_drawn_session_by_session() -> None:
    pairs = [((1.0, 10.0), (2.0, 10.0)), ((8.0, 10.0), (9.0, 10.0))]
    assert difference_interval(pairs) == pytest.approx((-0.1, -0.1))
    assert difference_interval([]) == (0.0, 0.0)


def test_the_heaviest_session_is_told_and_left_out_beside_the_headline() -> None:
    held = contests(heavy())
    found = heaviest(held[0])
    assert found is not None
    assert (found.place, round(found.cost, 2), found.references) == (0, 0.75, 0.25)

    note = weight_note(held)
    assert "At 8,000 tokens one session of 40 calls has 75 % of the untouched cost and 25 % of the references" in note
    lighter = lighter_table(held, "make")
    assert lighter is not None
    assert [row.cells[0] for row in lighter.rows] == [row.cells[0] for row in headline_table(held, "make").rows]
    rest = without(held[0], 0)
    assert all(len(one.rows) == 3 for one in rest.arms)
    assert note in headline(heavy())


def test_a_single_session_cannot_be_left_out() -> None:
    held = contests(replay(sessions=1, budgets=(8_000,)))
    assert heaviest(held[0]) is None
    assert lighter_table(held, "make") is None
    assert weight_note(held) == ""


def test_arms_of_another_run_are_told_with_its_stamp(tmp_path: Path) -> None:
    """But not if it was the same commit, day and command."""
    other = replace(STAMP, date="2026-11-20", commit="abc1234+")
    assert added_later(STAMP, {"foveate": STAMP}) == ""
    said = added_later(STAMP, {"foveate": STAMP, "drop-steps": other, "mask-10": other})
    assert said.startswith("Measured apart from the others, on 2026-11-20 (commit abc1234+, `uv run")
    assert said.endswith(": drop-steps, mask-10.")

    saved(replace(replay(count=4, sessions=2), later={"mask-10": other}), tmp_path / "results" / "replay.json")
    saved(replace(growth((100, 1_000)), later={"foveate": other}), tmp_path / "results" / "growth.json")
    written(tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8").count("Measured apart from the others") == 2


def test_what_is_behind_elsewhere_stands_in_short_too(tmp_path: Path) -> None:
    for name, outcome in {"replay": replay(count=12, sessions=2), "growth": growth(), "recall": recall()}.items():
        saved(outcome, tmp_path / "results" / f"{name}.json")
    written(tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    short = text[text.index("## In short") : text.index("## 8,000")]
    assert "all evidence found (recall, generated conversations)" in short
    assert "a line at 2 % would not: " in text


def on_engine(**arms: Calls) -> EngineOutcome:
    """Arms in one session, by what was read at each call."""
    rows = tuple(
        EngineRow(
            arm=arm,
            session="s",
            calls=sum(bool(call[0]) for call in calls),
            refused=sum(not call[0] for call in calls),
            prompt_tokens=0,
            reused=0,
            simulated=0,
            prompt_ms=sum(call[2] for call in calls),
            over=0,
            stopped="the time was up" if len(calls) < 20 else "",
        )
        for arm, calls in arms.items()
    )
    series = {arm: {"s": calls} for arm, calls in arms.items()}
    return replace(engine(), rows=rows, series=series, sessions=engine().sessions[:1])


def test_arms_on_the_engine_are_compared_at_calls_that_all_have_read() -> None:
    """An arm that stopped early or sent nothing at dear calls is not the faster for it."""
    cheap, dear, none = (100, 50, 10.0, 50), (100, 0, 90.0, 0), (0, 0, 0.0, 0)
    found = on_engine(foveate=(cheap,) * 10 + (dear,) * 10, short=(cheap,) * 10, seldom=(none,) * 15 + (cheap,) * 5)
    ours, short, seldom = readings(found)

    assert (ours.calls, ours.milliseconds) == (short.calls, short.milliseconds) == (10, 10.0)
    assert (ours.marked, short.marked, seldom.marked) == ("foveate", "short ‡", "seldom §")
    assert (seldom.calls, seldom.is_compared) == (5, False)
    assert behind_elsewhere(None, found, None) == []


def test_who_refuses_is_not_ahead_by_that() -> None:
    quick, slow, none = (100, 50, 10.0, 50), (100, 50, 20.0, 50), (0, 0, 0.0, 0)
    refusing = on_engine(foveate=(slow,) * 20, quick=(quick,) * 19 + (none,))
    assert behind_elsewhere(None, refusing, None) == []
    (told,) = behind_elsewhere(None, on_engine(foveate=(slow,) * 20, quick=(quick,) * 20), None)
    assert told.numbers == "foveate 20.0, better quick 10.0"
