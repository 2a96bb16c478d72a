"""Promises of the methods that choose messages without a compiler."""

from __future__ import annotations

import pytest
from bench.messages import Message
from bench.selection import Bm25, Passages, Recency, Selection
from bench.tokens import message_tokens, request_tokens
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.lab.chat import call

METHODS = [Recency, Bm25, Passages]


def talk(*texts: str) -> list[Message]:
    return [{"role": "user" if place % 2 == 0 else "assistant", "content": text} for place, text in enumerate(texts)]


HISTORY = talk(
    "My flight was HAT136 to Lisbon.",
    "Noted, enjoy the sun.",
    "What about lunch?",
    "There is soup.",
    "I like rain.",
    "Rain is good for gardens.",
)


def test_recency_is_the_newest_without_a_gap() -> None:
    """A message that does not fit ends the window, also if an older one would fit."""
    history = talk("short", "a very long message " * 50, "newer", "newest")
    assert Recency(history)("anything", 40) == history[2:]


def test_bm25_finds_what_shares_words_and_its_neighbour() -> None:
    """A hit comes with the reply to it, forms of a word are the same word, the order is that of the talk."""
    room = sum(map(message_tokens, HISTORY[:2]))
    assert Bm25(HISTORY)("Which flights went to Lisbon?", room) == HISTORY[:2]


def test_bm25_searches_arguments_of_calls() -> None:
    """What an agent asked its tools for is part of what it said."""
    asked: Message = {"role": "assistant", "content": "", "tool_calls": [call("c1", "find", '{"id": "Z9KQ"}')]}
    history = [asked, *HISTORY]
    assert asked in Bm25(history)("Z9KQ", message_tokens(asked))


@pytest.mark.parametrize("make", [Bm25, Passages])
@pytest.mark.parametrize("query", ["", "the", "zzz", "。"])
def test_room_that_a_search_leaves_goes_to_the_newest(make: type[Selection], query: str) -> None:
    """A query that finds nothing is no reason to send less than recency would."""
    assert make(HISTORY)(query, 40) == Recency(HISTORY)(query, 40)


@pytest.mark.parametrize("make", METHODS)
def test_nothing_is_chosen_from_nothing(make: type[Selection]) -> None:
    """No history, no messages, no words: no request and no error."""
    assert make([])("Lisbon", 500) == []
    assert make(talk("", " "))("Lisbon", 0) == []
    assert make(HISTORY)("Lisbon", -5) == []


@pytest.mark.parametrize("make", METHODS)
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), max_size=12),
    query=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    room=st.integers(0, 200),
)
@settings(max_examples=40, deadline=None)
def test_no_method_takes_more_than_its_room(make: type[Selection], texts: list[str], query: str, room: int) -> None:
    """In any script, with any query."""
    assert request_tokens(make(talk(*texts))(query, room)) <= room
