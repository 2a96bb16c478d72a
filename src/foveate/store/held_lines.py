"""The lines of a file of held events: each is one append, with a checksum, and is believed only if it is whole.

Checksums protect against damage, not against forgery, as those of the store do. Lines that an earlier version wrote
have none, and are read all the same.
"""

from __future__ import annotations

import re
import secrets
import zlib
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import msgspec

from foveate.errors import LogError
from foveate.log.codec import decode_event, encode_event
from foveate.log.events import Event

# What the engines have for a number is smaller.
_TOO_LARGE: Final = 2**63 - 1
_SEAL: Final = re.compile(rb',"sum":"([0-9a-f]{8})"\}$')


class Batch(NamedTuple):
    """The events of one append, and the id that their rows have or will have.

    `after` is the id of the held batch that they go on from; 0 if they go on from what the store has.
    """

    id: int
    events: tuple[Event, ...]
    after: int = 0

    @classmethod
    def of(cls, events: Sequence[Event], after: int = 0) -> Batch:
        """Events that are about to be written."""
        return cls(secrets.randbits(62), tuple(events), after)

    @property
    def first(self) -> int:
        """The number of the first event."""
        return self.events[0].seq

    @property
    def end(self) -> int:
        """The number behind the last event."""
        return self.events[-1].seq + 1


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a file."""

    held: int
    session: str
    vault: str


class Read(NamedTuple):
    """A line that could be read, and the ids of batches in other files that count no more."""

    batch: Batch
    replaces: list[int]


class Damaged(NamedTuple):
    """A line that could not be read, and why."""

    number: int
    line: bytes
    why: str


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: int
    events: list[msgspec.Raw]
    after: int = 0
    # Ids of batches in other files that this one stands for: they count no more, also if their files are still there.
    replaces: list[int] = []


_header_decoder: Final = msgspec.json.Decoder(Header)
_line_decoder: Final = msgspec.json.Decoder(_Line)


def encoded_header(session_id: str, vault: str) -> bytes:
    """The first line of a file."""
    return msgspec.json.encode(Header(held=1, session=session_id, vault=vault)) + b"\n"


def decoded_header(line: bytes, session_id: str) -> Header:
    """Whose events a file has; a `LogError` if they are not this session's."""
    header = any_header(line)
    if header.session != session_id:
        raise LogError(f"it says that the events are of session {header.session!r}")
    return header


def any_header(line: bytes) -> Header:
    """Whose events a file has; a `LogError` if that cannot be read."""
    try:
        return _header_decoder.decode(line)
    except (msgspec.MsgspecError, ValueError) as error:
        raise LogError(f"it does not say whose events follow: {error}") from error


def encoded_line(session_id: str, batch: Batch, replaces: Collection[int] = ()) -> bytes:
    """An append as a line, with the newline."""
    events = [msgspec.Raw(encode_event(event)) for event in batch.events]
    line = msgspec.json.encode(_Line(id=batch.id, events=events, after=batch.after, replaces=sorted(replaces)))
    # Within the object: an earlier version passes over what it does not know.
    return line[:-1] + f',"sum":"{_checksum(session_id, line):08x}"}}\n'.encode()


def decoded_line(session_id: str, number: int, line: bytes) -> Read | Damaged:
    """The append on a line, without the newline, if nothing of it is damaged."""
    try:
        _check_seal(session_id, line)
        found = _line_decoder.decode(line)
        events = tuple(decode_event(bytes(one)) for one in found.events)
        _check_numbers(session_id, found, events)
    except (msgspec.MsgspecError, LogError, ValueError, RecursionError) as error:
        return Damaged(number, line, str(error))
    return Read(Batch(found.id, events, found.after), found.replaces)


def _check_seal(session_id: str, line: bytes) -> None:
    seal = _SEAL.search(line)
    if seal is not None and int(seal[1], 16) != _checksum(session_id, line[: seal.start()] + b"}"):
        raise LogError("its checksum does not match, it was changed outside Foveate")


def _checksum(session_id: str, line: bytes) -> int:
    # With the session: a line that was moved to the file of another one is noticed.
    return zlib.crc32(line, zlib.crc32(session_id.encode("utf-8", "surrogatepass")))


def _check_numbers(session_id: str, line: _Line, events: Sequence[Event]) -> None:
    if not events:
        raise LogError("it has no events")
    first = events[0].seq
    if [event.seq for event in events] != list(range(first, first + len(events))):
        raise LogError("the numbers of its events do not follow each other")
    for number in (line.id, line.after, first, events[-1].seq, *line.replaces):
        if not 0 <= number < _TOO_LARGE:
            raise LogError(f"the number {number} is out of range")
    other = next((event.session for event in events if event.session != session_id), None)
    if other is not None:
        raise LogError(f"it has an event of session {other!r}")
