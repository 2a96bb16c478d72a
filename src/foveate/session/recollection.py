"""Recollection: evicted passages looked up for the newest input, before a compile."""

from __future__ import annotations

from typing import Final

from foveate.budget.window import TokenBudget
from foveate.log.context import AgentContext
from foveate.log.events import RecallRecorded
from foveate.log.items import Item, Line
from foveate.log.messages import MessageMeta, text_message
from foveate.recall import PassageIndex, recalled
from foveate.views.draft import Shares, part_of
from foveate.views.timeline import Timeline

_LEAST: Final = 120


class Recollection:
    """Finds in what was evicted what a new input is about; an index that nobody else fills is filled here."""

    def __init__(self, shares: Shares, index: PassageIndex | None = None) -> None:
        self.shares = shares
        self._index = PassageIndex() if index is None else index
        self._followed = 0

    def for_input(self, timeline: Timeline, context: AgentContext, budget: TokenBudget) -> RecallRecorded | None:
        """The passages to show before the newest input, or None if it was served already or nothing fits."""
        anchor = timeline.newest_input
        if anchor is None or anchor in timeline.recalled or not timeline.reductions:
            return None
        order = timeline.position(anchor)
        if order is None or order < timeline.sent_messages:
            # It was sent without; putting something before it now would rewrite the cached prefix.
            return None
        room = self._room(timeline, budget)
        if not room:
            return None
        self._follow(timeline)
        query = timeline.said[order].text
        passages = recalled(
            self._index,
            query,
            room_tokens=room,
            counter=timeline.counter,
            evicted=timeline.evidence.is_evicted,
        )
        if not passages:
            return None
        lines = tuple(
            Line(kind="evidence", text=passage.text, source=passage.message_id, order=passage.order, part=passage.part)
            for passage in passages
        )
        text = "\n".join(
            [
                "[recalled from earlier in this session, for what follows]",
                *(f"{line.source}:\n{line.text}" for line in lines),
            ]
        )
        meta = MessageMeta(origin="summary", kind="recall", scope="historical", turn=context.turn)
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
        )
        references = tuple(dict.fromkeys(line.source for line in lines))
        return RecallRecorded(anchor=anchor, item=item, references=references)

    def _room(self, timeline: Timeline, budget: TokenBudget) -> int:
        """The tokens that may be recalled."""
        share = part_of(self.shares.recall, budget.limit)
        # A share of a small budget holds no sentence, and then nothing would ever be recalled.
        room = max(share, min(_LEAST, budget.limit // 4)) if share else 0
        if timeline.growth:
            # In proportion to what a call adds anyway: what is recalled is paid for until the next reduction.
            room = min(room, max(_LEAST, share // 4, 2 * timeline.growth))
        return room

    def _follow(self, timeline: Timeline) -> None:
        """Add what was said since, evicted or not: how rare a word is must not depend on who filled the index."""
        if self._index.fills_itself:
            return
        for order in range(self._followed, len(timeline.said)):
            self._index.add(timeline.said[order], order)
        self._followed = len(timeline.said)
