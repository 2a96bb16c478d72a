"""The comparison in a small size, on recorded sessions where there are some."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench.arms import ARMS, BASELINE, SETTINGS
from bench.comparing import Choice, compared, joined
from bench.generated import generated_scripts
from bench.material import Collected, Material, collected
from bench.outcome import ReplayOutcome, Tally, loaded, saved
from bench.replay import Setup, replayed, runs
from tests.importers.logs import NEEDS_DATA, ROOT

from foveate.errors import ConfigError
from foveate.lab.script import Script

TINY = Choice(budgets=(2_000,), generated=(), split="all", jobs=1)


@pytest.fixture(scope="module")
def script() -> Script:
    return generated_scripts(1, 12_000)[0]


def material_of(script: Script) -> Collected:
    session = Material(name="made-up", source="generated", split="report", script=script)
    return Collected(sessions=(session,), files=1, duplicates=0, left_out=())


@pytest.fixture(scope="module")
def outcome(script: Script) -> ReplayOutcome:
    return compared(material_of(script), [], TINY, command="foveate-bench replay")


def total(outcome: ReplayOutcome, arm: str) -> Tally:
    return Tally.of(outcome.runs[0].tallies[arm])


def test_requests_of_foveate_are_valid_and_within_the_budget_under_every_setting(outcome: ReplayOutcome) -> None:
    for arm in SETTINGS:
        tally = total(outcome, arm.name)
        assert (tally.invalid, tally.over, tally.failed) == (0, 0, 0), arm.name
        assert tally.sent > 10


def test_the_untouched_history_costs_what_it_is_measured_by_and_keeps_everything(outcome: ReplayOutcome) -> None:
    tally = total(outcome, BASELINE.name)

    assert tally.cost == pytest.approx(tally.raw_cost)
    assert tally.kept == tally.references > 20
    assert tally.users == tally.first == tally.judged == tally.sent
    assert tally.over > 0


def test_what_is_over_the_budget_or_refused_keeps_nothing_of_what_was_due(outcome: ReplayOutcome) -> None:
    masked = total(outcome, "mask-10")

    assert masked.over > 0
    assert masked.judged == masked.sent - masked.over
    assert masked.judged_references < masked.references == total(outcome, "foveate").references


def test_a_list_of_names_is_visible_and_not_kept(outcome: ReplayOutcome) -> None:
    """The control arm gains in one column only."""
    dump, plain = total(outcome, "identifier-dump"), total(outcome, "drop-steps")

    assert dump.visible > plain.visible
    assert dump.kept <= plain.kept


def test_results_are_the_same_again_but_for_time(script: Script, outcome: ReplayOutcome) -> None:
    again = compared(material_of(script), [], TINY, command="foveate-bench replay")

    for arm in ARMS:
        one, other = total(outcome, arm.name), total(again, arm.name)
        assert {**_plain(one), "seconds": 0} == {**_plain(other), "seconds": 0}, arm.name


def test_results_do_not_depend_on_the_number_of_processes(script: Script) -> None:
    sessions = list(material_of(script).sessions)
    setup = Setup(arms=(BASELINE,), budgets=(2_000,))
    (alone,), (together,) = runs(sessions, setup, jobs=1), runs(sessions, setup, jobs=2)

    assert _plain(alone.tallies["untouched"][0])["cost"] == _plain(together.tallies["untouched"][0])["cost"]


def test_an_arm_that_is_measured_later_joins_the_others(script: Script, outcome: ReplayOutcome) -> None:
    some, rest = (replace(TINY, arms=names) for names in (("foveate", "untouched"), ("drop-steps",)))
    first, second = (compared(material_of(script), [], choice, command="c") for choice in (some, rest))
    both = joined(first, second)
    assert [arm.name for arm in both.arms] == [arm.name for arm in outcome.arms if arm.name in both.runs[0].tallies]
    for name, tallies in both.runs[0].tallies.items():
        assert [replace(one, seconds=0) for one in tallies] == [
            replace(one, seconds=0) for one in outcome.runs[0].tallies[name]
        ]
    assert both.stamp == first.stamp
    assert both.later == {"drop-steps": second.stamp}
    other = compared(material_of(generated_scripts(1, 9_000, 3)[0]), [], rest, command="c")
    with pytest.raises(ConfigError, match="`--add` needs the sessions"):
        joined(first, other)


def test_an_outcome_survives_its_file(outcome: ReplayOutcome, tmp_path: Path) -> None:
    saved(outcome, tmp_path / "results" / "replay.json")
    assert loaded(tmp_path / "results" / "replay.json", ReplayOutcome) == outcome
    assert loaded(tmp_path / "results" / "engine.json", ReplayOutcome) is None


def test_a_session_that_no_arm_could_send_is_left_out(script: Script) -> None:
    session = material_of(script).sessions[0]
    setup = Setup(arms=(BASELINE,), budgets=(40, 2_000))
    assert replayed(session, setup).budgets == (2_000,)

    small, large = runs([session], setup, jobs=1)
    assert (small.left_out, small.sessions) == (1, ())
    assert (large.left_out, len(large.sessions)) == (0, 1)


def test_calls_of_an_arm_that_takes_too_long_are_not_measured_and_count_for_nobody(script: Script) -> None:
    setup = Setup(arms=(BASELINE,), budgets=(2_000,), most_seconds=0)
    (run,) = runs(list(material_of(script).sessions), setup, jobs=1)
    (tally,) = run.tallies["untouched"]

    assert (tally.calls, tally.sent, tally.failed) == (1, 1, 0)
    assert tally.unmeasured == len(script.calls) - 1
    assert tally.kept == tally.references
    assert "not measured: given up" in run.problems["untouched"][0]


@NEEDS_DATA
def test_recorded_sessions_of_every_agent_go_through_every_arm_of_ours() -> None:
    """Small ones, so that this takes seconds; the whole is `foveate-bench replay`."""
    assert ROOT is not None, "no recorded logs: set FOVEATE_DATA to a directory of them"
    found = collected([ROOT])
    small = {one.source: one for one in found.chosen() if len(one.script.calls) <= 12}
    sessions = Collected(sessions=tuple(small.values()), files=0, duplicates=0, left_out=())
    outcome = compared(sessions, [], Choice(budgets=(8_000,), generated=(), split="all", jobs=1), command="x")

    assert len(small) >= 8
    for arm in SETTINGS:
        tally = total(outcome, arm.name)
        assert (tally.invalid, tally.over, tally.failed) == (0, 0, 0), arm.name


def _plain(tally: Tally) -> dict[str, object]:
    return {name: getattr(tally, name) for name in Tally.__dataclass_fields__}
