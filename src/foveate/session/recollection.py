"""Recollection: evicted passages looked up for the newest input, before a compile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from foveate.compile.draft import Shares, part_of
from foveate.compile.passes.digest import MARKED, named
from foveate.compile.projection import Projection
from foveate.log.events import RecallRecorded
from foveate.log.items import Item, Line
from foveate.log.messages import MessageMeta, speaker_of, text_message
from foveate.log.quoting import quote_lines
from foveate.recall import PassageIndex, recalled
from foveate.recall.readable import readable

_LEAST: Final = 120


def recalled_text(lines: Iterable[Line]) -> str:
    """Passages of earlier messages as one text, each quoted below whose words it is."""
    quotes = (f"{named(line)}:\n{quote_lines(line.text)}" for line in lines)
    return "\n".join([f"[recalled from earlier in this session, for what follows; {MARKED}]", *quotes])


class Recollection:
    """Finds in what was evicted what a new input is about; an index that nobody else fills is filled here."""

    def __init__(self, shares: Shares | None = None, index: PassageIndex | None = None) -> None:
        self.shares = shares or Shares()
        self._index = PassageIndex() if index is None else index
        self._followed = 0

    def for_input(self, timeline: Projection, turn: int, limit: int) -> RecallRecorded | None:
        """The passages to show before the newest input, or None if it was served already or nothing fits."""
        anchor = timeline.newest_input
        if anchor is None or anchor in timeline.recalled or not timeline.has_unseen:
            return None
        order = timeline.position(anchor)
        if order is None or order < timeline.sent_messages:
            # It was sent without; putting something before it now would rewrite the cached prefix.
            return None
        room = self._room(timeline, limit)
        if not room:
            return None
        self._follow(timeline)
        query = timeline.message(order).text
        passages = recalled(
            self._index,
            query,
            room_tokens=room,
            counter=timeline.counter,
            evicted=timeline.is_unseen,
            per_line=1,
        )
        # The index has what was said; what request passes took out of it must not come back.
        passages = [one for one in passages if _is_shown(one.text, one.order, timeline)]
        if not passages:
            return None
        timeline.prefetch(passage.order for passage in passages)
        lines = tuple(
            Line(
                kind="evidence",
                text=passage.text,
                source=passage.message_id,
                order=passage.order,
                part=passage.part,
                speaker=speaker_of(timeline.message(passage.order)),
            )
            for passage in passages
        )
        text = recalled_text(lines)
        meta = MessageMeta(origin="summary", kind="recall", scope="historical", turn=turn)
        message = text_message(f"{anchor}.recall", "user", text, meta)
        item = Item(
            id=message.id,
            message=message,
            tokens=timeline.count(message),
            order=order,
            group=message.id,
            fate="recalled",
            by="recall",
            why=f"relevant to {anchor}",
            lines=lines,
            anchor=anchor,
        )
        references = tuple(dict.fromkeys(line.source for line in lines))
        return RecallRecorded(anchor=anchor, item=item, references=references)

    def _room(self, timeline: Projection, limit: int) -> int:
        """The tokens that may be recalled."""
        share = part_of(self.shares.recall, limit)
        # A share of a small budget holds no sentence, and then nothing would ever be recalled.
        room = max(share, min(_LEAST, limit // 4)) if share else 0
        if timeline.growth:
            # In proportion to what a call adds anyway: what is recalled is paid for until the next reduction.
            room = min(room, max(_LEAST, share // 4, 2 * timeline.growth))
        return room

    def _follow(self, timeline: Projection) -> None:
        """Add what was said since, evicted or not: how rare a word is must not depend on who filled the index."""
        if self._index.fills_itself:
            return
        for order in range(self._followed, len(timeline.said)):
            self._index.add(timeline.said[order], order)
        self._followed = len(timeline.said)


def _is_shown(text: str, order: int, timeline: Projection) -> bool:
    """Whether a request may show a passage: all of them may, unless its message was rewritten since."""
    rewritten = timeline.rewritten.get(order)
    return rewritten is None or all(line in readable(rewritten) for line in text.splitlines())
