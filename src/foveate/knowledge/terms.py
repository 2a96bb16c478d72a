"""Terms: the stems by which nodes and entries of the map are found."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from foveate.knowledge.models import Node
from foveate.recall.stems import LONGEST, stem
from foveate.recall.stopwords import STOPWORDS
from foveate.recall.tokens import composed, tokens_of

# What a pasted file says further on, its beginning says too; each term is a row of the index.
_MOST: Final = 300
_STOPS: Final = frozenset(map(stem, STOPWORDS))
# C++ and C# are not C.
_TAG_PART: Final = re.compile(r"([^\W_]+)([+#]*)")


class Terms(NamedTuple):
    """The stems of the tags of something, and of its words."""

    tags: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def tag_term(tag: str) -> str:
    """A tag as it is compared: the stems of its words, so that how it is spelt does not matter; empty if it has none.

    >>> tag_term("Rate_Limits"), tag_term("rate-limiting"), tag_term("C++")
    ('rat-limit', 'rat-limit', 'c++')
    """
    return "-".join(stem(word) + signs for word, signs in _TAG_PART.findall(composed(tag)))[:LONGEST]


def word_terms(text: str) -> tuple[str, ...]:
    """The stems of the words of a text that say something, each once, in order.

    >>> word_terms("Use the connection pools")
    ('connect', 'pool')
    """
    tokens = tokens_of(text)
    found = dict.fromkeys(term for term in (*tokens.words, *tokens.hidden) if term not in _STOPS)
    return tuple(found)[:_MOST]


def node_terms(node: Node) -> Terms:
    """What a node is found by; a part of a tag counts as a word."""
    tags = dict.fromkeys(filter(None, map(tag_term, node.tags)))
    return Terms(tuple(tags), word_terms(" ".join((*node.tags, node.summary, node.rationale or ""))))


def spaced(terms: Iterable[str]) -> str:
    """Terms as they are stored, so that one can be looked for with spaces around it: " rat-limit pool "."""
    return f" {' '.join(terms)} "


def wording(text: str) -> tuple[str, ...]:
    """The stems of all words of a text, in order; who says "not" or "before" says another thing."""
    tokens = tokens_of(text)
    return (*tokens.words, *tokens.hidden) or (" ".join(text.casefold().split()),)


def says(text: str) -> str:
    """A hash that two texts share if they have the same words, in whatever order."""
    return hashed(sorted(set(wording(text))))


def hashed(parts: Iterable[str]) -> str:
    """A short hash of some texts."""
    return hashlib.sha256(msgspec.json.encode(list(parts))).hexdigest()[:32]
