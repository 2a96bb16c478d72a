"""Whether a provider would accept OpenAI chat messages: a second opinion, written apart from the product's own rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


def problems(request: Sequence[dict[str, Any]]) -> list[str]:
    """Everything a provider would refuse, in the order it stands; empty for a valid request."""
    found: list[str] = []
    waiting: Counter[str] = Counter()
    for index, message in enumerate(request):
        role = message.get("role")
        if role == "tool":
            call_id = message.get("tool_call_id", "")
            waiting[call_id] -= 1
            if waiting[call_id] < 0:
                found.append(f"{index}: result {call_id!r} without its call, or a second one")
            continue
        found += [f"before {index}: call {name!r} unanswered" for name in +waiting]
        called = message.get("tool_calls") or []
        waiting = Counter(item["id"] for item in called)
        if role not in _ROLES or (called and role != "assistant"):
            found.append(f"{index}: {role!r} message, {len(called)} calls")
        if not called and not message.get("content"):
            found.append(f"{index}: {role} message without content")
        found += [f"{index}: id {name!r} repeated" for name, times in waiting.items() if times > 1]
    found += [f"at the end: call {name!r} unanswered" for name in +waiting]
    return found if request else ["no messages"]
