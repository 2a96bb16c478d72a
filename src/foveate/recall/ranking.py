"""Ranking: which passages of the evicted past to show for a new input, within a room of tokens.

Short dialogue needs the neighbours of a hit, since an answer shares few words with its question; among long answers
the short turns that say it at once are worth more; in tool output one line is. So a passage is worth the better of its
own BM25 score and what a neighbour lends it, divided by the root of its message's size, and is shown as an extract
first, whole if room is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from foveate.budget.tokens import TokenCounter
from foveate.recall.extracts import extracted
from foveate.recall.index import Hit, PassageIndex
from foveate.recall.passages import Passage
from foveate.recall.scoring import Found
from foveate.recall.terms import Matcher

# What a caller writes around a passage: its reference and line breaks.
PER_PASSAGE: Final = 6
_HITS: Final = 100
# A passage that answers so much worse than the best is left out, however much room there is.
_LEAST: Final = 0.1
# Messages no longer than this are taken for turns of a dialogue, which answer each other.
_TURN: Final = 400
# What a hit lends to its neighbours: all of its score if it asks and they answer, little within a long message.
_ANSWER: Final = 1.0
_NEXT: Final = 0.6
_PREVIOUS: Final = 0.5
_RESULT: Final = 0.8
_SAME_MESSAGE: Final = 0.4
# A message is not worth less for being longer than this: the longest are tool output, where any line may matter.
_LONGEST: Final = 2_000
_OVERHEAD: Final = 24
# What was said last is likelier to be meant; a bonus that halves with so many messages.
_RECENT: Final = 0.5
_HALF_LIFE: Final = 20
_SMALLEST: Final = 10
_MISFITS: Final = 20

_Cut = Mapping[int, Sequence[Passage]]


def recalled(
    index: PassageIndex,
    query: str,
    *,
    room_tokens: int,
    counter: TokenCounter,
    evicted: Callable[[int], bool] = lambda _order: True,
    before: int | None = None,
    per_passage: int = PER_PASSAGE,
    per_line: int = 0,
) -> list[Passage]:
    """The passages worth showing for a query, in the order of the log, long ones as extracts.

    Nothing is shown for a query that asks for nothing ("yes, go on"), and no room is filled with what merely shares a
    common word with it. `per_passage` is what the caller adds around each, in tokens, `per_line` what before each line.
    """
    found = index.find(query, before=before)
    if room_tokens <= per_passage or not any(one.rarity > 0 for one in found):
        return []
    wanted = _Wanted(evicted, before)
    candidates = _candidates(index, index.hits(found, limit=_HITS, among=wanted), wanted)
    return sorted(_filled(candidates, found, _Room(room_tokens, counter, per_passage, per_line)))


class _Wanted:
    """The positions of the log that may be shown."""

    def __init__(self, evicted: Callable[[int], bool], before: int | None) -> None:
        self._evicted = evicted
        self.before = before

    def __contains__(self, order: object) -> bool:
        return isinstance(order, int) and (self.before is None or order < self.before) and self._evicted(order)


class _Room:
    """Tokens left to fill."""

    def __init__(self, tokens: int, counter: TokenCounter, per_passage: int, per_line: int) -> None:
        self.left = tokens
        self._counter = counter
        self._per_passage = per_passage
        self._per_line = per_line

    def take(self, text: str, instead_of: str | None = None) -> bool:
        """Use room for a text, or for what it needs more than another; False if there is too little."""
        cost = self._cost(text)
        cost += self._per_passage if instead_of is None else -self._cost(instead_of)
        if cost > self.left:
            return False
        self.left -= cost
        return True

    def _cost(self, text: str) -> int:
        return self._counter.count(text) + self._per_line * (text.count("\n") + 1)


class _Candidate(NamedTuple):
    passage: Passage
    is_hit: bool
    worth: float
    priority: float


def _candidates(index: PassageIndex, hits: list[Hit], wanted: _Wanted) -> list[_Candidate]:
    """The hits and their neighbours, most worth their tokens first."""
    own = {hit.passage: hit.score for hit in hits}
    cut = index.passages({hit.passage.order + step for hit in hits for step in (-1, 0, 1)})
    worth = dict(own)
    for hit in hits:
        for passage, lent in _neighbours(cut, hit.passage):
            if lent and passage.order in wanted:
                worth[passage] = max(worth.get(passage, 0.0), hit.score * lent)
    least = max(worth.values(), default=0.0) * _LEAST
    newest = _newest(index, wanted)
    candidates = [
        _Candidate(passage, passage in own, value, _priority(passage, len(cut[passage.order]), value, newest))
        for passage, value in worth.items()
        if value >= least
    ]
    return sorted(candidates, key=lambda one: (-one.priority, -one.passage.order, one.passage.part))


def _newest(index: PassageIndex, wanted: _Wanted) -> int:
    """The newest position that may be shown: from there back recency counts."""
    if wanted.before is not None:
        return wanted.before
    newest = index.newest
    while newest > 0 and newest not in wanted:
        newest -= 1
    return newest


def _neighbours(cut: _Cut, passage: Passage) -> Iterator[tuple[Passage, float]]:
    """What stands before and after a passage, each with the share of its score that the passage lends it."""
    order, part = passage.order, passage.part
    starts, ends = part == 0, part + 1 == len(cut[order])
    before = cut.get(order - 1, ())[-1:] if starts else cut[order][part - 1 : part]
    after = cut.get(order + 1, ())[:1] if ends else cut[order][part + 1 : part + 2]
    for one in before:
        yield one, _share(one, passage, _PREVIOUS) if starts else _SAME_MESSAGE
    for one in after:
        asks = "?" in passage.text or "？" in passage.text
        yield one, _share(passage, one, _ANSWER if asks else _NEXT) if ends else _SAME_MESSAGE


def _share(first: Passage, second: Passage, among_turns: float) -> float:
    """What two messages in a row lend each other: turns answer each other, and so do a call and its result."""
    if len(first.text) <= _TURN and len(second.text) <= _TURN:
        return among_turns
    return _RESULT if first.role == "assistant" and second.role == "tool" else 0.0


def _priority(passage: Passage, parts: int, worth: float, newest: int) -> float:
    size = min(_LONGEST, len(passage.text) * parts) + _OVERHEAD
    recency = 1 + _RECENT * 0.5 ** ((newest - passage.order) / _HALF_LIFE)
    return float(worth * recency / size**0.5)


def _filled(candidates: list[_Candidate], found: list[Found], room: _Room) -> list[Passage]:
    matcher = Matcher(one.term for one in found)
    rarity = {one.term: one.rarity for one in found}
    chosen: dict[Passage, str] = {}
    misfits = 0
    for passage, is_hit, _, _ in candidates:
        if room.left < _SMALLEST or misfits >= _MISFITS:
            break
        text = extracted(passage.text, matcher, rarity) if is_hit else passage.text
        if any(text in other for other in chosen.values()):
            continue
        if room.take(text):
            chosen[passage] = text
        else:
            misfits += 1
    for passage, text in chosen.items():
        if text != passage.text and room.take(passage.text, instead_of=text):
            chosen[passage] = passage.text
    return _distinct([passage._replace(text=text) for passage, text in chosen.items()])


def _distinct(passages: list[Passage]) -> list[Passage]:
    """The passages that no other contains; of equal ones the first."""
    return [
        one
        for place, one in enumerate(passages)
        if not any(
            one.text in other.text and (one.text != other.text or at < place)
            for at, other in enumerate(passages)
            if at != place
        )
    ]
