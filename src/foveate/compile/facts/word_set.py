"""Word sets: tables of names as they read best, a few lines of words."""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split())
