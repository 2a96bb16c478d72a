"""Token counts from character classes, for when no tokenizer is installed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatingCounter:
    """Estimates tokens by script, within about 20 % of o200k_base on prose, code and JSON."""

    recipe_name: ClassVar[str] = "tokens.estimate@1"

    @property
    def name(self) -> str:
        """Marks every number that was estimated rather than counted."""
        return "estimate"

    def count(self, text: str) -> int:
        """How many tokens this text probably has."""
        thousandths = 1000 * len(_PIECES.findall(text))
        if not text.isascii():
            for character, times in Counter("".join(_NON_ASCII.findall(text))).items():
                thousandths += times * _WEIGHTS[bisect_right(_STARTS, ord(character)) - 1]
        return -(-thousandths // 1000)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The count of each text, in order."""
        return [self.count(text) for text in texts]


_PUNCTUATION = r"[!-/:-@\[-`{-~]"

# Each match is about one token. It follows the split that o200k_base makes before merging: case
# changes end a word, digits go by three, a space before a digit stands alone while one before a
# word is free, punctuation swallows the line break after it, and repeated marks are cheap.
_PIECES = re.compile(
    rf"""
      [A-Z\u00c0-\u00de]? [a-z\u00df-\u024f\u1e00-\u1eff]{{1,10}}
    | [A-Z\u00c0-\u00de]{{1,6}}
    | [0-9]{{1,3}}
    | [ ](?=[0-9])
    | ({_PUNCTUATION})\1{{3,63}} [\r\n]*
    | {_PUNCTUATION}{{1,3}} [\r\n]*
    | (?:[^\S\r\n]{{0,128}}+[\r\n]++)++
    | [^\S\r\n]{{2,128}}
    | [\x00-\x08\x0e-\x1b\x7f]{{1,2}}
    """,
    re.VERBOSE,
)
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")

# First code point of a range -> thousandths of a token per character, measured on o200k_base.
# Accented Latin letters also count as part of a word above; theirs is the surcharge. Ranges
# nobody measured are set high: a count that is too low overflows the window.
_SCRIPTS: tuple[tuple[int, int], ...] = (
    (0x0080, 600),  # Latin-1 signs
    (0x00C0, 350),  # Latin-1 letters
    (0x0100, 1200),  # Latin Extended-A
    (0x0180, 600),  # Latin Extended-B
    (0x0250, 1200),  # phonetic
    (0x0300, 700),  # combining marks
    (0x0370, 430),  # Greek
    (0x0400, 290),  # Cyrillic
    (0x0530, 600),  # Armenian
    (0x0590, 490),  # Hebrew
    (0x0600, 340),  # Arabic
    (0x0700, 1500),
    (0x0900, 360),  # Indic scripts and Thai
    (0x0E80, 1000),
    (0x1200, 1500),
    (0x1E00, 150),  # Vietnamese
    (0x1F00, 900),
    (0x2000, 900),  # punctuation, arrows, mathematics, box drawing
    (0x2E80, 1000),
    (0x3000, 800),  # CJK punctuation
    (0x3040, 620),  # kana
    (0x3100, 1000),
    (0x3400, 2500),  # rare Han
    (0x4E00, 750),  # Han
    (0xA000, 2000),
    (0xAC00, 640),  # Hangul
    (0xD7B0, 3000),  # lone surrogates, private use
    (0xF900, 1500),
    (0xFE00, 1000),  # variation selectors, full-width forms
    (0x10000, 3000),
    (0x1F000, 1900),  # emoji
    (0x20000, 3500),
)
_STARTS = tuple(start for start, _ in _SCRIPTS)
_WEIGHTS = tuple(weight for _, weight in _SCRIPTS)
