"""Vocabularies: what a made-up project is about, so that its modules and its data speak of one domain."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Words of a domain.

    Args:
        package: the name of the Python package.
        things: nouns that have modules of their own, in the singular.
        measures: names of numeric fields.
        labels: names of text fields.
        names: proper names of this world, for data and logs.

    """

    package: str
    things: tuple[str, ...]
    measures: tuple[str, ...]
    labels: tuple[str, ...]
    names: tuple[str, ...]
