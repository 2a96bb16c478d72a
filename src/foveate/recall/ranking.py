"""Ranking: which passages of the evicted past to show for a new input, within a room of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from typing import Final, NamedTuple

from foveate.budget.tokens import TokenCounter
from foveate.recall.extracts import extracted
from foveate.recall.index import Found, PassageIndex
from foveate.recall.passages import Passage
from foveate.recall.terms import Matcher

# What the caller writes around a passage: its reference and line breaks.
PER_PASSAGE: Final = 6
_HITS: Final = 150
# Left out: what answers the query so much worse than the best passage does.
_LEAST: Final = 0.3
# A turn of a dialogue is this short; then the answer to it stands in the next one.
_TURN: Final = 400
_NEIGHBOUR: Final = 0.5
_RANK: Final = 20


def recalled(
    index: PassageIndex,
    query: str,
    *,
    room_tokens: int,
    counter: TokenCounter,
    evicted: Callable[[int], bool] = lambda _order: True,
    before: int | None = None,
    per_passage: int = PER_PASSAGE,
) -> list[Passage]:
    """The passages worth showing for a query, in the order of the log; long ones as extracts.

    Nothing is shown for a query that asks for nothing ("yes, go on"), and no room is filled with what merely shares a
    common word with it.
    """
    found = index.find(query, before=before)
    if room_tokens <= per_passage or not any(one.rarity > 0 for one in found):
        return []
    candidates = _ranked(_candidates(index, found, evicted))
    return sorted(_fitting(candidates, found, room_tokens, counter, per_passage))


class Candidate(NamedTuple):
    """A passage, how well it answers by itself, and how well its neighbours do."""

    passage: Passage
    own: float
    near: float
    text: str = ""


def _candidates(*a): raise NotImplementedError
def _ranked(*a): raise NotImplementedError
def _fitting(*a): raise NotImplementedError
