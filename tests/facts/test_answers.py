"""Values that only a tool showed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.compile.facts.answer_lines import telling_answer
from foveate.compile.facts.answers import Answer, AnswersBuilder
from tests.facts.played import Played

LIMITS = "BACKMEISTER C4 fw 2.18\ndeck.loaves.max      34\ndeck.gap.minutes     9\nready"


def answers_of(command: str, output: str, code: int = 0) -> tuple[Answer, ...]:
    """What is kept of one command."""
    builder = AnswersBuilder()
    Played(builder).run(command, output, code)
    return builder.answers().answers


def test_what_was_asked_outside_is_kept_whole() -> None:
    """With the agent's next words about it."""
    builder = AnswersBuilder()
    played = Played(builder)
    played.run("printf 'show limits\\n' | nc oven.local 2300", LIMITS)
    played.agent("Let me write that down. The oven takes 34 loaves and needs a pause of 9 minutes.")
    (answer,) = builder.answers().answers
    assert answer.text == LIMITS and answer.source == "outside" and answer.message_id == "m2"
    assert answer.conclusion == "The oven takes 34 loaves and needs a pause of 9 minutes."


@pytest.mark.parametrize(
    "command",
    [
        "ssh gauge cat /etc/gauge.conf",
        "curl -s https://exchange.example/codes",
        "sqlite3 shop.db 'select * from product'",
        "contestctl rules --table points",
        "gh pr create --title x",
        "cat /etc/gauge.conf",
        "head -5 data/limits",
        "cat data/limits.csv",
        "awk -F, '{print $2}' data.csv",
        "contestctl rules --help",
    ],
)
def test_questions_have_answers(command: str) -> None:
    """Programs that no table knows are asked as well; a file of settings is one."""
    assert [one.text for one in answers_of(command, "limit = 34\ngap = 9\n")] == ["limit = 34\ngap = 9"]


@pytest.mark.parametrize(
    "command",
    [
        "cat src/app.py",
        "grep -rn limit .",
        "ls -la",
        "pytest -q",
        "go test ./...",
        "git diff",
        "sed -i s/a/b/ x",
        "rm -r x",
    ],
)
def test_reads_searches_and_test_runs_are_no_answers(command: str) -> None:
    """Other facts have them."""
    assert answers_of(command, "limit = 34\ngap = 9\n") == ()


def test_a_refusal_keeps_its_reason() -> None:
    """What is wanted instead is often said nowhere else."""
    output = "row 1: rejected, unit must be one of 7W2 (ward), 7A1 (admission)\nrow 2: rejected, use NZ3 for nights\n"
    (answer,) = answers_of("paysend --dry-run night.csv", output, 1)
    assert answer.refused and "7W2 (ward)" in answer.text and "use NZ3" in answer.text


def test_an_unknown_tool_answers_with_its_arguments() -> None:
    """A call that was refused by the user answered nothing."""
    builder = AnswersBuilder()
    played = Played(builder)
    played.call("get_user", '{"name": "Mia", "balance": 30}', user_id="mia_1")
    played.call("get_user", "no", denied=True, user_id="eli_2")
    assert [(one.question, one.text) for one in builder.answers().answers] == [
        ("get_user user_id=mia_1", '{"name": "Mia", "balance": 30}')
    ]


def test_the_newest_answer_takes_the_place_of_the_older() -> None:
    """A refusal does not take away what is known."""
    builder = AnswersBuilder()
    played = Played(builder)
    for output, code in (("quota: 5 GB", 0), ("quota: 7 GB", 0), ("access denied", 1)):
        played.run("quotactl show", output, code)
    assert [one.text for one in builder.answers().answers] == ["quota: 7 GB", "access denied"]


def test_the_same_text_is_kept_once() -> None:
    """Whatever was asked."""
    builder = AnswersBuilder()
    played = Played(builder)
    played.run("quotactl show a", "error: not permitted here", 1)
    played.run("quotactl show b", "error: not permitted here", 1)
    assert [one.question for one in builder.answers().answers] == ["quotactl show b"]


def test_room_goes_to_what_came_from_outside() -> None:
    """What a program at hand computes can be computed again."""
    builder = AnswersBuilder()
    played = Played(builder)
    played.run("nc oven.local 2300", LIMITS)
    for number in range(9):
        played.run(f"python report.py {number}", f"sum: {number}\n" * 3)
    room = len(LIMITS) + 120
    shown = builder.answers().within(room)
    assert shown[0].text == LIMITS and sum(one.size for one in shown) <= room


def test_each_program_has_its_newest_answer_before_more_of_one() -> None:
    """One that was asked a hundred times does not take all the room."""
    builder = AnswersBuilder()
    played = Played(builder)
    played.run("date +%j", "day: 323")
    for number in range(9):
        played.run(f"python report.py {number}", f"sum: {number}")
    assert [one.text for one in builder.answers().within(60)] == ["day: 323", "sum: 8"]


def test_noise_is_left_out() -> None:
    """Passing tests, progress, prompts, definitions."""
    noise = "tests/a.py::test_x PASSED [ 12%]\nDownloading x 40%\n$ ls\ndef f():\n=====\n  12\tx = 1\n"
    assert telling_answer(f"{noise}gap: 9\n") == "gap: 9"


def test_rows_of_data_are_counted() -> None:
    """Three of them show what they are."""
    rows = "\n".join(f"MI{number:03};Markt;{number * 7}" for number in range(60))
    shown = telling_answer(f"code;place;kilos\n{rows}")
    assert shown.split("\n")[:3] == ["code;place;kilos", "MI000;Markt;0", "MI001;Markt;7"]
    assert shown.endswith("rows") and len(shown) < 200


def test_a_long_json_answer_is_shown_by_its_values() -> None:
    """Each with the path to it."""
    people = [{"name": f"person{number}", "age": number, "note": None, "tags": ["a", "b"]} for number in range(40)]
    shown = telling_answer(json.dumps({"total": 40, "people": people}))
    assert shown.split("\n")[:3] == ["total: 40", "people[0]: name=person0, age=0", "people[0].tags: a, b"]


@given(st.text(max_size=3_000), st.integers(60, 2_000))
def test_lines_are_shown_as_they_are(text: str, room: int) -> None:
    """Within the room, but for the marks where lines are left out."""
    shown = [line for line in telling_answer(text, room).split("\n") if line and not line.startswith("… ")]
    assert sum(len(line) + 1 for line in shown) <= room + 1
    if text.strip()[:1] not in ("{", "["):
        assert all(line in text for line in shown)


def test_answers_stay_bounded() -> None:
    """The oldest of what can be computed again goes first."""
    builder = AnswersBuilder()
    played = Played(builder)
    played.run("nc oven.local 2300", LIMITS)
    for number in range(300):
        played.run(f"python report.py {number}", f"sum {number}: {number}\n" + "x: 1\n" * 3)
    kept = builder.answers().answers
    assert len(kept) <= 160 and kept[0].text == LIMITS
