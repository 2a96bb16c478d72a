"""Rows: an event as a row of the store and back; large texts of it are set apart as artifacts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, Row

from foveate.errors import LogError
from foveate.log.events import (
    SCHEMA_VERSION,
    Body,
    CallRecorded,
    Event,
    MessageAppended,
    SummaryRecorded,
    WorkRecorded,
)
from foveate.log.messages import Media, Message, Part, Text, ToolCall, ToolResult
from foveate.log.partial import decode_stored_body
from foveate.log.sections import ContextSection
from foveate.log.semantics import recorded_semantics
from foveate.log.upcasting import upcast_body
from foveate.store.artifacts import Piece, handle_of, is_handle_of, piece_of, texts
from foveate.store.checksums import checksum_of, verify_rows
from foveate.store.engine import storable

# In characters; a text above it is stored once however often it comes again.
LARGE: Final = 4_000
_LARGE_SECTION: Final = 500

_encode = msgspec.json.Encoder().encode
_decode_body: Final = msgspec.json.Decoder(Body).decode
_decode_places: Final = msgspec.json.Decoder(dict[str, str]).decode
# What reading a row without a checksum can raise: its columns may hold values of any type.
_DAMAGE: Final = (msgspec.MsgspecError, LogError, LookupError, ValueError, TypeError, AttributeError, RecursionError)


class Spilled(NamedTuple):
    """A body without its large texts, and those texts by their place in it."""

    body: Body
    pieces: dict[str, Piece]


class Owner(NamedTuple):
    """The session that a row belongs to: its key in the store, and its name."""

    key: int
    session_id: str


def row_of(owner: Owner, event: Event, position: int, writer: int, now: object) -> tuple[tuple[Any, ...], list[Piece]]:
    """The row of an event, in the order of the table's columns, and the texts to store beside it."""
    body = event.body
    stored = _encode(body)
    pieces: dict[str, Piece] = {}
    if len(stored) > _LARGE_SECTION:
        body, pieces = spilled(body)
        stored = _encode(body) if pieces else stored
    about: tuple[Any, ...] = (None, None, None, None, None)
    if isinstance(body, MessageAppended):
        message = body.message
        ref = None if message.id == f"m{position + 1}" else storable(message.id)
        tool = tool_of(message)
        about = (position, ref, message.role, tool if tool is None else storable(tool), message.meta.origin)
    elif isinstance(body, CallRecorded):
        about = (None, str(body.number), None, None, None)
    places = _encode({place: piece.sha256 for place, piece in pieces.items()}).decode() if pieces else None
    kind = body.__struct_config__.tag
    row = (owner.key, event.seq, kind, *about, event.time, now, event.version, writer, stored.decode(), places)
    return (*row, checksum_of(owner.session_id, row)), list(pieces.values())


def tool_of(message: Message) -> str | None:
    """The tool a message is about."""
    return message.meta.tool_name or next((call.name for call in message.calls), None)


def read_events(connection: Connection, session_id: str, rows: Sequence[Row[Any]]) -> list[Event]:
    """The events of rows, their checksums compared and their large texts put back.

    Raises:
        LogError: a row is damaged.
        StoreError: an artifact is.

    """
    verify_rows(session_id, rows)
    content = texts(connection, (sha256 for row in rows for sha256 in hashes_of(session_id, row)))
    return [event_of(session_id, row, content) for row in rows]


def event_of(session_id: str, row: Row[Any], texts: Mapping[str, str]) -> Event:
    """The event of a row; `texts` has the artifacts it needs."""
    try:
        body = _decode_body(row.body) if row.version == SCHEMA_VERSION else decode_stored_body(row.body, row.version)
        if row.spilled is not None:
            body = _restored(body, _decode_places(row.spilled), texts)
        return Event(session=session_id, seq=row.seq, body=upcast_body(body), time=row.time)
    except _DAMAGE as error:
        raise damaged_row(session_id, row.seq, error) from error


def damaged_row(session_id: str, seq: object, error: BaseException | str) -> LogError:
    """The error for an event that cannot be read."""
    return LogError(
        f"event {seq} of session {session_id!r} cannot be read: {error}; the row is damaged, "
        "`foveate db check` lists all that are"
    )


def hashes_of(session_id: str, row: Row[Any]) -> Collection[str]:
    """The artifacts that a row needs."""
    if row.spilled is None:
        return ()
    try:
        return _decode_places(row.spilled).values()
    except _DAMAGE as error:
        raise damaged_row(session_id, row.seq, error) from error


def spilled(body: Body) -> Spilled:
    """A body with handles in place of its large texts."""
    match body:
        case MessageAppended(message=message):
            return _spilled_message(message)
        case CallRecorded(sections=sections):
            kept, pieces = _spilled_sections(sections)
            return Spilled(msgspec.structs.replace(body, sections=kept) if pieces else body, pieces)
        case WorkRecorded(texts=texts):
            kept, pieces = _spilled_sections(texts)
            return Spilled(msgspec.structs.replace(body, texts=kept) if pieces else body, pieces)
        case SummaryRecorded(prompt=str(prompt)) if len(prompt) > LARGE:
            piece = piece_of(prompt, "summary", "summary")
            handle = handle_of("prompt", piece.sha256)
            return Spilled(msgspec.structs.replace(body, prompt=handle), {"prompt": piece})
        case _:
            return Spilled(body, {})


def _spilled_sections(sections: tuple[ContextSection, ...]) -> tuple[tuple[ContextSection, ...], dict[str, Piece]]:
    pieces: dict[str, Piece] = {}
    kept = list(sections)
    for index, section in enumerate(sections):
        if len(section.content) > _LARGE_SECTION:
            piece = pieces[f"{index}.content"] = piece_of(section.content, section.name, section.name)
            kept[index] = msgspec.structs.replace(section, content=handle_of("section", piece.sha256))
    return tuple(kept), pieces


def _spilled_message(message: Message) -> Spilled:
    pieces: dict[str, Piece] = {}
    if not any(len(getattr(part, _FIELDS.get(type(part), ""), "")) > LARGE for part in message.parts):
        return Spilled(MessageAppended(message=message), pieces)
    parts: list[Part] = list(message.parts)
    resource = next(iter((*message.meta.reads, *message.meta.writes)), None)
    tool = tool_of(message)
    semantics = recorded_semantics(tool, message.meta)
    access = semantics.access if semantics is not None else ""
    for index, part in enumerate(parts):
        name = _FIELDS.get(type(part))
        text: str = getattr(part, name) if name is not None else ""
        if name is not None and len(text) > LARGE:
            piece = piece_of(text, message.id, tool, resource, access)
            pieces[f"{index}.{name}"] = piece
            parts[index] = msgspec.structs.replace(part, **{name: handle_of("text", piece.sha256)})
    return Spilled(MessageAppended(message=msgspec.structs.replace(message, parts=tuple(parts))), pieces)


_FIELDS: Final[dict[type, str]] = {Text: "text", ToolResult: "text", ToolCall: "arguments", Media: "reference"}


def _restored(body: Body, places: dict[str, str], texts: Mapping[str, str]) -> Body:
    match body:
        case MessageAppended(message=message):
            parts = _filled(message.parts, places, texts)
            return MessageAppended(message=msgspec.structs.replace(message, parts=parts))
        case CallRecorded(sections=sections):
            return msgspec.structs.replace(body, sections=_filled(sections, places, texts))
        case WorkRecorded(texts=parts):
            return msgspec.structs.replace(body, texts=_filled(parts, places, texts))
        case SummaryRecorded(prompt=handle):
            return msgspec.structs.replace(body, prompt=_text_of(handle, places["prompt"], texts))
        case _:
            return body


def _filled(structs: tuple[Any, ...], places: dict[str, str], texts: Mapping[str, str]) -> tuple[Any, ...]:
    filled = list(structs)
    for place, sha256 in places.items():
        index, _, name = place.partition(".")
        struct = filled[int(index)]
        filled[int(index)] = msgspec.structs.replace(struct, **{name: _text_of(getattr(struct, name), sha256, texts)})
    return tuple(filled)


def _text_of(handle: str | None, sha256: str, texts: Mapping[str, str]) -> str:
    """The text of an artifact, if it is the one whose handle stands in its place."""
    if handle is None or not is_handle_of(handle, sha256):
        raise LogError(f"{handle!r} stands where a handle of artifact {sha256} should")
    try:
        return texts[sha256]
    except KeyError:
        raise LogError(f"artifact {sha256} is missing") from None
