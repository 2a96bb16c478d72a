"""What request passes rewrote, as read from a store: the same as the compiler's own account of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.dialogue import exchange, lines, user

from foveate import PASSES, Draft, PassContext, Session, request_pass
from foveate.compile.policy import POLICIES
from foveate.inspect.call_history import read_call_history
from foveate.inspect.fates import fate_history
from foveate.session.durable import recorded_call
from foveate.store import Store

KEY = "sk-live-4711"


@request_pass
def redact(draft: Draft, _ctx: PassContext) -> Draft:
    """Take out the key."""
    return draft.with_text(lambda text: text.replace(KEY, "[redacted]"))


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A store with a session of some calls; every third message is rewritten, and some are folded."""
    with Session.open(tmp_path / "a.db", "s", budget=2_000, passes=(redact, *PASSES)) as session:
        for turn in range(8):
            session.extend(
                [*exchange(f"c{turn}", "bash", lines(60), command="make"), user(f"Question {turn} with {KEY}?")]
            )
            session.compile(now=turn * 1_000.0)
    return tmp_path / "a.db"


def test_a_message_that_was_rewritten_has_the_life_that_its_calls_show(stored: Path) -> None:
    """A rewrite touches the messages that it names; those before and behind them stay what they were."""
    with Store(stored) as store:
        info = store.session("s")
        seen = set()
        for number in range(1, info.calls + 1):
            view = recorded_call(store, info, number)
            for place, record in enumerate(view.explain().fates):
                fate = record.fate
                life = fate_history(store, info, record.id, place)
                lived = [one.fate for one in life if one.first <= number <= one.last and one.fate != "recalled"]
                assert fate == "recalled" or lived == [fate], (number, record.id)
                seen.add(fate)

    assert {"rewritten", "verbatim", "folded"} <= seen


def test_a_chart_draws_what_was_rewritten_and_its_marks_heed_no_rewrite(stored: Path) -> None:
    """All of a window is drawn under its own name, the trigger is told, and the low mark is that of the policy."""
    with Store(stored) as store:
        found = read_call_history(store, store.session("s"))

    assert all(sum(entry.parts.values()) == entry.call.tokens for entry in found.entries)
    assert any("rewritten" in entry.parts for entry in found.entries)
    assert not any("other" in entry.parts for entry in found.entries)
    assert found.triggers()["request"]
    assert {entry.call.policy for entry in found.entries} == {"default+passes"}
    assert not POLICIES.keys() & {"default+passes"}
    assert {entry.low_mark for entry in found.entries} == {None}


def test_calls_name_their_policy_whichever_version_recorded_them(tmp_path: Path) -> None:
    """The low mark follows from the policy of the record."""
    with Session.open(tmp_path / "b.db", "s", budget=2_000, policy="lean") as session:
        session.append(user("Hello"))
        session.compile()
    with Store(tmp_path / "b.db") as store:
        (entry,) = read_call_history(store, store.session("s")).entries

    assert (entry.call.policy, entry.call.strategy) == ("lean", "pipeline:lean")
    assert entry.low_mark is not None
