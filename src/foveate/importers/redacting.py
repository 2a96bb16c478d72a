"""Redacting: the entries of a log without the secrets in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from foveate.importers.entries import Compaction, Entry, Oddity, Opening, Spoken
from foveate.privacy import Redactor


def redacted_entries(entries: Iterable[Entry], redactor: Redactor) -> Iterator[Entry]:
    """The entries as they come by; the redactor counts what it took out."""
    for entry in entries:
        match entry:
            case Spoken(message=message):
                yield replace(entry, message=redactor.message(message))
            case Opening(system=system):
                yield replace(
                    entry,
                    system=redactor.text(system) if system is not None else None,
                    tools=redactor.value(entry.tools),
                    tags=redactor.value(entry.tags),
                )
            case Compaction(text=text) | Oddity(text=text):
                yield replace(entry, text=redactor.text(text))
