"""Embeddings: what a search by meaning needs, and how its answer and that of words become one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, Protocol, TypeVar, runtime_checkable

# So far down a list two places next to each other say about the same; 60 is what everybody uses.
_FLATNESS: Final = 60

Id = TypeVar("Id", bound=Hashable)


class Embedder(Protocol):
    """Says where texts lie in a space in which what is close means the same."""

    @property
    def name(self) -> str:
        """What made the vectors; those of another name are not comparable."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text, in their order."""
        ...


@runtime_checkable
class ComparingEmbedder(Embedder, Protocol):
    """An embedder that can also compare vectors, faster than plain Python does."""

    def nearest(self, query: bytes, vectors: Sequence[bytes], limit: int) -> list[tuple[int, float]]:
        """The places of the vectors nearest to a query and their similarity, best first, of equal ones the first.

        All are of length 1 and written as 32-bit numbers, the lowest byte first.
        """
        ...


def fused(*rankings: Sequence[Id], flatness: int = _FLATNESS) -> list[Id]:
    """Ranked lists as one, by reciprocal rank: best is what stands high in several; of equal ones the first said.

    >>> fused([1, 2, 3], [3, 4])
    [3, 1, 2, 4]
    """
    scores: dict[Id, float] = {}
    for ranking in rankings:
        for place, one in enumerate(dict.fromkeys(ranking)):
            scores[one] = scores.get(one, 0.0) + 1 / (flatness + place + 1)
    return sorted(scores, key=lambda one: -scores[one])
