"""The ledger: facts of a session that no reduction may lose, kept up message by message."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from foveate.log.messages import Message, Text, ToolCall

DECISION: Final = re.compile(
    r"\b(?:decided|decision|we(?:'ll| will) use|let's use|instead of|must not|must never|never|always|do not|don't|"
    r"agreed|rule|constraint|requirement)\b|决定|必须|不要|不能|务必",
    re.IGNORECASE,
)
# What binds whoever works for the user: wider than a decision, because people put rules into many words.
BINDING: Final = re.compile(
    DECISION.pattern + r"|\b(?:must|at most|at least|no more than|only|budget|deadline|due|allergic|prefer|remember|"
    r"my name is|make sure|keep in mind|important)\b|记住|预算|最多|至少",
    re.IGNORECASE,
)
MAX_OPEN_ERRORS: Final = 8
_MAX_DECISIONS: Final = 40
_MAX_FAILURES: Final = 40
_MAX_SENTENCE: Final = 240
_MAX_ENTRIES: Final = 10_000


class Failure(NamedTuple):
    """A tool execution that did not succeed."""

    attempt: str
    message_id: str
    order: int
    outcome: str
    text: str


class Note(NamedTuple):
    """A sentence worth keeping, with its source."""

    message_id: str
    order: int
    text: str


@dataclass(slots=True)
class Ledger:
    """Files read and written, decisions, errors still open, attempts that failed, the plan."""

    read: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    open_errors: dict[str, Failure] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    # Ids without a value: sets that know their oldest.
    retried: dict[str, None] = field(default_factory=dict)
    stale: dict[str, None] = field(default_factory=dict)
    decisions: list[Note] = field(default_factory=list)
    plan: Note | None = None

    def feed(self, message: Message, order: int) -> None:
        """Take one recorded message."""
        match message.role:
            case "tool":
                self._feed_result(message, order)
            case "user" | "assistant":
                self._feed_words(message, order)
            case _:
                return

    def resolve(self, message_id: str) -> None:
        """Settle an error by hand."""
        for attempt, failure in list(self.open_errors.items()):
            if failure.message_id == message_id:
                del self.open_errors[attempt]

    def is_open(self, message_id: str) -> bool:
        """Whether a failed execution is still unsettled."""
        return any(failure.message_id == message_id for failure in self.open_errors.values())

    def said_of(self, message_id: str) -> str:
        """What went wrong in a failed execution, in one line."""
        return next((failure.text for failure in self.failures if failure.message_id == message_id), "no details kept")

    def _feed_result(self, message: Message, order: int) -> None:
        meta = message.meta
        attempt = meta.attempt or message.id
        if meta.outcome in (None, "ok"):
            self.open_errors.pop(attempt, None)
            if not meta.partial:
                known = (self.read[one] for one in (*meta.reads, *meta.writes) if one in self.read)
                self.stale.update(dict.fromkeys(known))
                _keep_newest(self.stale)
            for resource in meta.reads:
                self.read.pop(resource, None)
                self.read[resource] = message.id
            _keep_newest(self.read)
            for resource in meta.writes:
                self.written.pop(resource, None)
                self.written[resource] = message.id
            _keep_newest(self.written)
            return
        failure = Failure(attempt, message.id, order, str(meta.outcome), error_line(message.text))
        previous = self.open_errors.pop(attempt, None)
        if previous is not None:
            self.retried[previous.message_id] = None
            _keep_newest(self.retried)
        self.open_errors[attempt] = failure
        if len(self.open_errors) > MAX_OPEN_ERRORS:
            # An error that nobody came back to while so many others arose has lapsed.
            del self.open_errors[next(iter(self.open_errors))]
        self.failures.append(failure)
        del self.failures[:-_MAX_FAILURES]

    def _feed_words(self, message: Message, order: int) -> None:
        for part in message.parts:
            if isinstance(part, Text):
                if len(part.text) < 20_000 and DECISION.search(part.text):
                    self._note_decisions(part.text, message.id, order)
            elif isinstance(part, ToolCall) and message.meta.plan:
                self.plan = Note(message.id, order, part.arguments)

    def _note_decisions(self, text: str, message_id: str, order: int) -> None:
        for line in text.splitlines():
            sentence = line.strip()
            if len(sentence) <= _MAX_SENTENCE and DECISION.search(sentence):
                self.decisions.append(Note(message_id, order, sentence))
        del self.decisions[:-_MAX_DECISIONS]


def _keep_newest(entries: dict[str, Any]) -> None:
    # What a ledger shows are the newest few; in years of one session the rest would only be carried along.
    while len(entries) > _MAX_ENTRIES:
        del entries[next(iter(entries))]


_ERROR_WORD: Final = re.compile(
    r"error|exception|failed|denied|not found|no such|no module|invalid|cannot|refused", re.IGNORECASE
)
# A line that names the error and says something of it, rather than counting errors or announcing some.
_NAMED_ERROR: Final = re.compile(r"\b(?:[\w.]*(?:Error|Exception)|(?i:error|fatal|panic)(?:\[\w+\])?)\s*:\s*\S")
_COUNT: Final = re.compile(r"\b\d+ (?:previous )?(?:failed|failures?|errors?|passed|skipped)\b", re.IGNORECASE)


def error_line(text: str) -> str:
    """The line of an output that says best what went wrong."""
    lines = [line.strip() for line in text[-4_000:].splitlines() if line.strip()]
    if not lines:
        return "(no output)"
    telling = [line for line in lines if _ERROR_WORD.search(line) and not line.startswith("Traceback")]
    uncounted = [line for line in telling if not _COUNT.search(line)]
    named = [line for line in uncounted if _NAMED_ERROR.search(line)]
    # A program that fails says why last, and what sums it up may come still later.
    line = (named or uncounted or telling or lines)[-1]
    return line if len(line) <= _MAX_SENTENCE else line[: _MAX_SENTENCE - 1] + "…"
