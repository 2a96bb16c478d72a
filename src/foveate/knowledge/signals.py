"""Signals: what a task is about, from its own words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from foveate.knowledge.models import ContextTask
from foveate.knowledge.paths import is_bare_ending, paths_in, without_addresses, words_of_paths
from foveate.knowledge.terms import spaced, word_terms
from foveate.recall.stems import CJK, stem
from foveate.recall.stopwords import STOPWORDS
from foveate.recall.tokens import WORD, composed, humps_of, pairs_of, tokens_of

DOMAINS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "api": ("endpoint", "rest", "graphql", "route", "request"),
        "auth": ("login", "token", "jwt", "session", "password"),
        "database": ("query", "schema", "migration", "model", "record"),
        "ui": ("component", "button", "form", "page", "style"),
        "testing": ("test", "spec", "mock", "assert", "coverage"),
    }
)
# Vowels and accents that stand as signs of their own, as in Hindi, Thai and Arabic: a word does not end there.
_SIGNS: Final = "".join(chr(code) for code in range(0x300, 0x2000) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
_TERM: Final = re.compile(rf"\w[\w+#{_SIGNS}]*(?:[-.][\w+#{_SIGNS}]+)*[+#]*")
# Numbers, versions and dates say nothing of what a task is about; "2fa" and "3d" do.
_ABBREVIATION: Final = re.compile(r"(?:e\.g|i\.e|etc|vs|a\.k\.a|v?\d+(?:\.\w+)+|[\d.+#_-]+)\.?", re.IGNORECASE)
# Every project has it, so it tells none apart.
_NO_WORDS: Final = frozenset({"src"})
_MOST: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What a task is about: words in order, each once, as they stand and as stems; domains, files, types."""

    keywords: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    files_mentioned: tuple[str, ...] = ()
    task_types: tuple[str, ...] = ()


def extract_signals(task: ContextTask, *, domains: Mapping[str, Sequence[str]] | None = None) -> Signals:
    """The signals of a task; `domains` are added to those we know, or take their place under the same name.

    A domain, or a word that tells of it, may be of several words, which then have to follow each other.
    """
    text = composed(" ".join((task.name, task.objective, *task.acceptance_criteria)))
    files = paths_in(text)
    keywords = list(dict.fromkeys(_keywords(text)))[:_MOST]
    stems = tuple(dict.fromkeys(_stems(keywords)))
    return Signals(
        keywords=tuple(keywords),
        stems=stems,
        domains=tuple(_domains(text, stems, {**DOMAINS, **(domains or {})})),
        files_mentioned=files,
        task_types=(task.type,) if task.type.strip() else (),
    )


def _keywords(text: str) -> Iterator[str]:
    """The words of a text that say something, technical terms whole and in parts, lowercase."""
    for run in CJK.findall(text):
        yield from pairs_of(run)
    for term in _TERM.findall(CJK.sub(" ", words_of_paths(without_addresses(text)))):
        if _ABBREVIATION.fullmatch(term):
            continue
        parts = WORD.findall(term)
        humps = [hump for part in parts for hump in humps_of(part)]
        lowered = term.lower()
        if len(parts) > 1 and lowered not in STOPWORDS and len(lowered) <= 80:
            yield lowered
        elif lowered != lowered.strip("+#") and len(lowered) > 1:
            # C++ and C# are words, though a tokenizer would lose what makes them so.
            yield lowered
        for part in (*parts, *humps):
            word = part.lower()
            says_nothing = word in STOPWORDS or word in _NO_WORDS or word.isdigit() or is_bare_ending(word)
            if 1 < len(word) <= 80 and not says_nothing:
                yield word


def _stems(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        yield stem(word)
        if not word.isascii():
            # Where signs part a word, an index has its parts.
            yield from word_terms(word)


def _domains(text: str, stems: Sequence[str], known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    said, run = set(stems), _run(without_addresses(text))
    for domain, triggers in known.items():
        # The domain's own name says it best.
        for words in map(_run, (domain, *triggers)):
            if words in run if len(words.split()) > 1 else words.strip() in said:
                yield domain
                break


def _run(text: str) -> str:
    """The stems of a text in their order with spaces around each, so that some that follow each other can be found."""
    tokens = tokens_of(CJK.sub(" ", text))
    return spaced((*tokens.words, *tokens.hidden, *(pair for run in CJK.findall(text) for pair in pairs_of(run))))
