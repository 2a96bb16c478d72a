"""Terms: what a free text asks for, as words, whole identifiers and pairs of CJK characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from foveate.recall.stopwords import CJK_SINGLE_STOPS, CJK_STOPS, STOPWORDS

Kind = Literal["word", "name", "pair"]

# A pasted file asks for no more than its beginning and its end do.
_HEAD: Final = 3_000
_TAIL: Final = 2_000
_TERMS: Final = 32
_NAME_PARTS: Final = 12
_LONGEST: Final = 80

_CJK_CLASS: Final = (
    "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_CJK: Final = re.compile(f"[{_CJK_CLASS}]+")
_CJK_STOP: Final = re.compile("|".join(sorted(CJK_STOPS, key=len, reverse=True)))
_NAME: Final = re.compile(r"\w+(?:[./:@#\\-]+\w+)*")
_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<![A-Za-z])[A-Z]*+[a-z0-9]++(?:[A-Z]++[a-z0-9]*+)+")
_INNER_CAPITAL: Final = re.compile(r"[a-z0-9][A-Z]")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SUFFIX: Final = re.compile(r"(?:ings?|edly|ed|ies|ly|es|s|e|y)$")


class Term(NamedTuple):
    """One thing a query asks for; `weight` is below 1 for a part of an identifier that is asked for whole."""

    text: str
    kind: Kind
    weight: float

    @property
    def expression(self) -> str:
        """The term as an FTS5 string, in which no character has a meaning of its own."""
        words = " ".join(_WORD.findall(self.text))
        # A single character is findable only as the beginning of a pair.
        return f'"{words}" *' if self.kind == "pair" and len(words) == 1 else f'"{words}"'


def terms_of(query: str) -> list[Term]:
    """The informative terms of a query in order, each once; filler such as "yes, go on" leaves none."""
    if len(query) > _HEAD + _TAIL:
        query = f"{query[:_HEAD]} {query[-_TAIL:]}"
    found: dict[tuple[str, Kind], Term] = {}
    for term in _terms(unicodedata.normalize("NFC", query)):
        known = found.get(term[:2])
        if known is None or known.weight < term.weight:
            found[term[:2]] = term
    # Identifiers come first: if there are too many terms, prose is what a query can spare.
    chosen = sorted(found.values(), key=lambda term: term.kind != "name")[:_TERMS]
    return [term for term in found.values() if term in chosen]


def hidden_words(text: str) -> str:
    """What a tokenizer of words misses in a text: the humps of camelCase and pairs of CJK characters.

    >>> hidden_words("call parseOrder, 注文番号")
    'parse Order 注文 文番 番号 号'
    """
    words: list[str] = []
    if _INNER_CAPITAL.search(text):
        words += [hump for name in _CAMEL.findall(text) for hump in _HUMP.findall(name)]
    if not text.isascii():
        for run in _CJK.findall(text):
            words += _pairs(run)
            words.append(run[-1])
    return " ".join(words)


class Matcher:
    """Says which of the terms stand in a line of text."""

    __slots__ = ("_names", "_pairs", "_words", "terms")

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(terms)
        self._words = {stem(term.text): term for term in self.terms if term.kind == "word"}
        self._names = [(term.text.lower(), term) for term in self.terms if term.kind == "name"]
        self._pairs = [(term.text, term) for term in self.terms if term.kind == "pair"]

    def __call__(self, line: str) -> list[Term]:
        """The terms in a line, each once."""
        found: dict[Term, None] = {}
        lowered = line.lower()
        for name, term in self._names:
            if name in lowered:
                found[term] = None
        if self._words:
            for word in words_of(line):
                hit = self._words.get(stem(word))
                if hit is not None:
                    found[hit] = None
        for pair, term in self._pairs:
            if pair in line:
                found[term] = None
        return list(found)


def words_of(text: str) -> Iterator[str]:
    """The words of a text, the humps of camelCase among them."""
    yield from _WORD.findall(text)
    for name in _CAMEL.findall(text):
        yield from _HUMP.findall(name)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without case, accents and common English endings, so that its forms are one."""
    lowered = word.lower()
    if not lowered.isascii():
        lowered = "".join(c for c in unicodedata.normalize("NFKD", lowered) if not unicodedata.combining(c))
    if len(lowered) <= 3 or not lowered.isalpha():
        return lowered
    cut = _SUFFIX.sub("", lowered)
    return cut if len(cut) >= 3 else lowered


def _terms(query: str) -> Iterator[Term]:
    if not query.isascii():
        for run in _CJK.findall(query):
            yield from _pair_terms(run)
        query = _CJK.sub(" ", query)
    for name in _NAME.findall(query):
        parts = _WORD.findall(name)[:_NAME_PARTS]
        if len(parts) > 1:
            yield from _name_terms(name, parts)
        elif parts and _CAMEL.fullmatch(parts[0]):
            yield from _name_terms(parts[0], _HUMP.findall(parts[0]))
        else:
            yield from _word_terms(parts, 1.0)


def _pair_terms(run: str) -> Iterator[Term]:
    if run in CJK_SINGLE_STOPS:
        return
    for rest in _CJK_STOP.split(run):
        # One character between stop words is a particle.
        if len(rest) > 1 or rest == run:
            for pair in _pairs(rest):
                yield Term(pair, "pair", 1.0)


def _name_terms(name: str, parts: list[str]) -> Iterator[Term]:
    # "and/or" and "e.g." are prose; "is_on" is not.
    says = "_" in name or any(len(part) > 1 and part.lower() not in STOPWORDS for part in parts)
    if says and len(name) <= _LONGEST * 4:
        yield Term(name, "name", 1.0)
    yield from _word_terms(parts, 0.5)


def _word_terms(words: Iterable[str], weight: float) -> Iterator[Term]:
    for word in words:
        lowered = word.lower()
        if 1 < len(lowered) <= _LONGEST and lowered not in STOPWORDS:
            yield Term(lowered, "word", weight)


def _pairs(run: str) -> list[str]:
    return [run[index : index + 2] for index in range(len(run) - 1)] if len(run) > 1 else [run] if run else []
