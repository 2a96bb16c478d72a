"""The facts that follow-ups of made-up sessions need: what was said, and what only a tool showed, in little room."""

from __future__ import annotations

import pytest
from bench.continuing.requests import script_of_scenario
from bench.continuing.scenario import Place, Scenario
from bench.continuing.scenarios import SCENARIOS, half_of

from foveate.compile.facts.answers import AnswersBuilder
from foveate.compile.facts.user_words import UserWordsBuilder
from tests.facts.played import Played

TUNING = [one for one in SCENARIOS if half_of(one) == "tune"]


def missing(scenario: Scenario, place: Place, shown: list[str]) -> list[str]:
    """The facts of a place that are not in what is shown."""
    whole = " ".join(" ".join(text.split()) for text in shown)
    checks = [check for check in scenario.checks if check.place == place]
    assert checks
    return [check.name for check in checks if not all(" ".join(fact.split()) in whole for fact in check.fact)]


@pytest.mark.parametrize("scenario", TUNING, ids=lambda one: one.name)
def test_facts_of_long_ago_take_little_room(scenario: Scenario) -> None:
    """Of 45,000 tokens some 1,000."""
    words, answers = UserWordsBuilder(), AnswersBuilder()
    played = Played(words, answers)
    for message in script_of_scenario(scenario).messages:
        played.say(message)
    assert missing(scenario, "conversation", [text for _, text in words.words().within(3_000)]) == []
    assert missing(scenario, "tool output", [one.text for one in answers.answers().within(1_500)]) == []
