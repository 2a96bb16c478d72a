"""Signals: what a task is about, from its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from foveate.knowledge.models import ContextTask
from foveate.recall.stems import CJK, stem
from foveate.recall.stopwords import STOPWORDS
from foveate.recall.tokens import WORD, composed, humps_of, pairs_of

DOMAINS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "api": ("endpoint", "rest", "graphql", "route", "request"),
        "auth": ("login", "token", "jwt", "session", "password"),
        "database": ("query", "schema", "migration", "model", "record"),
        "ui": ("component", "button", "form", "page", "style"),
        "testing": ("test", "spec", "mock", "assert", "coverage"),
    }
)
# A path has a folder in it, or an ending that files have.
_PATH: Final = re.compile(
    r"(?<![\w@:/.-])(?:~|\.{1,2})?/?[\w@.+-]+(?:/[\w@.+-]+)+/?|(?<![\w@/.-])[\w+-][\w.+-]*\.[A-Za-z]\w{0,7}\b"
)
_URL: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_ABBREVIATION: Final = re.compile(r"^(?:e\.g|i\.e|etc|vs|a\.k\.a|\d+(?:\.\d+)*|v?\d[\w.]*)\.?$", re.IGNORECASE)
# "and/or" and "read/write" are prose: a path without an ending needs two separators or a dot somewhere.
_PROSE: Final = re.compile(r"^[A-Za-z]+/[A-Za-z]+$")
_TERM: Final = re.compile(r"[A-Za-z_][\w+#]*(?:[-.][\w+#]+)*[+#]*")
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
    """The signals of a task; `domains` are added to those we know, or take their place under the same name."""
    text = composed(" ".join((task.name, task.objective, *task.acceptance_criteria)))
    files = paths_in(text)
    keywords = list(dict.fromkeys(_keywords(text)))[:_MOST]
    stems = tuple(dict.fromkeys(stem(word) for word in keywords))
    return Signals(
        keywords=tuple(keywords),
        stems=stems,
        domains=tuple(_domains(stems, {**DOMAINS, **(domains or {})})),
        files_mentioned=files,
        task_types=(task.type,) if task.type.strip() else (),
    )


def paths_in(text: str) -> tuple[str, ...]:
    """The paths in a text, without addresses, versions and abbreviations."""
    found = (one.group().rstrip(".,:;") for one in _PATH.finditer(_URL.sub(" ", text)))
    return tuple(
        dict.fromkeys(
            path.removeprefix("./")
            for path in found
            if not _ABBREVIATION.match(path) and not _PROSE.match(path) and any(map(str.isalpha, path))
        )
    )


def _keywords(text: str) -> Iterable[str]:
    """The words of a text that say something, technical terms whole and in parts, lowercase."""
    for run in CJK.findall(text):
        yield from pairs_of(run)
    for term in _TERM.findall(CJK.sub(" ", _URL.sub(" ", text))):
        if _ABBREVIATION.match(term):
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
            if 1 < len(word) <= 80 and word not in STOPWORDS and not word.isdigit():
                yield word


def _domains(stems: Sequence[str], known: Mapping[str, Sequence[str]]) -> Iterable[str]:
    said = set(stems)
    for domain, triggers in known.items():
        # The domain's own name says it best.
        if said & {stem(word) for word in (domain, *triggers)}:
            yield domain
