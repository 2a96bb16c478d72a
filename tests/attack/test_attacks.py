"""Every attack in a small size."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from foveate.importers.finding import logs_in
from tests.attack import probes
from tests.attack.__main__ import conclusion, main
from tests.attack.attack import BROKEN, Attack, Outcome, Scene, carry_out
from tests.attack.catalog import ATTACKS
from tests.attack.formats import FORMATS
from tests.attack.processes import grown


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.small], ids=lambda attack: attack.name)
def test_promises_hold_under_attack(attack: Attack, tmp_path: Path) -> None:
    """What each attack says must hold does, in as many attempts as a test suite has time for."""
    outcome = carry_out(attack, Scene(attack.small, random.Random(attack.name), tmp_path), seconds=120)

    assert outcome.broken == []
    assert outcome.attempts


def test_a_broken_promise_is_counted() -> None:
    """An attack that breaks something is not taken for one that failed to."""
    attack = Attack(name="a", promise="", small=3, full=3, run=lambda _scene: iter(["held", f"{BROKEN}x", "held"]))
    outcome = carry_out(attack, Scene(3, random.Random(0), Path()), seconds=60)

    assert outcome.broken == [f"{BROKEN}x"]
    assert outcome.describe() == f"2 held, 1 {BROKEN}x"


def test_an_attack_ends_when_its_time_is_up() -> None:
    """However many attempts it has left."""
    attack = Attack(name="a", promise="", small=1, full=1, run=lambda scene: iter(["held"] * scene.count))
    outcome = carry_out(attack, Scene(100, random.Random(0), Path()), seconds=-1)

    assert (outcome.attempts, outcome.missed) == (1, 99)
    assert conclusion([outcome]) == "every promise held, but 99 attempts were not made: the time was up"
    assert conclusion([Outcome()]) == "every promise held"


def test_an_attempt_that_hangs_breaks_a_promise() -> None:
    """It ends in time, is counted, and what was left to try is said; no attack can take it for an error it expects."""

    def hang(_scene: Scene) -> Iterator[str]:
        yield "held"
        with suppress(Exception):
            time.sleep(60)
        yield "held"

    attack = Attack(name="a", promise="", small=5, full=5, run=hang, patience=0.2)
    outcome = carry_out(attack, Scene(5, random.Random(0), Path()), seconds=60)

    assert outcome.broken == [f"{BROKEN}an attempt hung: it did not end within 0 s"]
    assert (outcome.attempts, outcome.missed) == (2, 3)
    assert outcome.seconds < 30


@pytest.mark.parametrize(("minutes", "status"), [((), 1), (("--minutes", "0"), 0)])
def test_time_that_is_up_is_no_success_unless_it_was_asked_for(
    minutes: tuple[str, ...], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who limits the time knows; who does not is told by the exit status."""
    attack = Attack(name="tasks", promise="", small=1, full=9, run=lambda scene: iter(["held"] * scene.count))
    monkeypatch.setattr("tests.attack.__main__.ATTACKS", (attack,))
    monkeypatch.setattr("tests.attack.__main__._MINUTES", 0)
    monkeypatch.setattr("sys.argv", ["attack", *minutes])

    assert main() == status
    assert "8 attempts were not made" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_mutated_can_be_imported(name: str, tmp_path: Path) -> None:
    """Else every mutation would be refused for the same reason, and nothing behind it would be attacked."""
    importer, made, joined = FORMATS[name]
    path = tmp_path / "log.jsonl"
    path.write_text(joined(made(2, 3)), encoding="utf-8")

    assert [one.importer.name for one in logs_in([path]).logs] == [importer]


@pytest.mark.parametrize(("each", "is_broken"), [(0.0, False), (0.1, False), (3.0, True)])
def test_memory_that_grows_is_noticed(each: float, is_broken: bool) -> None:
    """A leak of some kilobytes a message is; what is kept of each message is not."""
    sizes = [100.0, 150.0, *(160.0 + each * number for number in range(28))]

    assert grown(sizes).startswith(BROKEN) is is_broken


@pytest.mark.parametrize(
    ("probe", "now"),
    [
        (probes.compile_nothing, "EmptyRequestError: session 'session' has nothing to send"),
        (probes.change_a_text, "LogError: event 2 of session 'a' cannot be read: its checksum"),
        (probes.forge_the_user, "lines of user messages that the user never said: 0"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_probes_tell_versions_apart(probe: probes.Probe, now: str) -> None:
    """What docs/soundness.md compares with version 0.1."""
    assert probes.ask(probe).startswith(now)
