"""The ledger: facts of a session that no reduction may lose, kept up message by message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from foveate.compile.facts.errors import ErrorsState, HeldError, OpenError, OpenErrors, SettledError
from foveate.compile.sharing import Shared
from foveate.log.messages import Message, Text, ToolCall

Value = TypeVar("Value")

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
_LONG_TEXT: Final = 20_000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Files read and written, decisions, errors still open and settled, attempts that failed, the plan."""

    read: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    # By message, oldest first.
    open_errors: Mapping[str, Failure] = field(default_factory=dict)
    held: tuple[HeldError, ...] = ()
    settled: tuple[SettledError, ...] = ()
    failures: tuple[Failure, ...] = ()
    # Ids without a value: sets that know their oldest.
    retried: Mapping[str, None] = field(default_factory=dict)
    stale: Mapping[str, None] = field(default_factory=dict)
    decisions: tuple[Note, ...] = ()
    plan: Note | None = None

    def rewritten(self, messages: Iterable[tuple[Message, Message]]) -> Ledger:
        """The ledger as it is once messages say something else; each as it was and as it is."""
        builder = LedgerBuilder(self, ErrorsState(held=self.held, settled=self.settled))
        for before, after in messages:
            builder.rewrite(before, after)
        return builder.ledger()

    def is_open(self, message_id: str) -> bool:
        """Whether a failed execution is still unsettled."""
        return message_id in self.open_errors

    def said_of(self, message_id: str) -> str:
        """What went wrong in a failed execution, in one line."""
        return next((failure.text for failure in self.failures if failure.message_id == message_id), "no details kept")


class LedgerBuilder:
    """Keeps a ledger up message by message."""

    __slots__ = (
        "_decisions",
        "_errors",
        "_failures",
        "_open_errors",
        "_plan",
        "_read",
        "_retried",
        "_stale",
        "_written",
    )

    def __init__(self, ledger: Ledger | None = None, errors: ErrorsState | None = None) -> None:
        """Go on from a ledger, and from what was known of errors when it was taken."""
        ledger = ledger or Ledger()
        self._read = Shared(dict(ledger.read))
        self._written = Shared(dict(ledger.written))
        self._errors = OpenErrors(errors)
        self._open_errors = _failures_of(self._errors)
        self._failures = ledger.failures
        self._retried = Shared(dict(ledger.retried))
        self._stale = Shared(dict(ledger.stale))
        self._decisions = ledger.decisions
        self._plan = ledger.plan

    def ledger(self) -> Ledger:
        """The ledger as it is now."""
        return Ledger(
            read=self._read.snapshot(),
            written=self._written.snapshot(),
            open_errors=self._open_errors,
            held=self._errors.held,
            settled=self._errors.settled,
            failures=self._failures,
            retried=self._retried.snapshot(),
            stale=self._stale.snapshot(),
            decisions=self._decisions,
            plan=self._plan,
        )

    def open_error_ids(self) -> list[str]:
        """The messages of executions that failed and are not settled."""
        return list(self._open_errors)

    def errors(self) -> ErrorsState:
        """What is known of errors, to go on from."""
        return self._errors.state()

    def feed(self, message: Message, order: int) -> None:
        """Take one recorded message."""
        if self._errors.feed(message, order):
            self._open_errors = _failures_of(self._errors)
        match message.role:
            case "tool":
                self._feed_result(message, order)
            case "user" | "assistant":
                self._feed_words(message, order)
            case _:
                return

    def resolve(self, message_id: str, order: int) -> None:
        """Settle an error by hand."""
        self._errors.resolve(message_id, order)
        self._open_errors = _failures_of(self._errors)

    def rewrite(self, before: Message, after: Message) -> None:
        """Say of a message what it says by now, wherever something was noted of it."""
        for old, new in _renamed(before, after):
            for entries in (self._read, self._written):
                if entries.current.get(old) == before.id:
                    own = entries.own()
                    own[new] = own.pop(old)
        attempt, text = after.meta.attempt or after.id, error_line(after.text)

        def told(failure: Failure) -> Failure:
            return failure._replace(attempt=attempt, text=text) if failure.message_id == after.id else failure

        self._errors.rewrite(after)
        self._open_errors = _failures_of(self._errors)
        self._failures = tuple(map(told, self._failures))
        if self._plan is not None and self._plan.message_id == after.id:
            self._plan = next((Note(after.id, self._plan.order, call.arguments) for call in after.calls[-1:]), None)
        places = [at for at, note in enumerate(self._decisions) if note.message_id == after.id]
        if places:
            noted = _decisions(after, self._decisions[places[0]].order)
            self._decisions = (*self._decisions[: places[0]], *noted, *self._decisions[places[-1] + 1 :])

    def _feed_result(self, message: Message, order: int) -> None:
        meta = message.meta
        attempt = meta.attempt or message.id
        if meta.outcome in (None, "ok"):
            self._feed_resources(message)
            return
        previous = next((one for one in reversed(self._failures) if one.attempt == attempt), None)
        if previous is not None:
            _add(self._retried, [previous.message_id], None)
        failure = Failure(attempt, message.id, order, str(meta.outcome), error_line(message.text))
        self._failures = (*self._failures, failure)[-_MAX_FAILURES:]

    def _feed_resources(self, message: Message) -> None:
        meta = message.meta
        if not meta.partial:
            read = self._read.current
            _add(self._stale, [read[one] for one in (*meta.reads, *meta.writes) if one in read], None)
        _add(self._read, meta.reads, message.id, moves=True)
        _add(self._written, meta.writes, message.id, moves=True)

    def _feed_words(self, message: Message, order: int) -> None:
        for part in message.parts:
            if isinstance(part, ToolCall) and message.meta.plan:
                self._plan = Note(message.id, order, part.arguments)
        self._decisions = (*self._decisions, *_decisions(message, order))[-_MAX_DECISIONS:]


def _failures_of(errors: OpenErrors) -> dict[str, Failure]:
    """The errors that are open. The oldest of too many has lapsed: nobody came back to it while the others arose."""
    return {error.message_id: _failure(error) for error in errors.view()[-MAX_OPEN_ERRORS:]}


def _failure(error: OpenError) -> Failure:
    return Failure(error.command, error.message_id, error.order, "error", error.line or error.summary or "failed")


def _decisions(message: Message, order: int) -> Iterator[Note]:
    """The sentences of a message that decide something."""
    for part in message.parts:
        if isinstance(part, Text) and len(part.text) < _LONG_TEXT and DECISION.search(part.text):
            for line in part.text.splitlines():
                sentence = line.strip()
                if len(sentence) <= _MAX_SENTENCE and DECISION.search(sentence):
                    yield Note(message.id, order, sentence)


def _renamed(before: Message, after: Message) -> Iterator[tuple[str, str]]:
    """The resources that a message named otherwise before."""
    for old, new in ((before.meta.reads, after.meta.reads), (before.meta.writes, after.meta.writes)):
        yield from ((one, other) for one, other in zip(old, new, strict=False) if one != other)


def _add(entries: Shared[dict[str, Value]], keys: Sequence[str], value: Value, *, moves: bool = False) -> None:
    """Set entries; one that was there before stays in its place, unless it `moves` behind all others."""
    if not keys:
        return
    own = entries.own()
    for key in keys:
        if moves:
            own.pop(key, None)
        own[key] = value
    # What a ledger shows are the newest few; in years of one session the rest would only be carried along.
    while len(own) > _MAX_ENTRIES:
        del own[next(iter(own))]


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
