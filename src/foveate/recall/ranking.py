"""Ranking: which passages of the evicted past to show for a new input, within a room of tokens.

The messages that are most worth their length come first. One is shown whole where that takes a modest part of the room,
else as extracts of its best passages, which become whole if room is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from foveate.budget.tokens import TokenCounter
from foveate.recall.extracts import extracted
from foveate.recall.index import PassageIndex
from foveate.recall.meaning import Meaning
from foveate.recall.passages import Passage
from foveate.recall.scoring import Found
from foveate.recall.terms import Matcher, Term, terms_of
from foveate.recall.worth import Worthy

# What a caller writes around a passage: its reference and line breaks.
PER_PASSAGE: Final = 6
# So many hits are looked at, and more where there is room for them.
_HITS: Final = 100
_MOST_HITS: Final = 400
_PER_HIT: Final = 20
# A message that is worth so much less than the best is left out, however much room there is.
_LEAST: Final = 0.05
# What was said last is likelier to be meant; a bonus that halves with so many messages.
_RECENT: Final = 0.25
_HALF_LIFE: Final = 20
# A message of several passages is shown whole at once if it takes no more than this part of the room.
_MODEST: Final = 0.5
# Of any other so many passages are shown, those that answer at least half as well as its best one.
_PARTS: Final = 3
_BESIDE_BEST: Final = 0.5
_SMALLEST: Final = 10
_MISFITS: Final = 60
# No text has fewer tokens than a character for each eight: what is longer cannot fit.
_CHARACTERS: Final = 8


def recalled(
    index: PassageIndex,
    query: str,
    *,
    room_tokens: int,
    counter: TokenCounter,
    evicted: Callable[[int], bool] = lambda _order: True,
    before: int | None = None,
    per_passage: int = PER_PASSAGE,
    per_line: float = 0.0,
    meaning: Meaning | None = None,
) -> list[Passage]:
    """The passages worth showing for a query, in the order of the log, long ones as extracts.

    Nothing is shown for a query that asks for nothing ("yes, go on"), and no room is filled with what merely shares a
    common word with it. `per_passage` is what the caller adds around each, in tokens, `per_line` what before each line.
    With `meaning`, passages are found that say it in other words, too.
    """
    found = index.find(query, before=before)
    asks = any(one.rarity > 0 for one in found) if meaning is None else bool(terms_of(query))
    if room_tokens <= per_passage or not asks:
        return []

    def may(order: int) -> bool:
        return (before is None or order < before) and evicted(order)

    limit = max(_HITS, min(_MOST_HITS, room_tokens // _PER_HIT))
    close = partial(meaning.similarities, query) if meaning is not None else None
    messages = _by_recency(index.worthy(found, limit=limit, may=may, close=close))
    filling = _Filling(found, _Room(room_tokens, counter, per_passage, per_line))
    for one in messages:
        if filling.is_done:
            break
        filling.show(one)
    return filling.passages()


def _by_recency(messages: Sequence[Worthy]) -> list[Worthy]:
    """The messages with a bonus for those said last, without those that are worth little."""
    least = max((one.worth for one in messages), default=0.0) * _LEAST
    newest = max((one.place for one in messages), default=0)
    kept = [one for one in messages if one.worth >= least]

    def density(one: Worthy) -> float:
        return one.density * float(1 + _RECENT * 0.5 ** ((newest - one.place) / _HALF_LIFE))

    return sorted(kept, key=lambda one: (-density(one), -one.place))


class _Room:
    """Tokens left to fill."""

    def __init__(self, tokens: int, counter: TokenCounter, per_passage: int, per_line: float) -> None:
        self.whole = self.left = tokens
        self._counter = counter
        self._per_passage = per_passage
        self._per_line = per_line

    def take(self, text: str, most: float | None = None, instead_of: str = "") -> bool:
        """Use room for a text, or for what it needs more than another; False if that is more than there is."""
        limit = self.left if most is None else min(self.left, int(most))
        if len(text) - len(instead_of) > _CHARACTERS * limit:
            return False
        cost = self._cost(text) - (self._cost(instead_of) if instead_of else 0)
        if cost > limit:
            return False
        self.left -= cost
        return True

    def _cost(self, text: str) -> int:
        return self._counter.count(text) + self._per_passage + math.ceil(self._per_line * (text.count("\n") + 1))


class _Filling:
    """A room that is filled with messages, the most worth their length first."""

    def __init__(self, found: Sequence[Found], room: _Room) -> None:
        self._matcher = Matcher(one.term for one in found)
        self._rarity: Mapping[Term, float] = {one.term: one.rarity for one in found}
        self._room = room
        self._chosen: dict[Passage, str] = {}
        # All that is shown: what stands in it already is not shown again.
        self._shown = ""
        self._misfits = 0

    @property
    def is_done(self) -> bool:
        """Whether hardly anything more would fit."""
        return self._room.left < _SMALLEST or self._misfits >= _MISFITS

    def show(self, message: Worthy) -> None:
        """Show a message whole, if it takes a modest part of the room."""
        passages = [one for one in message.passages if one.text not in self._shown]
        modest = None if len(message.passages) == 1 else self._room.whole * _MODEST
        if passages and self._room.take("\n".join(one.text for one in passages), modest):
            self._add((one, one.text) for one in passages)
        elif passages:
            self._misfits += 1
            self.show_extracts(message)

    def show_extracts(self, message: Worthy) -> None:
        """Show the lines of a message that answer best."""
        pieces = ((one, self._extract(one)) for one in _best(message))
        self._add((one, text) for one, text in pieces if text not in self._shown and self._room.take(text))

    def passages(self) -> list[Passage]:
        """What is shown, in the order of the log: extracts are whole where there is room for it."""
        for passage, text in self._chosen.items():
            if text != passage.text and self._room.take(passage.text, instead_of=text):
                self._chosen[passage] = passage.text
        return _distinct(sorted(passage._replace(text=text) for passage, text in self._chosen.items()))

    def _extract(self, passage: Passage) -> str:
        return extracted(passage.text, self._matcher, self._rarity)

    def _add(self, pieces: Iterable[tuple[Passage, str]]) -> None:
        for passage, text in pieces:
            self._chosen[passage] = text
            self._shown += f"\0{text}"


def _best(message: Worthy) -> list[Passage]:
    """The passages of a message that answer best; if others lent it all its worth, its first one."""
    if not message.found:
        return list(message.passages[:1])
    least = max(message.found.values()) * _BESIDE_BEST
    parts = sorted((part for part, score in message.found.items() if score >= least), key=lambda p: -message.found[p])
    return [one for part in parts[:_PARTS] for one in message.passages if one.part == part]


def _distinct(passages: Sequence[Passage]) -> list[Passage]:
    """The passages that no other contains; of equal ones the first."""
    joined = "\0".join(one.text for one in passages)
    again = {text for text in {one.text for one in passages} if joined.count(text) > 1}
    kept: list[Passage] = []
    seen: set[str] = set()
    for one in passages:
        if one.text in again and (one.text in seen or any(one.text in o.text and one.text != o.text for o in passages)):
            continue
        seen.add(one.text)
        kept.append(one)
    return kept
