"""Terms: what a free text asks for, as words, whole identifiers and pairs of CJK characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, Literal, NamedTuple

from foveate.recall.stems import CJK, LONGEST, stem
from foveate.recall.stopwords import CJK_SINGLE_STOPS, CJK_STOPS, STOPWORDS
from foveate.recall.tokens import CAMEL, WORD, composed, humps_of, pairs_of, tokens_of

Kind = Literal["word", "name", "pair"]

# A pasted file asks for no more than its beginning and its end do.
_HEAD: Final = 3_000
_TAIL: Final = 2_000
_TERMS: Final = 32
_NAME_PARTS: Final = 12

_CJK_STOP: Final = re.compile("|".join(sorted(CJK_STOPS, key=len, reverse=True)))
_NAME: Final = re.compile(r"\w+(?:[./:@#\\-]+\w+)*")


class Term(NamedTuple):
    """One thing a query asks for; `weight` is below 1 for a part of an identifier that is asked for whole."""

    text: str
    kind: Kind
    weight: float

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that stand side by side where the term is said."""
        return tuple(map(stem, WORD.findall(self.text))) if self.kind == "name" else (stem(self.text),)

    @property
    def is_prefix(self) -> bool:
        """Whether a token that begins like the term will do: one CJK character stands only in pairs."""
        return self.kind == "pair" and len(self.text) == 1


def terms_of(query: str) -> list[Term]:
    """The informative terms of a query in order, each once; filler such as "yes, go on" leaves none."""
    if len(query) > _HEAD + _TAIL:
        query = f"{query[:_HEAD]} {query[-_TAIL:]}"
    found: dict[tuple[str, Kind], Term] = {}
    for term in _terms(composed(query)):
        # Forms of a word are found in the same places; each more would count them again.
        key = term.text.lower() if term.kind == "name" else stem(term.text), term.kind
        known = found.get(key)
        if known is None or known.weight < term.weight:
            found[key] = term
    # Identifiers come first: if there are too many terms, prose is what a query can spare.
    chosen = sorted(found.values(), key=lambda term: term.kind != "name")[:_TERMS]
    return [term for term in found.values() if term in chosen]


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


class Tally:
    """Says how often each of the terms stands in a text."""

    __slots__ = ("_wanted",)

    def __init__(self, terms: Iterable[Term]) -> None:
        self._wanted = [
            (
                term.kind,
                term.text.lower() if term.kind == "name" else term.text if term.kind == "pair" else stem(term.text),
            )
            for term in terms
        ]

    def __call__(self, text: str, at_least: Sequence[int]) -> list[int]:
        """The times each term stands in a text, given how often it does so at least."""
        text = composed(text)
        lowered = text.lower()
        ascii = text.isascii()
        tokens: Counter[str] | None = None
        counts: list[int] = []
        for (kind, wanted), least in zip(self._wanted, at_least, strict=True):
            # All forms of a word begin alike, but for the last letter of the stem: this is how often it can be there.
            most = (text if kind == "pair" else lowered).count(wanted[:-1] if kind == "word" and ascii else wanted)
            if kind == "word" and (most > least or not ascii):
                tokens = tokens or Counter(chain.from_iterable(tokens_of(text)))
                most = tokens[wanted]
            counts.append(max(most, least))
        return counts


def words_of(text: str) -> Iterator[str]:
    """The words of a text, the humps of camelCase among them."""
    yield from WORD.findall(text)
    yield from humps_of(text)


def _terms(query: str) -> Iterator[Term]:
    if not query.isascii():
        for run in CJK.findall(query):
            yield from _pair_terms(run)
        query = CJK.sub(" ", query)
    for name in _NAME.findall(query):
        parts = WORD.findall(name)[:_NAME_PARTS]
        if len(parts) > 1:
            yield from _name_terms(name, parts)
        elif parts and CAMEL.fullmatch(parts[0]):
            yield from _name_terms(parts[0], humps_of(parts[0]))
        else:
            yield from _word_terms(parts, 1.0)


def _pair_terms(run: str) -> Iterator[Term]:
    if run in CJK_SINGLE_STOPS:
        return
    for rest in _CJK_STOP.split(run):
        # One character between stop words is a particle.
        if len(rest) > 1 or rest == run:
            for pair in pairs_of(rest):
                yield Term(pair, "pair", 1.0)


def _name_terms(name: str, parts: list[str]) -> Iterator[Term]:
    # "and/or" and "e.g." are prose; "is_on" is not.
    says = "_" in name or any(len(part) > 1 and part.lower() not in STOPWORDS for part in parts)
    if says and len(name) <= LONGEST * 4:
        yield Term(name, "name", 1.0)
    yield from _word_terms(parts, 0.5)


def _word_terms(words: Iterable[str], weight: float) -> Iterator[Term]:
    for word in words:
        lowered = word.lower()
        if 1 < len(lowered) <= LONGEST and lowered not in STOPWORDS:
            yield Term(lowered, "word", weight)
