"""One call has the same fates on every surface: the command, HTTP, and the pages, which may go on from a checkpoint."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.dialogue import call, calls, exchange, lines, user
from typer.testing import CliRunner

from foveate import BudgetError, Session
from foveate.api import Place, create_app
from foveate.cli.main import app
from foveate.compile.policy import POLICIES
from foveate.inspect.call_views import CallViews
from foveate.inspect.fates import FatePeriod, fate_history
from foveate.inspect.messages import messages_at
from foveate.sample import coding_session
from foveate.store import Store
from foveate.web.messages import Wanted, lines_at, selected
from foveate.web.replaying import prepared


def interrupted(session: Session) -> None:
    """A call that was never answered, or only after it was sent with a stand-in; and an answer without content."""
    session.extend([user("Go"), calls(call("c1", "bash", command="make")), user("Stop, do it otherwise")])
    session.compile()
    session.append({"role": "tool", "tool_call_id": "c1", "content": "a late result"})
    session.extend([{"role": "assistant", "content": ""}, user("Well?")])
    session.compile()


def capped(session: Session) -> None:
    """Outputs that go into no request whole."""
    for turn in range(6):
        output = lines(900) if turn in {0, 5} else lines(40)
        session.extend([user(f"Question {turn}"), *exchange(f"c{turn}", "bash", output, command="make")])
        session.compile()


def overridden(session: Session) -> None:
    """Requests that were given whole, with fewer messages than the log and with other ones."""
    session.extend([user("One"), {"role": "assistant", "content": "Two"}, user("Three")])
    session.compile(override=[user("Something else"), {"role": "assistant", "content": "Yes"}, user("Three")])
    session.append({"role": "assistant", "content": "Four"})
    session.append(user("Five"))
    session.compile()


def sampled(seed: int) -> Callable[[Session], None]:
    """The sample, stopped and pinned at random."""

    def play(session: Session) -> None:
        dice, messages, before = random.Random(seed), coding_session(), 0
        for place in sorted(dice.sample(range(1, len(messages)), 20)):
            session.extend(messages[before:place])
            before = place
            if dice.random() < 0.2:
                session.pin(dice.choice([message.id for message in session.messages]))
            if dice.random() < 0.3:
                session.append(user("Stop, do it otherwise"))
            try:
                session.compile()
            except BudgetError:
                continue

    return play


SESSIONS = {"interrupted": interrupted, "capped": capped, "overridden": overridden} | {
    f"sampled {seed}": sampled(seed) for seed in range(4)
}


@pytest.mark.parametrize("name", SESSIONS)
def test_every_surface_tells_the_same_fates(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foveate.inspect.call_views.CHECKPOINT_EVENTS", 40)
    monkeypatch.setattr("os.nice", lambda _by: 0)
    policy = random.Random(name).choice(sorted({*POLICIES} - {"chat", "manual"}))
    path = tmp_path / "a.db"
    with Session.open(path, "s", budget=4_000, policy=policy) as session:
        SESSIONS[name](session)
    prepared(lambda *_told: None, str(path), "s", str(tmp_path / "checkpoints"))
    with (
        Store(path) as store,
        TestClient(create_app(Place(store=path, system=tmp_path)), base_url="http://127.0.0.1:8417") as client,
    ):
        info = store.session("s")
        assert info.calls
        views = CallViews(store, info, tmp_path / "checkpoints")
        accounts = {number: views.explanation(number).fates for number in range(1, info.calls + 1)}
        for place in {*range(0, len(accounts[info.calls]), 23), *range(8)} & {*range(len(accounts[info.calls]))}:
            life = fate_history(store, info, accounts[info.calls][place].id, place)
            assert lived_through(life) == {
                number: (fates[place].fate, fates[place].by, fates[place].why)
                for number, fates in accounts.items()
                if place < len(fates)
            }, place
        for number in {1, 2, info.calls // 2 + 1, info.calls}:
            commanded = explained(path, number)
            told = client.get(f"/api/sessions/s/calls/{number}/fates?limit=1000").json()
            shown = views.explanation(number)
            fates = {one["id"]: one["fate"] for one in commanded}
            wanted = selected(store, info, Wanted(), None)
            listed = lines_at(store, info, wanted, 0, len(fates), pins={}, fates=fates)

            assert told["fates"] == commanded, number
            assert json.loads(json.dumps(shown.as_dict()["fates"])) == commanded, number
            assert shown.counts() == Counter(fates.values())
            assert shown.counts() == client.get(f"/api/sessions/s/calls/{number}").json()["counts"]
            assert {one["id"]: one["fate"] for one in listed} == fates
            assert [row.message.id for row in messages_at(store, info, range(len(fates))) if row.message] == [*fates]


def lived_through(life: list[FatePeriod]) -> dict[int, tuple[str, str, str]]:
    """What became of a message at each call."""
    return {number: (one.fate, one.by, one.why) for one in life for number in range(one.first, one.last + 1)}


def explained(store: Path, number: int) -> list[dict[str, Any]]:
    """The fates that the command tells of a call."""
    done = CliRunner().invoke(app, ["explain", "s", "--call", str(number), "--json", "--store", str(store)])
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)["fates"]
    return found
