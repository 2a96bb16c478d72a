"""Reading: what a session can be asked without changing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foveate.compiler.compiled import CompiledContext
from foveate.log.codec import dump_events
from foveate.log.context import AgentContext, Messages
from foveate.log.events import Event
from foveate.log.messages import Message, MessageMeta, text_message
from foveate.session import records
from foveate.session.answering import answer_recall, given_back
from foveate.session.keeper import Keeper
from foveate.session.means import Means
from foveate.views.conversation import conversation_view
from foveate.views.projection import Projection


class ReadableSession:
    """The log of a session, what is behind its references, and its past calls.

    What is in the log can be read while another thread appends to it, or waits for a store.
    """

    _keeper: Keeper
    _means: Means

    def call(self, number: int) -> CompiledContext:
        """Call `number` as it was sent, folded from the events recorded for it; nothing is decided again."""
        return self._keeper.rebuilt(number, self._means.counter)

    @property
    def id(self) -> str:
        """The session's name."""
        return self._context.session

    @property
    def context(self) -> AgentContext:
        """An immutable snapshot of the log."""
        return self._context

    @property
    def messages(self) -> Messages:
        """The log: every message as it was said, whatever requests show of it."""
        return self._context.messages

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""
        return self._context.events

    @property
    def conversation(self) -> tuple[Message, ...]:
        """What people said and what came of it, without tool traffic."""
        return conversation_view(self.messages)

    @property
    def pins(self) -> tuple[str, ...]:
        """Ids of the messages that every request shows verbatim."""
        with self._keeper.guard:
            return tuple(self._projection().pins)

    def dump(self) -> bytes:
        """The events as JSON lines; `load_events` and `from_events` bring them back."""
        return dump_events(self.events)

    def recall(self, reference: str, *, lines: tuple[int, int] | None = None, query: str | None = None) -> str:
        """The content behind a reference such as "m17": whole, some of its lines, or the lines that match a query."""
        if reference.startswith("artifact://") and self._keeper.journal is not None:
            text = self._keeper.journal.artifact(reference)
            return given_back(text_message(reference, "tool", text, MessageMeta()), lines, query)
        return given_back(self._known(reference), lines, query)

    def answer_recall(self, arguments: str | Mapping[str, Any]) -> str:
        """Answer a call of the recall tool; what is wrong with it is said to the model, not raised."""
        return answer_recall(self, arguments)

    @property
    def _context(self) -> AgentContext:
        return self._keeper.context

    def _projection(self) -> Projection:
        return self._keeper.projection(self._means.counter)

    def _known(self, message_id: str) -> Message:
        with self._keeper.guard:
            return records.known(self._context, self._projection(), message_id)
