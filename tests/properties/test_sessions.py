"""Promises that hold for every log, budget and policy."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .check import check_session


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_every_compile_keeps_every_promise(rng: random.Random, count: int) -> None:
    """Valid, within budget, explained, an extension of the last request, and the same when rebuilt from its events."""
    check_session(rng, count)


def test_long_sessions_keep_every_promise() -> None:
    """What holds for short sessions holds after hundreds of messages and many reductions."""
    reductions = 0
    for seed in range(12):
        reductions += check_session(random.Random(seed), 300).reductions
    assert reductions > 50
