"""Shapes: what the API answers with, as its documentation shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """What all answers have in common: they are made once and then sent."""

    model_config = ConfigDict(frozen=True)


# --- sessions -----------------------------------------------------------------------------------------------------


class SessionShape(Shape):
    """A session, as it is known without reading its log."""

    session_id: str = Field(examples=["sample"])
    title: str = Field(description="The beginning of what was first asked.")
    vault: str
    messages: int
    tokens: int = Field(description="Of all messages, as they were said.")
    calls: int = Field(description="Requests that were compiled and recorded.")
    events: int
    created_at: datetime
    last_activity_at: datetime
    tags: dict[str, str]
    model: str | None = Field(description="The model it was last framed with.")
    cost: float | None = Field(
        description="Of the input of all its calls in US dollars, as reported or else predicted; null without a price."
    )


class SessionsShape(Shape):
    """Some of the sessions that were asked for, and how many there are."""

    total: int
    sessions: list[SessionShape]


class WaitingShape(Shape):
    """Events of a session that were acknowledged and could not be written into the store yet."""

    events: int | None = Field(description="How many; null if they cannot be read.", examples=[3])
    place: str = Field(
        description="Where they are, or why they cannot be read.", examples=["in /data/agent.db.held/1f0c….jsonl"]
    )


Waits = Annotated[
    WaitingShape | None,
    Field(description="What of the session waits to be written and is not in this answer; null if nothing does."),
]


class SessionDetailShape(SessionShape):
    """A session with what stands around its messages, and what they are made of."""

    system: str | None
    tools: list[str] = Field(description="The tools that the model was offered, by name.")
    roles: dict[str, int] = Field(description="How many messages each role said.", examples=[{"user": 7, "tool": 120}])
    used_tools: dict[str, int] = Field(description="How many messages are about each tool, most first.")
    pins: list[str] = Field(description="Ids of the messages that every request shows verbatim.")
    diagnostics: int = Field(description="How many things were odd or failed.")
    waiting: Waits = None


class DiagnosticShape(Shape):
    """Something that was odd or failed; the session went on."""

    event: int = Field(description="Its number in the log.")
    time: datetime
    code: str = Field(examples=["summary_failed"])
    phase: str = Field(examples=["summarise"])
    text: str
    subject: str | None


# --- messages -----------------------------------------------------------------------------------------------------


class MessageShape(Shape):
    """A message in a line; its whole text is one request away."""

    id: str = Field(examples=["m17"])
    position: int = Field(description="Its place among the messages, from 0.")
    event: int = Field(description="Its number in the log.")
    role: str = Field(examples=["tool"])
    origin: str = Field(examples=["tool_result"])
    tool: str | None = Field(examples=["read_file"])
    outcome: str | None = Field(description="How a tool ended: ok, error, denied or interrupted.")
    turn: int
    time: datetime
    tokens: int
    characters: int
    preview: str = Field(description="The beginning of its text, or the passage that was found.")
    pinned: bool
    damaged: bool = Field(default=False, description="Whether its row cannot be read; `foveate db check` says more.")


class MessagesShape(Shape):
    """Some of the messages that were asked for, and how many there are."""

    total: int
    messages: list[MessageShape]
    waiting: Waits = None


class MessageWholeShape(MessageShape):
    """A message, whole."""

    text: str = Field(description="As a reader sees it: words, calls and results; thinking is among the parts.")
    parts: list[dict[str, Any]] = Field(description="Texts, calls, results, thinking and media, as they were recorded.")
    reads: list[str] = Field(description="The files it read.")
    writes: list[str] = Field(description="The files it changed.")
    extra: dict[str, Any] = Field(description="Fields of its provider that Foveate keeps as they are.")
    waiting: Waits = None


class DeletedShape(Shape):
    """The sessions that are gone, branches included, and what could not be erased at this moment, in words."""

    deleted: list[str]
    left: list[str]


class PinsShape(Shape):
    """The messages that every request shows verbatim."""

    pins: list[str]


# --- calls --------------------------------------------------------------------------------------------------------


class FateShape(Shape):
    """How many items of a request have a fate, and their tokens."""

    items: int
    tokens: int


class ReductionShape(Shape):
    """A reduction that was made for a call."""

    trigger: str = Field(description="must, free, pays, asked, due, capped or request.", examples=["pays"])
    reason: str
    passes: list[str]
    before: int = Field(description="Tokens of the history before it.")
    after: int


class CallShape(Shape):
    """A call in numbers."""

    call: int
    event: int = Field(description="Its number in the log.")
    turn: int
    time: datetime
    strategy: str
    model: str
    tokens: int
    budget: int | None
    window: int | None
    fates: dict[str, FateShape]
    predicted_cached: int = Field(description="Tokens expected in the provider's cache.")
    reported_input: int | None
    reported_cached: int | None
    messages: int = Field(description="Messages of the whole log by then.")
    logged: int = Field(description="Tokens of the whole log by then: what an untouched history would have taken.")
    cost: float | None = Field(description="Of its input in US dollars, as reported or else predicted.")
    reductions: list[ReductionShape]
    tags: dict[str, str]
    payload_sha256: str


class RequestCostShape(Shape):
    """Input tokens of requests, and their cost."""

    tokens: int = Field(description="As the provider counts them.")
    cached: int = Field(description="Those of them that were in its cache.")
    cost: float
    cached_share: float | None


class CostsShape(Shape):
    """What a session cost, and what it would have cost with the whole history in every request."""

    calls: int
    known_calls: int = Field(description="The calls that `sent` covers; the log of another agent may lack usage.")
    reported_calls: int = Field(description="The calls that the provider counted; others are as predicted.")
    unit: str = Field(description="USD, or input tokens if the price of a model is not known.")
    sent: RequestCostShape
    untouched: RequestCostShape
    overhead: int = Field(description="Tokens of every request that the log does not show.")
    ratio: float = Field(description="The provider's tokens for each of ours.")


class CallsShape(Shape):
    """Some of the calls, oldest first, and how many there are."""

    total: int
    calls: list[CallShape]
    waiting: Waits = None


class ItemShape(Shape):
    """One message of a request, and what became of those that it stands for."""

    id: str
    role: str
    fate: str = Field(examples=["masked"])
    by: str = Field(description="The pass that made it so.", examples=["mask"])
    why: str
    call: int | None = Field(description="The call it was made at; null if it stands as it was said.")
    tokens_before: int = Field(description="Of the messages it stands for, as they were said.")
    tokens_after: int
    cached: bool = Field(description="Whether it belongs to what the provider has cached.")
    event: int | None = Field(description="Where its message is in the log; null if it stands for several.")
    sources: list[str] = Field(description="Ids of the messages it stands for, the first of them if there are many.")
    source_count: int
    parts: list[dict[str, Any]] = Field(description="What the model sees.")


class SectionShape(Shape):
    """A text beside the history."""

    name: str
    source: str | None
    tier: str = Field(
        description="instructions end the system prompt, stable ones stand before the history, volatile ones behind it."
    )
    tokens: int
    content: str


class ViewShape(Shape):
    """A request in Foveate's own form, with the account of how it came about."""

    call: int
    strategy: str
    agent: str | None = Field(description="The agent that was asked; null outside of agents' sessions.")
    context_strategy: str | None = Field(description="The strategy that decided which sections the agent sees.")
    tokens: int
    budget: int | None
    window: int | None
    framing_tokens: int = Field(description="Of what stands around the history: system prompt, tools, sections.")
    system: str | None
    tools: list[dict[str, Any]]
    response_format: dict[str, Any] | None
    sections: list[SectionShape]
    items: list[ItemShape]
    override: list[dict[str, Any]] | None = Field(description="Messages that were sent instead of all of that.")
    cached_items: int = Field(description="So many items at the beginning are cached; there the prefix ends.")
    predicted_cached: int
    trigger: str | None
    reason: str | None
    declined: str | None = Field(description="Why nothing was reduced, though a trigger asked for it; null if it was.")
    corrected: int | None = Field(description="Tokens that the provider will probably count; null without a budget.")
    cache_marks: list[str] = Field(description="The messages behind which a provider that wants cache marks gets one.")
    unrecorded: list[str] = Field(description="What the version that recorded a past call did not record of it.")
    stages: list[dict[str, Any]] = Field(description="What each pass took and left.")
    counts: dict[str, int] = Field(
        description="How many messages of the log have each fate.", examples=[{"verbatim": 40, "masked": 12}]
    )
    diagnostics: list[str]
    accesses: list[dict[str, Any]] = Field(description="What agents asked for and were given.")
    payload_sha256: str


class CallDetailShape(ViewShape):
    """A recorded call, computed again from the log and checked against its hash."""

    record: CallShape
    waiting: Waits = None


class MessageFateShape(Shape):
    """What became of one message of the log."""

    id: str
    role: str
    preview: str
    fate: str
    by: str
    why: str
    call: int | None
    tokens_before: int
    tokens_after: int
    shown_in: str | None = Field(description="The item that shows it or stands for it.")


class MessageFatesShape(Shape):
    """What became of some messages of the log, and how many there are."""

    total: int
    fates: list[MessageFateShape]
    waiting: Waits = None


class ChangeShape(Shape):
    """One item that differs between two calls; what is null was not there."""

    id: str
    role: str
    preview: str
    before: str | None
    after: str | None
    tokens_before: int
    tokens_after: int
    why: str


class DifferenceShape(Shape):
    """What differs between two calls, the earlier one first."""

    first: int
    second: int
    tokens_before: int
    tokens_after: int
    entered: list[ChangeShape]
    left: list[ChangeShape]
    changed: list[ChangeShape]
    shared: int = Field(description="So many items at the beginning are the same.")
    shared_tokens: int
    broke_at: str | None = Field(description="The first item of the earlier call that the later one has no more there.")
    why: str
    waiting: Waits = None


# --- import and search --------------------------------------------------------------------------------------------


class ArrivalShape(Shape):
    """A session that came in."""

    session_id: str
    messages: int
    calls: int
    added_events: int
    was_there: bool


class SkippedShape(Shape):
    """A part of a log that was left out."""

    line: int
    reason: str


class ImportedShape(Shape):
    """What came of a log."""

    log: str
    format: str = Field(examples=["claude-code"])
    sessions: list[ArrivalShape]
    skipped: list[SkippedShape]
    notes: list[str]


class HitShape(Shape):
    """A passage that answers a query, and where it was said."""

    session_id: str
    message_id: str
    role: str
    tool: str | None
    time: datetime
    score: float
    text: str


class HitsShape(Shape):
    """The passages that answer a query best, the best first."""

    hits: list[HitShape]
