"""Tokens: the words of a text as every engine of search is given them, so that all find the same."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from foveate.recall.stems import CJK, stem

WORD: Final = re.compile(r"[^\W_]+")
CAMEL: Final = re.compile(r"(?<![A-Za-z0-9])[A-Z]*+[a-z0-9]++(?:[A-Z]++[a-z0-9]*+)+")
HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_INNER_CAPITAL: Final = re.compile(r"[a-z0-9][A-Z]")
# Letters and digits beyond ASCII; dashes, arrows and frames make no words.
_LETTER: Final = re.compile(r"[^\W\x00-\x7f]")
# PostgreSQL knows no more places of a word, so no engine is told more.
_MOST_TIMES: Final = 255
_SPACED: Final = "".join(chr(code) if chr(code).isalnum() else " " for code in range(128))


class Tokens(NamedTuple):
    """The stems of a text: of its words in their order, and of what stands hidden in them."""

    words: list[str]
    hidden: list[str]

    @property
    def length(self) -> int:
        """How long the text is to a ranking."""
        return len(self.words) + len(self.hidden)


def tokens_of(text: str) -> Tokens:
    """The tokens of a text: letters and digits only, so that no engine sees a syntax in them.

    >>> tokens_of("calling parseOrder: 注文番号")
    Tokens(words=['cal', 'parseord'], hidden=['pars', 'order', '注文', '文番', '番号', '号'])
    """
    # Every message that is written goes through here, so the slow ways are taken only where they must.
    text = composed(text)
    pairs: list[str] = []
    if text.isascii():
        words = text.translate(_SPACED).split()
    elif _LETTER.search(text):
        # The last character begins no pair, and is to be found too.
        pairs = [stem(run[at : at + 2]) for run in CJK.findall(text) for at in range(len(run))]
        words = WORD.findall(CJK.sub(" ", text))
    else:
        words = text.encode("ascii", "replace").decode("ascii").translate(_SPACED).split()
    humps = chain.from_iterable(map(_humps, words)) if _INNER_CAPITAL.search(text) else ()
    found = Tokens(list(map(stem, words)), [*humps, *pairs])
    return found if found.length <= _MOST_TIMES else _thinned(found)


def pairs_of(run: str) -> list[str]:
    """Two characters at a time of a text without spaces; one that stands alone is its own pair.

    >>> pairs_of("注文番号")
    ['注文', '文番', '番号']
    """
    return [run[index : index + 2] for index in range(len(run) - 1)] or [run]


def humps_of(word: str) -> list[str]:
    """The words of which a word in camelCase is made; none of any other."""
    return [hump for name in CAMEL.findall(word) for hump in HUMP.findall(name)]


def composed(text: str) -> str:
    """The text with letters and their accents in one: some file systems take them apart, and a word would end there."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


@lru_cache(maxsize=50_000)
def _humps(word: str) -> tuple[str, ...]:
    return tuple(map(stem, humps_of(word)))


def _thinned(tokens: Tokens) -> Tokens:
    times: Counter[str] = Counter()

    def kept(words: list[str]) -> Iterator[str]:
        for word in words:
            times[word] += 1
            if times[word] <= _MOST_TIMES:
                yield word

    return Tokens(list(kept(tokens.words)), list(kept(tokens.hidden)))
