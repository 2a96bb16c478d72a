"""Months in one thread, in small: the same script, the same checks."""

from __future__ import annotations

from pathlib import Path

from bench.months import held, script


async def test_a_long_conversation_is_valid_within_budget_and_remembers(tmp_path: Path) -> None:
    plan = script(64, 6)
    endless = await held(plan, tmp_path, endless=True, budget=2_500)
    plain = await held(plan, tmp_path, endless=False, budget=2_500)
    assert endless.requests > 64, "some turns had tools"
    assert (endless.invalid, endless.over) == (0, 0)
    assert endless.transcript == plain.transcript
    assert 1 <= len(endless.summaries) <= 32, "a summary stays for several turns"
    assert 0.4 < endless.reused / endless.sent < 1.0
    assert sum(endless.found[True]) == 3, "all facts asked for by a rare word"
    assert sum(endless.found[False]) >= 2
    assert endless.sizes[-1][2] < 3 * endless.sizes[3][2], "what is kept grows with the conversation, not faster"
