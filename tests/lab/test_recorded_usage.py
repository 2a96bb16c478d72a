"""The simulated cache beside the usage that real agents recorded."""

from __future__ import annotations

import os

import pytest
from bench.logs import data_root

from foveate.lab.performance import Setting, performed
from foveate.lab.result import SessionResult
from foveate.lab.script import script_of
from foveate.lab.sources import sources_in

ROOT = data_root()
if ROOT is None and not os.environ.get("CI"):
    pytest.skip("no recorded logs: set FOVEATE_DATA to a directory of them", allow_module_level=True)


@pytest.fixture(scope="module")
def sessions() -> list[SessionResult]:
    """Every recorded session with usage, calibrated; no policy takes part."""
    assert ROOT is not None, "no recorded logs: set FOVEATE_DATA to a directory of them"
    scripts = [script_of(one) for source in sources_in([ROOT], lenient=True) for one in source.load()]
    used = [script for script in scripts if any(call.usage for call in script.calls)]
    return [performed(script, Setting(contestants=())) for script in used]


def test_the_cached_share_is_simulated_within_five_percent(sessions: list[SessionResult]) -> None:
    """Over all sessions that report cached tokens, on average; closer where caches are no best effort."""
    errors = {one.name: one.calibration.error for one in sessions if one.calibration.error is not None}
    assert len(errors) > 45
    assert sum(errors.values()) / len(errors) <= 0.05
    for format in ("claude-code", "codex"):
        close = [errors[one.name] for one in sessions if one.format == format and one.name in errors]
        assert len(close) > 5
        assert sum(close) / len(close) <= 0.025


def test_every_session_that_is_further_off_has_its_cause(sessions: list[SessionResult]) -> None:
    for session in sessions:
        calibration = session.calibration
        if calibration.error is not None:
            assert bool(calibration.cause) == (calibration.error > 0.05), session.name


def test_recorded_input_is_met_within_a_few_percent(sessions: list[SessionResult]) -> None:
    """Half of each session's calls are simulated within 5 % of their recorded input, where there are enough to learn."""
    long = [session for session in sessions if session.calibration.calls >= 5]
    assert len(long) > 30
    far = [session.name for session in long if (session.calibration.input_error or 0) > 0.05]
    assert len(far) <= 2, far
