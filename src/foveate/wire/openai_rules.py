"""What OpenAI refuses in a chat request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})


def problems(request: object) -> list[str]:
    """Everything that would be refused, in the order it stands; empty for a valid request."""
    if not isinstance(request, Sequence) or isinstance(request, str) or not request:
        return ["no messages"]
    found: list[str] = []
    waiting: Counter[str] = Counter()
    for index, message in enumerate(request):
        if not isinstance(message, Mapping):
            found.append(f"message {index}: not an object")
            continue
        if message.get("role") == "tool":
            found += _answer_problems(index, message, waiting)
            continue
        found += [f"before message {index}: call {name!r} unanswered" for name in +waiting]
        waiting = Counter(str(call.get("id")) for call in _calls(message))
        found += _said_problems(index, message, waiting)
    return [*found, *(f"at the end: call {name!r} unanswered" for name in +waiting)]


def _said_problems(index: int, message: Mapping[str, Any], calls: Counter[str]) -> list[str]:
    role = message.get("role")
    found: list[str] = []
    if role not in _ROLES:
        found.append(f"message {index}: unknown role {role!r}")
    if calls and role != "assistant":
        found.append(f"message {index}: {role} message with tool calls")
    if not calls and not _has_content(message.get("content")):
        found.append(f"message {index}: {role} message without content")
    found += [f"message {index}: call id {name!r} repeated" for name, times in calls.items() if times > 1]
    return found


def _answer_problems(index: int, message: Mapping[str, Any], waiting: Counter[str]) -> list[str]:
    call_id = str(message.get("tool_call_id", ""))
    if call_id not in waiting:
        return [f"message {index}: result {call_id!r} without its call"]
    waiting[call_id] -= 1
    return [f"message {index}: second result for {call_id!r}"] if waiting[call_id] < 0 else []


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def _has_content(content: object) -> bool:
    match content:
        case str():
            return bool(content.strip())
        case [*blocks]:
            return any(_block_says_something(block) for block in blocks)
        case _:
            return False


def _block_says_something(block: object) -> bool:
    match block:
        case {"type": "text", "text": str() as text}:
            return bool(text.strip())
        case {"type": _}:
            return True
        case _:
            return False
