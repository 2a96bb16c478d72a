"""List calls: what the calls of todo and task tools do to the lists that they keep.

Any argument that is a list of objects which all have `status` or `state` is a list in its newest state, whatever the
tool is called. Tools that make and change single tasks are known by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from foveate.compile.facts.written_lists import MAX_ITEMS, ItemState, ListItem, checked_lines, shortened, state_of
from foveate.log.messages import ToolCall

_PLAN_TOOLS: Final = frozenset({"ExitPlanMode", "exit_plan_mode", "present_plan", "plan_mode_respond"})
_MAKING: Final = re.compile(
    r"(?:task|todo)_?(?:create|add|new)|(?:create|add|new)_?(?:task|todo)(?:_item)?", re.IGNORECASE
)
_CHANGING: Final = re.compile(
    r"(?:task|todo)_?(?:update|edit|set|complete|finish|close|delete|remove|status)|"
    r"(?:update|edit|set|complete|finish|close|delete|remove|mark)_?(?:task|todo)(?:_\w{1,20})?",
    re.IGNORECASE,
)
_COMPLETING: Final = re.compile(r"complete|finish|close", re.IGNORECASE)
_REMOVING: Final = re.compile(r"delete|remove", re.IGNORECASE)
_TEXTS: Final = (
    "content",
    "step",
    "title",
    "subject",
    "text",
    "task",
    "name",
    "description",
    "label",
    "summary",
    "goal",
)
_KEYS: Final = ("taskId", "task_id", "todo_id", "todoId", "id", "key", "number")
_CHECKLISTS: Final = frozenset({"task_progress", "todos", "todo", "checklist", "plan", "tasks"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """An item as a call gives it; without a text it is only a change of one that is known."""

    item: ListItem
    removes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListChange:
    """What a call does to one list: `replaces` all of it, or changes some items; `begins` if it makes new ones."""

    list_key: str
    title: str
    items: tuple[ItemChange, ...]
    replaces: bool = False
    begins: bool = False


def plan_text(name: str, arguments: Mapping[str, Any]) -> str:
    """The text of a plan that a call proposes to the user."""
    if name not in _PLAN_TOOLS:
        return ""
    text = arguments.get("plan") or arguments.get("response")
    return text if isinstance(text, str) else ""


def list_changes(call: ToolCall, arguments: Mapping[str, Any]) -> Iterator[ListChange]:
    """The lists that a call gives or changes."""
    if _MAKING.fullmatch(call.name):
        yield from _made(call, arguments)
    elif _CHANGING.fullmatch(call.name):
        yield from _changed(call, arguments)
    for name, value in arguments.items():
        items = _items_of(value)
        if items:
            merges = arguments.get("merge") is True
            yield ListChange(list_key=f"{call.name} {name}", title=call.name, items=items, replaces=not merges)
        elif isinstance(value, str) and name in _CHECKLISTS:
            checked = tuple(ItemChange(item=one) for one in checked_lines(value))
            if len(checked) > 1:
                yield ListChange(list_key=f"checklist {name}", title=name, items=checked, replaces=True)


def _items_of(value: object) -> tuple[ItemChange, ...]:
    if not isinstance(value, list) or not value:
        return ()
    items: list[ItemChange] = []
    for one in value[:MAX_ITEMS]:
        stated = one.get("status", one.get("state")) if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(stated, str):
            return ()
        state, status = state_of(stated)
        items.append(ItemChange(item=ListItem(text=_text_of(one), state=state, key=_key_of(one), status=status)))
    return tuple(items) if any(one.item.text or one.item.key for one in items) else ()


def _made(call: ToolCall, arguments: Mapping[str, Any]) -> Iterator[ListChange]:
    text = _text_of({**arguments, "name": None}) or _text_of(arguments)
    if text:
        # Its number is in the result.
        item = ListItem(text=text, state="open", key=_key_of(arguments) or f"call {call.id}")
        yield ListChange(list_key="tasks", title="tasks", items=(ItemChange(item=item),), begins=True)


def _changed(call: ToolCall, arguments: Mapping[str, Any]) -> Iterator[ListChange]:
    key = _key_of(arguments)
    stated = arguments.get("status", arguments.get("state"))
    if not key:
        return
    state: ItemState = "none"
    status = ""
    if isinstance(stated, str):
        state, status = state_of(stated)
    elif _COMPLETING.search(call.name) is not None:
        state = "done"
    removes = state == "dropped" or _REMOVING.search(call.name) is not None
    item = ListItem(text=_text_of({**arguments, "description": None}), state=state, key=key, status=status)
    yield ListChange(list_key="tasks", title="tasks", items=(ItemChange(item=item, removes=removes),))


def _text_of(given: Mapping[str, Any]) -> str:
    text = next((given[name] for name in _TEXTS if isinstance(given.get(name), str) and given[name].strip()), "")
    return shortened(text)


def _key_of(given: Mapping[str, Any]) -> str:
    value = next((given[name] for name in _KEYS if isinstance(given.get(name), str | int)), "")
    return str(value)[:60]
