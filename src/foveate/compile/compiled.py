"""The compiled context: what goes over the wire, with the record of how it came about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, overload

from foveate.budget.profiles import CacheRules
from foveate.budget.window import TokenBudget
from foveate.compile.explain import Explanation, explained
from foveate.compile.framing import Framing
from foveate.compile.ledger import Failure
from foveate.compile.payload import WIRE, payload_chunks, payload_hash
from foveate.compile.projection import Projection, SentPrefix, common_prefix
from foveate.compile.reduction import Reduced
from foveate.compile.timeline import REDUCTION_DECLINED
from foveate.compile.triggers import Decision, cold_reason
from foveate.errors import BudgetError, ConfigError
from foveate.log.context import Place
from foveate.log.events import (
    ON_REQUEST,
    Body,
    CallRecorded,
    DiagnosticRecorded,
    PassRecord,
    ReductionRecorded,
    ReflectionRecorded,
    SummaryRecorded,
)
from foveate.log.items import Item
from foveate.log.messages import Message, is_empty
from foveate.log.quoting import flatten_text, mark_lines, neutralize_text, quote_name
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.wire.format import Request
from foveate.wire.formats import FORMATS, to_objects

_UNRECORDED: Final = ("stages", "cache rules", "corrected tokens")


class Made(NamedTuple):
    """What a compile made of a state, or what was recorded of one."""

    strategy: str
    framing: Framing
    # The history before this compile, as the passes of every request left it, and what the reductions made of it.
    before: tuple[Item, ...]
    requested: tuple[Item, ...]
    reduced: Reduced
    budget: TokenBudget | None
    decision: Decision | None
    cache: CacheRules
    # What is known of the items that the last call sent, if this request begins with them.
    known: SentPrefix | None = None
    wire: int = WIRE


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledContext:
    """One request to a model: valid, within budget, explainable line by line.

    `proposed` holds the events that a caller must append for the reductions in it to last. Whatever is appended to the
    log later, by whichever thread, changes nothing in it. A past call is the same, made of its record.
    """

    state: AgentState = field(repr=False)
    strategy: str
    number: int
    framing: Framing = field(repr=False)
    tokens: int
    budget: TokenBudget | None
    decision: Decision | None
    records: tuple[PassRecord, ...]
    proposed: tuple[Body, ...] = field(repr=False)
    predicted_cached: int
    cache: CacheRules = field(repr=False)
    payload_sha256: str
    # How the request is written and hashed: calls of 0.1 are given as it wrote them.
    wire: int = field(repr=False)
    # The history in this request, each item naming what it came from; as it stood before this compile; and as the
    # passes of every request left it, which is all that any model may read of it. The latter is not recorded of a past
    # call that also reduced the history: there it may be as it stood before.
    items: tuple[Item, ...] = field(repr=False)
    before: tuple[Item, ...] = field(repr=False)
    requested: tuple[Item, ...] = field(repr=False)
    # For each fate how many items of this request have it, and their tokens.
    fates: Mapping[str, tuple[int, int]] = field(repr=False)
    # How many items the previous call began with in common.
    shared: int = field(repr=False)
    projection: Projection = field(repr=False)
    # What the compile found out about this request, for the one of the next call.
    prefix: SentPrefix | None = field(default=None, repr=False)
    # The request passes that have seen every message by now.
    asked: tuple[str, ...] = field(default=(), repr=False)
    # What was recorded of the call, if this is a past one: it is given as it was sent, whatever is refused today.
    record: CallRecorded | None = field(default=None, repr=False)
    # Where the record of the call is: in the "store", "held" in a file until the store can be written, or in the
    # "memory" of this process, if that file fails, too. None without a store, for a preview, and for a rebuilt call.
    recorded_in: Place | None = None

    @classmethod
    def of(cls, state: AgentState, projection: Projection, made: Made, *, is_verified: bool) -> CompiledContext:
        """The compiled context of what a compile made of a state."""
        framing, items = made.framing, made.reduced.items
        shared, predicted = _predicted(state, projection, framing, items, made.cache)
        payload = payload_hash(framing, items, made.known, made.wire)
        fates = MappingProxyType(_fate_counts(items, made.known))
        return cls(
            state=state,
            strategy=made.strategy,
            number=projection.calls + 1,
            framing=framing,
            tokens=framing.tokens + projection.tokens_of(items),
            budget=made.budget,
            decision=made.decision,
            records=made.reduced.records,
            proposed=made.reduced.proposed,
            predicted_cached=predicted,
            cache=made.cache,
            payload_sha256=payload.sha256,
            wire=made.wire,
            items=items,
            before=made.before,
            requested=made.requested,
            fates=fates,
            shared=shared,
            projection=projection,
            asked=made.reduced.asked,
            prefix=SentPrefix(
                payload_sha256=payload.sha256,
                count=len(items),
                hash=payload.hash,
                wire=made.wire,
                system=framing.system,
                forms=framing.forms,
                tools=framing.tools,
                response_format=framing.response_format,
                before=framing.before,
                framing_tokens=framing.base,
                fates=fates,
                pins=tuple(projection.pins) if is_verified else None,
            ),
        )

    @property
    def system_prompt(self) -> str | None:
        """The system prompt, byte-identical across calls."""
        return self.framing.system

    @property
    def sections(self) -> tuple[ContextSection, ...]:
        """The sections beside the history."""
        return self.state.sections

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of this request without the system prompt, in order."""
        return (*self.framing.before, *[item.message for item in self.items], *self.framing.after)

    @property
    def is_empty(self) -> bool:
        """Whether nothing in this request says anything: no provider takes it."""
        return not self.framing.system and all(map(is_empty, self.messages))

    @property
    def logged(self) -> int:
        """The tokens of all messages of the log, as they were said."""
        return self.projection.logged

    @property
    def declined(self) -> str | None:
        """Why nothing was reduced though it was decided to; None if that did not happen."""
        said = (one for one in self.proposed if isinstance(one, DiagnosticRecorded) and one.code == REDUCTION_DECLINED)
        return next((one.text for one in said), None)

    @property
    def previous_summary(self) -> SummaryRecorded | None:
        """The newest summary that a summarizer wrote."""
        return self.projection.summary

    @property
    def reflections(self) -> tuple[ReflectionRecorded, ...]:
        """The newest reflections on the session."""
        return self.projection.reflections

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The newest tool executions that failed, settled or not."""
        return self.projection.ledger.failures

    @property
    def unrecorded(self) -> tuple[str, ...]:
        """What of a past call is not known, as 0.1 did not record it."""
        if not self._is_of_0_1:
            return ()
        # Why something was reduced stands in the event of the reduction, too; why nothing was, stands nowhere.
        return _UNRECORDED if self.decision is not None else ("decision", *_UNRECORDED)

    @property
    def _is_of_0_1(self) -> bool:
        return self.record is not None and self.record.cache is None

    @property
    def payload(self) -> bytes:
        """The request as canonical bytes; `payload_sha256` is their hash."""
        return b"".join(payload_chunks(self.framing, self.items, self.wire))

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """Indices into `messages` behind which a provider that wants cache marks should get one.

        The end of the digests, the end of what the previous call sent, and the last message; the mark behind the
        system prompt is not counted.
        """
        if self.record is not None and not self._is_of_0_1:
            return self.record.marks
        wanted = max(0, self.cache.breakpoints - 1)
        offset = len(self.framing.before)
        digests = [index for index, item in enumerate(self.items) if item.is_digest]
        ends = [*digests[-1:], self.shared - 1, len(self.items) - 1]
        marks = sorted({offset + end for end in ends if end >= 0})
        return tuple(marks[len(marks) - min(wanted, len(marks)) :])

    def position(self, message_id: str) -> int | None:
        """The place of a message in the log."""
        return self.projection.position(message_id)

    def count(self, message: Message) -> int:
        """The tokens of a message as it was recorded."""
        return self.projection.count(message)

    def count_text(self, text: str) -> int:
        """The tokens of a text."""
        return self.projection.counter.count(text)

    @property
    def request(self) -> Request:
        """The request before any format: system prompt, messages, tools, and where cache marks belong."""
        framing = self.framing
        return Request(
            messages=self.messages,
            system=framing.system,
            forms=framing.forms,
            tools=framing.tools,
            response_format=framing.response_format,
            marks=self.breakpoints,
            mark_system=self.cache.breakpoints > 0,
            # 0.1 sent marks without their time to live.
            mark_seconds=0 if self.wire == 1 else self.cache.ttl_seconds,
            opens_empty=self._is_of_0_1,
            rewritten=any(not item.is_unreduced for item in self.items),
            wire=self.wire,
        )

    def to(self, format: str) -> Any:
        """The request as a provider or framework wants it; a list of messages for "openai", one string for "text".

        "openai-compatible" is for other servers that speak OpenAI's language: it gives their own fields back too. For
        "anthropic", "gemini" and "openai-responses": the keywords of a call, such as `system` and `messages`, with the
        response format where the provider has one (Anthropic has none). For "pydantic-ai" and "langchain": lists of
        their own message objects. A request without a message is refused where a provider needs one.
        """
        if format == "text":
            return _as_text(self)
        if not isinstance(format, str) or format not in FORMATS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"unknown `format` {format!r}; known are {', '.join(FORMATS)}, text")
        return to_objects(FORMATS[format], FORMATS[format].lower(self.request))

    @overload
    def explain(self, *, json: Literal[False] = False) -> Explanation: ...
    @overload
    def explain(self, *, json: Literal[True]) -> dict[str, Any]: ...
    def explain(self, *, json: bool = False) -> Explanation | dict[str, Any]:
        """What is in, what is not, and why; printable, or as data."""
        explanation = explained(self)
        return explanation.as_dict() if json else explanation

    def why(self, message_id: str) -> str:
        """In one sentence, what became of a message in this request."""
        return explained(self).why(message_id)


def is_reduced(view: CompiledContext) -> bool:
    """Whether a compile rewrote the history, not only what is new in it."""
    return any(isinstance(one, ReductionRecorded) and one.trigger not in ON_REQUEST for one in view.proposed)


def sent_before(items: tuple[Item, ...], projection: Projection) -> SentPrefix | None:
    """What is known of the items that the last call sent, if a request begins with them."""
    prefix, current = projection.prefix, projection.mender.items
    if prefix is None or items is current or items[: prefix.count] == current[: prefix.count]:
        return prefix
    return None


def _predicted(
    state: AgentState, projection: Projection, framing: Framing, items: tuple[Item, ...], cache: CacheRules
) -> tuple[int, int]:
    """How many items the previous call began with in common, and the tokens the provider should find cached."""
    if state.override is not None:
        return 0, 0
    shared, tokens = projection.shared, projection.shared_tokens
    if items is not projection.mender.items:
        shared = min(shared, common_prefix(projection.mender.items, items))
        tokens = sum(item.tokens for item in items[:shared])
    if projection.sent is None or projection.reframed or cold_reason(projection, cache, state.now):
        return shared, 0
    predicted = framing.fixed + tokens
    return shared, predicted if predicted >= cache.minimum_tokens else 0


def _fate_counts(items: Sequence[Item], prefix: SentPrefix | None) -> dict[str, tuple[int, int]]:
    """For each fate how many items of a request have it, and their tokens; what was sent was counted before."""
    counts = dict(prefix.fates) if prefix is not None else {}
    for item in islice(items, prefix.count if prefix is not None else 0, None):
        count, tokens = counts.get(item.fate, (0, 0))
        counts[item.fate] = (count + 1, tokens + item.tokens)
    return counts


def overridden(
    state: AgentState, name: str, framing: Framing, timeline: Projection, budget: TokenBudget | None, cache: CacheRules
) -> CompiledContext:
    """The request that is nothing but the override; the history is neither looked at nor reduced."""
    proposed: tuple[Body, ...] = ()
    if budget is not None:
        # What a caller wants to send as it is, is not refused for a doubt.
        correction = timeline.calibration.correction(budget.limit, lenient=True)
        budget = budget.with_used(correction.correct(framing.tokens))
        if budget.over_limit():
            raise BudgetError(
                f"`override` needs {budget.used} tokens but `budget` is {budget.limit}; shorten it or raise `budget`",
                needed=budget.used,
                limit=budget.limit,
            )
        if (most := timeline.calibration.correction(budget.limit).correct(framing.tokens)) > budget.limit:
            proposed = (in_doubt(most, budget.limit),)
    made = Made(name, framing, (), (), Reduced((), (), proposed), budget, None, cache)
    return CompiledContext.of(state, timeline, made, is_verified=False)


def in_doubt(most: int, limit: int) -> DiagnosticRecorded:
    """That a request may be over its budget by the provider's count, as far as reports tell."""
    text = (
        f"the provider may count up to {most} tokens for this request, more than the {limit} of `budget`: its reports "
        "do not tell yet whether it counts more for each token or adds the same to every request; report the usage of "
        "this one, or lower `budget`"
    )
    return DiagnosticRecorded(code="budget_in_doubt", phase="compile", text=text)


# How a block begins, and a call in it; a note of ours on a result without its call is no block.
_BLOCK: Final = re.compile(r"\[\s*(?:system|user|assistant|tool)\b(?! result without )|→", re.IGNORECASE)


def _as_text(view: CompiledContext) -> str:
    """The request for people: whatever a message says, it cannot begin the block of another."""
    blocks = [f"[system]\n{_within_block(view.framing.system)}"] if view.framing.system else []
    for message in view.messages:
        calls = [f"→ {quote_name(call.name)} {flatten_text(call.arguments)}" for call in message.calls]
        body = "\n".join(piece for piece in (_within_block(message.text), *calls) if piece)
        blocks.append(f"[{message.role} {flatten_text(message.id)}]\n{body}")
    return "\n\n".join(blocks)


def _within_block(text: str) -> str:
    return mark_lines(neutralize_text(text), _BLOCK)
