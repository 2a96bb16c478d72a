"""FTS5: how passages and terms are written for SQLite's full-text search, in memory and in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from foveate.recall.terms import Term
from foveate.recall.tokens import Tokens

# Tokens are made by us, so the plainest tokenizer will do; nor does SQLite rank, so it need not know any sizes.
OPTIONS: Final = "words, hidden, content='', columnsize=0, tokenize='ascii'"


def columns(tokens: Tokens) -> tuple[str, str]:
    """A passage's tokens as the columns `words` and `hidden`."""
    return " ".join(tokens.words), " ".join(tokens.hidden)


def match(terms: Sequence[Term]) -> str:
    """What finds the passages that have all terms.

    >>> match([Term("parse_orders", "name", 1.0), Term("猫", "pair", 1.0)])
    '"pars order" AND "猫" *'
    """
    return " AND ".join(f'"{" ".join(term.tokens)}"{" *" if term.is_prefix else ""}' for term in terms)
