"""Promises of the measure of recall."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bench.facts import dialogues_in, joined
from bench.locomo import Talk, talks_of
from bench.outcome import RecallOutcome, loaded, saved
from bench.recall import METHODS, asked_of_dialogue, asked_of_talk, recall_outcome
from bench.talks import generated_talks
from tests.bench.recall_runs import question, run, sample, turn, written

from foveate.errors import LogError


def talk(*, asks: str = "Which animals does Ada keep?") -> Talk:
    """A talk that says near its beginning what is asked for at its end."""
    chatter = [turn(f"D1:{number}", ("Ada", "Bo")[number % 2], f"So it goes, {number}.") for number in range(90)]
    chatter[4] = turn("D1:4", text="I keep bees, as animals go.")
    (made,) = talks_of([sample(*chatter, qa=[question("D1:4", text=asks)])])
    return made


def without_times(outcome: RecallOutcome) -> list[object]:
    return [
        replace(table, rows=tuple(replace(row, milliseconds=0.0) for row in table.rows)) for table in outcome.tables
    ]


def test_every_method_is_asked_on_all_material(tmp_path: Path) -> None:
    """Recorded, joined, interrupted, generated, given: shares that can be, and no request above its budget."""
    written(tmp_path, *(run(task) for task in range(3)))
    given = tmp_path / "talks.txt"
    given.write_text(json.dumps([sample(qa=[question("D1:1"), question("D7:7")])]))
    told: list[tuple[int, int, str]] = []
    outcome = recall_outcome(
        [tmp_path], given, quick=True, jobs=1, command="x", progress=lambda *done: told.append(done)
    )
    names = ["tau-bench", "tau-bench, joined", "tau-bench, interrupted", "generated talks", "talks of talks.txt"]
    assert [table.name for table in outcome.tables] == names
    assert list(outcome.methods) == list(METHODS)
    assert told[-1][0] == told[-1][1] == len(told)
    for table in outcome.tables:
        assert {(row.method, row.budget) for row in table.rows} == {(m, b) for m in METHODS for b in (500, 2_000)}
        assert all(0 <= row.all_low <= row.all <= row.all_high <= 1 for row in table.rows)
        assert all(row.all <= row.any and 0 < row.tokens <= row.budget for row in table.rows)
        assert all(set(shares) == set(METHODS) for shares in table.kinds.values())
    assert "1 question left out, such as sample 0, question 1" in outcome.tables[-1].note
    assert "Made up by us" in outcome.tables[-2].note
    path = tmp_path / "results" / "recall.json"
    saved(outcome, path)
    assert loaded(path, RecallOutcome) == outcome


def test_the_numbers_do_not_depend_on_processes(tmp_path: Path) -> None:
    """The same material gives the same shares, one after the other or at once."""
    written(tmp_path, *(run(task) for task in range(2)))
    alone, together = (recall_outcome([tmp_path], quick=True, jobs=jobs) for jobs in (1, 2))
    assert without_times(alone) == without_times(together)


def test_a_broken_file_ends_it_before_anything_is_measured(tmp_path: Path) -> None:
    """The error is that of the reader."""
    path = tmp_path / "talks.json"
    path.write_text("{}")
    with pytest.raises(LogError, match=r"talks\.json: expected a LoCoMo file"):
        recall_outcome([], path, quick=True, jobs=1)


def test_with_room_for_everything_every_method_keeps_everything(tmp_path: Path) -> None:
    """Otherwise the measure, not the method, would lose it."""
    written(tmp_path, *(run(task, takes=task != 1) for task in range(3)))
    dialogues = dialogues_in([tmp_path])
    for one in (*dialogues, *joined(dialogues)):
        found = asked_of_dialogue(one, 8_000)
        assert {one.method for one in found} == set(METHODS)
        assert all(one.all for one in found)
    assert all(one.all for one in asked_of_talk(talk(), 8_000))


def test_what_is_far_back_is_found_by_its_words_or_not_at_all() -> None:
    """Recency has no chance; search has, and so has a session with room for what it recalls."""
    found = {one.method: one.all for one in asked_of_talk(talk(), 500)}
    assert not found["recency"]
    assert found["bm25"] and found["foveate-chat"] and found["foveate-recall"]


def test_a_question_larger_than_the_budget_finds_nothing() -> None:
    """No method may send it, and none fails."""
    found = asked_of_talk(talk(asks="Which animals? " * 300), 500)
    assert len(found) == len(METHODS)
    assert not any(one.any or one.tokens for one in found)


@pytest.mark.parametrize("budget", [500, 2_000])
def test_no_request_is_above_its_budget(budget: int) -> None:
    """On a generated talk, for questions of all kinds."""
    (made,) = talks_of(generated_talks(1, sessions=6))
    few = replace(made, questions=made.questions[::10])
    found = asked_of_talk(few, budget)
    assert len(found) == len(METHODS) * len(few.questions)
    assert all(0 < one.tokens <= budget for one in found)
