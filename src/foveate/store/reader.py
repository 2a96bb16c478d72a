"""The reader: the log of one session, read in pieces as it is needed."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, select

from foveate.errors import LogError, StoreError, UnknownReferenceError
from foveate.log.events import CallRecorded, DiagnosticRecorded, Event, MessageAppended
from foveate.log.messages import Message
from foveate.store.engine import is_damage, storable
from foveate.store.rows import damaged_row, read_events
from foveate.store.schema import checkpoints
from foveate.store.schema import events as table

_CHUNK: Final = 1_000
_REMEMBERED: Final = 4_096


class Reader:
    """The events and messages of one session; satisfies `foveate.log.context.Archive`."""

    def __init__(self, key: int, session_id: str, reading: Callable[[], AbstractContextManager[Connection]]) -> None:
        self.key = key
        self.session_id = session_id
        self._reading = reading
        self._known: OrderedDict[int, Message] = OrderedDict()

    def events(self, first: int = 0, last: int | None = None) -> Iterator[Event]:
        """The events from number `first` to before `last`, a thousand at a time; without `last` to the end."""
        while last is None or first < last:
            end = first + _CHUNK if last is None else min(last, first + _CHUNK)
            found = self._events(select(table).where(table.c.seq >= first, table.c.seq < end).order_by(table.c.seq))
            for number, event in enumerate(found, first):
                if event.seq != number:
                    raise self._missing(number)
                yield event
            if len(found) < end - first:
                if last is not None:
                    raise self._missing(first + len(found))
                return
            first = end

    def message(self, position: int) -> Message:
        """The message at a position of the log."""
        return self.messages([position])[position]

    def prefetch(self, positions: Sequence[int]) -> None:
        """Read messages that will be asked for, all at once."""
        self.messages(positions)

    def messages(self, positions: Sequence[int]) -> dict[int, Message]:
        """The messages at positions of the log; what was read lately is not read again."""
        known = {position: message for position in positions if (message := self._known.get(position)) is not None}
        missing = [position for position in positions if position not in known]
        for start in range(0, len(missing), 500):
            query = select(table).where(table.c.position.in_(missing[start : start + 500])).order_by(table.c.position)
            for row, event in self._found(query):
                if isinstance(event.body, MessageAppended):
                    known[row.position] = event.body.message
        gone = [position for position in missing if position not in known]
        if gone:
            raise LogError(
                f"message {gone[0] + 1} of session {self.session_id!r} is missing; `foveate db check` says more"
            )
        found = {position: known[position] for position in positions}
        self._remember(found)
        return found

    def _remember(self, found: Mapping[int, Message]) -> None:
        """Keep the messages read last; other threads may do so at the same moment, and forget what is kept here."""
        with suppress(KeyError):
            for position, message in found.items():
                self._known[position] = message
                self._known.move_to_end(position)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)

    def readable(self, positions: Sequence[int]) -> dict[int, Message]:
        """The messages at positions of the log, but for those in damaged rows."""
        try:
            return self.messages(positions)
        except (LogError, StoreError):
            found: dict[int, Message] = {}
            for position in positions:
                with suppress(LogError, StoreError):
                    found[position] = self.message(position)
            return found

    def position(self, message_id: str) -> int | None:
        """The place of a message in the log."""
        mine = table.c.session == self.key
        # By the name alone: asked for the newest one as well, SQLite would read the log from its end instead.
        named = select(table.c.seq, table.c.position).where(mine, table.c.ref == storable(message_id))
        with self._reading() as connection:
            said = [(row.seq, row.position) for row in connection.execute(named) if row.position is not None]
            if said:
                return self._named(message_id, int(max(said)[1]))
            if re.fullmatch(r"m[1-9][0-9]{0,15}", message_id):
                # A message that is named after its place has no reference of its own.
                place = int(message_id[1:]) - 1
                query = select(table.c.position).where(mine, table.c.position == place, table.c.ref.is_(None))
                return connection.scalar(query)
        return None

    def _named(self, message_id: str, position: int) -> int:
        """A position, if the message there has that id: the column that led there has no checksum of its own."""
        if self.message(position).id != message_id:
            raise LogError(
                f"the message that the store lists as {message_id!r} in session {self.session_id!r} has another id; "
                "the row is damaged, `foveate db check` lists all that are"
            )
        return position

    def call(self, number: int) -> tuple[int, CallRecorded]:
        """The event number and the record of a call."""
        query = select(table).where(table.c.ref == str(number), table.c.kind == "call_recorded").limit(1)
        for event in self._events(query):
            if not isinstance(event.body, CallRecorded) or event.body.number != number:
                raise damaged_row(self.session_id, event.seq, f"it is not call {number}, as its columns say")
            return event.seq, event.body
        raise UnknownReferenceError(
            self._why_lost(number) or f"no call {number} in session {self.session_id!r}; `foveate show` lists its calls"
        )

    def _why_lost(self, number: int) -> str | None:
        """What the log says of a call that was made and could not be recorded."""
        said = table.c.body.contains('"call_lost"', autoescape=True)
        for event in self._events(select(table).where(table.c.kind == "diagnostic_recorded", said)):
            body = event.body
            if isinstance(body, DiagnosticRecorded) and body.code == "call_lost" and body.subject == str(number):
                return body.text
        return None

    def checkpoint(self, name: str, before: int | None = None) -> tuple[int, bytes] | None:
        """The newest checkpoint with a name, at or before an event number; the number and its bytes."""
        query = select(checkpoints.c.seq, checkpoints.c.data).where(
            checkpoints.c.session == self.key, checkpoints.c.name == name
        )
        if before is not None:
            query = query.where(checkpoints.c.seq <= before)
        with self._reading() as connection:
            row = connection.execute(query.order_by(checkpoints.c.seq.desc()).limit(1)).first()
        if row is None:
            return None
        # Anything but bytes is damage; no bytes at all is a checkpoint that cannot be unpacked.
        return row.seq, bytes(row.data) if isinstance(row.data, bytes | memoryview) else b""

    def _events(self, query: Select[Any]) -> list[Event]:
        return [event for _, event in self._found(query)]

    def _found(self, query: Select[Any]) -> list[tuple[Row[Any], Event]]:
        mine = query.where(table.c.session == self.key)
        try:
            with self._reading() as connection:
                rows = connection.execute(mine).all()
                return list(zip(rows, read_events(connection, self.session_id, rows), strict=True))
        except StoreError as error:
            if is_damage(error):
                self._locate_damage(mine)
            raise

    def _locate_damage(self, query: Select[Any]) -> None:
        """Raise a `LogError` that names the event, if a single row is what the database cannot read."""
        with self._reading() as connection:
            numbers = connection.scalars(query.with_only_columns(table.c.seq)).all()
        for number in numbers:
            try:
                with self._reading() as connection:
                    connection.execute(query.where(table.c.seq == number)).all()
            except StoreError as error:
                raise damaged_row(self.session_id, number, error) from error

    def _missing(self, number: int) -> LogError:
        return LogError(
            f"event {number} of session {self.session_id!r} is missing; "
            "rows were deleted from outside, `foveate db check` lists what is left"
        )
