"""An importer: how one program records what its agent did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from foveate.importers.entries import Entry
from foveate.importers.reading import Record, Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The beginning of a log, to tell its format by.

    `records` are its first JSON lines as far as they are objects; `document` is the whole, if it is one JSON value.
    """

    name: str
    text: str
    records: tuple[Record, ...] = ()
    document: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One log format.

    Args:
        name: what `--format` calls it.
        title: the program, and which of its files, in a few words.
        recognises: whether a log can only be of this format.
        read: what is in a log, in the order it was recorded.

    """

    name: str
    title: str
    recognises: Callable[[Head], bool]
    read: Callable[[Recorded], Iterator[Entry]]
