"""Mapping: which parts of the code a task is about, by the words they are named with."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from foveate.knowledge.models import MapEntry
from foveate.recall.tokens import CAMEL, HUMP, WORD, tokens_of

COMPONENT: Final = 2
LOCATION: Final = 1
DOMAIN: Final = 1
MENTIONED: Final = 3
# A ranking reads more of an entry than its names, so that a word can count twice as much in it.
_NOTES: Final = 2
_SYMBOLS: Final = 1
_MENTIONED_RANKED: Final = 2 * MENTIONED

# Folders that every project has, and files that stand for their folder.
_ROOTS: Final = frozenset({"src", "lib", "libs", "app", "pkg", "cmd", "internal", "main", "java", "source", "sources"})
_STANDS_FOR_FOLDER: Final = frozenset({"__init__", "__main__", "index", "mod", "main", "lib"})
_RANGE: Final = r"(?:all|\d+(?:-\d+)?)"
_LINES: Final = re.compile(rf":{_RANGE}(?:,\s*{_RANGE})*$")

_NONE: Final[Mapping[str, int]] = MappingProxyType({})

Scored = list[tuple[MapEntry, float]]


class TaskSignals(Protocol):
    """What a task is about: stems of its words, domains, and files that it names."""

    @property
    def stems(self) -> Sequence[str]: ...
    @property
    def domains(self) -> Sequence[str]: ...
    @property
    def files_mentioned(self) -> Sequence[str]: ...


class FoundFile(Protocol):
    """What is known of a file beyond its entry: stems of all it defines, and how many others refer to it."""

    @property
    def path(self) -> str: ...
    @property
    def symbols(self) -> frozenset[str]: ...
    @property
    def references(self) -> float: ...


def scored_entries(signals: TaskSignals, entries: Iterable[MapEntry]) -> Scored:
    """The entries that a task is about, best first, every word counting alike.

    A word of the task counts 2 in the component and 1 in the location, a domain 1 in the notes, a file it names 3.
    """
    found = [(entry, _score(signals, entry)) for entry in entries]
    return sorted(
        ((entry, score) for entry, score in found if score > 0),
        key=lambda one: (-one[1], len(one[0].location), one[0].location),
    )


def ranked_entries(signals: TaskSignals, entries: Iterable[MapEntry], files: Iterable[FoundFile] = ()) -> Scored:
    """The entries that a task is about, best first, for maps of any size: see `CodeMap`."""
    return CodeMap(entries, files).ranked(signals)


class CodeMap:
    """A map that can be asked for many tasks.

    It counts as `scored_entries` does, and what notes and `files` say too; what few entries have counts more, and how
    many files refer to one settles ties. If these entries are a part of a larger map, `counts` says how many of all its
    entries have a stem, and `total` how many it has.
    """

    def __init__(
        self,
        entries: Iterable[MapEntry],
        files: Iterable[FoundFile] = (),
        *,
        counts: Mapping[str, int] = _NONE,
        total: int = 0,
    ) -> None:
        self._entries = tuple(entries)
        self._counts = counts
        self._total = max(total, len(self._entries))
        known = {file.path: file for file in files}
        self._having: dict[str, dict[int, int]] = defaultdict(dict)
        self._noting: dict[str, set[int]] = defaultdict(set)
        self._references: list[float] = []
        for index, entry in enumerate(self._entries):
            file = known.get(_path(entry))
            self._references.append(file.references if file is not None else 0.0)
            for word, weight in _weights(entry, file.symbols if file is not None else frozenset()).items():
                self._having[word][index] = weight
            for word in stems_of(entry.notes):
                self._noting[word].add(index)

    def ranked(self, signals: TaskSignals) -> Scored:
        """The entries that a task is about, best first."""
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(signals.stems):
            self._count(scores, self._having.get(word, {}), word)
        for domain in dict.fromkeys(signals.domains):
            words = stems_of(domain)
            noting = [self._noting.get(word, set[int]()) for word in words]
            self._count(scores, dict.fromkeys(set[int].intersection(*noting) if noting else (), DOMAIN), *words)
        for file in dict.fromkeys(signals.files_mentioned):
            named = (index for index, entry in enumerate(self._entries) if _names(file, _path(entry)))
            self._count(scores, dict.fromkeys(named, _MENTIONED_RANKED))
        return [
            (self._entries[index], scores[index]) for index in sorted(scores, key=lambda one: self._place(one, scores))
        ]

    def _count(self, scores: dict[int, float], weights: Mapping[int, int], *words: str) -> None:
        having = max(len(weights), min((self._counts.get(word, 0) for word in words), default=0))
        rarity = _rarity(having, max(having, self._total))
        for index, weight in weights.items():
            scores[index] += weight * rarity

    def _place(self, index: int, scores: Mapping[int, float]) -> tuple[float, float, int, str]:
        location = self._entries[index].location
        # Sums of the same parts in another order differ in their last digits.
        return -round(scores[index], 9), -self._references[index], len(location), location


def stems_of(text: str) -> frozenset[str]:
    """The stems of a text, of what stands in its camelCase and snake_case too."""
    tokens = tokens_of(text)
    return frozenset((*tokens.words, *tokens.hidden))


def component_of(path: str) -> str:
    """A readable name for the part of the code that a file is.

    >>> [component_of(path) for path in ("src/billing/money.py", "api/__init__.py", "web/OrderForm.tsx")]
    ['billing money', 'api', 'web order form']
    """
    *folders, name = path.strip("/").split("/")
    folders = [folder for folder in folders if folder not in _ROOTS][-1:]
    plain = name.lstrip(".").partition(".")[0] or name
    parts = folders if folders and plain in _STANDS_FOR_FOLDER else [*folders, plain]
    return " ".join(filter(None, map(_readable, parts))) or name


def _score(signals: TaskSignals, entry: MapEntry) -> float:
    path = _path(entry)
    component, location, notes = stems_of(entry.component), stems_of(path), stems_of(entry.notes)
    words = dict.fromkeys(signals.stems)
    return (
        COMPONENT * sum(word in component for word in words)
        + LOCATION * sum(word in location for word in words)
        + DOMAIN * sum(stems_of(domain) <= notes for domain in dict.fromkeys(signals.domains) if stems_of(domain))
        + MENTIONED * sum(_names(file, path) for file in dict.fromkeys(signals.files_mentioned))
    )


def _weights(entry: MapEntry, symbols: frozenset[str]) -> Counter[str]:
    """What each word counts for an entry."""
    weights: Counter[str] = Counter(dict.fromkeys(symbols, _SYMBOLS))
    for text, weight in ((entry.component, COMPONENT), (_path(entry), LOCATION), (entry.notes, _NOTES)):
        weights.update(dict.fromkeys(stems_of(text), weight))
    return weights


def _rarity(having: int, entries: int) -> float:
    """Near 1 for what one of many entries has, near 0 for what all have."""
    share = math.log1p((entries - having + 0.5) / (having + 0.5)) / math.log1p(entries + 1)
    # Between the logarithm, with which common words win by their number, and its square, with which one rare word wins.
    return math.pow(share, 1.5)


def _path(entry: MapEntry) -> str:
    return _LINES.sub("", entry.location)


def _names(mentioned: str, path: str) -> bool:
    """Whether a path, a part of one or a file's name means this file."""
    wanted, parts = parts_of(mentioned), parts_of(path)
    if mentioned.startswith(("/", "~")) and len(wanted) > len(parts):
        # It leads to the project from outside.
        wanted = wanted[-len(parts) :]
    starts = range(len(parts) - len(wanted) + 1)
    return bool(wanted) and any(parts[at : at + len(wanted)] == wanted for at in starts)


def parts_of(path: str) -> list[str]:
    """The folders of a path and its name, without the lines that it may end with."""
    return [part for part in _LINES.sub("", path).split("/") if part not in ("", ".", "~")]


def _readable(name: str) -> str:
    spaced = CAMEL.sub(lambda found: " ".join(HUMP.findall(found[0])), name)
    return " ".join(WORD.findall(spaced)).lower()
