"""Promises about files in LoCoMo's format, and about the talks that are generated in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.locomo import read_talks, talks_of
from bench.talks import generated_talks
from bench.tokens import request_tokens
from tests.bench.recall_runs import question, sample, turn

from foveate.errors import LogError


def test_a_turn_becomes_a_message_with_its_speaker() -> None:
    """The first speaker is the user; a session begins with its date, a picture is told by what it shows."""
    (talk,) = talks_of(
        [sample(turn("D1:1"), turn("D1:2", "Bo", "Nice!", blip_caption="a hive"), turn("D1:3", text="Thanks."))]
    )
    assert talk.chats == (
        {"role": "user", "content": "[noon on 3 May, 2023]\nAda: I keep bees."},
        {"role": "assistant", "content": "Bo: Nice! [shows a hive]"},
        {"role": "user", "content": "Ada: Thanks."},
    )
    assert talk.texts == ("I keep bees.", "Nice!", "Thanks.")


def test_sessions_come_in_the_order_of_their_numbers() -> None:
    """Session 10 is behind session 2, whatever the order of the keys; a date without a session is none."""
    conversation = {"session_10": [turn("D10:1", text="ten")], "session_2": [turn("D2:1", text="two")]}
    conversation["session_30_date_time"] = "never"  # type: ignore[assignment]
    (talk,) = talks_of([{"conversation": conversation, "qa": []}])
    assert talk.texts == ("two", "ten")


def test_evidence_is_found_where_the_published_file_is_untidy() -> None:
    """Several names in one text, and zeros in front of a number, mean what they say."""
    turns = [turn(f"D1:{number}") for number in range(1, 7)]
    asked = [question("D1:2; D1:5"), question("D1:1 D1:3", "D1:3"), question("D1:04")]
    (talk,) = talks_of([sample(*turns, qa=asked)])
    assert [one.evidence for one in talk.questions] == [(1, 4), (0, 2), (3,)]


def test_a_question_whose_evidence_names_no_turn_is_told_of() -> None:
    """It cannot be judged; it is left out and said so, never guessed."""
    (talk,) = talks_of([sample(qa=[question("D"), question("D:1:1"), question("D1:1", "D9:9"), question()])])
    assert not talk.questions
    assert talk.left_out == (
        "sample 0, question 0: evidence ['D'] names no turn",
        "sample 0, question 1: evidence ['D:1:1'] names no turn",
        "sample 0, question 2: evidence ['D1:1', 'D9:9'] names no turn",
        "sample 0, question 3: evidence [] names nothing",
    )


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        (1, "multi-hop"),
        (2, "temporal"),
        (3, "open-domain"),
        (4, "single-hop"),
        (5, "adversarial"),
        ("own", "own"),
        (9, "9"),
    ],
)
def test_kinds_go_by_the_numbers_of_the_published_file(category: object, kind: str) -> None:
    """A kind that LoCoMo does not know goes by its own name."""
    (talk,) = talks_of([sample(qa=[question("D1:1", category=category)])])
    assert talk.questions[0].kind == kind


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"{}", "expected a LoCoMo file: a list of objects with `conversation` and `qa`, got {}"),
        (b"[]", "expected a LoCoMo file"),
        (b"[1]", "sample 0: expected a LoCoMo file: a list of objects with `conversation` and `qa`, got 1"),
        (
            b'[{"conversation": {}, "qa": []}]',
            "sample 0: `conversation` has no turns; they are expected in `session_1`",
        ),
        (b'[{"conversation": {"session_1": {"a": 1}}, "qa": []}]', "`session_1` is a list of turns, got {'a': 1}"),
        (b'[{"conversation": {"session_1": ["hi"]}, "qa": []}]', "session_1, turn 0: a turn has the texts `speaker`"),
        (json.dumps([sample({"speaker": "Ada", "text": "hi"})]).encode(), "sample 0, session_1, turn 0: a turn has"),
        (json.dumps([sample(turn("D1:1"), turn("D1:1"))]).encode(), "two turns have the `dia_id` 'D1:1'"),
        (json.dumps([sample(qa=["why?"])]).encode(), "sample 0, question 0: a question has a text `question`"),
        (json.dumps([sample(qa=[])]).encode(), "no question names turns as its evidence; there is nothing to be asked"),
        (
            json.dumps([sample(qa=[question("D9")])]).encode(),
            "such as sample 0, question 0: evidence ['D9'] names no turn",
        ),
        (json.dumps([sample(qa=[question(7)])]).encode(), "`evidence` is a list of `dia_id`s such as 'D1:3', got [7]"),
    ],
)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, content: bytes, said: str) -> None:
    """The error names the file, the place and the value, and what was expected there."""
    path = tmp_path / "talks.json"
    path.write_bytes(content)
    with pytest.raises(LogError) as refused:
        read_talks(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert said in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """With its name and what to do."""
    with pytest.raises(LogError, match=r"gone\.json: cannot be read: No such file or directory; name a file"):
        read_talks(tmp_path / "gone.json")


def test_any_script_and_half_characters_are_taken(tmp_path: Path) -> None:
    """Chinese stays as it is, half of an emoji is replaced."""
    path = tmp_path / "talks.json"
    path.write_bytes(json.dumps([sample(turn("D1:1", "小明", "我养蜜蜂 \ud83d"))]).encode())
    (talk,) = read_talks(path)
    assert talk.texts == ("我养蜜蜂 \ufffd",)
    assert request_tokens(talk.chats) > 5


def test_generated_talks_are_long_and_the_same_each_time() -> None:
    """Of the length of LoCoMo's, with questions of all kinds."""
    document = generated_talks()
    assert document == generated_talks()
    assert document != generated_talks(seed=8)
    talks = talks_of(document)
    assert all(request_tokens(talk.chats) > 20_000 for talk in talks)
    assert all(len(talk.questions) > 70 and not talk.left_out for talk in talks)
    assert {one.kind for talk in talks for one in talk.questions} == {
        "multi-hop", "temporal", "open-domain", "single-hop", "adversarial",
    }  # fmt: skip


def test_generated_evidence_has_the_answer() -> None:
    """What a question asks for stands in its evidence, and nowhere else in the talk as a whole turn."""
    for document in generated_talks(2):
        (talk,) = talks_of([document])
        for asked, one in zip(document["qa"], talk.questions, strict=True):
            evidence = [talk.texts[place] for place in one.evidence]
            assert any(asked.get("answer", asked.get("adversarial_answer")) in text for text in evidence)
            assert all(talk.texts.count(text) == 1 for text in evidence)
