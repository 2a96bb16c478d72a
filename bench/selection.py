"""Selection: which messages of a history fit into so many tokens, by how new they are or by what they say.

Messages are taken whole. Room that a search leaves goes to the newest messages, as nobody would send less than he may.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import bm25s  # type: ignore[import-untyped]
import Stemmer  # type: ignore[import-not-found]

from bench.messages import Message, calls_of, content_of
from bench.tokens import message_tokens
from foveate.budget.tokens import counter_for
from foveate.recall import PassageIndex, recalled
from foveate.wire.openai_chat import decode

# What stands before passages, and the message around them.
_HEADING: Final = "Earlier in this conversation:"


class Selection(Protocol):
    """A history, to choose from for a query."""

    def __call__(self, query: str, room: int, /) -> list[Message]: ...


class Recency:
    """The newest messages, as many as fit without a gap."""

    def __init__(self, history: Sequence[Message]) -> None:
        self._history = history

    def __call__(self, _query: str, room: int) -> list[Message]:
        return _in_order(self._history, _newest(self._history, room, ()))


class Bm25:
    """The messages that score best for a query by BM25, each with its neighbours."""

    def __init__(self, history: Sequence[Message]) -> None:
        self._history = history
        self._sizes = [message_tokens(message) for message in history]
        tokens = _tokenized([readable(message) for message in history])
        self._index = None
        if any(tokens):
            self._index = bm25s.BM25()
            self._index.index(tokens, show_progress=False)

    def __call__(self, query: str, room: int) -> list[Message]:
        chosen: set[int] = set()
        for place in self._ranked(query):
            # A turn is often said in reply to one that has the words; the reply first, then what was replied to.
            for near in (place, place + 1, place - 1):
                if 0 <= near < len(self._history) and near not in chosen and self._sizes[near] <= room:
                    chosen.add(near)
                    room -= self._sizes[near]
        return _in_order(self._history, chosen | _newest(self._history, room, chosen))

    def _ranked(self, query: str) -> list[int]:
        terms = _tokenized([query])[0]
        if self._index is None or not terms:
            return []
        scores = [float(score) for score in self._index.get_scores(terms)]
        found = (place for place, score in enumerate(scores) if score > 0)
        return sorted(found, key=lambda place: (-scores[place], -place))


class Passages:
    """The passages that Foveate's ranking finds for a query, without its compiler around it."""

    def __init__(self, history: Sequence[Message]) -> None:
        self._history = history
        self._index = PassageIndex()
        self._counter = counter_for(None)
        for place, message in enumerate(history):
            self._index.add(decode(message), place)
        # It is written when first asked for; here, so that no question pays for it.
        len(self._index)

    def __call__(self, query: str, room: int) -> list[Message]:
        left = room - message_tokens({"role": "user", "content": _HEADING})
        passages = recalled(self._index, query, room_tokens=left, counter=self._counter)
        if not passages:
            return _in_order(self._history, _newest(self._history, room, ()))
        text = "\n".join([_HEADING, *(f"m{passage.order + 1}:\n{passage.text}" for passage in passages)])
        found: Message = {"role": "user", "content": text}
        whole = {one.order for one in passages if one.text == readable(self._history[one.order])}
        newest = _newest(self._history, room - message_tokens(found), whole)
        return [found, *_in_order(self._history, newest)]


def readable(message: Message) -> str:
    """What a message says, the arguments of its calls included."""
    called = (call["function"] for call in calls_of(message))
    return "\n".join(filter(None, (content_of(message), *(f"{one['name']} {one['arguments']}" for one in called))))


def _newest(history: Sequence[Message], room: int, taken: Iterable[int]) -> set[int]:
    """The places of the newest messages that fit, not counting those that are there already."""
    there = set(taken)
    chosen: set[int] = set()
    for place in reversed(range(len(history))):
        if place in there:
            continue
        room -= message_tokens(history[place])
        if room < 0:
            break
        chosen.add(place)
    return chosen


def _in_order(history: Sequence[Message], places: Iterable[int]) -> list[Message]:
    return [history[place] for place in sorted(places)]


def _tokenized(texts: list[str]) -> list[list[str]]:
    stemmer = Stemmer.Stemmer("english")
    tokens: list[list[str]] = bm25s.tokenize(texts, stemmer=stemmer, return_ids=False, show_progress=False)
    return tokens
