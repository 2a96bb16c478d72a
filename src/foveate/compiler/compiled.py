"""The compiled context: what goes over the wire, with the record of how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from foveate.budget.profiles import CacheRules
from foveate.budget.window import TokenBudget
from foveate.compiler.explain import Explanation, explained
from foveate.compiler.framing import Framing
from foveate.compiler.payload import PayloadHash, payload_chunks
from foveate.compiler.recipe import FateCounts
from foveate.compiler.reduction import PassRecord
from foveate.compiler.triggers import Decision, cold_reason
from foveate.errors import ConfigError
from foveate.log.events import Body, ReflectionRecorded, SummaryRecorded
from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.views.ledger import Failure
from foveate.views.timeline import Timeline, common_prefix
from foveate.wire.format import Request
from foveate.wire.formats import FORMATS, to_objects

if TYPE_CHECKING:
    from foveate.compiler.reduction import Reduced


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledContext:
    """One request to a model: valid, within budget, explainable line by line.

    `proposed` holds the events that a caller must append for the reductions in it to last.
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
    _items: list[Item] = field(repr=False)
    length: int
    _before: list[Item] = field(repr=False)
    _timeline: Timeline = field(repr=False)
    shared: int = field(repr=False)

    @classmethod
    def of(
        cls,
        state: AgentState,
        strategy: str,
        framing: Framing,
        timeline: Timeline,
        before: list[Item],
        reduced: Reduced,
        budget: TokenBudget | None,
        decision: Decision | None,
        cache: CacheRules,
    ) -> CompiledContext:
        """The compiled context of what a compile found."""
        shared, predicted = _predicted(state, timeline, framing, reduced.items, cache)
        payload: PayloadHash = timeline.memo.setdefault("payload", PayloadHash())
        return cls(
            state=state,
            strategy=strategy,
            number=timeline.calls + 1,
            framing=framing,
            tokens=framing.tokens + timeline.tokens_of(reduced.items),
            budget=budget,
            decision=decision,
            records=reduced.records,
            proposed=reduced.proposed,
            predicted_cached=predicted,
            cache=cache,
            payload_sha256=payload.of(framing, reduced.items, timeline),
            _items=reduced.items,
            length=len(reduced.items),
            _before=before,
            _timeline=timeline,
            shared=shared,
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
    def items(self) -> tuple[Item, ...]:
        """The history in this request, each item naming what it came from."""
        return tuple(self._items[: self.length])

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of this request without the system prompt, in order."""
        return (*self.framing.before, *(item.message for item in self.items), *self.framing.after)

    @property
    def fates(self) -> dict[str, tuple[int, int]]:
        """For each fate how many items of this request have it, and their tokens."""
        counts: FateCounts = self._timeline.memo.setdefault("fates", FateCounts())
        return counts.of(self._items, self._timeline)

    @property
    def logged(self) -> int:
        """The tokens of all messages of the log, as they were said."""
        return self._timeline.logged

    @property
    def before(self) -> tuple[Item, ...]:
        """The history as it stood before the reductions in this view."""
        return tuple(self._before)

    @property
    def previous_summary(self) -> SummaryRecorded | None:
        """The newest summary that a summarizer wrote."""
        return self._timeline.summary

    @property
    def reflections(self) -> tuple[ReflectionRecorded, ...]:
        """The newest reflections on the session."""
        return self._timeline.reflections

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The newest tool executions that failed, settled or not."""
        return tuple(self._timeline.ledger.failures)

    @property
    def payload(self) -> bytes:
        """The request as canonical bytes; `payload_sha256` is their hash."""
        return b"".join(payload_chunks(self.framing, self._items, self.length))

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """Indices into `messages` behind which a provider that wants cache marks should get one.

        The end of the digests, the end of what the previous call sent, and the last message; the mark behind the
        system prompt is not counted.
        """
        wanted = max(0, self.cache.breakpoints - 1)
        offset = len(self.framing.before)
        digests = [index for index in range(self.length) if self._items[index].is_digest]
        ends = [*digests[-1:], self.shared - 1, self.length - 1]
        marks = sorted({offset + end for end in ends if end >= 0})
        return tuple(marks[len(marks) - min(wanted, len(marks)) :])

    def position(self, message_id: str) -> int | None:
        """The place of a message in the log."""
        return self._timeline.position(message_id)

    def count(self, message: Message) -> int:
        """The tokens of a message as it was recorded."""
        return self._timeline.count(message)

    def count_text(self, text: str) -> int:
        """The tokens of a text."""
        return self._timeline.counter.count(text)

    @property
    def request(self) -> Request:
        """The request before any format: system prompt, messages, tools, and where cache marks belong."""
        framing = self.framing
        return Request(
            messages=self.messages,
            system=framing.system,
            tools=framing.tools,
            response_format=framing.response_format,
            marks=self.breakpoints,
            mark_system=self.cache.breakpoints > 0,
        )

    def to(self, format: str) -> Any:
        """The request as a provider or framework wants it; a list of messages for "openai", one string for "text".

        For "anthropic", "gemini" and "openai-responses": the keywords of a call, such as `system` and `messages`, with
        the response format where the provider has one (Anthropic has none). For "pydantic-ai" and "langchain": lists of
        their own message objects.
        """
        if format == "text":
            return _as_text(self)
        if format not in FORMATS:
            raise ConfigError(f"unknown `format` {format!r}; known are {', '.join(FORMATS)}, text")
        return to_objects(FORMATS[format], FORMATS[format].lower(self.request))

    @overload
    def explain(self, *, json: Literal[False] = False) -> Explanation: ...
    @overload
    def explain(self, *, json: Literal[True]) -> dict[str, Any]: ...
    def explain(self, *, json: bool = False) -> Explanation | dict[str, Any]:
        """What is in, what is not, and why; printable, or as data."""
        explanation = explained(self, self._timeline.mender.left_out)
        return explanation.as_dict() if json else explanation

    def why(self, message_id: str) -> str:
        """In one sentence, what became of a message in this request."""
        return explained(self, self._timeline.mender.left_out).why(message_id)


def _predicted(
    state: AgentState, timeline: Timeline, framing: Framing, items: list[Item], cache: CacheRules
) -> tuple[int, int]:
    """How many items the previous call began with in common, and the tokens the provider should find cached."""
    if state.override is not None:
        return 0, 0
    shared, tokens = timeline.shared, timeline.shared_tokens
    if items is not timeline.mender.items:
        shared = min(shared, common_prefix(timeline.mender.items, items))
        tokens = sum(item.tokens for item in items[:shared])
    if timeline.sent is None or timeline.reframed or cold_reason(timeline, cache, state.now):
        return shared, 0
    predicted = framing.fixed + tokens
    return shared, predicted if predicted >= cache.minimum_tokens else 0


def _as_text(view: CompiledContext) -> str:
    blocks = [f"[system]\n{view.framing.system}"] if view.framing.system else []
    for message in view.messages:
        calls = [f"→ {call.name} {call.arguments}" for call in message.calls]
        body = "\n".join(piece for piece in (message.text, *calls) if piece)
        blocks.append(f"[{message.role} {message.id}]\n{body}")
    return "\n\n".join(blocks)
