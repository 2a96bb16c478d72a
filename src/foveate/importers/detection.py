"""Detection: which program recorded a log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

from foveate.errors import ConfigError, LogError
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
from foveate.importers.reading import Record, Recorded
from foveate.importers.swe_agent import SWE_AGENT
from foveate.importers.tau_bench import TAU_BENCH

_RECORDS: Final = 50

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
        raise LogError(f"{log.name}: there is nothing in it")
    found = next((importer for importer in IMPORTERS.values() if importer.recognises(head)), None)
    if found is None:
        raise LogError(f"{log.name}: no known log format; `--format` can say which it is: {', '.join(IMPORTERS)}")
    return found


def head_of(log: Recorded) -> Head:
    """The beginning of a log."""
    text = log.head().decode("utf-8", "replace")
    records = tuple(_first_records(text))
    document = None
    if not records and text.lstrip()[:1] in ("{", "["):
        document = log.document()
    elif len(records) == 1:
        document = records[0]
    return Head(name=log.name, text=text, records=records, document=document)


def _first_records(text: str) -> Iterator[Record]:
    """The first JSON lines; none if the text does not begin with one."""
    lines = (line for line in text.split("\n") if line.strip())
    for number, line in enumerate(islice(lines, _RECORDS)):
        value = _first_object(line)
        if isinstance(value, dict):
            yield value
        elif number == 0:
            return


def _first_object(line: str) -> object:
    try:
        return json.JSONDecoder().raw_decode(line.strip())[0]
    except (ValueError, RecursionError):
        return None
