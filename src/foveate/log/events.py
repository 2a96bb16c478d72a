"""Events: everything that happened in a session, in order, never changed afterwards."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.log.sections import ContextSection

SCHEMA_VERSION = 1
Trigger = Literal["must", "free", "pays", "asked", "due", "capped", "request"]
ON_REQUEST: Final[frozenset[Trigger]] = frozenset({"capped", "request"})
"""Of what was done to new messages alone, which says nothing about when the next rewrite is due."""
FORGETTING: Final = ("forget",)
"""The passes of a reduction that took out nothing but what had been looked up for inputs that are answered."""


class _Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    pass


class FramingSet(_Body, frozen=True, tag="framing_set"):
    """What stands around the messages in every call from here on."""

    system: str | None = None
    tools: tuple[dict[str, Any], ...] = ()
    response_format: dict[str, Any] | None = None
    model: str | None = None
    # Whether a session was begun or opened with it, not changed in its course.
    given: bool = False
    # The system prompt as it was given, by the format it was written in, if that was more than a text.
    forms: dict[str, Any] = {}


class MessageAppended(_Body, frozen=True, tag="message_appended"):
    """A message was said."""

    message: Message


class Pinned(_Body, frozen=True, tag="pinned"):
    """A message must be shown verbatim from here on."""

    message_id: str


class Unpinned(_Body, frozen=True, tag="unpinned"):
    """A message need not be shown verbatim any more."""

    message_id: str


class ErrorResolved(_Body, frozen=True, tag="error_resolved"):
    """A failed tool execution is settled and needs no place of its own any more."""

    message_id: str


class ExecutionStarted(_Body, frozen=True, tag="execution_started"):
    """A turn began."""

    execution_id: str


class ExecutionEnded(_Body, frozen=True, tag="execution_ended"):
    """A turn ended; its tool traffic is now history."""

    execution_id: str


class Kept(msgspec.Struct, frozen=True, kw_only=True, tag="kept"):
    """An item that stays as it was."""

    id: str


class Placed(msgspec.Struct, frozen=True, kw_only=True, tag="placed"):
    """A new item, with the bytes that every later call shows."""

    item: Item


class ReductionRecorded(_Body, frozen=True, tag="reduction_recorded"):
    """A stretch of the projection was replaced for good.

    `layout` is the projection from its beginning up to and including the item `last`; what stood behind `last`
    stands behind the layout unchanged. If `behind` is given, the layout begins behind that item, and what stands up to
    it is unchanged, too. With `claims`, every call id in it counts as used from here on; without, as written by 0.1,
    only those that were used before.

    `rewritten` are messages as request passes left them, as far as they changed something: whatever is made of the log
    from here on is made of these. `dropped` are items that left with nothing in their place, by the pass that took
    them.
    """

    number: int
    trigger: Trigger
    reason: str
    passes: tuple[str, ...]
    layout: tuple[Kept | Placed, ...]
    last: str
    before: int
    after: int
    claims: bool = False
    behind: str = ""
    rewritten: tuple[Message, ...] = ()
    dropped: dict[str, tuple[str, ...]] = {}


class SummaryRecorded(_Body, frozen=True, tag="summary_recorded"):
    """A summary was written of the messages up to log position `through`: by a summarizer, or `by_rules` alone.

    Only what a summarizer wrote takes the place of messages; what rules make of the log is made by every reduction.
    """

    text: str
    through: int
    summarizer: str
    tokens: int
    # What it was written by: a template with its source and hash, and the model as it answered, word for word.
    template: str | None = None
    template_source: str | None = None
    template_sha256: str | None = None
    raw: str | None = None
    by_rules: bool = False
    # The turn and the call it was made for, the most input tokens of that call, what the model was asked, and what
    # that was made of: places of messages, the end of the summary before it, the room there was.
    turn: int = 0
    call: int = 0
    budget: int | None = None
    prompt: str | None = None
    inputs: dict[str, Any] = {}
    # What the summarizer was called when it was chosen, if that is not its name; the template's sections; and what the
    # text says for each field of the template's contract.
    alias: str | None = None
    sections: tuple[str, ...] = ()
    parsed: dict[str, Any] | None = None


class RecallRecorded(_Body, frozen=True, tag="recall_recorded"):
    """Evicted passages were found relevant to a message, and stand right before it."""

    anchor: str
    item: Item
    references: tuple[str, ...]


class UsageReported(_Body, frozen=True, tag="usage_reported"):
    """The provider said what a call really took: `input_tokens` are all of its input, `cached_tokens` among them.

    `written_tokens` of them were written to the cache, and `written_hour_tokens` of those stay there for an hour; None
    where it did not say.

    Those of 0.1 may lack what was cached: a caller could give numbers that leave it out.
    """

    call: int
    input_tokens: int
    cached_tokens: int | None = None
    written_tokens: int | None = None
    written_hour_tokens: int | None = None
    # Those of `input_tokens` that the session did not send: reserved for others, or put in by the provider's own tools.
    beside_tokens: int = 0


class PassRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one pass changed, found by comparing the drafts before and after it."""

    name: str
    tokens_before: int
    tokens_after: int
    rewritten: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


class CacheTerms(msgspec.Struct, frozen=True, array_like=True):
    """The rules of the provider's cache that a call was compiled by."""

    minimum_tokens: int
    ttl_seconds: int
    breakpoints: int
    lookback_blocks: int
    write: float
    read: float


class CallRecorded(_Body, frozen=True, tag="call_recorded"):
    """A request was compiled to be sent.

    Those of 0.1 have no `cache`, and nothing of what stands below it here.
    """

    number: int
    strategy: str
    budget: int | None
    tokens: int
    predicted_cached: int
    payload_sha256: str
    now: float | None = None
    sections: tuple[ContextSection, ...] = ()
    turn: int = 0
    model: str | None = None
    # Where the strategy comes from, and a hash of all its options: two runs with the same hash decide alike.
    strategy_source: str = ""
    strategy_sha256: str = ""
    window: int | None = None
    reserved: int = 0
    # The whole log at this call: messages, and their tokens as they were said.
    messages: int = 0
    logged: int = 0
    # For each fate how many items of the request have it, and their tokens.
    fates: dict[str, tuple[int, int]] = {}
    # What was sent instead of history and sections, and whether the compiler itself chose it.
    override: tuple[Message, ...] | None = None
    selected: bool = False
    # What stood around the override, of a call that was moved behind what another writer appended.
    framing: FramingSet | None = None
    # The rules of the cache, and the indices of messages behind which a provider that wants cache marks gets one.
    cache: CacheTerms | None = None
    marks: tuple[int, ...] = ()
    # How many events right before this one its compile looked up or proposed.
    proposed: int = 0
    # Why something was reduced, or was to be, and what each pass did.
    trigger: Trigger | None = None
    reason: str | None = None
    stages: tuple[PassRecord, ...] = ()
    # Of the budget: the tokens that the provider will probably count, and the marks that a caller set.
    used: int | None = None
    reserved_system: int = 0
    soft_threshold: int | None = None
    minimum_headroom: int = 0
    # The policy that the strategy goes by, if it has one, and the template that words its summaries.
    policy: str = ""
    template: str = ""
    # The request passes that have seen every message of the log by now, each by its name and a hash of its options.
    asked: tuple[str, ...] = ()
    # How the hash was made of what was sent; those of 0.1 do not say.
    wire: int = 1


class Tagged(_Body, frozen=True, tag="tagged"):
    """The session, or one call of it, was given tags: an experiment, an arm, an outcome; an empty one is taken off."""

    tags: dict[str, str]
    call: int | None = None


class ReflectionRecorded(_Body, frozen=True, tag="reflection_recorded"):
    """Something was noticed about how the conversation goes, and what to do differently."""

    observation: str
    adjustment: str
    turn: int
    # How many messages there were; what came later has not been reflected upon.
    messages: int
    by: str


class HandoffIngested(_Body, frozen=True, tag="handoff_ingested"):
    """An agent handed over what it learned."""

    payload: dict[str, Any]


class AccessRecorded(_Body, frozen=True, tag="access_recorded"):
    """An agent asked for something that its view did not show, and got so many tokens of it."""

    agent: str
    reference: str
    part: str = ""
    tokens: int = 0
    found: bool = True


WorkStep = Literal[
    "begun", "planned", "started", "charged", "executed", "reviewed", "finished", "failed", "retried", "ended"
]


class WorkRecorded(_Body, frozen=True, tag="work_recorded"):
    """A workflow went a step further: what was decided, and the texts that came of it."""

    step: WorkStep
    task_id: str | None = None
    payload: dict[str, Any] = {}
    texts: tuple[ContextSection, ...] = ()


class RequestReceived(_Body, frozen=True, tag="request_received"):
    """A gateway received a request of an agent that says more than the one before it.

    `keys` are keyed hashes of its items from number `first` on; those before `first` are as they were. A key is made
    of the bytes that the agent sent, so that a log whose texts were redacted still tells an item it knows.
    """

    first: int
    keys: tuple[str, ...]
    protocol: str
    agent: str = ""
    # What the agent calls its session, and its sub-agent, if it says so; the window of a session that it compacts.
    their_session: str = ""
    their_agent: str = ""
    window: str = ""
    # Keyed hashes of system prompt and tools, and of the names of the tools.
    framing: str = ""
    kin: str = ""


class DiagnosticRecorded(_Body, frozen=True, tag="diagnostic_recorded"):
    """Something was odd or failed; the session went on."""

    code: str
    phase: str
    text: str
    subject: str | None = None


Body = (
    FramingSet
    | MessageAppended
    | Pinned
    | Unpinned
    | ErrorResolved
    | ExecutionStarted
    | ExecutionEnded
    | ReductionRecorded
    | SummaryRecorded
    | RecallRecorded
    | UsageReported
    | CallRecorded
    | Tagged
    | ReflectionRecorded
    | HandoffIngested
    | AccessRecorded
    | WorkRecorded
    | RequestReceived
    | DiagnosticRecorded
)


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A body with its place: session, sequence number, the caller's time, schema version."""

    session: str
    seq: int
    body: Body
    time: float | None = None
    version: int = SCHEMA_VERSION
