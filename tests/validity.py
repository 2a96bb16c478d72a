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


def whole_problems(name: str, sent: Any, tools: Sequence[dict[str, Any]]) -> list[str]:
    """What is wrong with a request as a whole: tools that are called under another name than they are defined with.

    `tools` are the definitions that a session was given, in the form of OpenAI chat.
    """
    defined = {tool["function"]["name"] for tool in tools}
    names = _defined_names(name, sent)
    if names is None:
        return []
    found = [] if len(names) == len(set(names)) == len(defined) else [f"{len(defined)} tools were given, sent {names}"]
    called = _called_names(name, sent)
    # A name that every provider allows is sent as it is, in calls and in definitions alike.
    plain = {one for one in defined if one.isascii() and one.isidentifier() and len(one) <= 64}
    return [*found, *(f"{one} is called but not defined" for one in called & plain if one not in names)]


def _defined_names(name: str, sent: Any) -> list[str] | None:
    match name:
        case "anthropic" | "openai-responses":
            return [tool["name"] for tool in sent.get("tools", ())]
        case "gemini":
            return [one["name"] for tool in sent.get("tools", ()) for one in tool["functionDeclarations"]]
        case _:
            # Sent beside the messages, by the caller.
            return None


def _called_names(name: str, sent: Any) -> set[str]:
    match name:
        case "anthropic":
            contents = [message["content"] for message in sent["messages"]]
            blocks = [block for content in contents if isinstance(content, list) for block in content]
            return {block["name"] for block in blocks if block["type"] == "tool_use"}
        case "openai-responses":
            return {item["name"] for item in sent["input"] if item.get("type") == "function_call"}
        case _:
            parts = [part for content in sent["contents"] for part in content["parts"]]
            return {part["functionCall"]["name"] for part in parts if "functionCall" in part}
