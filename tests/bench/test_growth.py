"""Growth: every arm at every length, in processes of their own; one that is too slow or fails ends its curve with the reason."""

from __future__ import annotations

import os
import shutil
import textwrap
import time
from pathlib import Path

import pytest
from bench.growth import _Said, growth_outcome
from bench.outcome import GrowthOutcome, loaded, saved
from bench.tokens import request_tokens
from tests.validity import problems

from bench import peering
from foveate.errors import ConfigError
from foveate.lab.contestants import Contestant, Feed, Made, Opening, Step
from foveate.lab.policies import contestant

ADAPTER = """
    # /// script
    # requires-python = ">=3.11"
    # dependencies = ["splintr-rs==0.22.0"]
    # ///
    import time

    import tiny_peer
    from worker import Arm, serve, timed

    class Lane:
        def __init__(self, system, budget):
            self.log = []
            self.more = []

        def step(self, new):
            self.log += new
            self.more.append(bytearray(300_000 * len(new)))
            time.sleep(0.3)
            if any(message["content"] == "odd" for message in new):
                raise KeyError("odd")
            timed(lambda: tiny_peer.kept(self.log))
            return self.log[-1:]

    serve("tiny", ["splintr-rs"], [Arm(name="last", call="last()", start=Lane)])
"""


PEER = """
    import time

    def kept(log):
        time.sleep(0.02)
        if len(log) > 200:
            raise ValueError("as many as that 不行")
"""


def sluggish(opening: Opening) -> Feed:
    def feed(step: Step) -> Made:
        time.sleep(30 if len(step.chats) > 4 else 0)
        return Made(chats=list(step.chats))

    return feed


def refusing(opening: Opening) -> Feed:
    def feed(step: Step) -> Made:
        if len(step.chats) > 4:
            raise ConfigError("`budget` is too small")
        return Made(chats=list(step.chats))

    return feed


def dying(opening: Opening) -> Feed:
    os._exit(3)


def arm(start: object) -> Contestant:
    return Contestant(name="own", kind="own", description="", start=start)


@pytest.fixture(scope="module")
def outcome() -> GrowthOutcome:
    absent = peering.Peer(name="absent", adapter="with_absent.py", arms=(peering.PeerArm(name="arm", call="call()"),))
    arms = [contestant("foveate"), contestant("drop-steps"), *peering.contestants(absent)]
    return growth_outcome(arms, quick=True)


def test_every_arm_has_a_point_at_every_length(outcome: GrowthOutcome) -> None:
    """But for peers, which a quick run does not start."""
    assert [(curve.arm, curve.family, curve.stopped) for curve in outcome.curves] == [
        ("foveate", "foveate", ""),
        ("drop-steps", "own", ""),
    ]
    for curve in outcome.curves:
        assert [point.messages for point in curve.points] == [100, 300]
        assert all(0 < point.p50_ms <= point.p95_ms and point.cold_ms > 0 for point in curve.points)
        assert 10_000 < curve.points[0].tokens < curve.points[1].tokens


def test_the_live_loop_has_a_point_at_every_length(outcome: GrowthOutcome) -> None:
    assert [(point.messages, point.cold_ms) for point in outcome.live] == [(100, 0.0), (300, 0.0)]
    assert [point.tokens for point in outcome.live] == [18_818, 57_381]
    assert all(0 < point.p50_ms <= point.p95_ms and point.megabytes > 0 for point in outcome.live)


def test_what_was_measured_can_be_written_and_read(outcome: GrowthOutcome, tmp_path: Path) -> None:
    saved(outcome, tmp_path / "growth.json")
    assert loaded(tmp_path / "growth.json", GrowthOutcome) == outcome
    assert (outcome.budget, outcome.steps, outcome.stamp.command.endswith("foveate-bench growth")) == (8_000, 3, True)


@pytest.mark.parametrize("length", [2, 4, 40, 42, 300])
def test_a_history_has_so_many_messages_and_then_the_user_comes_back(tmp_path: Path, length: int) -> None:
    """It is whole, and of the steps after it the middle one is a request of the user, at every length."""
    said = _Said.written(tmp_path / "conversation.jsonl", length, steps=12)
    start, end = said.window(length)
    history = [message for step in said.steps(0, 1) + said.steps(start, end) for message in step]
    later = said.steps(end, end + 12)

    assert len(history) == length
    assert problems(history) == []
    assert said.tokens(length) == request_tokens(history)
    assert [step[-1]["role"] for step in later] == ["tool"] * 6 + ["user"] + ["tool"] * 5


def test_an_arm_that_cannot_go_on_ends_its_curve() -> None:
    told: list[tuple[int, int, str]] = []
    slow, refused, dead = growth_outcome(
        [arm(sluggish), arm(refusing), arm(dying)],
        lengths=(2, 6, 10),
        steps=1,
        limit_seconds=0.5,
        progress=lambda *said: told.append(said),
    ).curves

    assert slow.stopped == "at 6 messages a request took longer than 0.5 s"
    assert refused.stopped == "at 6 messages it failed: `budget` is too small"
    assert dead.stopped == "at 2 messages it ended with code 3"
    assert [[point.messages for point in curve.points] for curve in (slow, refused, dead)] == [[2], [2], []]
    assert [place for place, _, _ in told] == [0, 1, 2, 4, 5, 7]


def test_a_peer_is_charged_with_its_own_time_and_memory(tmp_path: Path) -> None:
    """Not with that of its adapter, nor of the pipe; what it raises is the reason why its curve ends."""
    arms = tiny_arms(tmp_path, ADAPTER)

    (curve,) = growth_outcome(arms, lengths=(10, 100, 300), steps=2).curves

    assert (curve.arm, curve.family) == ("tiny-last", "peer")
    assert curve.stopped == "at 300 messages it failed: ValueError: as many as that 不行"
    assert [point.messages for point in curve.points] == [10, 100]
    assert all(20 <= time < 250 for point in curve.points for time in (point.cold_ms, point.p50_ms, point.p95_ms))
    assert 15 < curve.points[1].megabytes - curve.points[0].megabytes < 60


def test_an_adapter_that_goes_wrong_stops_the_measurement(tmp_path: Path) -> None:
    """Its peer has done nothing, and its curve must not end for it."""
    arms = tiny_arms(tmp_path, ADAPTER.replace('== "odd"', '!= ""'))
    with pytest.raises(peering.AdapterError, match=r"with_tiny\.py went wrong, not its peer: KeyError"):
        growth_outcome(arms, lengths=(10,), steps=2)


def tiny_arms(folder: Path, adapter: str) -> list[Contestant]:
    """The arm of a small peer, in a folder of its own."""
    shutil.copy(peering.FOLDER / "worker.py", folder)
    (folder / "tiny_peer.py").write_text(textwrap.dedent(PEER).lstrip())
    (folder / "with_tiny.py").write_text(textwrap.dedent(adapter).lstrip())
    arms = peering.contestants(peering.peer_of(folder / "with_tiny.py"), folder)
    peering.end_all()
    return arms


@pytest.mark.parametrize("lengths", [(), (3,), (0, 2), (300, 100), (100, 100)])
def test_lengths_that_make_no_curve_are_refused(lengths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="`lengths` must be even"):
        growth_outcome([], lengths=lengths)


def test_no_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="`steps` must be 1 or more, got 0"):
        growth_outcome([], steps=0)
