"""Word sets: tables of names as they read best, a few lines of words."""

from __future__ import annotations

from collections.abc import Iterable


def word_set(words: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split())


def has_any(text: str, words: Iterable[str]) -> bool:
    """Whether a text has one of a few words in it."""
    # A loop: a generator takes twice the time, and this is asked of every line.
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False
