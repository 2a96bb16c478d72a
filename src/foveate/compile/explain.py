"""Explain: what became of every message, by which pass, at which call, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from foveate.compile.fates import MessageFate, Placements, RequestFates
from foveate.compile.fullness import fullness
from foveate.errors import UnknownReferenceError
from foveate.log.events import (
    AccessRecorded,
    Body,
    CallRecorded,
    DiagnosticRecorded,
    MessageAppended,
    ReductionRecorded,
    Tagged,
)
from foveate.log.items import Fate, Item
from foveate.log.messages import Message
from foveate.log.sections import ContextSection

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from foveate.compile.compiled import CompiledContext

_PREVIEW: Final = 80
# A long output is not read for its first words.
_LOOKED_AT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FateRecord:
    """What became of one message of the log; `shown_in` is the item that shows it or stands for it."""

    id: str
    role: str
    preview: str
    fate: Fate
    by: str
    why: str
    call: int | None
    tokens_before: int
    tokens_after: int
    shown_in: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRecord:
    """One message of the request, with the messages it came from."""

    id: str
    role: str
    fate: Fate
    tokens: int
    sources: tuple[str, ...]
    cached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionRecord:
    """A section beside the history, and where it came from."""

    name: str
    source: str | None
    tier: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRecord:
    """Something an agent asked for and was given: who, what, and before which call."""

    agent: str
    reference: str
    part: str
    tokens: int
    found: bool
    call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The account of one request; printing it gives a table, `as_dict()` the same as data."""

    call: int
    strategy: str
    budget: int | None
    used: int
    framing: int
    predicted_cached: int
    trigger: str | None
    reason: str | None
    stages: tuple[dict[str, Any], ...]
    fates: tuple[FateRecord, ...]
    items: tuple[ItemRecord, ...]
    diagnostics: tuple[str, ...]
    sections: tuple[SectionRecord, ...] = ()
    accesses: tuple[AccessRecord, ...] = ()
    # The agent that was asked, and the strategy that decided which sections it sees; None outside of agents' sessions.
    agent: str | None = None
    context_strategy: str | None = None
    # Where the record of the call is; see `CompiledContext.recorded_in`.
    recorded_in: str | None = None
    # The tokens that the provider will probably count, by what it reported so far; None without a budget.
    corrected: int | None = None
    # The messages behind which a provider that wants cache marks gets one.
    cache_marks: tuple[str, ...] = ()
    # What is not known of a past call because the version that recorded it did not record that.
    unrecorded: tuple[str, ...] = ()
    # Why nothing was reduced, though a trigger asked for it: the passes made nothing better of the items.
    declined: str | None = None
    # Why the request takes as much of its budget as it does, in one line.
    fullness: str = ""

    def why(self, message_id: str) -> str:
        """In one sentence, what became of a message."""
        for record in self.fates:
            if record.id == message_id:
                where = f" in {record.shown_in}" if record.shown_in not in (None, record.id) else ""
                when = f" at call {record.call}" if record.call else ""
                by = f" by {record.by}" if record.by else ""
                because = f": {record.why}" if record.why else ""
                size = f" ({record.tokens_before} → {record.tokens_after} tokens)"
                return f"{record.id} is {record.fate}{where}{by}{when}{because}{size}"
        raise UnknownReferenceError(f"no message {message_id!r} in this log; ids run from m1 to m{len(self.fates)}")

    def as_dict(self) -> dict[str, Any]:
        """The account as plain data."""
        return asdict(self)

    def counts(self) -> dict[str, int]:
        """How many messages had each fate."""
        result: dict[str, int] = {}
        for record in self.fates:
            result[record.fate] = result.get(record.fate, 0) + 1
        return result

    def __str__(self) -> str:
        # Rich is slow to import, and most compiles are never printed.
        from foveate.compile.table import as_text  # noqa: PLC0415

        return as_text(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # Only a Rich console calls this, and then the import costs nothing more.
        from foveate.compile.table import renderables  # noqa: PLC0415

        yield from renderables(self)


def explained(view: CompiledContext) -> Explanation:
    """The account of a compiled context, found by comparing it with the log."""
    decision = view.decision
    said, bodies = _read(view)
    diagnostics = [body for body in bodies if isinstance(body, DiagnosticRecorded)]
    fates = tuple(_fates(view, said, bodies))
    return Explanation(
        call=view.number,
        strategy=view.strategy,
        budget=view.budget.limit if view.budget is not None else None,
        used=view.tokens,
        framing=view.framing.tokens,
        predicted_cached=view.predicted_cached,
        trigger=decision.trigger if decision is not None else None,
        reason=decision.reason if decision is not None else None,
        stages=tuple(msgspec.structs.asdict(record) for record in view.records),
        fates=fates,
        items=tuple(_item_record(item, fates, is_cached=at < view.shared) for at, item in enumerate(view.items)),
        diagnostics=tuple(f"{one.code}: {one.text} ({one.subject or one.phase})" for one in diagnostics),
        sections=tuple(_section(one, view) for one in view.sections if one.content.strip()),
        accesses=tuple(_accesses(bodies)),
        agent=_tag_of(bodies, "agent"),
        context_strategy=_tag_of(bodies, "strategy"),
        recorded_in=view.recorded_in,
        corrected=view.budget.used if view.budget is not None and not view.unrecorded else None,
        cache_marks=_cache_marks(view),
        unrecorded=view.unrecorded,
        declined=view.declined,
        fullness=_fullness(view, bodies),
    )


def _fullness(view: CompiledContext, bodies: Iterable[Body]) -> str:
    if view.state.override is not None:
        return ""
    return fullness(view.tokens, view.budget.limit if view.budget is not None else None, view.number, bodies)


def _cache_marks(view: CompiledContext) -> tuple[str, ...]:
    messages = view.messages
    return () if view.unrecorded else tuple(messages[index].id for index in view.breakpoints)


def _section(section: ContextSection, view: CompiledContext) -> SectionRecord:
    tokens = view.count_text(section.content)
    return SectionRecord(name=section.name, source=section.source, tier=section.tier, tokens=tokens)


def _tag_of(bodies: Iterable[Body], name: str) -> str | None:
    """What the session was last tagged with."""
    found = None
    for body in bodies:
        if isinstance(body, Tagged) and body.call is None and name in body.tags:
            found = body.tags[name] or None
    return found


def _accesses(bodies: Iterable[Body]) -> Iterator[AccessRecord]:
    call = 0
    for body in bodies:
        if isinstance(body, CallRecorded):
            call = body.number
        elif isinstance(body, AccessRecorded):
            # It was asked for in answer to the call before, and can be seen from the next one on.
            yield AccessRecord(
                agent=body.agent,
                reference=body.reference,
                part=body.part,
                tokens=body.tokens,
                found=body.found,
                call=call + 1,
            )


class _Said(NamedTuple):
    """A message in a line, with its tokens as it was said."""

    id: str
    role: str
    preview: str
    tokens: int


def _read(view: CompiledContext) -> tuple[list[_Said], list[Body]]:
    """The messages of the log in a line each, and what else happened; in one go, as most of it may be in a store."""
    # What stands as it was said is counted already.
    known = {item.id: item.tokens for item in view.items if item.fate == "verbatim"}
    said: list[_Said] = []
    bodies: list[Body] = []
    context = view.state.context
    for event in context.log.events(0, context.length):
        if isinstance(event.body, MessageAppended):
            message = event.body.message
            tokens = known.get(message.id)
            counted = view.count(message) if tokens is None else tokens
            said.append(_Said(message.id, message.role, _preview(message), counted))
        else:
            bodies.append(event.body)
    bodies.extend(view.proposed)
    # No account of a request shows what a request pass took out of it.
    rewritten = {one.id: one for body in bodies if isinstance(body, ReductionRecorded) for one in body.rewritten}
    if rewritten:
        said = [one._replace(preview=_preview(rewritten[one.id])) if one.id in rewritten else one for one in said]
    return said, bodies


def _preview(message: Message) -> str:
    calls = " ".join(f"→ {call.name} {call.arguments[:_LOOKED_AT]}" for call in message.calls)
    text = f"{message.text[:_LOOKED_AT]} {calls}"
    words = " ".join(text[:_LOOKED_AT].split())
    return words if len(words) <= _PREVIEW and len(text) <= _LOOKED_AT else words[: _PREVIEW - 1] + "…"


def _fates(view: CompiledContext, said: list[_Said], bodies: Iterable[Body]) -> Iterator[FateRecord]:
    """What became of each message, in the order of the log."""
    placements = Placements(view.position)
    for body in bodies:
        placements.take(body)
    placements.close(view.number)
    fates = RequestFates(view.items, view.projection.mender.left_out, placements)
    for order, message in enumerate(said):
        found = fates.of(message.id, order)
        yield FateRecord(
            id=message.id,
            role=message.role,
            preview=message.preview,
            fate=found.fate,
            by=found.by,
            why=found.why,
            call=found.call,
            tokens_before=message.tokens,
            tokens_after=_shown_tokens(found, view),
            shown_in=found.item.id if found.item is not None else None,
        )


def _shown_tokens(found: MessageFate, view: CompiledContext) -> int:
    """The tokens of what a request shows of a message."""
    if found.item is not None and found.lines is None:
        return found.item.tokens
    return sum(line.tokens or view.count_text(line.text) for line in found.lines or ())


def _item_record(item: Item, fates: Sequence[FateRecord], *, is_cached: bool) -> ItemRecord:
    if item.is_digest:
        sources = tuple(record.id for first, last in item.covers for record in fates[first : last + 1])
    else:
        sources = tuple(dict.fromkeys([*(line.source for line in item.lines), item.id if not item.lines else ""]))
    return ItemRecord(
        id=item.id,
        role=item.message.role,
        fate=item.fate,
        tokens=item.tokens,
        sources=tuple(source for source in sources if source),
        cached=is_cached,
    )
