"""Extracts: the lines of a long passage that speak of what was asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from foveate.recall.terms import Matcher, Term

_SHORT: Final = 160
_LONG_LINE: Final = 200
# Sentences only: the fields of a record on one long line belong together.
_SENTENCE: Final = re.compile(r"[^.!?。！？]*(?:[.!?](?!\s|$)[^.!?。！？]*)*(?:[.!?。！？]+\s*|$)")
GAP: Final = "…"
# A term already shown in a better line still counts a little: a second mention may be the one that matters.
_AGAIN: Final = 0.3
_LEAST: Final = 0.35
_WORTH: Final = 0.8


def extracted(text: str, matcher: Matcher, rarity: Mapping[Term, float]) -> str:
    """The lines of a text that have the rarest terms, with a line around each; a short text stays whole."""
    if len(text) <= _SHORT:
        return text
    lines = _segments(text)
    scores = [sum(rarity.get(term, 0.0) for term in matcher(line)) for line, _ in lines]
    best = max(scores, default=0.0)
    if best <= 0:
        return text
    shown: set[int] = set()
    for index, score in enumerate(scores):
        if score >= best * _LEAST:
            shown |= {index - 1, index, index + 1}
    chosen = _joined(lines, [index for index in sorted(shown) if 0 <= index < len(lines)])
    return chosen if len(chosen) <= len(text) * _WORTH else text


def _segments(text: str) -> list[tuple[str, str]]:
    """Lines, long ones by sentences, each with what joins it to the one before."""
    segments: list[tuple[str, str]] = []
    for line in text.split("\n"):
        pieces = [p for p in _SENTENCE.findall(line) if p] if len(line) > _LONG_LINE else [line]
        segments += [(piece, "" if number else "\n") for number, piece in enumerate(pieces)]
    return segments


def _joined(lines: list[tuple[str, str]], chosen: list[int]) -> str:
    pieces: list[str] = []
    previous = -1
    for index in chosen:
        line, joint = lines[index]
        if index != previous + 1:
            pieces.append(f"\n{GAP}\n" if pieces else f"{GAP}\n")
        elif pieces:
            pieces.append(joint)
        pieces.append(line)
        previous = index
    if previous != len(lines) - 1:
        pieces.append(f"\n{GAP}")
    return "".join(pieces)
