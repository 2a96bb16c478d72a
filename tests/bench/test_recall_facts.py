"""Promises about the facts that gold actions need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench.facts import NEVER_TAKEN, TAKEN, Dialogue, Shown, argument_facts, dialogues_in, interrupted, joined
from bench.logs import data_root
from tests.bench.recall_runs import run, written


def read(folder: Path, *runs: object) -> list[Dialogue]:
    written(folder, *runs)
    return dialogues_in([folder])


def test_facts_are_what_the_conversation_showed_before_the_action(tmp_path: Path) -> None:
    """The train from the tool's output, the card from the user; what the system prompt has is no fact."""
    (dialogue,) = read(tmp_path, run(1))
    (point,) = dialogue.points
    assert (point.place, point.facts, point.kind) == (5, {"ICE701", "card_155"}, TAKEN)
    assert dialogue.chats[point.place]["tool_calls"][0]["function"]["name"] == "book"


def test_an_action_that_was_never_taken_is_asked_for_at_the_last_call(tmp_path: Path) -> None:
    """Other arguments are another action; several actions at one call are one point."""
    other = {"name": "book", "kwargs": {"train": "ICE701", "note": "not said by anybody"}}
    (dialogue,) = read(tmp_path, run(1, takes=False, actions=[other, {"name": "pay", "kwargs": {"card": "card_155"}}]))
    (point,) = dialogue.points
    assert (point.place, point.facts, point.kind) == (7, {"ICE701", "card_155"}, NEVER_TAKEN)


def test_a_run_without_facts_is_left_out(tmp_path: Path) -> None:
    """No gold action, one without arguments, or gold of another shape asks for nothing."""
    runs = [run(1, actions=[]), run(2, actions=[{"name": "stop", "kwargs": {}}]), run(3, actions=["book"]), run(4)]
    assert [one.group for one in read(tmp_path, *runs)] == ["trains-4"]


def test_a_file_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    """Copies of results would narrow the intervals; what is no result of tau-bench is passed over."""
    written(tmp_path, run(1))
    written(tmp_path, run(1), name="copy.json")
    (tmp_path / "broken.json").write_text('[{"task_id": 1, "traj": [')
    assert len(dialogues_in([tmp_path])) == 1


def test_only_values_that_can_be_known_again_are_facts() -> None:
    """Texts and numbers of four characters or more, however deep; no flags, no keys, no punctuation."""
    deep: object = "deep value"
    for _ in range(5_000):
        deep = [deep]
    arguments = {"a": "abc", "long_key": True, "n": 12345, "m": 12, "d": "2024-05-20", "p": "-- --", "x": [deep, None]}
    assert set(argument_facts(arguments)) == {"12345", "2024-05-20", "deep value"}


def test_a_fact_is_kept_only_with_its_surroundings() -> None:
    """A list of names shows it, but says nothing about it."""
    history = [{"role": "tool", "tool_call_id": "c", "content": "train ICE701 leaves at 9:05\ntrain ICE702 at 10:05"}]
    shown = Shown({"ICE701", "ICE999"}, history)
    assert "ICE701" in shown
    assert "ICE999" not in shown
    assert shown.kept("ICE701", history)
    assert shown.kept("ICE701", [{"role": "user", "content": "[digest]\ntrain ICE701 leaves at 9:05"}])
    assert not shown.kept("ICE701", [{"role": "user", "content": "ICE701, ICE702"}])
    assert not shown.kept("ICE701", [])


def test_joined_threads_have_no_task_twice(tmp_path: Path) -> None:
    """Each dialogue stands in one thread, its point at the same message as before; the same seed joins the same."""
    dialogues = read(tmp_path, *(run(task, trial=trial) for task in range(4) for trial in range(2)))
    threads = joined(dialogues, length=2)
    assert len(threads) == 4
    assert sum(len(thread.points) for thread in threads) == 8
    for thread in threads:
        assert thread.name == thread.group
        assert len({fact for point in thread.points for fact in point.facts}) == 4
        for point in thread.points:
            assert point.place in thread.calls
            shown = Shown(point.facts, thread.chats[: point.place])
            assert all(fact in shown for fact in point.facts)
    assert threads == joined(dialogues, length=2)
    assert threads != joined(dialogues, length=2, seed=8)


def test_an_interrupted_dialogue_goes_on_behind_the_others(tmp_path: Path) -> None:
    """It is cut before a user message half way to its point; the others are of other tasks and ask nothing."""
    dialogues = read(tmp_path, *(run(task) for task in range(4)))
    threads = interrupted(dialogues, others=2)
    assert [thread.group for thread in threads] == [one.group for one in dialogues]
    for thread, whole in zip(threads, dialogues, strict=True):
        (point,) = thread.points
        between = 2 * len(whole.chats)
        assert point.place == whole.points[0].place + between
        assert thread.chats[:4] + thread.chats[4 + between :] == whole.chats
        assert thread.chats[4 + between]["role"] == "user"
        assert len(thread.messages) == len(thread.chats)


def test_recorded_runs_have_facts() -> None:
    """In CI missing logs are a failure, not a skip."""
    root = data_root()
    if root is None and not os.environ.get("CI"):
        pytest.skip("no recorded logs: set FOVEATE_DATA to a directory of them")
    dialogues = dialogues_in([root / "openai_chat"] if root is not None else [])
    assert sum(len(point.facts) for one in dialogues for point in one.points) > 200
