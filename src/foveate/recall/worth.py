"""Worth: which messages are worth showing for a query, the same for a session's recall and a search of a store.

Short dialogue needs the neighbors of a hit, since an answer shares few words with its question; among long answers the
short turns that say it at once are worth more; in tool output one line is. So a message is worth the better of its own
score and what its neighbors lend it, and as much the more as it is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from foveate.recall.passages import Passage
from foveate.recall.postings import PART_BITS, Postings
from foveate.recall.scoring import Ranked

# What a message lends to the next one and to the one before; a call lends its result more.
_NEXT: Final = 0.6
_PREVIOUS: Final = 0.5
_RESULT: Final = 0.8
# A question lends all of its score to the reply, where both are short turns of a dialogue.
_REPLY: Final = 1.0
_TURN: Final = 400
# What is added of the lesser of its own score and its loans: two reasons are better than one.
_BOTH: Final = 0.15
# The power of its length that a message is divided by. Any line of a tool's output may be the one that matters, and
# only the lines that matter are shown of it, so it counts as no longer than this.
_POWER: Final = 0.5
POWER_BY_MEANING: Final = 0.35
"""The power where meaning counts, too: a vector is of all of a text, so that words say less of what is long."""
_LONGEST_OUTPUT: Final = 2_000
_OVERHEAD: Final = 40


class Worthy(NamedTuple):
    """A message at a place, its passages, the scores of those that were found, and what the message is worth.

    `density` is its worth by its length.
    """

    place: int
    passages: Sequence[Passage]
    found: Mapping[int, float]
    worth: float
    density: float


def worthy(
    postings: Postings,
    hits: Sequence[Ranked],
    *,
    allowed: Callable[[Sequence[int]], Iterable[int]] = lambda places: places,
    power: float = _POWER,
) -> list[Worthy]:
    """The messages of some hits and their neighbors, the densest first; `allowed` says which places may be shown."""
    found: dict[int, dict[int, float]] = {}
    for hit in hits:
        found.setdefault(hit.row >> PART_BITS, {})[hit.passage.part] = hit.score
    near = {place + step for place in found for step in (-1, 0, 1)}
    may = set(allowed(sorted(place for place in near if place >= 0)))
    cut = postings.passages(sorted(may | set(found)))
    own = {place: max(scores.values()) for place, scores in found.items() if place in cut}
    messages = [
        _weighed(place, cut[place], found.get(place, {}), (own.get(place, 0.0), *_loans(place, cut, own)), power)
        for place in sorted(may)
        if place in cut
    ]
    return sorted((one for one in messages if one.worth > 0), key=lambda one: (-one.density, -one.place))


def _weighed(
    place: int, passages: Sequence[Passage], found: Mapping[int, float], reasons: Sequence[float], power: float
) -> Worthy:
    best = max(reasons)
    worth = best + _BOTH * (sum(reasons) - best)
    size = sum(len(passage.text) for passage in passages)
    if passages[0].role == "tool":
        size = min(size, _LONGEST_OUTPUT)
    return Worthy(place, passages, found, worth, worth / float((size + _OVERHEAD) ** power))


def _loans(place: int, cut: Mapping[int, Sequence[Passage]], own: Mapping[int, float]) -> tuple[float, float]:
    """What a message gets from the one before it, and from the one behind it."""
    one = cut[place][0]
    before, after = own.get(place - 1, 0.0), own.get(place + 1, 0.0)
    if before:
        first = cut[place - 1][-1]
        asks = ("?" in first.text or "？" in first.text) and max(len(first.text), len(one.text)) <= _TURN
        before *= _lends(first, one, _REPLY if asks else _NEXT)
    if after:
        # What a tool's output says is found in it; the call alone is so short that it would come before.
        after *= 0.0 if cut[place + 1][0].role == "tool" else _lends(cut[place][-1], cut[place + 1][0], _PREVIOUS)
    return before, after


def _lends(first: Passage, second: Passage, among_turns: float) -> float:
    """What two messages in a row lend each other: turns answer each other, and so do a call and its result."""
    if second.role != "tool":
        return among_turns if first.role != "tool" else 0.0
    return _RESULT if first.role == "assistant" else 0.0


def ordered(
    postings: Postings,
    hits: Sequence[Ranked],
    *,
    limit: int,
    allowed: Callable[[Sequence[int]], Iterable[int]] = lambda places: places,
) -> list[Ranked]:
    """The passages of some hits as a search shows them, those of the densest messages first; the best score is 1.

    Neighbors lend worth to a hit. They are no hits themselves: a search for a word is for where it stands.
    """
    messages = [one for one in worthy(postings, hits, allowed=allowed) if one.found]
    best = max((one.density for one in messages), default=0.0)
    chosen: list[Ranked] = []
    for one in messages:
        first = max(one.found.values())
        for passage in one.passages:
            share = one.found.get(passage.part, 0.0) / first if first else 0.0
            if share:
                row = one.place << PART_BITS | passage.part
                chosen.append(Ranked(row, passage, round(share * one.density / best, _DIGITS)))
    return sorted(chosen, key=lambda one: (-one.score, one.row))[:limit]


# What is beyond is decided by the order in which things are added up.
_DIGITS: Final = 9
