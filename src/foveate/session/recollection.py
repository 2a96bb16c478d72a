"""Recollection: what the request for a new input does not show of its past, looked up for it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from foveate.budget.economics import early_rewrite_cost, worth_looking_up
from foveate.compile.compiled import CompiledContext, is_reduced
from foveate.compile.draft import Shares, part_of
from foveate.compile.passes.digest import MARKED, named
from foveate.compile.projection import Projection
from foveate.compile.triggers import cold_reason
from foveate.log.events import RecallRecorded
from foveate.log.items import Item, Line
from foveate.log.messages import MessageMeta, speaker_of, text_message
from foveate.log.quoting import quote_lines
from foveate.recall import Passage, PassageIndex, recalled
from foveate.recall.extracts import GAP
from foveate.recall.meaning import Meaning
from foveate.recall.readable import readable

_LEAST: Final = 120
# Of a warm request so much may be looked up: with twice as much hardly more is found.
_HALF: Final = 0.5
# In tokens: the mark before each quoted line, and the line before them that says whose words they are.
_PER_LINE: Final = 0.85
_PER_PASSAGE: Final = 4
_MANY: Final = 1_000
_TRIES: Final = 6
_SPARE: Final = 12


class Room(NamedTuple):
    """The tokens that may be looked up, and those that are free for it without a rewrite of the history."""

    most: int
    free: int


def recalled_text(lines: Iterable[Line]) -> str:
    """Passages of earlier messages as one text, each quoted below whose words it is."""
    quotes = (f"{named(line)}:\n{quote_lines(line.text)}" for line in lines)
    return "\n".join([f"[recalled from earlier in this session, for what follows; {MARKED}]", *quotes])


class Recollection:
    """Finds in what a request does not show what its input is about; an index that nobody else fills is filled here."""

    def __init__(
        self, shares: Shares | None = None, index: PassageIndex | None = None, meaning: Meaning | None = None
    ) -> None:
        self.shares = shares or Shares()
        # A summary has what inputs need of the past: lookups beside it take no more than their share, and make no room.
        self.beside_summary = False
        self._meaning = meaning
        self._index = PassageIndex() if index is None else index
        self._followed = 0

    def of(self, index: PassageIndex) -> Recollection:
        """The same, of another index."""
        return Recollection(self.shares, index, self._meaning)

    def room(self, view: CompiledContext, limit: int) -> Room | None:
        """The room in a request for what is looked up; None if its input needs nothing, or was sent without it."""
        timeline = view.projection
        anchor = timeline.newest_input
        order = timeline.position(anchor) if anchor is not None else None
        if order is None or anchor in timeline.recalled or not _has_unseen(view):
            return None
        if order < timeline.sent_messages or not self.shares.recall:
            # It was sent without; putting something before it now would rewrite the cached prefix.
            return None
        return self._room(view, limit)

    def for_input(self, view: CompiledContext, most: int) -> RecallRecorded | None:
        """The passages to show before the newest input of a request, in so many tokens; None if none fit."""
        timeline = view.projection
        anchor = timeline.newest_input
        order = timeline.position(anchor) if anchor is not None else None
        if anchor is None or order is None:
            return None
        self._follow(timeline)
        around = text_message(f"{anchor}.recall", "user", recalled_text(()), _META)
        room = most - timeline.count(around)
        for _ in range(_TRIES):
            lines = self._found(view, order, room)
            if not lines:
                break
            record = _record(anchor, order, lines, view)
            if record.item.tokens <= most:
                return record
            # What stands around and between passages is estimated before it is written.
            room = room * most // record.item.tokens - _SPARE
        return None

    def _found(self, view: CompiledContext, order: int, room: int) -> list[Line]:
        """The lines that answer a message, of messages that a request does not show."""
        timeline, shown = view.projection, _shown(view)
        passages = recalled(
            self._index,
            timeline.message(order).text,
            room_tokens=room,
            counter=timeline.counter,
            evicted=lambda place: place < timeline.message_count and place not in shown,
            per_passage=_PER_PASSAGE + (timeline.message_count >= _MANY),
            per_line=_PER_LINE,
            meaning=self._meaning,
        )
        # The index has what was said; what request passes took out of it must not come back.
        shown_now = (_as_shown(one, timeline) for one in passages)
        return list(_lines([one for one in shown_now if one is not None], timeline))

    def _room(self, view: CompiledContext, limit: int) -> Room:
        timeline, cache = view.projection, view.cache
        free = max(0, timeline.calibration.correction(limit).room(limit) - view.tokens)
        share = part_of(self.shares.recall, limit)
        # A share of a small budget holds no sentence, and then nothing would ever be recalled.
        least = max(share, min(_LEAST, limit // 4))
        if self.beside_summary:
            return Room(min(share, max(free, least)), free)
        calls = timeline.further_calls
        # What the rest of the turn is going to add needs room, too.
        spare = max(0, free - int(calls * _growth(timeline)))
        is_fresh = timeline.sent is None or is_reduced(view) or cold_reason(timeline, cache, view.state.now) is not None
        # What is written anyway may as well be full.
        half = part_of(_HALF, limit)
        most = worth_looking_up(least=least, most=max(half, spare) if is_fresh else half, calls=calls, cache=cache)
        within = min(most, max(least, spare))
        if is_fresh or most <= within:
            return Room(min(within, max(free, least)), free)
        # Rewritten now, the history is rewritten again so much the later.
        kept = timeline.kept or limit // 2
        cost = early_rewrite_cost(kept=kept, used=view.tokens, limit=limit, cache=cache)
        return Room(most if cost <= cache.write * (most - within) else within, free)

    def _follow(self, timeline: Projection) -> None:
        """Add what was said since, evicted or not: how rare a word is must not depend on who filled the index."""
        if self._index.fills_itself:
            return
        for order in range(self._followed, len(timeline.said)):
            self._index.add(timeline.said[order], order)
        self._followed = len(timeline.said)


_META: Final = MessageMeta(origin="summary", kind="recall", scope="historical")


def _record(anchor: str, order: int, lines: Sequence[Line], view: CompiledContext) -> RecallRecorded:
    meta = MessageMeta(origin="summary", kind="recall", scope="historical", turn=view.state.context.turn)
    message = text_message(f"{anchor}.recall", "user", recalled_text(lines), meta)
    item = Item(
        id=message.id,
        message=message,
        tokens=view.projection.count(message),
        order=order,
        group=message.id,
        fate="recalled",
        by="recall",
        why=f"relevant to {anchor}",
        lines=tuple(lines),
        anchor=anchor,
    )
    references = tuple(dict.fromkeys(line.source for line in lines))
    return RecallRecorded(anchor=anchor, item=item, references=references)


def _lines(passages: Sequence[Passage], timeline: Projection) -> Iterator[Line]:
    """What is shown of each message; one of which all passages are shown stands there as it was said."""
    timeline.prefetch(dict.fromkeys(passage.order for passage in passages))
    parts: dict[int, list[Passage]] = {}
    for passage in passages:
        parts.setdefault(passage.order, []).append(passage)
    for order, some in parts.items():
        message = timeline.message(order)
        for text, part in _joined(some, readable(message)):
            yield Line(
                kind="evidence",
                text=text,
                source=message.id,
                order=order,
                part=part,
                speaker=speaker_of(message),
            )


def _joined(passages: Sequence[Passage], whole: str) -> Iterator[tuple[str, int]]:
    """Passages of one message, those that follow each other as one: the stretch of the text that they are cut from."""
    at, first, part, last = 0, -1, 0, -1
    for one in passages:
        start = whole.find(one.text, at)
        if start < 0:
            yield one.text, one.part
            continue
        if first < 0 or whole[last:start].strip():
            if first >= 0:
                yield whole[first:last], part
            first, part = start, one.part
        at = last = start + len(one.text)
    if first >= 0:
        yield whole[first:last], part


def _shown(view: CompiledContext) -> Container[int]:
    """The places in the log of the messages that a request shows as they were said, or all words of in a digest."""
    timeline = view.projection
    if view.state.override is not None:
        places = map(timeline.position, (message.id for message in view.state.override))
        return {place for place in places if place is not None}
    shown = {item.order for item in view.items if item.is_as_said}
    spoken = (line for item in view.items if item.is_digest for line in item.lines if line.kind in ("user", "answer"))
    return shown | {line.order for line in spoken if not line.left_out}


def _has_unseen(view: CompiledContext) -> bool:
    """Whether a request does not show some message any more."""
    return view.state.override is not None or view.projection.evidence.frontier > 0 or is_reduced(view)


def _growth(timeline: Projection) -> float:
    """What a call adds: as calls so far have, else as much as the messages of an exchange."""
    return timeline.growth or 2 * timeline.logged / max(1, timeline.message_count)


def _as_shown(passage: Passage, timeline: Projection) -> Passage | None:
    """A passage as requests may show it: as it was said, or as its message was rewritten since, line by line.

    None if it cannot be told which of its lines became which.
    """
    rewritten = timeline.rewritten.get(passage.order)
    if rewritten is None:
        return passage
    whole = readable(rewritten)
    now, said = whole.split("\n"), readable(timeline.log.message(passage.order)).split("\n")
    became = dict(zip(said, now, strict=True)) if len(said) == len(now) else {}
    lines = [became.get(line, line) for line in passage.text.split("\n")]
    if not all(line in whole or line == GAP for line in lines):
        return None
    return passage._replace(text="\n".join(lines))
