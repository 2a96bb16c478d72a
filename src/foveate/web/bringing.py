"""Bringing: a log that somebody dropped comes into the store, in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foveate.importers.reading import opened
from foveate.store import Store
from foveate.store.importing import import_upload
from foveate.web.worker import Tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What came of a log: its format, its sessions with what is new in each, and what was left out of it."""

    format: str
    sessions: tuple[tuple[str, int, bool], ...]
    skipped: int
    notes: tuple[str, ...]


def bring(tell: Tell, location: str, path: str, name: str) -> Brought:
    """Bring a log into the store at `location`; what is broken in it is left out and counted."""
    size = max(1, Path(path).stat().st_size)
    tell(f"reading {name}", 0.0)
    with Store(location) as store, opened(Path(path)) as file:
        report = import_upload(
            store, file, name, lenient=True, tell=lambda what, read: tell(f"{name}: {what}", min(1.0, read / size))
        )
    return Brought(
        format=report.format,
        sessions=tuple((one.info.session_id, one.added, one.was_there) for one in report.arrivals),
        skipped=len(report.skipped),
        notes=report.notes,
    )
