"""Summaries: what a summarizer is asked, and when its answer is accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple, Protocol

from foveate.compile.compiled import CompiledContext
from foveate.compile.passes.digest import is_covered, state_of
from foveate.compile.passes.summarise import SUMMARISED
from foveate.log.events import Placed, ReductionRecorded
from foveate.log.items import Item
from foveate.log.messages import Message

# Of what a digest may take, so that quoted evidence and the ledger keep their places.
_SHARE: Final = 0.5
_LEAST: Final = 120
# Of the telling words of a fact, those that a text must have to have the fact.
_ENOUGH: Final = 0.6
_FILES: Final = 24
_WORD: Final = re.compile(r"[\w][\w./-]{3,}")


class KeptFact(NamedTuple):
    """A fact of the ledger that a summary has to have, as nothing else would show it: in words, and what tells it."""

    text: str
    words: frozenset[str]

    def is_in(self, text: str) -> bool:
        """Whether a text in small letters has it."""
        return sum(word in text for word in self.words) >= len(self.words) * _ENOUGH


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """What a summarizer gets.

    `messages` is a prefix of the conversation as the model last saw it, so that a provider finds it in its cache.
    `previous` is the summary to be updated, if there is one; `through` is the position of the last message to cover.
    `must_keep` are facts that only the lines show which the summary takes the place of: it is refused without them.
    """

    system: str | None
    messages: tuple[Message, ...]
    previous: str | None
    through: int
    target_tokens: int
    replaced_tokens: int
    must_keep: tuple[KeptFact, ...] = ()


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
    placed = [
        entry.item
        for entry in reduction.layout
        if isinstance(entry, Placed) and entry.item.is_digest and state_of(entry.item.lines) is None
    ]
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
        must_keep=tuple(_only_in(digest, view)),
    )


def _only_in(digest: Item, view: CompiledContext) -> Iterator[KeptFact]:
    """The facts of the ledger that a request shows only in those lines of a digest that a summary would replace."""
    replaced = "\n".join(line.text for line in digest.lines if line.kind in SUMMARISED).lower()
    others = [line.text for line in digest.lines if line.kind not in SUMMARISED]
    rest = "\n".join([*others, *(item.message.text for item in view.items if item.id != digest.id)]).lower()
    for fact in _facts(digest, view):
        if fact.words and fact.is_in(replaced) and not fact.is_in(rest):
            yield fact


def _facts(digest: Item, view: CompiledContext) -> Iterator[KeptFact]:
    """What the ledger knows of the messages that a digest stands for: files, decisions, open errors, the plan."""
    timeline = view.projection
    ledger = timeline.ledger

    def inside(message_id: str) -> bool:
        place = timeline.position(message_id)
        return place is not None and is_covered(place, digest.covers)

    for path, source in islice(reversed(tuple(ledger.written.items())), _FILES):
        if inside(source):
            yield KeptFact(f"the file {path}", frozenset({path.rpartition("/")[2].lower()}))
    for error in ledger.open_errors.values():
        if inside(error.message_id):
            yield KeptFact(f"the open error {error.message_id}", _words(error.text))
    for note in (*ledger.decisions, *((ledger.plan,) if ledger.plan is not None else ())):
        if inside(note.message_id):
            yield KeptFact(note.text, _words(note.text))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def refused(text: str, tokens: int, request: SummaryRequest) -> str | None:
    """Why a summary is not accepted, or None if it is."""
    if not text.strip():
        return "the summary is empty"
    if tokens > request.target_tokens:
        return f"the summary has {tokens} tokens, more than the {request.target_tokens} asked for"
    if tokens >= request.replaced_tokens:
        return f"the summary has {tokens} tokens, not less than the {request.replaced_tokens} it stands for"
    lost = [fact for fact in request.must_keep if not fact.is_in(text.lower())]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        return f"the summary leaves out what only it would show: {lost[0].text[:120]}{more}"
    return None


def _within(item: Item, through: int) -> bool:
    return (item.covers[-1][1] if item.is_digest else item.order) <= through
