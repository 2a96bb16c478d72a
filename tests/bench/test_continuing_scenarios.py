"""The scenarios of the continuation test: what is checked can be done, and cannot be done without its fact."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from bench.continuing.requests import SPOKEN, shows
from bench.continuing.sandbox import run_checks, run_command, sandbox, write_files
from bench.continuing.scenario import PLACES, Scenario
from bench.continuing.scenarios import SCENARIOS, TUNING, half_of

RUN_TESTS = """import runpy, sys; from pathlib import Path
sys.path.insert(0, ".")
found = [one for path in sorted(Path("tests").glob("*.py")) for name, one in runpy.run_path(str(path)).items() if name.startswith("test_")]
for one in found:
    one()
print(len(found))
"""
EACH = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)


@EACH
def test_a_session_is_long_the_same_each_time_and_ends_with_the_agent(scenario: Scenario) -> None:
    """About 45,000 tokens, most of them after the last fact was said."""
    recording = scenario.recorded()
    assert recording == scenario.recorded()
    assert 43_000 < recording.tokens < 47_000
    assert recording.messages[-1]["role"] == "assistant"
    assert not recording.messages[-1].get("tool_calls")


@EACH
def test_checks_fail_without_a_solution_and_pass_with_the_reference(scenario: Scenario) -> None:
    with sandbox(scenario.recorded().files) as folder:
        assert [name for name, failed in run_checks(folder, scenario.checks).items() if not failed] == []
        write_files(folder, scenario.reference)
        assert {name: failed for name, failed in run_checks(folder, scenario.checks).items() if failed} == {}


@EACH
def test_each_check_catches_what_is_written_without_its_fact(scenario: Scenario) -> None:
    """The reference with a single slip, the one that somebody makes who has not seen the fact."""
    files = scenario.recorded().files
    for check in scenario.checks:
        path, right, wrong = check.mistake
        assert scenario.reference[path].count(right) == 1, check.name
        slipped = {**scenario.reference, path: scenario.reference[path].replace(right, wrong)}
        with sandbox({**files, **slipped}) as folder:
            assert run_checks(folder, [check])[check.name], f"{check.name} passes with {wrong!r}"


@EACH
def test_a_fact_stands_where_it_is_said_to_stand_and_nowhere_else(scenario: Scenario) -> None:
    """Neither the follow-up nor the repository tells it; what a tool showed, nobody repeats."""
    recording = scenario.recorded()
    tools = [message for message in recording.messages if message["role"] == "tool"]
    talk = [message for message in recording.messages if message["role"] != "tool"]
    repository = [{"role": "user", "content": text} for text in recording.files.values()]
    asked = [{"role": "user", "content": scenario.request}]
    for check in scenario.checks:
        assert shows(check.fact, {"conversation": talk, "tool output": tools, "repository": repository}[check.place])
        assert not any(shows([text], asked) for text in check.fact), check.name
        if check.place in SPOKEN:
            assert not shows(check.fact, repository), check.name
        if check.place == "tool output":
            assert not shows(check.fact, talk), check.name


@EACH
def test_the_repository_that_a_session_leaves_runs(scenario: Scenario) -> None:
    with sandbox(scenario.recorded().files) as folder:
        # Without pytest, whose start takes longer than all of these tests.
        ran = run_command(folder, [sys.executable, "-c", RUN_TESTS])
    assert (ran.code, ran.output) == (0, "25\n")


def test_scenarios_differ_and_are_divided_before_anything_is_measured() -> None:
    """Twelve, four of them for tuning; every place of facts in each, every style of agent among them."""
    assert len({one.name for one in SCENARIOS}) == 12
    assert Counter(map(half_of, SCENARIOS)) == {"tune": TUNING, "report": 8}
    assert len({one.style for one in SCENARIOS}) == 5
    assert len({one.vocabulary.package for one in SCENARIOS}) == 12
    for scenario in SCENARIOS:
        assert {check.place for check in scenario.checks} == set(PLACES)
        assert len({check.name for check in scenario.checks}) == len(scenario.checks) >= 7
        assert any(check.kind == "rule" for check in scenario.checks)
        assert any(check.kind == "wish" for check in scenario.checks)
    assert {check.kind for one in SCENARIOS for check in one.checks} == {
        "rule",
        "name",
        "decision",
        "failed approach",
        "interface",
        "value",
        "wish",
    }


def test_a_command_that_does_not_end_is_stopped_with_all_that_it_started() -> None:
    with sandbox({}) as folder:
        ran = run_command(folder, ["bash", "-c", "sleep 60 & echo begun; sleep 60"], seconds=1)
    assert ran.code is None
    assert ran.output.startswith("begun\n")


def test_a_sandbox_has_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with sandbox({}) as folder:
        assert "secret" not in run_command(folder, ["env"]).output
