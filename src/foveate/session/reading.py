"""Reading: what a session can be asked without changing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from foveate.compile.compiled import CompiledContext
from foveate.compile.conversation import conversation_view
from foveate.compile.projection import Projection
from foveate.errors import ConfigError, FoveateError
from foveate.log.codec import dump_events
from foveate.log.context import AgentContext, Messages
from foveate.log.events import Event
from foveate.log.items import Item
from foveate.log.messages import Message, MessageMeta, text_message
from foveate.log.sections import ContextSection
from foveate.recall import excerpt
from foveate.session import records
from foveate.session.commit import EventWriter
from foveate.session.options import Attempt, Means


class ReadableSession:
    """The log of a session, what is behind its references, and its past calls.

    What is in the log can be read while another thread appends to it, or waits for a store.
    """

    _writer: EventWriter
    _means: Means
    # What a preview showed is what `compile` sends, if nothing happened in between.
    _previewed: Attempt | None = None

    def call(self, number: int) -> CompiledContext:
        """Call `number` as it was sent, folded from the events recorded for it; nothing is decided again."""
        return self._writer.rebuilt(number, self._means.counter)

    @property
    def id(self) -> str:
        """The session's name."""
        return self._writer.context.session

    @property
    def context(self) -> AgentContext:
        """An immutable snapshot of the log."""
        return self._writer.context

    @property
    def messages(self) -> Messages:
        """The log: every message as it was said, whatever requests show of it."""
        return self._writer.context.messages

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""
        return self._writer.context.events

    @property
    def conversation(self) -> tuple[Message, ...]:
        """What people said and what came of it, without tool traffic."""
        return conversation_view(self.messages)

    @property
    def items(self) -> tuple[Item, ...]:
        """The history as the next request begins with it, before its compile changes anything."""
        with self._writer.guard:
            return tuple(self._projection().mender.items)

    @property
    def calls(self) -> int:
        """How many calls were recorded."""
        with self._writer.guard:
            return self._projection().calls

    @property
    def reductions(self) -> int:
        """How many reductions were recorded."""
        with self._writer.guard:
            return self._projection().reductions

    @property
    def pins(self) -> tuple[str, ...]:
        """Ids of the messages that every request shows verbatim."""
        with self._writer.guard:
            return tuple(self._projection().pins)

    def dump(self) -> bytes:
        """The events as JSON lines; `load_events` and `from_events` bring them back."""
        return dump_events(self.events)

    def recall(self, reference: str, *, lines: tuple[int, int] | None = None, query: str | None = None) -> str:
        """The content behind a reference such as "m17": whole, some of its lines, or the lines that match a query."""
        is_artifact = isinstance(reference, str) and reference.startswith("artifact://")  # pyright: ignore[reportUnnecessaryIsInstance]
        if is_artifact and self._writer.journal is not None:
            text = self._writer.journal.artifact(reference)
            return given_back(text_message(reference, "tool", text, MessageMeta()), lines, query)
        return given_back(self._known(reference), lines, query)

    def preview(
        self,
        *,
        now: float | None = None,
        sections: Iterable[ContextSection] = (),
        override: Iterable[object] | None = None,
    ) -> CompiledContext:
        """The request that `compile` would give, with nothing recorded."""
        beside = records.beside(sections, override)
        with self._writer.guard:
            self._previewed = self._attempted(now, beside)
            return self._previewed.view

    def answer_recall(self, arguments: str | Mapping[str, Any]) -> str:
        """Answer a call of the recall tool; what is wrong with it is said to the model, not raised."""
        return answer_recall(self, arguments)

    def _projection(self) -> Projection:
        return self._writer.projection(self._means.counter)

    def _attempted(self, now: float | None, beside: records.Beside) -> Attempt:
        """What is recalled, and the view of it; of what was previewed just now it is the same again."""
        return self._means.attempted(self._writer.context, self._projection(), now, beside, self._previewed)

    def _known(self, message_id: str) -> Message:
        with self._writer.guard:
            return records.known(self._writer.context, self._projection(), message_id)


def given_back(message: Message, lines: tuple[int, int] | None, query: str | None) -> str:
    """The content of a message: whole, some of its lines, or the lines that match a query."""
    if lines is not None and [type(one) for one in lines] != [int, int]:
        raise ConfigError(f"`lines` is a first and a last line number, got {lines!r}")
    if query is not None and not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"`query` is text, got {query!r}")
    return excerpt(message, lines=lines, query=query)


def answer_recall(session: ReadableSession, arguments: str | Mapping[str, Any]) -> str:
    """The text that answers a call of the recall tool."""
    try:
        asked = msgspec.json.decode(arguments) if isinstance(arguments, str | bytes) else dict(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeError, TypeError, ValueError) as error:
        return f"recall: the arguments are not a JSON object ({error}); give one with `reference`"
    reference = asked.get("reference") if isinstance(asked, dict) else None
    if not isinstance(reference, str):
        return f"recall: `reference` must be a reference such as m17, got {reference!r}"
    lines = asked.get("lines")
    if lines is not None and _lines(lines) is None:
        return f"recall: `lines` must be a first and a last line number, got {lines!r}"
    try:
        return session.recall(reference.strip(), lines=_lines(lines), query=_query(asked))
    except FoveateError as error:
        return f"recall: {error}"


def _lines(value: object) -> tuple[int, int] | None:
    match value:
        case [int() as first, int() as last] | {"start": int() as first, "end": int() as last}:
            return first, last
        case _:
            return None


def _query(asked: Mapping[str, Any]) -> str | None:
    value = asked.get("query")
    return value if isinstance(value, str) and value.strip() else None
