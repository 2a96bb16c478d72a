"""Logs for tests: written by hand, recorded by real agents, and broken on purpose."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from bench.logs import data_root
from hypothesis import strategies as st

from foveate.errors import LogError
from foveate.importers.entries import Compaction, Entry, Oddity, Opening, Spoken
from foveate.importers.importer import Importer
from foveate.importers.reading import Recorded
from foveate.log.messages import Message

ROOT = data_root()
NEEDS_DATA = pytest.mark.skipif(
    ROOT is None and not os.environ.get("CI"), reason="no recorded logs: set FOVEATE_DATA to a directory of them"
)

ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**30,
    1e308,
    "",
    "x",
    "\ud800",
    "沉默是金",
    [],
    [[]],
    {},
    {"type": "text"},
    [None],
    [{"type": "tool_use"}],
    [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image", "source": 1}]}],
)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def recorded(pattern: str) -> list[Path]:
    """Recorded logs of real agents; none if there are no such logs on this machine."""
    return sorted(ROOT.glob(pattern)) if ROOT is not None else []


def lines(*records: Any) -> bytes:
    """Records as JSON lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def log_of(content: bytes, path: str | None = "log.jsonl", *, lenient: bool = False) -> Recorded:
    """A log with this content."""
    where = None if path is None else Path(path)
    return Recorded(name=path or "-", file=BytesIO(content), path=where, lenient=lenient)


def entries_in(importer: Importer, path: Path, *, lenient: bool = False) -> list[Entry]:
    """What an importer finds in a file."""
    with path.open("rb") as file:
        return list(importer.read(Recorded(name=path.name, file=file, path=path, lenient=lenient)))


def spoken(entries: Iterable[Entry], session: str | None = None) -> list[Message]:
    """The messages of a session, or of all."""
    return [e.message for e in entries if isinstance(e, Spoken) and session in (None, e.session)]


def openings(entries: Iterable[Entry]) -> list[Opening]:
    return [entry for entry in entries if isinstance(entry, Opening)]


def compactions(entries: Iterable[Entry]) -> list[Compaction]:
    return [entry for entry in entries if isinstance(entry, Compaction)]


def oddities(entries: Iterable[Entry], code: str) -> list[Oddity]:
    return [entry for entry in entries if isinstance(entry, Oddity) and entry.code == code]


def is_program(message: Message) -> bool:
    return message.meta.extra.get("program") is True


def paired(messages: Iterable[Message]) -> int:
    """How many results answer a call that was made before them."""
    called: set[str] = set()
    answered = 0
    for message in messages:
        called.update(call.id for call in message.calls)
        answered += message.result is not None and message.result.call_id in called
    return answered


def survives(importer: Importer, content: bytes, path: str) -> None:
    """Whatever is in a log, it is read and can be stored, refused by name, or read but for what was skipped."""
    try:
        msgspec.json.encode(list(importer.read(log_of(content, path))))
    except LogError as error:
        assert path in str(error)
    log = log_of(content, path, lenient=True)
    try:
        msgspec.json.encode(list(importer.read(log)))
    except LogError:
        # Only a document can be refused as a whole: a line can always be left out.
        assert not path.endswith(".jsonl")


def truncated(content: bytes, random: Random, times: int) -> Iterator[bytes]:
    """Beginnings of a log."""
    for _ in range(times):
        yield content[: random.randrange(len(content))]


def flipped(content: bytes, random: Random, times: int) -> Iterator[bytes]:
    """A log with some of its bytes changed."""
    for _ in range(times):
        broken = bytearray(content)
        for _ in range(random.randint(1, 30)):
            broken[random.randrange(len(broken))] = random.randrange(256)
        yield bytes(broken)


def mutated(value: Any, random: Random, chance: float = 0.03) -> Any:
    """JSON of the same shape, with odd values in some places and some fields missing."""
    if random.random() < chance:
        return random.choice(ODD)
    match value:
        case dict():
            kept = {key: inner for key, inner in value.items() if random.random() > chance}
            return {key: mutated(inner, random, chance) for key, inner in kept.items()}
        case list():
            return [mutated(inner, random, chance) for inner in value]
        case _:
            return value


def deep(depth: int) -> str:
    """JSON text that is nested this deeply."""
    return "[" * depth + "]" * depth
