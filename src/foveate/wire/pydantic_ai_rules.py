"""What a history for pydantic-ai must be as Foveate sends it; pydantic-ai and the models behind it take more.

- `is_a_history`: a list of messages with something in it.
- `messages_are_of_a_kind`: each is a request or a response, and has parts.
- `parts_are_of_a_kind`: a request has parts of requests, a response those of responses.
- `parts_are_whole`: texts, names and ids that a part needs are there.
- `nothing_is_blank`: no text is without words.
- `begins_with_the_user`: before the first response something else than system prompts was said.
- `requests_are_joined`: no two requests stand in a row.
- `call_ids_are_unique`: in a response.
- `calls_are_answered`: each in the next request, once.
- `results_have_calls`: in the response before.
- `results_come_first`: in their request.
- `cache_points_follow_content`: none is first in a prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

_REQUEST_PARTS: Final = frozenset(
    {
        "system-prompt",
        "user-prompt",
        "tool-return",
        "retry-prompt",
        "retry-feedback",
        "compaction",
        "speech",
        "instruction-delta",
        "instruction-baseline",
        "tool-availability-delta",
        "capability-load-delta",
        "model-settings-delta",
    }
)
_RESPONSE_PARTS: Final = frozenset(
    {"text", "thinking", "tool-call", "builtin-tool-call", "builtin-tool-return", "file", "compaction", "speech"}
)
_SIDES: Final = {"request": _REQUEST_PARTS, "response": _RESPONSE_PARTS}

Raw = Mapping[str, Any]
Rule = Callable[[Sequence[Raw]], Iterator[str]]


def problems(request: object) -> list[str]:
    """Everything that would be refused; empty for a valid history."""
    found = [*is_a_history(request)]
    if found or not isinstance(request, Sequence):
        return found
    found = [*messages_are_of_a_kind(request)]
    return found or [problem for rule in RULES for problem in rule(request)]


def is_a_history(request: object) -> Iterator[str]:
    if not isinstance(request, Sequence) or isinstance(request, str) or not request:
        yield "no messages"


def messages_are_of_a_kind(messages: Sequence[object]) -> Iterator[str]:
    for index, message in enumerate(messages):
        kind = message.get("kind") if isinstance(message, Mapping) else None
        if not isinstance(message, Mapping) or kind not in ("request", "response"):
            yield f"message {index}: neither a request nor a response"
        elif not isinstance(message.get("parts"), list) or not message["parts"]:
            yield f"message {index}: {kind} without parts"
        elif not all(isinstance(part, Mapping) for part in message["parts"]):
            yield f"message {index}: a part is not an object"


def parts_are_of_a_kind(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        for part in message["parts"]:
            if str(part.get("part_kind")) not in _SIDES[message["kind"]]:
                yield f"message {index}: a {message['kind']} has no part {part.get('part_kind')!r}"


def parts_are_whole(messages: Sequence[Raw]) -> Iterator[str]:
    for index, part in _all_parts(messages):
        for key in _NEEDED.get(str(part.get("part_kind")), ()):
            value = part.get(key)
            if not isinstance(value, str) or (key != "content" and not value):
                yield f"message {index}: {part.get('part_kind')} without `{key}`"
        if part.get("part_kind") == "user-prompt" and not isinstance(part.get("content"), str | list):
            yield f"message {index}: user-prompt without `content`"
        if part.get("part_kind") == "tool-return" and "content" not in part:
            yield f"message {index}: tool-return without `content`"


def nothing_is_blank(messages: Sequence[Raw]) -> Iterator[str]:
    for index, part in _all_parts(messages):
        if part.get("part_kind") in ("text", "system-prompt", "user-prompt") and _is_blank(part.get("content")):
            yield f"message {index}: blank {part['part_kind']}"


def begins_with_the_user(messages: Sequence[Raw]) -> Iterator[str]:
    for message in messages:
        if message["kind"] == "response":
            yield "a response comes before anything that the user said"
            return
        if any(part.get("part_kind") != "system-prompt" for part in message["parts"]):
            return


def requests_are_joined(messages: Sequence[Raw]) -> Iterator[str]:
    for index, (one, other) in enumerate(pairwise(messages)):
        if one["kind"] == other["kind"] == "request":
            yield f"message {index + 1}: a request after a request"


def call_ids_are_unique(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        repeated = [name for name, times in Counter(_calls(message)).items() if times > 1]
        yield from (f"message {index}: call id {name!r} repeated" for name in repeated)


def calls_are_answered(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        answers = Counter(_results(messages[index + 1]) if index + 1 < len(messages) else ())
        for name in _calls(message):
            if answers[name] != 1:
                yield f"message {index}: call {name!r} has {answers[name]} results in the next request, not 1"


def results_have_calls(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        calls = frozenset(_calls(messages[index - 1]) if index else ())
        yield from (
            f"message {index}: result {name!r} without its call" for name in _results(message) if name not in calls
        )


def results_come_first(messages: Sequence[Raw]) -> Iterator[str]:
    for index, message in enumerate(messages):
        are_results = [_is_result(part) for part in message["parts"]]
        if any(later and not earlier for earlier, later in pairwise(are_results)):
            yield f"message {index}: a result stands behind something else"


def cache_points_follow_content(messages: Sequence[Raw]) -> Iterator[str]:
    for index, part in _all_parts(messages):
        match part:
            case {"part_kind": "user-prompt", "content": [{"kind": "cache-point"}, *_]}:
                yield f"message {index}: a cache point is first in a prompt"
            case _:
                pass


RULES: Final[tuple[Rule, ...]] = (
    parts_are_of_a_kind,
    parts_are_whole,
    nothing_is_blank,
    begins_with_the_user,
    requests_are_joined,
    call_ids_are_unique,
    calls_are_answered,
    results_have_calls,
    results_come_first,
    cache_points_follow_content,
)

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "system-prompt": ("content",),
    "tool-return": ("tool_name", "tool_call_id"),
    "text": ("content",),
    "thinking": ("content",),
    "tool-call": ("tool_name", "tool_call_id"),
}


def _all_parts(messages: Sequence[Raw]) -> Iterator[tuple[int, Raw]]:
    for index, message in enumerate(messages):
        for part in message["parts"]:
            yield index, part


def _is_result(part: Raw) -> bool:
    kind = part.get("part_kind")
    return kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name") is not None)


def _calls(message: Raw) -> list[str]:
    return [str(part.get("tool_call_id")) for part in message["parts"] if part.get("part_kind") == "tool-call"]


def _results(message: Raw) -> list[str]:
    return [str(part.get("tool_call_id")) for part in message["parts"] if _is_result(part)]


def _is_blank(content: object) -> bool:
    match content:
        case str():
            return not content.strip()
        case [*items]:
            return not items or any(isinstance(item, str) and not item.strip() for item in items)
        case _:
            return False
