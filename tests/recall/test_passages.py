from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foveate.recall.passages import PARTS, passages_of
from tests.recall.corpora import answered, called, said


def test_a_short_message_is_one_passage() -> None:
    """What was said in a few lines stays together."""
    (passage,) = passages_of(said(4, "user", "Fix the bug\nin parse_order, please."), 4)

    assert passage.text == "Fix the bug\nin parse_order, please."
    assert (passage.order, passage.part, passage.message_id, passage.role, passage.tool) == (4, 0, "m4", "user", None)


def test_an_empty_message_has_no_passages() -> None:
    """Nothing said is nothing to find."""
    assert passages_of(said(0, "user", " \n "), 0) == []


def test_long_text_is_cut_at_blank_lines() -> None:
    """Paragraphs are not torn apart if they can be kept."""
    text = "\n\n".join("\n".join(f"paragraph {number} line {line}" for line in range(8)) for number in range(6))

    passages = passages_of(answered(1, text), 1)

    assert len(passages) == 6
    assert all(passage.text.startswith(f"paragraph {part} line 0") for part, passage in enumerate(passages))
    assert {passage.tool for passage in passages} == {"bash"}


def test_a_long_line_is_cut_between_words() -> None:
    """A record on one line becomes several passages, without cutting a word."""
    text = ", ".join(f'"field_{number}": {number}' for number in range(500))

    passages = passages_of(answered(1, text), 1)

    assert len(passages) > 5
    assert all(len(passage.text) <= 700 for passage in passages)
    assert all(f'"field_{number}"' in " ".join(p.text for p in passages) for number in range(500))


def test_arguments_of_a_call_read_as_plain_text() -> None:
    """A file written by a call is found by its lines, not by JSON's escapes of them."""
    message = called(2, "write_file", '{"path": "a.py", "content": "def f():\\n\\treturn \\"\\u4f60\\u597d\\"\\n"}')

    (passage,) = passages_of(message, 2)

    assert passage.text == 'write_file\npath: a.py\ncontent:\ndef f():\n\treturn "你好"\n'
    assert passage.tool == "write_file"


def test_a_short_call_is_one_line() -> None:
    """The name and its arguments, as a reader would say them."""
    (passage,) = passages_of(called(2, "grep", '{"pattern": "\\"id\\"", "limit": 3, "in": ["a", "b"]}'), 2)

    assert passage.text == 'grep pattern: "id", limit: 3, in: ["a","b"]'


def test_arguments_that_are_no_json_are_taken_as_they_are() -> None:
    """A model's broken call is kept too."""
    (passage,) = passages_of(called(2, "shell", '{"cmd": "ls'), 2)

    assert passage.text == 'shell {"cmd": "ls'


def test_of_a_huge_message_head_and_tail_are_kept() -> None:
    """Five megabytes are not cut into thousands of passages; how it begins and ends is findable."""
    for text in ("first " + "x" * 5_000_000 + " last", "first\n" + "a\n" * 2_500_000 + "last"):
        passages = passages_of(answered(0, text), 0)

        assert len(passages) <= PARTS
        assert passages[0].text.startswith("first")
        assert passages[-1].text.endswith("last")


@given(st.text(max_size=5_000), st.integers(0, 10))
def test_passages_are_pieces_of_the_message_in_order(text: str, order: int) -> None:
    """Nothing is invented: every passage stands in the message, and parts count up."""
    passages = passages_of(said(order, "user", text), order)

    assert [passage.part for passage in passages] == list(range(len(passages)))
    assert all(line in text for passage in passages for line in passage.text.split("\n"))
    assert bool(passages) == bool(text.strip())


@given(st.text(max_size=300))
def test_any_arguments_can_be_read(arguments: str) -> None:
    """Whatever a model wrote as arguments, its call has a text."""
    assert passages_of(called(0, "tool", arguments), 0)[0].text.startswith("tool")


def test_deeply_nested_arguments_can_be_read() -> None:
    """Brackets without end are text like any other."""
    assert passages_of(called(0, "tool", '{"a":' + "[" * 100_000), 0)
