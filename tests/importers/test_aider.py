"""Chat histories of aider as they were recorded."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from foveate.importers.aider import AIDER
from foveate.importers.detection import head_of, importer_for
from foveate.importers.entries import Opening, Spoken, Usage, usage_of
from foveate.importers.recording import Recording, recordings
from tests.importers.logs import (
    NEEDS_DATA,
    entries_in,
    flipped,
    is_program,
    log_of,
    openings,
    recorded,
    spoken,
    survives,
    truncated,
)

FILES = recorded("aider/*.md")
CHAT = """
# aider chat started at 2024-08-05 19:33:32

> Aider v0.47.2-dev\x20\x20
> Models: claude-3-5-sonnet with diff edit format, weak model claude-3-haiku\x20\x20

#### Add a test for 日本語.\x20\x20
####\x20\x20\x20
#### And one more.\x20\x20

#### Plan

> As the saying goes.

a.py
```python
<<<<<<< SEARCH
x
=======
y
>>>>>>> REPLACE
```

> Tokens: 5,244 sent, 604 received. Cost: $0.02 request, $0.02 session.\x20\x20
> Applied edit to a.py\x20\x20

#### /test\x20\x20
> ===== test session starts =====

    def test() -> None:
\x20\x20\x20\x20
>       assert 1 == 2
===== 1 failed =====\x20\x20

#### /diff\x20\x20

#### /exit\x20\x20
"""


def read(text: str) -> list[Recording]:
    return recordings(AIDER.read(log_of(text.encode(), "app/.aider.chat.history.md")))


def shown(recording: Recording) -> list[tuple[str, str]]:
    """Who says what."""
    return [("program" if is_program(one) else one.role, one.text) for one in recording.messages]


@NEEDS_DATA
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_of_a_recorded_history_is_lost(path: Path) -> None:
    """All words are there in their order; what the user said, chats and tokens are what a plain search finds."""
    text = path.read_text()
    found = recordings(entries_in(AIDER, path))
    chats = re.split(r"^# aider chat started at .*$", text, flags=re.MULTILINE)
    spoken_in = [number for number, chat in enumerate(chats) if chat.strip()]
    assert [one.session for one in found] == [f"{path.stem}/{number}" for number in spoken_in]
    for one, number in zip(found, spoken_in, strict=True):
        words = " ".join(message.text for message in one.messages).split()
        written = re.sub(r"^(#### ?|> ?|>$)", "", chats[number], flags=re.MULTILINE).split()
        # A quote mark of the model is a word of it; aider's own is none.
        assert [word for word in words if word.strip(">#")] == [word for word in written if word.strip(">#")]
    said = re.findall(r"(?:^#### .*\n)+", text, flags=re.MULTILINE)
    users = [message for one in found for message in one.messages if message.role == "user" and not is_program(message)]
    assert [message.text.split() for message in users] == [re.sub(r"(?m)^####", "", block).split() for block in said]
    sent = [int(count.replace(",", "")) for count in re.findall(r"^> Tokens: ([\d,]+) sent", text, flags=re.MULTILINE)]
    usages = [usage for one in found for message in one.messages if (usage := usage_of(message)) is not None]
    assert [usage.input_tokens for usage in usages] == sent
    assert sum(one.model is not None for one in found) == sum("\n> Model" in chat for chat in chats)


@NEEDS_DATA
def test_reading_twice_gives_the_same() -> None:
    assert entries_in(AIDER, FILES[0]) == entries_in(AIDER, FILES[0])


def test_a_chat_is_told_apart_into_user_model_and_program() -> None:
    """Headings, quotes and edit marks of the model stay its own; output of several lines stays aider's."""
    (chat,) = read(CHAT)
    assert chat.session == "app/1"
    assert chat.tags == {"started": "2024-08-05 19:33:32"}
    assert chat.model == "claude-3-5-sonnet"
    response = (
        "#### Plan\n\n> As the saying goes.\n\na.py\n```python\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```"
    )
    tested = (
        "===== test session starts =====\n\n    def test() -> None:\n    \n>       assert 1 == 2\n===== 1 failed ====="
    )
    assert shown(chat) == [
        ("program", "Aider v0.47.2-dev\nModels: claude-3-5-sonnet with diff edit format, weak model claude-3-haiku"),
        ("user", "Add a test for 日本語.\n\nAnd one more."),
        ("assistant", response),
        (
            "program",
            "Tokens: 5,244 sent, 604 received. Cost: $0.02 request, $0.02 session.\nApplied edit to a.py",
        ),
        ("user", "/test"),
        ("program", tested),
        ("user", "/diff"),
        ("user", "/exit"),
    ]
    assert usage_of(chat.messages[2]) == Usage(input_tokens=5244, output_tokens=604)
    assert chat.times[0] is not None
    assert chat.times[1:] == [None] * 7


def test_entries_know_their_lines() -> None:
    entries = list(AIDER.read(log_of(CHAT.encode(), "a.md")))
    assert [entry.line for entry in entries if isinstance(entry, Spoken)] == [4, 7, 11, 24, 27, 28, 35, 37]


def test_cached_tokens_are_usage() -> None:
    text = CHAT.replace("5,244 sent, 604", "12k sent, 1.5k cache write, 3k cache hit, 345")
    (chat,) = read(text)
    usage = Usage(input_tokens=12_000, cached_tokens=3_000, written_tokens=1_500, output_tokens=345)
    assert usage_of(chat.messages[2]) == usage


def test_tokens_are_of_the_response_before_them() -> None:
    """Other words of aider may stand between; what comes after the user spoke again, or a second time, is not counted."""
    said = "# aider chat started at 2024-08-05 19:31:32\n\n#### hi  \n\nHello!\n\n"
    tokens = "> Tokens: {} sent, 3 received.  \n"
    (late,) = read(said + "> Applied edit  \n" + tokens.format(12) + tokens.format(99))
    assert usage_of(late.messages[1]) == Usage(input_tokens=12, output_tokens=3)
    (none,) = read(said + "#### /tokens  \n" + tokens.format(12))
    assert usage_of(none.messages[1]) is None


def test_chats_are_sessions_by_their_number() -> None:
    """What stands before the first heading is the zeroth; a chat in which nothing was said is none."""
    head = "# aider chat started at 2024-08-05 19:3{}:32\n\n"
    text = "#### early  \n" + head.format(1) + head.format(2) + "#### hi  \n" + head.format(2)
    assert [(one.session, shown(one)) for one in read(text)] == [
        ("app/0", [("user", "early")]),
        ("app/2", [("user", "hi")]),
    ]


def test_chats_of_two_projects_are_called_by_their_folders() -> None:
    """Aider calls its file the same everywhere; a file that somebody named keeps its name."""
    paths = ["one/.aider.chat.history.md", "two/.aider.chat.history.md", "two/kept.md"]
    found = [recordings(AIDER.read(log_of(CHAT.encode(), path)))[0].session for path in paths]
    assert found == ["one/1", "two/1", "kept/1"]


def test_text_before_the_first_question_is_of_the_program_unless_it_was_counted() -> None:
    """Several aiders may write to one file: a response can stand in a chat without its question."""
    head = "# aider chat started at 2024-08-05 19:31:32\n\n> Aider  \n\n"
    (listed,) = read(head + "a map of the repository\n")
    assert [side for side, _ in shown(listed)] == ["program", "program"]
    (answered,) = read(head + "Here you are.\n\n> Tokens: 12 sent, 3 received.  \n")
    assert [side for side, _ in shown(answered)] == ["program", "assistant", "program"]
    assert usage_of(answered.messages[1]) == Usage(input_tokens=12, output_tokens=3)


def test_a_history_whose_spaces_an_editor_took_away_is_read() -> None:
    text = "# aider chat started at 2024-08-05 19:31:32\n\n> Aider\n\n#### hi\n\nHello!\n\n> Tokens: 12 sent, 3 received.\n"
    (chat,) = read(text)
    assert [side for side, _ in shown(chat)] == ["program", "user", "assistant", "program"]


def test_only_its_heading_makes_a_history() -> None:
    assert importer_for(log_of(CHAT.encode(), "a.md")).name == "aider"
    for text in (
        "#### hi  \n\nHello\n",
        "# aider\n\n> x  \n",
        '{"text": "\\n# aider chat started at 2024-08-05 19:31:32"}',
    ):
        assert not AIDER.recognises(head_of(log_of(text.encode(), "a.md")))


def test_twenty_thousand_questions_stream() -> None:
    """A chat is handed on as it is read, not kept until its end."""
    content = (CHAT + "#### hi  \n\nHello!\n\n" * 20_000).encode()
    entries = AIDER.read(log_of(content, "a.md"))
    assert isinstance(next(entries), Opening)
    assert sum(message.role == "assistant" for message in spoken(entries)) == 20_001


def test_whatever_is_in_the_file_it_is_read() -> None:
    """A history has no form that could be broken."""
    random = Random(7)
    content = FILES[0].read_bytes() if FILES else CHAT.encode()
    for broken in (
        *truncated(content[:60_000], random, 10),
        *flipped(content[:60_000], random, 20),
        b"",
        b"\xff\n\x00",
        b"> \n" * 100,
    ):
        log = log_of(broken, "a.md")
        list(AIDER.read(log))
        survives(AIDER, broken, "a.md")
    assert openings(AIDER.read(log_of(b"", "a.md"))) == []
