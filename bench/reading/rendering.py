"""Rendering: a request as the text that a reader gets, and the truth that a grader compares answers with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bench.reading.situations import Situation
from foveate.lab.chat import Chat, calls_of, content_of
from foveate.lab.script import Script

# An action in the list of all of them is one line of at most so many characters.
_ACTION: Final = 240
# A message of the last twelve is shown so long to a grader; what matters of a longer one stands at its ends.
_LONGEST: Final = 6_000
_LAST: Final = 12
_AHEAD: Final = 4


def request_text(chats: Sequence[Chat], tools: Sequence[Mapping[str, Any]] = ()) -> str:
    """A request as text, message by message."""
    names = ", ".join(filter(None, (_tool_name(tool) for tool in tools)))
    head = [f"[tools that may be called: {names}]"] if names else []
    return "\n\n".join([*head, *_messages(chats)])


def truth_text(script: Script, situation: Situation) -> str:
    """What really happened: the user's messages, all actions, the last messages, and what came next."""
    before = script.chats[: situation.place]
    call = script.calls[situation.call]
    spoken = [content_of(chat) for chat in before if chat["role"] == "assistant" and content_of(chat).strip()]
    ahead = [chat for chat in script.chats[situation.place + 1 :] if chat["role"] != "tool"][:_AHEAD]
    users = [chat for chat in before if chat["role"] == "user"]
    sections = {
        "All messages of the user so far": "\n\n".join(f"[{n}] {content_of(chat)}" for n, chat in enumerate(users, 1)),
        "Every action of the agent so far, oldest first": "\n".join(_actions(before)),
        "The agent's last words": spoken[-1] if spoken else "(none)",
        f"The last {_LAST} messages": "\n\n".join(_messages(before[-_LAST:], longest=_LONGEST)),
        "What really came next": "\n\n".join(_messages([call.answer] if call.answer is not None else [])),
        "What followed it": "\n".join(_actions(ahead)) or "(nothing)",
    }
    return "\n\n".join(f"# {title}\n\n{text}" for title, text in sections.items())


def _messages(chats: Sequence[Chat], longest: int | None = None) -> Iterator[str]:
    called: dict[str, str] = {}
    for chat in chats:
        called.update((one["id"], one["function"]["name"]) for one in calls_of(chat))
        name = called.get(chat.get("tool_call_id", ""), "")
        title = f"tool result of {name}" if chat["role"] == "tool" and name else chat["role"]
        text = _shortened(content_of(chat), longest)
        calls = [
            f"[calls {one['function']['name']} with {_shortened(one['function']['arguments'], longest)}]"
            for one in calls_of(chat)
        ]
        yield "\n".join(filter(None, (f"=== {title} ===", text, *calls)))


def _actions(chats: Sequence[Chat]) -> Iterator[str]:
    for chat in chats:
        for one in calls_of(chat):
            arguments = " ".join(one["function"]["arguments"].split())
            yield f"- {one['function']['name']} {_shortened(arguments, _ACTION)}"


def _shortened(text: str, longest: int | None) -> str:
    if longest is None or len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} […{len(text) - 2 * half:,} characters…] {text[-half:]}"


def _tool_name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    return str((function if isinstance(function, Mapping) else tool).get("name") or "")
