from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import ConfigError
from foveate.log.messages import Media, Message, Text, Thinking, ToolResult
from foveate.recall import excerpt
from tests.recall.corpora import answered, called, said

LINES = [f"line {number}" for number in range(1, 21)]
LINES[9] = "def parse_order(text):"
LINES[15] = "    return parse_order(text)"
FILE = answered(17, "\n".join(LINES))


def test_without_more_the_message_is_given_whole() -> None:
    """A reference gives back what was said, byte for byte."""
    assert excerpt(FILE) == "\n".join(LINES)


def test_a_range_of_lines_is_inclusive_and_counts_from_one() -> None:
    """Lines 2 to 4 are the second, third and fourth; an end past the last line is the last."""
    assert excerpt(FILE, lines=(2, 4)) == "line 2\nline 3\nline 4"
    assert excerpt(FILE, lines=(20, 99)) == "line 20"


@pytest.mark.parametrize("lines", [(0, 3), (5, 4), (21, 22), (-3, -1)])
def test_a_range_outside_the_message_is_refused(lines: tuple[int, int]) -> None:
    """The error names the range, the message, and how many lines there are."""
    with pytest.raises(ConfigError, match=rf"`lines` {lines[0]}-{lines[1]} is no range of 'm17', which has 20 lines"):
        excerpt(FILE, lines=lines)


def test_a_query_gives_numbered_lines_with_context() -> None:
    """Matching lines come with their numbers and surroundings; gaps are marked."""
    assert excerpt(FILE, query="parse_order", context=1).split("\n") == [
        "…",
        " 9: line 9",
        "10: def parse_order(text):",
        "11: line 11",
        "…",
        "15: line 15",
        "16:     return parse_order(text)",
        "17: line 17",
        "…",
    ]


def test_words_need_not_stand_side_by_side() -> None:
    """A query in one's own words finds the lines with most of them."""
    message = answered(1, "the port is 5433\nnothing\nstaging databases listen on a port\nnothing")

    given_back = excerpt(message, query="on which port does the staging database listen?", context=0)

    assert given_back == "…\n3: staging databases listen on a port\n…"


def test_a_query_within_a_range_keeps_the_numbers_of_the_message() -> None:
    """Lines and query together search the range only."""
    assert excerpt(FILE, lines=(12, 20), query="parse_order", context=0) == "…\n16:     return parse_order(text)\n…"


def test_a_query_without_a_match_says_so() -> None:
    """The reader learns where was looked, not an empty text."""
    assert excerpt(FILE, query="zebra") == "[nothing in m17 matches 'zebra'; 20 lines searched]"
    assert (
        excerpt(FILE, query="zebra", lines=(2, 3)) == "[nothing in lines 2-3 of m17 matches 'zebra'; 2 lines searched]"
    )


def test_of_a_very_long_line_the_part_around_the_match_is_given() -> None:
    """A record of a megabyte on one line is no reason to send a megabyte."""
    message = answered(1, "x" * 500_000 + " needle " + "y" * 500_000)

    given_back = excerpt(message, query="needle")

    assert " needle " in given_back
    assert len(given_back) < 1_000


def test_what_exceeds_the_limit_is_left_out_in_the_middle() -> None:
    """Beginning and end are kept, and a note says how to get the rest."""
    given_back = excerpt(answered(1, "a" * 600 + "\n" + "b" * 600), limit_chars=300)

    assert given_back.startswith("a" * 200 + "\n[… 901 characters around line 1 left out")
    assert given_back.endswith("\n" + "b" * 100)


def test_options_that_cannot_work_are_refused() -> None:
    """The error names the option and the value."""
    with pytest.raises(ConfigError, match=r"`context` must be 0 lines or more, got -1"):
        excerpt(FILE, query="x", context=-1)
    with pytest.raises(ConfigError, match=r"`limit_chars` must be 1 character or more, got 0"):
        excerpt(FILE, limit_chars=0)


def test_calls_are_given_in_readable_form() -> None:
    """What a call wrote is read as text, not as JSON."""
    message = called(3, "write_file", '{"path": "a.py", "content": "x = \\"1\\"\\ny = 2\\n"}')

    assert excerpt(message) == 'write_file\npath: a.py\ncontent:\nx = "1"\ny = 2\n'
    assert excerpt(message, lines=(4, 5)) == 'x = "1"\ny = 2'


def test_media_are_named_and_thinking_is_left_out() -> None:
    """An image is named by its reference, its bytes are not text; reasoning is bound to its signature."""
    image = Media(kind="image", reference="data:image/png;base64," + "A" * 10_000)
    message = Message(
        id="m1",
        role="tool",
        parts=(Thinking(text="hm"), Text(text="seen"), ToolResult(call_id="c", text="shot", media=(image,)), image),
    )

    assert "hm" not in excerpt(message)
    assert excerpt(message).startswith("seen\nshot\n[image: data:image/png;base64,AAA")
    assert len(excerpt(message)) < 400


@given(st.text(max_size=400), st.text(max_size=40), st.integers(0, 4), st.integers(1, 500))
def test_any_query_gives_text_within_the_limit(text: str, query: str, context: int, limit: int) -> None:
    """Whatever is asked of whatever message, the answer is text and not much above the limit."""
    given_back = excerpt(said(1, "user", text), query=query, context=context, limit_chars=limit)

    assert len(given_back) <= limit + 120


@given(st.text(max_size=400), st.integers(-2, 12), st.integers(-2, 12))
def test_any_range_gives_those_lines_or_a_named_error(text: str, first: int, last: int) -> None:
    """A range is either the lines as they were said or an error that names it."""
    lines = text.split("\n")
    message = said(1, "user", text)

    if 1 <= first <= min(last, len(lines)):
        assert excerpt(message, lines=(first, last)).split("\n") == lines[first - 1 : last]
    else:
        with pytest.raises(ConfigError, match=f"`lines` {first}-{last}"):
            excerpt(message, lines=(first, last))
