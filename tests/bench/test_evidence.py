"""Evidence: what counts as shown, which conversations are read, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.cli import app
from bench.evidence import Asked, conversations_in, half_of, sentences_of, shown_of
from typer.testing import CliRunner

from foveate.errors import LogError

TURNS = [
    {"id": "a", "speaker": "user", "role": "user", "text": "The boat is red. It lies in Ghent,\nbehind the lock."},
    {"id": "b", "speaker": "Ben", "role": "assistant", "text": "I will remember that it lies there."},
]
DOCUMENT = [
    {
        "id": "one",
        "conversation": TURNS,
        "questions": [
            {"question": "Where is the boat?", "evidence": ["a"], "category": 1},
            {"question": "Nobody said?", "evidence": [], "category": 2},
        ],
    }
]


def folder_of(path: Path, document: object) -> Path:
    (path / "harbor-dev.json").write_text(json.dumps(document), encoding="utf-8")
    return path


def test_conversations_are_read_from_a_folder(tmp_path: Path) -> None:
    """Named after their file; a speaker who is no role stands before the words; no evidence, no question."""
    (one,) = conversations_in(folder_of(tmp_path, DOCUMENT))
    assert (one.set, one.name, one.asked) == ("harbor", "one", (Asked("Where is the boat?", (0,), "1"),))
    assert [chat["content"] for chat in one.chats] == [TURNS[0]["text"], f"Ben: {TURNS[1]['text']}"]


@pytest.mark.parametrize("document", [{"id": 1}, [{"id": "one"}], [1]])
def test_another_file_is_refused_with_what_is_expected(tmp_path: Path, document: object) -> None:
    with pytest.raises(LogError, match="expected a list of objects with `id`"):
        conversations_in(folder_of(tmp_path, document))


def test_a_folder_without_conversations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="has no conversations; name a folder"):
        conversations_in(tmp_path)


def test_a_message_counts_if_all_of_it_is_there_and_a_sentence_by_itself(tmp_path: Path) -> None:
    """Marks of quotes, line breaks and blanks aside."""
    (one,) = conversations_in(folder_of(tmp_path, DOCUMENT))
    asked = one.asked[0]
    whole = shown_of(
        one, asked, [{"role": "user", "content": ">The boat is red.  It lies in Ghent,\n>behind the lock."}]
    )
    assert (whole.messages, whole.sentences) == (1, 1)
    part = shown_of(one, asked, [{"role": "user", "content": "…\n>The boat is red.\n>…"}])
    assert (part.messages, part.sentences) == (0, pytest.approx(1 / len(sentences_of(one.texts[0]))))
    assert shown_of(one, asked, []).sentences == 0


def test_halves_have_each_question_once() -> None:
    asked = [Asked(str(number), (0,), "") for number in range(5)]
    assert sorted((*half_of(asked, "tune"), *half_of(asked, "report"))) == asked


def test_the_command_prints_a_line_for_each_set_and_policy(tmp_path: Path) -> None:
    """Made-up talks need no recorded data; the first request of an imported talk shows some of the evidence."""
    options = ["--policy", "chat", "--arm", "first", "--budget", "1000", "--generated", "1", "--questions", "3"]
    folder = folder_of(tmp_path, DOCUMENT)
    result = CliRunner().invoke(app, ["evidence", str(folder), *options, "--jobs", "1", "--split", "tune"])
    assert result.exit_code == 0, result.output
    rows = [line.split("│")[1:-1] for line in result.stdout.splitlines() if "│ chat" in line]
    assert [[cell.strip() for cell in row[:4]] for row in rows] == [
        ["chat", "first", "harbor", "all"],
        ["chat", "first", "generated", "all"],
    ]
    assert float(rows[0][4].split("/")[0]) == 1
    assert float(rows[1][4].split("/")[0]) > 0
