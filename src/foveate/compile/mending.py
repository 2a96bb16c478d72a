"""Mending: turns messages as recorded into items that every provider accepts, one message at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from foveate.compile.sharing import Shared
from foveate.log.items import Item
from foveate.log.messages import Message, MessageMeta, Part, Thinking, ToolCall, ToolResult, is_empty, text_message
from foveate.log.quoting import flatten_text, quote_lines
from foveate.wire.openai_responses import repeated

NO_RESULT: Final = "[no result was recorded for this call]"
_SILENT: Final = "[it failed, and said nothing]"
_EMPTY: Final = "empty content"
_WAITS: Final = "reasoning without what it led to"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """The items that stand in a request after its log was mended, as a value."""

    items: tuple[Item, ...] = ()
    # How many of them were sent, and are not moved any more.
    sealed: int = 0
    tokens: int = 0
    # Messages that are not shown, with the reason.
    left_out: Mapping[str, str] = field(default_factory=dict)
    # Whether a call id stands twice in the items.
    clashes: bool = False
    # The items with a stand-in for each result that is still missing; the same tuple, if none is.
    projected: tuple[Item, ...] = ()


class Mender:
    """Pairs results with their calls, keeps call ids unique, leaves out what is empty.

    Reasoning that came as a message of its own is joined to what the assistant said next; it is the last of `items`
    until then, and not shown.

    Items up to `sealed` were sent and are not moved any more: a result that comes later than that becomes a note at the
    place where it arrived, so that the bytes already in the provider's cache stay as they are.
    """

    __slots__ = ("_count", "_left_out", "_quotes", "_unclaimed", "clashes", "items", "open", "sealed", "tokens", "used")

    def __init__(self, count: Callable[[Message], int], *, quotes: bool = False) -> None:
        self.items: list[Item] = []
        self.sealed = 0
        self.tokens = 0
        self._left_out = Shared[dict[str, str]]({})
        self._count = count
        # Whether notes are quoted whoever recorded the result: in what a pass makes, but not where a log is folded.
        self._quotes = quotes
        self.open: dict[str, list[tuple[str, ToolCall]]] = {}
        self.used: dict[str, int] = {}
        # Call ids that stand in the items though `used` does not know them, and whether one of them came again.
        self._unclaimed: frozenset[str] = frozenset()
        self.clashes = False

    @property
    def left_out(self) -> Mapping[str, str]:
        """Messages that are not shown, with the reason."""
        return self._left_out.current

    def feed(self, message: Message, order: int, tokens: int | None = None) -> None:
        """Take one recorded message; `tokens` are its own, if they were counted already."""
        counted = self._count(message) if tokens is None else tokens
        self.feed_item(Item(id=message.id, message=message, tokens=counted, order=order, group=message.id))

    def feed_item(self, item: Item) -> None:
        """Take one item; if nothing is wrong with it, it passes as it is."""
        item = self._led(item)
        message = item.message
        if message.role == "tool":
            self._feed_result(item)
        elif message.role == "assistant" and message.calls:
            self._feed_calls(item)
        elif not is_empty(message):
            self._append(item)
        elif message.role == "assistant" and _has_reasoning(message):
            self._left_out.own()[message.id] = _WAITS
            self._append(item)
        else:
            self._left_out.own()[message.id] = _EMPTY

    def projected(self) -> list[Item]:
        """The items with a stand-in for each result that is still missing."""
        waits = self._waiting_last()
        if not self.open and not waits:
            return self.items
        items = self.items[:-1] if waits else list(self.items)
        for group, call in (one for waiting in self.open.values() for one in waiting):
            items.insert(_end_of(items, group), self._stand_in(group, call, items))
        return items

    def mended(self) -> Mended:
        """The items as they are now."""
        items = tuple(self.items)
        projected = self.projected()
        return Mended(
            items=items,
            sealed=self.sealed,
            tokens=self.tokens,
            left_out=self._left_out.snapshot(),
            clashes=self.clashes,
            projected=items if projected is self.items else tuple(projected),
        )

    def seal(self) -> None:
        """Fix the items as sent; stand-ins for missing results stay."""
        projected = self.projected()
        if projected is not self.items:
            self.items = projected
            self.tokens = sum(item.tokens for item in self.items)
            self.open.clear()
        self.sealed = len(self.items)

    def resume(
        self,
        items: list[Item],
        sealed: int,
        *,
        left_out: dict[str, str],
        open: dict[str, list[tuple[str, ToolCall]]],
        used: dict[str, int],
    ) -> None:
        """Go on from where another mender stood."""
        self.items, self.sealed, self.open, self.used = items, sealed, open, used
        self.tokens = sum(item.tokens for item in items)
        self._left_out = Shared(left_out)
        self.look_for_clashes()

    def forget_left_out(self, most: int, keep: Container[str]) -> None:
        """Remember no more than so many messages as left out; those to `keep` and the newest."""
        left_out = self._left_out
        if len(left_out.current) > most:
            oldest = next((one for one in left_out.current if one not in keep), None)
            if oldest is not None:
                del left_out.own()[oldest]

    def replace(self, items: list[Item], *, claims: bool) -> None:
        """Put another arrangement of items in place of the sealed ones; with `claims`, all its call ids are used."""
        self.items = items
        self.tokens = sum(item.tokens for item in items)
        self.sealed = len(items)
        # An id must be unique in a request; those that left it are free again.
        shown = {call.id: 1 for item in items for call in item.message.calls}
        known = {call_id: count for call_id, count in self.used.items() if call_id in shown}
        self.used = {**shown, **known} if claims else known
        self.look_for_clashes()

    def look_for_clashes(self) -> None:
        """Find call ids that stand twice in the items, and those that would if a call with them came.

        Both are only found in logs of 0.1: its reductions renamed calls without noting the new ids.
        """
        shown = Counter(call.id for item in self.items for call in item.message.calls)
        self._unclaimed = frozenset(shown.keys() - self.used.keys())
        self.clashes = any(times > 1 for times in shown.values())

    def insert_before(self, anchor: str, item: Item) -> None:
        """Put an item before the one with id `anchor`, or last if that one was sent already."""
        index = len(self.items) - self._waiting_last()
        for position in range(len(self.items) - 1, self.sealed - 1, -1):
            if self.items[position].id == anchor:
                index = position
                break
        self.items = [*self.items[:index], item, *self.items[index:]]
        self.tokens += item.tokens

    def _waiting_last(self) -> bool:
        """Whether the last item is reasoning that waits for what it led to."""
        return bool(self.items) and self._left_out.current.get(self.items[-1].id) == _WAITS

    def _led(self, item: Item) -> Item:
        """An item with the reasoning before it, if that is the assistant's too; else the reasoning leaves."""
        if not self._waiting_last():
            return item
        waiting = self.items.pop()
        self.tokens -= waiting.tokens
        if item.message.role != "assistant":
            self._left_out.own()[waiting.id] = _EMPTY
            return item
        self._left_out.own()[waiting.id] = f"joined to {item.id}, which it led to"
        whole = msgspec.structs.replace(item.message, parts=(*waiting.message.parts, *item.message.parts))
        joined = _repaired(item, whole, f"joined with the reasoning in {waiting.id}")
        return msgspec.structs.replace(joined, tokens=self._count(whole))

    def _append(self, item: Item) -> None:
        self.items.append(item)
        self.tokens += item.tokens

    def _feed_calls(self, item: Item) -> None:
        message = item.message
        parts: list[Part] = []
        renamed = False
        for part in message.parts:
            if not isinstance(part, ToolCall):
                parts.append(part)
                continue
            wire = part
            if part.id in self.used:
                renamed = True
                wire = msgspec.structs.replace(part, id=self._fresh_id(part.id))
            self.clashes = self.clashes or wire.id in self._unclaimed
            self.used.setdefault(wire.id, 1)
            self.open.setdefault(part.id, []).append((item.group, wire))
            parts.append(wire)
        if renamed:
            mended = msgspec.structs.replace(message, parts=tuple(parts))
            item = _repaired(item, mended, "a call id was used before")
        self._append(item)

    def _fresh_id(self, call_id: str) -> str:
        while True:
            self.used[call_id] += 1
            fresh = f"{call_id}_{self.used[call_id]}"
            if fresh not in self.used:
                return fresh

    def _answered(self, call_id: str) -> tuple[str, ToolCall] | None:
        """The call that a result answers: of the newest message that waits for it, the first such call."""
        waiting = self.open.get(call_id)
        if not waiting:
            return None
        newest = waiting[-1][0]
        found = waiting.pop(next(index for index, (group, _) in enumerate(waiting) if group == newest))
        if not waiting:
            del self.open[call_id]
        return found

    def _feed_result(self, item: Item) -> None:
        result = item.message.result
        found = self._answered(result.call_id) if result is not None else None
        if result is None or found is None:
            self._append_note(item)
            return
        group, call = found
        if item.group != group:
            item = msgspec.structs.replace(item, group=group)
        if call.id != result.call_id:
            parts = tuple(
                msgspec.structs.replace(part, call_id=call.id) if isinstance(part, ToolResult) else part
                for part in item.message.parts
            )
            item = _repaired(item, msgspec.structs.replace(item.message, parts=parts), "its call's id was used before")
        if self.items[-1].group == group:
            self._append(item)
            return
        index = _end_of(self.items, group)
        self.items = [*self.items[:index], _repaired(item, item.message, "moved to its call"), *self.items[index:]]
        self.tokens += item.tokens

    def _append_note(self, item: Item) -> None:
        message = item.message
        # A failure is shown until it is settled, also if it said nothing.
        silent = "" if message.meta.outcome in (None, "ok") else _SILENT
        said = message.text if message.text.strip() else silent
        if not said:
            self._left_out.own()[message.id] = "empty result without a call"
            return
        call_id = message.result.call_id if message.result is not None else "?"
        late = call_id in self.used
        why = "result came after its call had been sent without one" if late else "result without its call"
        label = "late tool result" if late else "tool result without its call"
        # It stands where a user speaks, so it must not read as what a user said.
        quotes = self._quotes or message.meta.quoted
        shown = f"{flatten_text(call_id)}]\n{quote_lines(said)}" if quotes else f"{call_id}]\n{said}"
        note = text_message(message.id, "user", f"[{label}, {shown}", message.meta)
        if late and self._has_answer(call_id):
            note = msgspec.structs.replace(note, extra=repeated(message))
        self._append(msgspec.structs.replace(_repaired(item, note, why), tokens=self._count(note)))

    def _has_answer(self, call_id: str) -> bool:
        """Whether a call stands here with a result of its own, and not with a stand-in for it."""
        results = (item.message.result for item in reversed(self.items))
        return any(one is not None and one.call_id == call_id and one.text != NO_RESULT for one in results)

    def _stand_in(self, group: str, call: ToolCall, items: list[Item]) -> Item:
        order = next(item.order for item in items if item.group == group)
        message = Message(
            id=f"{group}+{call.id}",
            role="tool",
            parts=(ToolResult(call_id=call.id, text=NO_RESULT),),
            meta=MessageMeta(origin="tool_result", tool_name=call.name, outcome="interrupted"),
        )
        return Item(
            id=message.id,
            message=message,
            tokens=self._count(message),
            order=order,
            group=group,
            fate="repaired",
            by="repair",
            why="call without a result",
        )


def _repaired(item: Item, message: Message, why: str) -> Item:
    """A mended item; what was reduced of it before stays told."""
    if not item.is_whole:
        return msgspec.structs.replace(item, message=message)
    why = f"{why}; rewritten by {item.by}" if item.fate == "rewritten" else why
    return msgspec.structs.replace(item, message=message, fate="repaired", by="repair", why=why)


def _end_of(items: list[Item], group: str) -> int:
    """The index right behind the last item of a group."""
    for index in range(len(items) - 1, -1, -1):
        if items[index].group == group:
            return index + 1
    raise LookupError(f"no item of group {group!r}")


def _has_reasoning(message: Message) -> bool:
    return any(isinstance(part, Thinking) and (part.text or part.signature or part.extra) for part in message.parts)
