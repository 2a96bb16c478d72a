"""Waiting: how much of a session is held beside its store, and what to say of something that is."""

from __future__ import annotations

from typing import NamedTuple

from foveate.errors import StoreError, UnknownReferenceError
from foveate.log.events import CallRecorded, Event, MessageAppended
from foveate.store.held import HeldEvents
from foveate.store.info import SessionInfo
from foveate.store.store import Store


class Waiting(NamedTuple):
    """Events of a session that were acknowledged and are not in the store yet.

    `events` is how many, None if they cannot be read; `place` says where they are, or why they cannot be read.
    """

    events: int | None
    place: str


def waiting_events(held: HeldEvents) -> Waiting | None:
    """What waits of a session; None if nothing does."""
    if held.is_empty:
        return None
    try:
        count = sum(len(batch.events) for batch in held.read())
    except StoreError as error:
        return Waiting(None, str(error))
    # A file may be there without a line that was acknowledged, or have been written at this moment.
    return Waiting(count, held.place.removeprefix("held ")) if count else None


def require_written_call(store: Store, info: SessionInfo, number: int) -> None:
    """Refuse a call that is not in the store; one that waits may get another number if another writer comes first."""
    held = store.held.of(info.session_id)
    if held.is_empty:
        return
    try:
        store.reader(info).call(number)
    except UnknownReferenceError:
        if any(isinstance(one.body, CallRecorded) and one.body.number == number for one in _events(held)):
            raise _not_written(store, f"call {number}", info) from None


def raise_if_message_waits(store: Store, info: SessionInfo, message_id: str) -> None:
    """Refuse a message that waits, with where it does; one that nobody has said passes."""
    said = (one.body for one in _events(store.held.of(info.session_id)))
    if any(isinstance(body, MessageAppended) and body.message.id == message_id for body in said):
        raise _not_written(store, f"message {message_id!r}", info)


def _events(held: HeldEvents) -> list[Event]:
    return [event for batch in held.read() for event in batch.events]


def _not_written(store: Store, what: str, info: SessionInfo) -> UnknownReferenceError:
    return UnknownReferenceError(
        f"{what} of session {info.session_id!r} is not in store {store} yet: it is "
        f"{store.held.of(info.session_id).place}, and written once the store can be; look whether another process "
        "locks it"
    )
