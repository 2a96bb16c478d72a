"""Summaries: what a summarizer is asked, and when its answer is accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from foveate.compile.compiled import CompiledContext
from foveate.log.events import Placed, ReductionRecorded
from foveate.log.items import Item
from foveate.log.messages import Message

# Of what a digest may take, so that quoted evidence and the ledger keep their places.
_SHARE: Final = 0.5
_LEAST: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """What a summarizer gets.

    `messages` is a prefix of the conversation as the model last saw it, so that a provider finds it in its cache.
    `previous` is the summary to be updated, if there is one; `through` is the position of the last message to cover.
    """

    system: str | None
    messages: tuple[Message, ...]
    previous: str | None
    through: int
    target_tokens: int
    replaced_tokens: int


class Summarizer(Protocol):
    """Writes the summary of a stretch of conversation; the only thing in the core that may call a model."""

    @property
    def name(self) -> str: ...

    async def summarise(self, request: SummaryRequest, /) -> str: ...


def pending_summary(view: CompiledContext) -> SummaryRequest | None:
    """The summary that the reduction proposed by a view could use, or None if it evicts nothing."""
    reduction = next((body for body in view.proposed if isinstance(body, ReductionRecorded)), None)
    if reduction is None:
        return None
    placed = [entry.item for entry in reduction.layout if isinstance(entry, Placed) and entry.item.is_digest]
    if not placed:
        return None
    digest = max(placed, key=lambda item: item.covers[-1][1])
    before = view.requested
    through = digest.covers[-1][1]
    end = max((index for index, item in enumerate(before) if _within(item, through)), default=-1) + 1
    while end < len(before) and before[end].group == before[end - 1].group:
        end += 1
    previous = view.previous_summary
    replaced = sum(item.tokens for item in before[:end] if not item.is_digest)
    return SummaryRequest(
        system=view.framing.system,
        messages=(*view.framing.before, *(item.message for item in before[:end])),
        previous=previous.text if previous is not None else None,
        through=through,
        target_tokens=max(_LEAST, int(digest.tokens * _SHARE)),
        replaced_tokens=replaced,
    )


def refused(text: str, tokens: int, request: SummaryRequest) -> str | None:
    """Why a summary is not accepted, or None if it is."""
    if not text.strip():
        return "the summary is empty"
    if tokens > request.target_tokens:
        return f"the summary has {tokens} tokens, more than the {request.target_tokens} asked for"
    if tokens >= request.replaced_tokens:
        return f"the summary has {tokens} tokens, not less than the {request.replaced_tokens} it stands for"
    return None


def _within(item: Item, through: int) -> bool:
    return (item.covers[-1][1] if item.is_digest else item.order) <= through
