"""Embeddings: what a search by meaning needs, and how its answer and that of words become one."""

from __future__ import annotations

import heapq
import math
import sys
from array import array
from collections.abc import Hashable, Mapping, Sequence
from operator import mul
from typing import Final, Protocol, TypeVar, runtime_checkable

from foveate.errors import ConfigError

# What the same meaning counts beside the same words.
_MEANING: Final = 0.5
# Vectors of the same text may differ by what is added first; beyond these digits it is no longer the same.
DIGITS: Final = 5

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


def blended(words: Mapping[Id, float], meaning: Mapping[Id, float]) -> dict[Id, float]:
    """Scores by words, the best of which is 1, and half of what things have in common in meaning, added up.

    >>> blended({1: 4.0, 2: 1.0}, {2: 0.5, 3: 0.9})
    {1: 1.0, 2: 0.5, 3: 0.45}
    """
    best = max(words.values(), default=0.0) or 1.0
    return {
        one: words.get(one, 0.0) / best + _MEANING * max(0.0, meaning.get(one, 0.0)) for one in {**words, **meaning}
    }


def embedded(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """The vectors of texts with the length 1, as 32-bit numbers, the lowest byte first."""
    vectors = embedder.embed(texts)
    wrong = next((len(vector) for vector in vectors if len(vector) != embedder.dimensions), None)
    if len(vectors) != len(texts) or wrong is not None:
        raise ConfigError(
            f"the embedder {embedder.name!r} gave {len(vectors)} vectors for {len(texts)} texts"
            + (f", one of {wrong} numbers; it says that they have {embedder.dimensions}" if wrong is not None else "")
        )
    return [_packed(embedder.name, vector) for vector in vectors]


def _packed(name: str, vector: Sequence[float]) -> bytes:
    length = math.hypot(*vector)
    if not math.isfinite(length):
        raise ConfigError(f"the embedder {name!r} gave a vector with numbers that are not finite")
    return _swapped(array("f", [number / length for number in vector] if length else vector)).tobytes()


def _unpacked(data: bytes) -> array[float]:
    return _swapped(array("f", data))


def _swapped(numbers: array[float]) -> array[float]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def nearest(embedder: Embedder, query: bytes, vectors: Sequence[bytes], limit: int) -> list[tuple[int, float]]:
    """The places of the vectors nearest to a query and their similarity, best first, of equal ones the first."""
    if isinstance(embedder, ComparingEmbedder):
        return embedder.nearest(query, vectors, limit)
    wanted = _unpacked(query)
    similar = [sum(map(mul, wanted, _unpacked(vector))) for vector in vectors]
    best = heapq.nsmallest(limit, range(len(similar)), key=lambda place: (-similar[place], place))
    return [(place, similar[place]) for place in best]
