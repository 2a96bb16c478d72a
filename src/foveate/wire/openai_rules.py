"""What OpenAI refuses in a chat request, one function for each rule.

Messages: there are some, each an object with a known role; one that is no tool's says something or calls a tool.

Content: blocks are of a type that the role may send, and have what the type needs; a tool's message has content.

Calls: only the assistant's, in a list that is not empty; each with an id, the name of a function and arguments that are
text; no id twice in one message; each answered before anything else is said. Results name a call that waits for them,
once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

Said = Mapping[str, Any]
Messages = Sequence[tuple[str, Said]]
"""Where each message stands, and the message; one that is no object is an empty one."""


def problems(request: object) -> list[str]:
    """Everything that would be refused; empty for a valid request."""
    if not isinstance(request, list | tuple) or not request:
        return ["no messages"]
    messages = [(f"message {index}", one if isinstance(one, Mapping) else {}) for index, one in enumerate(request)]
    return [problem for rule in RULES for problem in rule(messages)]


def roles_known(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        if message.get("role") not in ("system", "developer", "user", "assistant", "tool"):
            yield f"{place}: unknown role {message.get('role')!r:.80}"


def content_present(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        role = message.get("role")
        if role != "tool" and not _calls(message) and not _has_content(message.get("content")):
            yield f"{place}: {role!s:.80} message without content"


def result_content_present(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        if message.get("role") == "tool" and not isinstance(message.get("content"), str | list):
            yield f"{place}: tool message without content"


def blocks_known(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        role = message.get("role")
        allowed = _BLOCKS.get(role, _WORDS) if isinstance(role, str) else _WORDS
        for inner, block in _blocks(place, message):
            kind = block.get("type")
            if kind not in allowed:
                yield f"{inner}: block type {kind!r:.80} in a message of the role {role!r:.80}"


def blocks_complete(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        for inner, block in _blocks(place, message):
            if not _is_complete(block):
                yield f"{inner}: {block.get('type')!r:.80} block without what it shows"


def calls_by_the_assistant(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        if _calls(message) and message.get("role") != "assistant":
            yield f"{place}: {message.get('role')!s:.80} message with tool calls"


def call_lists_not_empty(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        calls = message.get("tool_calls")
        if calls is not None and not (isinstance(calls, list | tuple) and calls):
            yield f"{place}: `tool_calls` must be a list of calls, got {calls!r:.80}"


def call_ids_given(messages: Messages) -> Iterator[str]:
    for place, call in _all_calls(messages):
        if not isinstance(call.get("id"), str) or not call["id"]:
            yield f"{place}: call id {call.get('id')!r:.80} is no text"


def call_names_given(messages: Messages) -> Iterator[str]:
    for place, call in _all_calls(messages):
        name = _called(call).get("name")
        if not isinstance(name, str) or not name:
            yield f"{place}: call without the name of a function"


def call_arguments_are_text(messages: Messages) -> Iterator[str]:
    for place, call in _all_calls(messages):
        key = "input" if call.get("type") == "custom" else "arguments"
        if not isinstance(_called(call).get(key), str):
            yield f"{place}: `{key}` of a call are no text"


def call_ids_unique(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        ids = Counter(str(call.get("id")) for call in _calls(message))
        for call_id, times in ids.items():
            if times > 1:
                yield f"{place}: call id {call_id!r:.80} repeated"


def calls_answered(messages: Messages) -> Iterator[str]:
    waiting: dict[str, None] = {}
    for place, message in (*messages, ("the end", {})):
        if message.get("role") == "tool":
            waiting.pop(str(message.get("tool_call_id")), None)
            continue
        for call_id in waiting:
            yield f"before {place}: call {call_id!r:.80} unanswered"
        waiting = dict.fromkeys(str(call.get("id")) for call in _calls(message))


def results_called(messages: Messages) -> Iterator[str]:
    called: frozenset[str] = frozenset()
    for place, message in messages:
        if message.get("role") != "tool":
            called = frozenset(str(call.get("id")) for call in _calls(message))
        elif str(message.get("tool_call_id")) not in called:
            yield f"{place}: result {message.get('tool_call_id')!r:.80} without its call"


def results_single(messages: Messages) -> Iterator[str]:
    answered: set[str] = set()
    for place, message in messages:
        if message.get("role") != "tool":
            answered = set()
            continue
        call_id = str(message.get("tool_call_id"))
        if call_id in answered:
            yield f"{place}: second result for {call_id!r:.80}"
        answered.add(call_id)


Rule = Callable[[Messages], Iterator[str]]

RULES: Final[tuple[Rule, ...]] = (
    roles_known,
    content_present,
    result_content_present,
    blocks_known,
    blocks_complete,
    calls_by_the_assistant,
    call_lists_not_empty,
    call_ids_given,
    call_names_given,
    call_arguments_are_text,
    call_ids_unique,
    calls_answered,
    results_called,
    results_single,
)

_WORDS: Final = ("text",)
# OpenAI itself wants text alone from a tool; those that speak its language take images there too.
_BLOCKS: Final[Mapping[str, tuple[str, ...]]] = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text", "image_url"),
}


def _calls(message: Said) -> list[Said]:
    calls = message.get("tool_calls")
    found: list[Any] = list(calls) if isinstance(calls, list | tuple) else []
    return [call if isinstance(call, Mapping) else {} for call in found]


def _all_calls(messages: Messages) -> Iterator[tuple[str, Said]]:
    for place, message in messages:
        for index, call in enumerate(_calls(message)):
            yield f"{place}, call {index}", call


def _called(call: Said) -> Said:
    called = call.get("custom" if call.get("type") == "custom" else "function")
    return called if isinstance(called, Mapping) else {}


def _blocks(place: str, message: Said) -> list[tuple[str, Said]]:
    content = message.get("content")
    found: list[Any] = content if isinstance(content, list) else []
    return [
        (f"{place}, block {index}", block if isinstance(block, Mapping) else {}) for index, block in enumerate(found)
    ]


def _is_complete(block: Said) -> bool:
    match block:
        case {"type": "text", "text": str()} | {"type": "refusal", "refusal": str()}:
            return True
        case {"type": "image_url", "image_url": {"url": str() as url}}:
            return bool(url)
        case {"type": "file", "file": {"file_data": str()} | {"file_id": str()}}:
            return True
        case {"type": "input_audio", "input_audio": {"data": str(), "format": str()}}:
            return True
        case _:
            return False


def _has_content(content: object) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    return any(_says_something(block) for _, block in _blocks("", {"content": content}))


def _says_something(block: Said) -> bool:
    text = block.get("text")
    return bool(text.strip()) if isinstance(text, str) else "type" in block
