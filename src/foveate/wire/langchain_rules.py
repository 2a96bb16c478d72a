"""What messages for LangChain must be as Foveate sends them; LangChain and the models behind it take more.

- `is_a_conversation`: a list of messages with something in it.
- `messages_are_of_a_type`: each is of a type that a model takes, and has data.
- `content_is_given`: text, or a list of texts and blocks that have a type.
- `nothing_is_blank`: a message without calls or results says something, and no text in it is without words.
- `system_comes_first`: nothing else stands before a system message.
- `begins_with_the_user`: the assistant does not speak first.
- `calls_are_whole`: each has an id, a name, and an object as its arguments.
- `call_ids_are_unique`: in a message.
- `only_the_assistant_calls`: no other message has calls.
- `calls_are_answered`: each by one of the tool messages right behind it, once.
- `results_have_calls`: in the message of the assistant before.
- `status_is_known`: a result is a success or an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

_TYPES: Final = frozenset({"system", "human", "ai", "tool"})

Raw = Mapping[str, Any]
Rule = Callable[[Sequence[Raw]], Iterator[str]]


def problems(request: object) -> list[str]:
    """Everything that would be refused; empty for a valid list of messages."""
    found = [*is_a_conversation(request)]
    if found or not isinstance(request, Sequence):
        return found
    found = [*messages_are_of_a_type(request)]
    return found or [problem for rule in RULES for problem in rule(request)]


def is_a_conversation(request: object) -> Iterator[str]:
    if not isinstance(request, Sequence) or isinstance(request, str) or not request:
        yield "no messages"


def messages_are_of_a_type(messages: Sequence[object]) -> Iterator[str]:
    for index, message in enumerate(messages):
        kind = message.get("type") if isinstance(message, Mapping) else None
        if not isinstance(message, Mapping) or not isinstance(kind, str) or kind not in _TYPES:
            yield f"message {index}: unknown type {kind!r}"
        elif not isinstance(message.get("data"), Mapping):
            yield f"message {index}: {kind} without data"


def content_is_given(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        match message["data"].get("content"):
            case str():
                pass
            case [*blocks] if all(isinstance(block, str) or _is_typed(block) for block in blocks):
                pass
            case _:
                yield f"message {index}: content is neither text nor a list of typed blocks"


def nothing_is_blank(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        content = message["data"].get("content")
        if message["type"] == "tool":
            continue
        if not content and not _calls(message):
            yield f"message {index}: {message['type']} without content"
        if any(not text.strip() for text in _texts(content)):
            yield f"message {index}: a text without words"


def system_comes_first(messages: Sequence[Raw]) -> Iterator[str]:
    others = False
    for index, message in enumerate(messages):
        others = others or message["type"] != "system"
        if others and message["type"] == "system":
            yield f"message {index}: a system message behind other messages"


def begins_with_the_user(messages: Sequence[Raw]) -> Iterator[str]:
    first = next((message["type"] for message in messages if message["type"] != "system"), None)
    if first == "ai":
        yield "the assistant speaks first"


def calls_are_whole(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        for call in _calls(message):
            match call:
                case {"id": str() as id, "name": str() as name, "args": Mapping()} if id and name:
                    pass
                case _:
                    yield f"message {index}: a call without id, name or arguments"


def call_ids_are_unique(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        repeated = [name for name, times in Counter(_call_ids(message)).items() if times > 1]
        yield from (f"message {index}: call id {name!r} repeated" for name in repeated)


def only_the_assistant_calls(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        if _calls(message) and message["type"] != "ai":
            yield f"message {index}: {message['type']} message with calls"


def calls_are_answered(messages: Sequence[Raw]) -> Iterator[str]:
    for index, answers in _exchanges(messages):
        for name in _call_ids(messages[index]):
            if answers[name] != 1:
                yield f"message {index}: call {name!r} has {answers[name]} results right behind it, not 1"


def results_have_calls(messages: Sequence[Raw]) -> Iterator[str]:
    known: frozenset[str] = frozenset()
    for index, message in enumerate(messages):
        if message["type"] != "tool":
            known = frozenset(_call_ids(message))
        elif str(message["data"].get("tool_call_id")) not in known:
            yield f"message {index}: result {message['data'].get('tool_call_id')!r} without its call"


def status_is_known(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        if message["type"] == "tool" and message["data"].get("status", "success") not in ("success", "error"):
            yield f"message {index}: unknown status {message['data']['status']!r}"


RULES: Final[tuple[Rule, ...]] = (
    content_is_given,
    nothing_is_blank,
    system_comes_first,
    begins_with_the_user,
    calls_are_whole,
    call_ids_are_unique,
    only_the_assistant_calls,
    calls_are_answered,
    results_have_calls,
    status_is_known,
)


def _is_typed(block: object) -> bool:
    return isinstance(block, Mapping) and isinstance(block.get("type"), str)


def _texts(content: object) -> Iterator[str]:
    match content:
        case str() if content:
            yield content
        case [*blocks]:
            for block in blocks:
                match block:
                    case (str() as text) | {"type": "text", "text": str() as text}:
                        yield text
                    case _:
                        pass
        case _:
            pass


def _calls(message: Raw) -> list[Any]:
    calls = message["data"].get("tool_calls")
    return calls if isinstance(calls, list) else []


def _call_ids(message: Raw) -> list[str]:
    return [str(call.get("id")) for call in _calls(message) if isinstance(call, Mapping)]


def _exchanges(messages: Sequence[Raw]) -> Iterator[tuple[int, Counter[str]]]:
    """Each message that has calls, and how often each call is answered right behind it."""
    asking: int | None = None
    answers: Counter[str] = Counter()
    for index, message in enumerate(messages):
        if message["type"] == "tool":
            answers[str(message["data"].get("tool_call_id"))] += 1
            continue
        if asking is not None:
            yield asking, answers
        asking, answers = (index if _calls(message) else None), Counter()
    if asking is not None:
        yield asking, answers
