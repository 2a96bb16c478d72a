"""Calibration: what the log does not show is learned from the usage that it does."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.lab.conversations import MODEL, Chat, answer, recording, user

from foveate.budget import profile_for
from foveate.budget.accounting import PER_REQUEST
from foveate.importers.entries import Usage
from foveate.importers.recording import Recording
from foveate.lab.performance import staged
from foveate.lab.result import Calibration
from foveate.lab.script import script_of


def learned(recorded: Recording) -> Calibration:
    return staged(script_of(recorded), profile=profile_for(MODEL)).calibration


def talk(calls: int, usage: Callable[[int, int], Usage | None], size: int = 200, **options: object) -> Recording:
    """User messages of `size` tokens and answers of one; `usage(call, counted)` says what was recorded."""
    chats: list[Chat] = []
    usages: list[Usage | None] = []
    # What a request has besides its messages.
    counted = PER_REQUEST
    for number in range(calls):
        chats += [user(size), answer()]
        counted += size + 4
        usages.append(usage(number, counted))
        counted += 5
    return recording(chats, usages=usages, **options)  # type: ignore[arg-type]


def test_overhead_and_ratio_are_recovered() -> None:
    """12,000 hidden tokens and 1.3 of theirs for each of ours."""
    calibration = learned(talk(30, lambda _, counted: Usage(input_tokens=12_000 + round(1.3 * counted))))

    assert (calibration.overhead, calibration.ratio) == (pytest.approx(12_000, abs=5), pytest.approx(1.3, abs=0.001))
    assert calibration.calls == 30
    assert calibration.input_error == 0
    assert (calibration.recorded_share, calibration.simulated_share, calibration.cause) == (None, None, "")


def test_calls_that_are_far_off_do_not_matter() -> None:
    """One call in five is recorded with up to 40 % more."""
    chance = random.Random(1)
    noise = [chance.randrange(4_000) if chance.random() < 0.2 else 0 for _ in range(60)]
    calibration = learned(talk(60, lambda n, counted: Usage(input_tokens=5_000 + counted + noise[n])))

    assert calibration.overhead == pytest.approx(5_000, abs=300)
    assert calibration.ratio == pytest.approx(1.0, abs=0.05)


def test_few_calls_give_an_overhead_but_no_ratio() -> None:
    calibration = learned(talk(2, lambda _, counted: Usage(input_tokens=9_000 + 2 * counted)))

    assert (calibration.overhead, calibration.ratio) == (9_000 + (207 + 416 + 1) // 2, 1.0)


def test_without_usage_nothing_is_learned() -> None:
    assert learned(talk(5, lambda *_: None)) == Calibration()


def test_fewer_tokens_than_ours_are_a_ratio_below_one() -> None:
    calibration = learned(talk(20, lambda _, counted: Usage(input_tokens=round(0.8 * counted))))

    assert (calibration.overhead, calibration.ratio) == (pytest.approx(0, abs=2), pytest.approx(0.8, abs=0.001))


def test_a_history_from_before_the_log_is_no_overhead_of_policies() -> None:
    """50,000 tokens that a compaction after ten calls took away; 10,000 stay to the end."""
    hidden = [60_000] * 10 + [10_000] * 10
    summary = "so far so good"
    counted = {"before": 0}

    def usage(number: int, seen: int) -> Usage:
        if number == 10:
            counted["before"] = seen - 204 - 8
        return Usage(input_tokens=hidden[number] + seen - (counted["before"] if number >= 10 else 0))

    calibration = learned(talk(20, usage, compactions=[(20, summary)]))

    assert calibration.overhead == pytest.approx(10_000, abs=10)


def test_a_simulated_share_stands_beside_the_recorded_one() -> None:
    """Each call finds the one before, as Anthropic does it; the first finds nothing."""
    before = [0]

    def usage(_: int, counted: int) -> Usage:
        found = Usage(input_tokens=20_000 + counted, cached_tokens=before[0])
        before[0] = 20_000 + counted
        return found

    calibration = learned(talk(20, usage))

    assert calibration.recorded_share == pytest.approx(calibration.simulated_share, abs=0.001)
    assert calibration.error == pytest.approx(0, abs=0.001)


@pytest.mark.parametrize(
    ("cached", "cause"),
    [
        (lambda n, before: before if n % 2 else 0, "calls found less than was there: the prefix was unchanged"),
        (lambda *_: 0, "none of 20 calls reports cached tokens"),
    ],
)
def test_a_difference_has_its_cause(cached: Callable[[int, int], int], cause: str) -> None:
    before = [0]

    def usage(number: int, counted: int) -> Usage:
        found = Usage(input_tokens=20_000 + counted, cached_tokens=cached(number, before[0]))
        before[0] = 20_000 + counted
        return found

    assert cause in learned(talk(20, usage)).cause


def test_a_cache_that_outlives_its_time_is_said_so() -> None:
    """Ten minutes between calls, and yet everything was found."""
    before = [0]

    def usage(_: int, counted: int) -> Usage:
        found = Usage(input_tokens=20_000 + counted, cached_tokens=before[0])
        before[0] = 20_000 + counted
        return found

    calibration = learned(talk(20, usage, times=[600.0 * number for number in range(40)]))

    assert "found what should have expired" in calibration.cause
