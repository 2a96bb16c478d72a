"""Verdicts: worked out from the numbers, against Foveate where the numbers are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.behind import MEASURES, behind, behind_elsewhere
from bench.further_verdicts import finding, flatness, growing
from bench.outcome import ArmInfo, Family, GrowthOutcome, ReplayOutcome, Run, SessionInfo, Tally, Times
from bench.reasons import REASONS
from bench.standings import contests
from bench.verdicts import duels, verdicts
from tests.bench.report_outcomes import STAMP, engine, growth, recall

SESSIONS = tuple(SessionInfo(name=f"s{n}", source="codex", messages=9, calls=100, tokens=9_000) for n in range(2))
UNBEATEN = (
    "No other arm that is valid and within the budget is both cheaper and keeps more than Foveate as it comes, at "
    "Anthropic"
)
BEATEN = "For each peer as it comes there is a setting of Foveate that is cheaper and keeps more, at Anthropic"
ALL_BEATEN = (
    "For each other arm at all that is valid and within the budget there is a setting of Foveate that is cheaper and "
    "keeps more, at Anthropic"
)
SENDABLE = "Every request of Foveate is valid and within the budget"


def tally(cost: float, kept: int, **others: int) -> Tally:
    """One session of a hundred calls and a hundred references."""
    sums = {"calls": 100, "sent": 100, "judged": 100, "references": 100, "judged_references": 100} | others
    return Tally(cost=(cost, cost, cost), raw_cost=(1.0, 1.0, 1.0), kept=kept, **sums)


def outcome(*budgets: tuple[int, dict[str, Tally]], settings: tuple[str, ...] = ("foveate",)) -> ReplayOutcome:
    """Arms by name; those of `settings` are Foveate's, the first of them as it comes, all others are peers."""
    names = dict.fromkeys(name for _, arms in budgets for name in arms)

    def family(name: str) -> Family:
        return "foveate" if name in settings else "peer"

    return ReplayOutcome(
        stamp=STAMP,
        arms=tuple(ArmInfo(name=name, family=family(name), is_default=name not in settings[1:]) for name in names),
        peers=(),
        runs=tuple(
            Run(
                budget=budget,
                material="recorded",
                split="report",
                sessions=SESSIONS,
                tallies={name: (one, one) for name, one in arms.items()},
                times={name: Times(p50=1, p95=2, longest=3) for name in arms},
            )
            for budget, arms in budgets
        ),
    )


def holds(found: ReplayOutcome, claim: str) -> tuple[bool, str]:
    """What became of a claim in the first run."""
    verdict = next(one for one in verdicts(contests(found)) if one.claim == claim)
    return verdict.holds, verdict.numbers


def test_an_arm_that_is_cheaper_and_keeps_more_is_named() -> None:
    """It stands in the verdict with its numbers, and in what remains behind."""
    found = outcome((8_000, {"foveate": tally(0.3, 90), "peer": tally(0.2, 95)}))

    assert holds(found, UNBEATEN) == (False, "foveate 0.30 / 0.900; ahead on both: peer 0.20 / 0.950")
    assert holds(found, BEATEN) == (False, "0 of 1; not: peer 0.20 / 0.950")
    assert [one.measure for one in behind(contests(found))] == [
        "cost at Anthropic",
        "cost at OpenAI",
        "cost at Gemini",
        "references kept",
    ]


@pytest.mark.parametrize(("cost", "kept"), [(0.2, 80), (0.4, 95), (0.3, 90)])
def test_an_arm_that_is_better_in_one_thing_only_does_not_beat_foveate(cost: float, kept: int) -> None:
    """Cheaper but forgetful, dear but faithful, or just the same."""
    found = outcome((8_000, {"foveate": tally(0.3, 90), "peer": tally(cost, kept)}))

    assert holds(found, UNBEATEN)[0]
    assert not holds(found, BEATEN)[0]


def test_a_setting_of_its_own_that_is_ahead_is_named_and_is_no_rival() -> None:
    """Foveate is compared with others; which of its settings does better is said beside it."""
    arms = {"foveate": tally(0.3, 90), "lean": tally(0.2, 95), "peer": tally(0.25, 80)}
    found = outcome((8_000, arms), settings=("foveate", "lean"))

    is_so, numbers = holds(found, UNBEATEN)
    assert is_so
    assert numbers.endswith("ahead of it among Foveate's own settings: lean 0.20 / 0.950")
    assert [one.numbers for one in behind(contests(found))] == ["foveate 0.300, better peer 0.250"] * 3


def test_a_peer_is_beaten_at_each_provider_or_named_there() -> None:
    """Each provider's prices are asked by themselves, and any setting will do."""
    ours = replace(tally(0.3, 90), cost=(0.3, 0.3, 0.3))
    peer = replace(tally(0.4, 80), cost=(0.4, 0.4, 0.2))
    found = outcome((8_000, {"foveate": ours, "peer": peer}))

    assert holds(found, BEATEN) == (True, "1 of 1")
    assert holds(found, BEATEN.replace("Anthropic", "Gemini")) == (False, "0 of 1; not: peer 0.20 / 0.800")
    assert duels(contests(found)[0], contests(found))[0].providers == (True, True, False)


def test_arms_that_no_setting_beats_on_both_are_named() -> None:
    """Peers or not, default or not; those that are set apart do not count."""
    arms = {"foveate": tally(0.3, 90), "dear": tally(0.5, 95), "worse": tally(0.4, 80), "wrong": tally(0.1, 99, over=9)}

    assert holds(outcome((8_000, arms)), ALL_BEATEN) == (False, "1 of 2; not: dear 0.50 / 0.950")


@pytest.mark.parametrize("wrong", ["invalid", "over", "failed", "refused"])
def test_an_arm_that_goes_wrong_too_often_is_set_apart_but_named(wrong: str) -> None:
    """More than one call in a hundred is too often; just one is not."""
    often = outcome((8_000, {"foveate": tally(0.3, 90), "peer": tally(0.2, 95, **{wrong: 2})}))
    seldom = outcome((8_000, {"foveate": tally(0.3, 90), "peer": tally(0.2, 95, **{wrong: 1})}))

    assert holds(often, UNBEATEN) == (True, "foveate 0.30 / 0.900; ahead, but set apart: peer 0.20 / 0.950")
    assert not holds(seldom, UNBEATEN)[0]


def test_refused_calls_are_counted_against_foveate() -> None:
    """They keep nothing, and a setting that refuses more than one call in a hundred beats nobody."""
    ours = tally(0.1, 90, sent=95, judged=95, refused=5, judged_references=94)
    found = outcome((8_000, {"foveate": ours, "peer": tally(0.2, 80)}))

    assert holds(found, SENDABLE)[0]
    assert holds(found, "Foveate refuses no call") == (False, "10 of 200 refused: foveate 10")
    assert holds(found, UNBEATEN) == (True, "foveate 0.10 / 0.900; Foveate's cost is that of 190 of 200 calls")
    assert not holds(found, BEATEN)[0]


def test_where_foveate_is_set_apart_it_is_compared_with_others_that_are() -> None:
    """Else it would be best for want of rivals; the untouched history in its larger window is none."""
    arms = {
        "foveate": tally(0.3, 20, sent=20, judged=20, refused=80),
        "peer": tally(0.2, 60, over=10, judged=90),
        "raw": tally(0.1, 100, over=90),
    }
    found = outcome((8_000, arms))

    assert not holds(found, UNBEATEN)[0]
    assert "ahead on both: peer 0.20 / 0.600" in holds(found, UNBEATEN)[1]
    assert any("better peer" in one.numbers for one in behind(contests(found)))
    assert not any("raw" in one.numbers for one in behind(contests(found)))


@pytest.mark.parametrize("wrong", ["invalid", "over", "failed"])
def test_one_bad_request_of_any_setting_breaks_the_claim(wrong: str) -> None:
    """Zero means zero."""
    arms = {"foveate": tally(0.3, 90), "patient": tally(0.3, 90, **{wrong: 1})}

    assert not holds(outcome((8_000, arms), settings=("foveate", "patient")), SENDABLE)[0]


def test_the_setting_that_beats_a_peer_is_found_also_at_a_smaller_budget() -> None:
    """As it comes first, then other settings, then smaller budgets on the same sessions."""
    small = {"foveate": tally(0.1, 80), "patient": tally(0.2, 85), "peer": tally(0.15, 70)}
    large = {"foveate": tally(0.3, 95), "patient": tally(0.25, 93), "peer": tally(0.15, 70), "dear": tally(0.28, 90)}
    held = contests(outcome((8_000, small), (32_000, large), settings=("foveate", "patient")))

    met = {duel.peer.name: duel for duel in duels(held[1], held)}

    assert met["dear"].holds and met["dear"].setting.name == "patient" and met["dear"].setting.run.budget == 32_000
    assert met["peer"].holds and met["peer"].setting.name == "foveate" and met["peer"].setting.run.budget == 8_000
    assert met["peer"].more == pytest.approx(0.1)
    assert met["peer"].interval == pytest.approx((0.1, 0.1))


def test_a_smaller_budget_on_other_sessions_is_no_setting() -> None:
    """Numbers of different sessions cannot be compared."""
    both = outcome((8_000, {"foveate": tally(0.1, 80)}), (32_000, {"foveate": tally(0.3, 95), "peer": tally(0.2, 70)}))
    other = replace(both, runs=(replace(both.runs[0], sessions=SESSIONS[::-1]), both.runs[1]))

    assert duels(contests(both)[1], contests(both))[0].holds
    assert not duels(contests(other)[1], contests(other))[0].holds


def test_nothing_remains_behind_where_foveate_is_best() -> None:
    """And equal is not behind."""
    assert behind(contests(outcome((8_000, {"foveate": tally(0.3, 90), "peer": tally(0.3, 90)})))) == []


def test_flat_is_what_stays_within_half_as_much_again() -> None:
    """From a thousand messages to the longest history."""
    measured = growth()
    slow = _with_last(measured, 1.6)

    assert flatness(measured).holds
    assert not flatness(slow).holds
    assert "1.60 ×" in flatness(slow).numbers
    assert flatness(growth(lengths=(1_000,))) is None
    assert flatness(replace(measured, curves=())) is None


def test_the_first_request_after_resuming_is_judged_by_itself() -> None:
    """A median that is flat does not hide it, and it stands in what remains behind with the reason."""
    measured = growth()
    first, *others = measured.curves
    points = tuple(replace(point, p95_ms=point.messages / 5) for point in first.points)
    slow = replace(measured, curves=(replace(first, points=points), *others))

    assert growing(measured).holds
    assert flatness(slow).holds and not growing(slow).holds
    assert growing(slow).numbers.startswith("p95 200 ms and 20,000 ms, 100.00 ×; in the live loop p95 is 2.8 ms at 100")
    (resumed,) = [one for one in behind_elsewhere(slow, None, None) if "resuming" in one.measure]
    assert "20,000 ms" in resumed.numbers and "indexes the whole log" in resumed.why


def test_recall_is_judged_against_the_better_of_two_simple_methods() -> None:
    """For each material, at all budgets; a method that was not measured is not judged."""
    joined, generated = finding(recall())

    assert (joined.holds, joined.numbers) == (True, "at 5 of 5 budgets")
    assert not generated.holds
    assert generated.numbers.startswith("at 0 of 5 budgets; not: 0.300 against 0.400 at 500, 0.420 against 0.520")


def test_there_is_a_reason_for_every_measure() -> None:
    assert {measure for measure, _, _ in MEASURES} <= set(REASONS)
    found = outcome((8_000, {"foveate": tally(0.3, 90), "peer": tally(0.2, 95)}))
    assert all(one.why for one in [*behind(contests(found)), *behind_elsewhere(growth(), engine(), recall())])


def test_the_difference_in_cost_has_an_interval_too() -> None:
    """Sessions are compared with themselves, and those that the peer was given up in are left out."""
    found = outcome((8_000, {"foveate": tally(0.3, 90), "peer": tally(0.4, 80)}))
    (duel,) = duels(contests(found)[0], contests(found))
    assert duel.cost_interval == pytest.approx((-0.1, -0.1))

    slow = outcome((8_000, {"foveate": tally(0.3, 90), "peer": tally(0.4, 80, unmeasured=3)}))
    (duel,) = duels(contests(slow)[0], contests(slow))
    assert (duel.cost_interval, duel.interval) == ((0.0, 0.0), (0.0, 0.0))


def test_what_is_behind_elsewhere_is_named() -> None:
    """Faster arms at the longest history, arms read faster by the engine, methods that find more."""
    found = {one.where.partition(",")[0]: one.numbers for one in behind_elsewhere(growth(), engine(), recall())}

    assert "foveate 4.1, better untouched" in found["growth"]
    assert found["recall"].startswith("bm25 0.400 against 0.300 at 500, bm25 0.520 against 0.420 at 1,000")
    assert "real engine" not in found
    assert behind_elsewhere(None, None, None) == []


def _with_last(outcome: GrowthOutcome, factor: float) -> GrowthOutcome:
    """Foveate takes so much longer at the longest history."""
    first, *others = outcome.curves
    last = replace(first.points[-1], p50_ms=factor * first.points[-1].p50_ms)
    return replace(outcome, curves=(replace(first, points=(*first.points[:-1], last)), *others))
