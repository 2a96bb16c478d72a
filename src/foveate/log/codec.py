"""Events to bytes and back; payloads of older schema versions are upcast on read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from foveate.errors import LogError
from foveate.log.events import SCHEMA_VERSION, Event
from foveate.log.upcasting import upcast_body

Upcast = Callable[[dict[str, Any]], dict[str, Any]]

# version -> the function that turns an event payload of that version into one of the next version
UPCASTS: Final[dict[int, Upcast]] = {}

_encoder = msgspec.json.Encoder()
_strict = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """One event as one line of JSON, without the newline."""
    return _encoder.encode(event)


def decode_event(line: bytes | str, *, upcasts: dict[int, Upcast] | None = None) -> Event:
    """The event on one line of JSON, brought to the current schema version."""
    try:
        raw = msgspec.json.decode(line)
        version = raw.get("version", SCHEMA_VERSION) if isinstance(raw, dict) else None
        if not isinstance(version, int):
            raise LogError(f"not an event: {_short(line)}; expected a JSON object with an integer `version`")
        if version == SCHEMA_VERSION:
            event = _strict.decode(line)
        else:
            event = msgspec.convert(_upcast(raw, version, UPCASTS if upcasts is None else upcasts), Event)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LogError(f"cannot read event {_short(line)}: {error}") from error
    body = upcast_body(event.body)
    return event if body is event.body else msgspec.structs.replace(event, body=body)


def dump_events(events: Iterable[Event]) -> bytes:
    """Events as JSON lines."""
    return b"".join(encode_event(event) + b"\n" for event in events)


def load_events(data: bytes) -> Iterator[Event]:
    """Events of JSON lines; a broken line is an error that names its number."""
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            try:
                yield decode_event(line)
            except LogError as error:
                raise LogError(f"line {number}: {error}") from error


def _upcast(raw: dict[str, Any], version: int, upcasts: dict[int, Upcast]) -> dict[str, Any]:
    if version > SCHEMA_VERSION:
        raise LogError(
            f"event has schema version {version}, this Foveate reads up to {SCHEMA_VERSION}; "
            "read it with a newer Foveate"
        )
    while version < SCHEMA_VERSION:
        if version not in upcasts:
            raise LogError(f"no upcast from schema version {version}; known are {sorted(upcasts)}")
        raw = upcasts[version](raw)
        version += 1
    return {**raw, "version": version}


def _short(line: bytes | str) -> str:
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    return repr(text if len(text) <= 80 else text[:77] + "...")
