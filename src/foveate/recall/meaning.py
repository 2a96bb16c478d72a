"""Meaning: how close passages are to a question whose words they need not share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from foveate.recall.embedding import DIGITS, Embedder, embedded, nearest
from foveate.recall.passages import Passage

# Passages that are embedded at a time.
_TOGETHER: Final = 128


class Meaning:
    """Compares passages with a question by an embedder; each text is embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, bytes] = {}

    def similarities(self, query: str, passages: Mapping[int, Passage]) -> dict[int, float]:
        """How close passages are in meaning to a query, by their rows: 1 is the same, 0 has nothing to do with it."""
        if not passages:
            return {}
        texts = [one.text for one in passages.values()]
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        for start in range(0, len(new), _TOGETHER):
            some = new[start : start + _TOGETHER]
            self._vectors.update(zip(some, embedded(self._embedder, some), strict=True))
        (wanted,) = embedded(self._embedder, [query])
        rows = list(passages)
        near = nearest(self._embedder, wanted, [self._vectors[text] for text in texts], len(texts))
        return {rows[place]: round(similarity, DIGITS) for place, similarity in near}
