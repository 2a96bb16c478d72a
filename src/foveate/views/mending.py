"""Mending: turns messages as recorded into items that every provider accepts, one message at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from foveate.log.items import Item
from foveate.log.messages import Message, MessageMeta, Part, Text, Thinking, ToolCall, ToolResult, text_message

NO_RESULT: Final = "[no result was recorded for this call]"
_SILENT: Final = "[it failed, and said nothing]"
_EMPTY: Final = "empty content"
_WAITS: Final = "reasoning without what it led to"


class Mender:
    """Pairs results with their calls, keeps call ids unique, leaves out what is empty.

    Reasoning that came as a message of its own is joined to what the assistant said next; it is the last of `items`
    until then, and not shown.

    Items up to `sealed` were sent and are not moved any more: a result that comes later than that becomes a note at the
    place where it arrived, so that the bytes already in the provider's cache stay as they are.
    """

    __slots__ = ("_count", "items", "left_out", "open", "sealed", "tokens", "used")

    def __init__(self, count: Callable[[Message], int]) -> None:
        self.items: list[Item] = []
        self.sealed = 0
        self.tokens = 0
        self.left_out: dict[str, str] = {}
        self._count = count
        self.open: dict[str, list[tuple[str, ToolCall]]] = {}
        self.used: dict[str, int] = {}

    @property
    def waiting(self) -> bool:
        """Whether some call has no result yet."""
        return bool(self.open)

    def feed(self, message: Message, order: int, tokens: int | None = None) -> None:
        """Take one recorded message; `tokens` are its own, if they were counted already."""
        counted = self._count(message) if tokens is None else tokens
        self.feed_item(Item(id=message.id, message=message, tokens=counted, order=order, group=message.id))

    def feed_item(self, item: Item) -> None:
        """Take one item; if nothing is wrong with it, it passes as it is."""
        item = self._led(item)
        message = item.message
        if message.role == "assistant" and _is_reasoning(message):
            self.left_out[message.id] = _WAITS
            self._append(item)
        elif message.role == "tool":
            self._feed_result(item)
        elif message.role == "assistant" and message.calls:
            self._feed_calls(item)
        elif _is_empty(message):
            self.left_out[message.id] = _EMPTY
        else:
            self._append(item)

    def projected(self) -> list[Item]:
        """The items with a stand-in for each result that is still missing."""
        waits = self._waiting_last()
        if not self.open and not waits:
            return self.items
        items = self.items[:-1] if waits else list(self.items)
        for group, call in (one for waiting in self.open.values() for one in waiting):
            items.insert(_end_of(items, group), self._stand_in(group, call, items))
        return items

    def seal(self) -> None:
        """Fix the items as sent; stand-ins for missing results stay."""
        projected = self.projected()
        if projected is not self.items:
            self.items = projected
            self.tokens = sum(item.tokens for item in self.items)
            self.open.clear()
        self.sealed = len(self.items)

    def replace(self, items: list[Item]) -> None:
        """Put another arrangement of items in place of the sealed ones."""
        self.items = items
        self.tokens = sum(item.tokens for item in items)
        self.sealed = len(items)
        # An id must be unique in a request; those that left it are free again.
        shown = {call.id for item in items for call in item.message.calls}
        self.used = {call_id: count for call_id, count in self.used.items() if call_id in shown}

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
        return bool(self.items) and self.left_out.get(self.items[-1].id) == _WAITS

    def _led(self, item: Item) -> Item:
        """An item with the reasoning before it, if that is the assistant's too; else the reasoning leaves."""
        if not self._waiting_last():
            return item
        waiting = self.items.pop()
        self.tokens -= waiting.tokens
        if item.message.role != "assistant":
            self.left_out[waiting.id] = _EMPTY
            return item
        self.left_out[waiting.id] = f"joined to {item.id}, which it led to"
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
            self.left_out[message.id] = "empty result without a call"
            return
        call_id = message.result.call_id if message.result is not None else "?"
        late = call_id in self.used
        why = "result came after its call had been sent without one" if late else "result without its call"
        label = "late tool result" if late else "tool result without its call"
        note = text_message(message.id, "user", f"[{label}, {call_id}]\n{said}", message.meta)
        self._append(msgspec.structs.replace(_repaired(item, note, why), tokens=self._count(note)))

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
    return msgspec.structs.replace(item, message=message, fate="repaired", by="repair", why=why)


def _end_of(items: list[Item], group: str) -> int:
    """The index right behind the last item of a group."""
    for index in range(len(items) - 1, -1, -1):
        if items[index].group == group:
            return index + 1
    raise LookupError(f"no item of group {group!r}")


def _is_reasoning(message: Message) -> bool:
    return _is_empty(message) and any(
        isinstance(part, Thinking) and (part.text or part.signature or part.extra) for part in message.parts
    )


def _is_empty(message: Message) -> bool:
    # Thinking alone is no content: providers refuse a message that has nothing else.
    return all(
        isinstance(part, Thinking) or (isinstance(part, Text) and not part.text.strip()) for part in message.parts
    )
