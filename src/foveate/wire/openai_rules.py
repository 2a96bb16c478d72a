"""What a chat request to OpenAI must be, one function for each rule.

Messages: there are some, each an object with a known role; one that is no tool's says something or calls a tool.

Content: blocks are of a type that the role may send, and have what the type needs; one of a type that is not known here
is opaque, and taken; a tool's message has content.

Calls: only the assistant's, in a list that is not empty; each with an id, the name of a function and arguments that are
text; no id twice in one message; each answered before anything else is said. Results name a call that waits for them,
once. A function that is called as was usual before there were tools is answered in the very next message.

So far for any conversation, also one for a server that only speaks OpenAI's language. A request as Foveate sends it
keeps more rules: ids and names have allowed characters; images, files and sounds are of types that are taken. In one
that goes to OpenAI itself a tool says text alone, and there are no fields of other servers: it answers `Unknown
parameter` to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from foveate.wire.names import OPENAI_IDS, OPENAI_NAMES
from foveate.wire.openai_chat import VENDORS
from foveate.wire.openai_request import (
    BLOCKS,
    KNOWN_BLOCKS,
    WORDS,
    is_function_call,
    is_of_unknown_type,
    is_readable,
    says_otherwise,
)

Said = Mapping[str, Any]
Messages = Sequence[tuple[str, Said]]
"""Where each message stands, and the message; one that is no object is an empty one."""


def problems(request: object) -> list[str]:
    """Everything that is wrong with a conversation, whoever it is for; empty if nothing is."""
    return _broken(request, RULES)


def sent_problems(request: object) -> list[str]:
    """Everything that is wrong with a request as Foveate sends it to OpenAI; empty if nothing is."""
    return _broken(request, (*RULES, *SENT_RULES, results_are_text, no_vendor_fields))


def compatible_problems(request: object) -> list[str]:
    """Everything that is wrong with a request as Foveate sends it to a server that speaks OpenAI's language."""
    return _broken(request, (*RULES, *SENT_RULES))


def _broken(request: object, rules: Iterable[Rule]) -> list[str]:
    if not isinstance(request, list | tuple) or not request:
        return ["no messages"]
    messages = [(f"message {index}", one if isinstance(one, Mapping) else {}) for index, one in enumerate(request)]
    return [problem for rule in rules for problem in rule(messages)]


def roles_known(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        if message.get("role") not in ("system", "developer", "user", "assistant", "tool", "function"):
            yield f"{place}: unknown role {message.get('role')!r:.80}"


def content_present(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        role = message.get("role")
        says = _calls(message) or _has_content(message.get("content"))
        says = says or (role == "assistant" and (says_otherwise(message) or is_function_call(message)))
        if role not in ("tool", "function") and not says:
            yield f"{place}: {role!s:.80} message without content"


def result_content_present(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        if message.get("role") in ("tool", "function") and not isinstance(message.get("content"), str | list):
            yield f"{place}: tool message without content"


def blocks_known(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        role = message.get("role")
        # Servers that speak OpenAI's language may take an image from a tool.
        allowed = (*WORDS, "image_url") if role == "tool" else BLOCKS.get(str(role), WORDS)
        for inner, block in _blocks(place, message):
            kind = block.get("type")
            if not isinstance(kind, str) or (kind in KNOWN_BLOCKS and kind not in allowed):
                yield f"{inner}: block type {kind!r:.80} in a message of the role {role!r:.80}"


def blocks_complete(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        for inner, block in _blocks(place, message):
            if block.get("type") in KNOWN_BLOCKS and not _is_complete(block):
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
        if not is_of_unknown_type(call) and not (isinstance(name, str) and name):
            yield f"{place}: call without the name of a function"


def call_arguments_are_text(messages: Messages) -> Iterator[str]:
    for place, call in _all_calls(messages):
        key = "input" if call.get("type") == "custom" else "arguments"
        if not is_of_unknown_type(call) and not isinstance(_called(call).get(key), str):
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


def functions_answered(messages: Messages) -> Iterator[str]:
    asked: object = None
    for place, message in (*messages, ("the end", {})):
        name = message.get("name") if message.get("role") == "function" else None
        if name != asked:
            yield f"{place}: the function {(asked or name)!r:.80} is not both called and answered, one behind the other"
        called = message.get("function_call")
        asked = called.get("name") if isinstance(called, Mapping) else None


def results_are_text(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        for inner, block in _blocks(place, message):
            if message.get("role") == "tool" and block.get("type") == "image_url":
                yield f"{inner}: an image in a tool message"


def no_vendor_fields(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        inner = [*_blocks(place, message), *((f"{place}, call {at}", call) for at, call in enumerate(_calls(message)))]
        for where, one in ((place, message), *inner):
            for field in VENDORS & one.keys():
                yield f"{where}: {field!r} is another server's, not OpenAI's"


def names_allowed(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        if "name" in message and message["name"] not in OPENAI_NAMES:
            yield f"{place}: name {message['name']!r:.80} is not allowed"


def call_ids_allowed(messages: Messages) -> Iterator[str]:
    for place, call in _all_calls(messages):
        if call.get("id") and call["id"] not in OPENAI_IDS:
            yield f"{place}: call id {call['id']!r:.80} is not allowed"


def call_names_allowed(messages: Messages) -> Iterator[str]:
    for place, call in _all_calls(messages):
        name = _called(call).get("name")
        if name and name not in OPENAI_NAMES:
            yield f"{place}: name of a function {name!r:.80} is not allowed"


def media_taken(messages: Messages) -> Iterator[str]:
    for place, message in messages:
        for inner, block in _blocks(place, message):
            if _is_complete(block) and not is_readable(block):
                yield f"{inner}: {block.get('type')!r:.80} of a type that is not taken"


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
    functions_answered,
)
SENT_RULES: Final[tuple[Rule, ...]] = (
    names_allowed,
    call_ids_allowed,
    call_names_allowed,
    media_taken,
)


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
