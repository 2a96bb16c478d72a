"""Detection: which program recorded a log, and so the sessions that are in it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from foveate.errors import ConfigError, LogError, UnknownFormatError
from foveate.importers.aider import AIDER
from foveate.importers.claude_code import CLAUDE_CODE
from foveate.importers.cline import CLINE
from foveate.importers.codex import CODEX
from foveate.importers.exported import EXPORTED
from foveate.importers.gemini_cli import GEMINI_CLI
from foveate.importers.importer import Head, Importer
from foveate.importers.litellm import LITELLM
from foveate.importers.messages import MESSAGES
from foveate.importers.mini_swe_agent import MINI_SWE_AGENT
from foveate.importers.openhands import OPENHANDS
from foveate.importers.openhands_events import OPENHANDS_EVENTS
from foveate.importers.reading import Recorded, nothing_said
from foveate.importers.recording import Recording, recordings
from foveate.importers.shape import first_records, records_behind
from foveate.importers.swe_agent import SWE_AGENT
from foveate.importers.tau_bench import TAU_BENCH

# In the order they are asked: the first that recognises a log reads it.
_ALL: Final[tuple[Importer, ...]] = (
    CLAUDE_CODE,
    CODEX,
    GEMINI_CLI,
    CLINE,
    SWE_AGENT,
    MINI_SWE_AGENT,
    OPENHANDS,
    OPENHANDS_EVENTS,
    AIDER,
    LITELLM,
    TAU_BENCH,
    EXPORTED,
    MESSAGES,
)
_PACKED: Final = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
}
IMPORTERS: Final[Mapping[str, Importer]] = MappingProxyType({importer.name: importer for importer in _ALL})


def importer_named(name: str) -> Importer:
    """An importer by its name."""
    if name not in IMPORTERS:
        raise ConfigError(f"unknown `--format` {name!r}; known are auto, {', '.join(IMPORTERS)}")
    return IMPORTERS[name]


def importer_for(log: Recorded, format: str = "auto") -> Importer:
    """The importer that reads a log."""
    if format != "auto":
        return importer_named(format)
    head = head_of(log)
    if not head.text.strip():
        if log.skipped:
            log.fail(log.skipped[0].line, log.skipped[0].reason)
        raise UnknownFormatError(f"{log.name}: there is nothing in it")
    found = next((importer for importer in IMPORTERS.values() if importer.recognises(head)), None)
    if found is None:
        packed = next((kind for start, kind in _PACKED.items() if log.head().startswith(start)), None)
        if packed is not None:
            # Nothing is unpacked here: a few bytes may become any number.
            raise UnknownFormatError(f"{log.name}: it is packed with {packed}; unpack it and give what was in it")
        known = ", ".join(IMPORTERS)
        raise UnknownFormatError(f"{log.name}: no known log format; `--format` can say which it is: {known}")
    return found


def head_of(log: Recorded) -> Head:
    """The beginning of a log; of JSON lines the first may be unreadable, if the whole is no document."""
    text = log.head().decode("utf-8", "replace")
    records = first_records(text)
    document = None
    if len(records) == 1:
        document = records[0]
    elif not records and text.lstrip()[:1] in ("{", "["):
        try:
            document = log.document()
        except LogError:
            records = records_behind(text)
            if not records:
                raise
    elif not records:
        records = records_behind(text)
    return Head(name=log.name, text=text, records=records, document=document)


def read_sessions(log: Recorded, format: str = "auto") -> list[Recording]:
    """The sessions of a log; those in which nothing was said only if there is no other.

    Raises `LogError` if there is none at all.
    """
    importer = importer_for(log, format)
    found = recordings(importer.read(log), importer.name)
    if not found:
        raise nothing_said(log)
    return [one for one in found if one.messages] or found
