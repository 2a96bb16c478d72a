"""What OpenAI Responses refuses in a request.

- `input_given`: `input` is a list with something in it.
- `instructions_say_something`: `instructions`, if there are any, are text.
- `items_typed`: each item is an object with a `type`.
- `roles_known`: a message is of the user, the assistant, the system or the developer.
- `content_given`: a message says something, and none of its blocks is empty.
- `content_fits_role`: the assistant has `output_text` and `refusal` blocks, all others `input_…` ones.
- `calls_named`: a call of a function or a custom tool has a name that is allowed.
- `calls_filled`: a function has `arguments` as text, a custom tool `input` as text.
- `call_ids_fit`: a call and an output have a `call_id` of 1 to 64 characters.
- `call_ids_unique`: no two calls have the same `call_id`.
- `outputs_have_calls`: an output stands behind its call, and is of its kind.
- `calls_answered_once`: each call has exactly one output.
- `outputs_given`: the output of a function or a custom tool is text or a list of `input_…` blocks.
- `reasoning_replayable`: reasoning has a `summary`, and `encrypted_content` or an `id`.
- `reasoning_followed`: reasoning stands before something else that the model did.
- `hosted_behind_reasoning`: what the provider ran itself is sent only behind reasoning.
- `item_ids_fit`: the id of an item begins as those of its type do, and is there once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from foveate.wire.responses_lowering import LONGEST_ID, PREFIXES, VALID_NAME

_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})
_SAID: Final = frozenset({"output_text", "refusal"})

Items = list[Mapping[str, Any]]
Rule = Callable[[Items], Iterator[str]]


def problems(payload: object) -> list[str]:
    """Everything that would be refused, rule by rule; empty for a valid request."""
    if not isinstance(payload, Mapping):
        return [f"a request is an object, not {type(payload).__name__}"]
    found = [*input_given(payload), *instructions_say_something(payload)]
    raw = payload.get("input")
    if not isinstance(raw, list):
        return found
    found += items_typed(raw)
    items = [item if isinstance(item, Mapping) else {} for item in raw]
    return [*found, *(problem for rule in RULES for problem in rule(items))]


def input_given(payload: Mapping[str, Any]) -> Iterator[str]:
    given = payload.get("input")
    if not isinstance(given, list) or not given:
        yield "`input` has no items"


def instructions_say_something(payload: Mapping[str, Any]) -> Iterator[str]:
    if "instructions" in payload:
        text = payload["instructions"]
        if not isinstance(text, str) or not text.strip():
            yield "`instructions` are empty"


def items_typed(items: list[Any]) -> Iterator[str]:
    for index, item in enumerate(items):
        if not isinstance(item, Mapping) or not isinstance(item.get("type"), str):
            yield f"item {index}: no object with a `type`"


def roles_known(items: Items) -> Iterator[str]:
    for index, item in _messages(items):
        if item.get("role") not in _ROLES:
            yield f"item {index}: unknown role {item.get('role')!r}"


def content_given(items: Items) -> Iterator[str]:
    for index, item in _messages(items):
        content = item.get("content")
        if not (content.strip() if isinstance(content, str) else content):
            yield f"item {index}: message without content"
        elif isinstance(content, list) and not all(_says_something(block) for block in content):
            yield f"item {index}: empty block"


def content_fits_role(items: Items) -> Iterator[str]:
    for index, item in _messages(items):
        for kind in _block_types(item.get("content")):
            if (kind in _SAID) != (item.get("role") == "assistant") or not kind.startswith(("input_", *_SAID)):
                yield f"item {index}: block {kind!r} in a message of {item.get('role')!r}"


def calls_named(items: Items) -> Iterator[str]:
    for index, item in _calls(items):
        if item["type"] in ("function_call", "custom_tool_call"):
            name = item.get("name")
            if not isinstance(name, str) or not VALID_NAME.fullmatch(name):
                yield f"item {index}: call with the name {name!r:.80}"


def calls_filled(items: Items) -> Iterator[str]:
    fields = {"function_call": "arguments", "custom_tool_call": "input"}
    for index, item in _calls(items):
        field = fields.get(item["type"])
        if field is not None and not isinstance(item.get(field), str):
            yield f"item {index}: `{field}` of a call is no text"


def call_ids_fit(items: Items) -> Iterator[str]:
    for index, item in [*_calls(items), *_outputs(items)]:
        call_id = _answered(item)
        if not isinstance(call_id, str) or not 1 <= len(call_id) <= LONGEST_ID:
            yield f"item {index}: call id {call_id!r:.100} does not have 1 to {LONGEST_ID} characters"


def call_ids_unique(items: Items) -> Iterator[str]:
    for call_id, times in Counter(str(_answered(item)) for _, item in _calls(items)).items():
        if times > 1:
            yield f"call id {call_id!r} is there {times} times"


def outputs_have_calls(items: Items) -> Iterator[str]:
    kinds: dict[str, str] = {}
    for index, item in enumerate(items):
        call_id = str(_answered(item))
        if _is_call(item):
            kinds[call_id] = f"{item['type']}_output"
        elif _is_output(item) and call_id not in kinds:
            yield f"item {index}: output {call_id!r} without its call before it"
        elif _is_output(item) and kinds[call_id] != item["type"]:
            yield f"item {index}: {item['type']} for a call that wants {kinds[call_id]}"


def calls_answered_once(items: Items) -> Iterator[str]:
    answers = Counter(str(_answered(item)) for _, item in _outputs(items))
    for index, item in _calls(items):
        times = answers[str(_answered(item))]
        if times != 1:
            yield f"item {index}: call {_answered(item)!r} has {times} outputs"


def outputs_given(items: Items) -> Iterator[str]:
    for index, item in _outputs(items):
        if item["type"] in ("function_call_output", "custom_tool_call_output") and not _is_answer(item.get("output")):
            yield f"item {index}: `output` is neither text nor a list of input blocks"


def reasoning_replayable(items: Items) -> Iterator[str]:
    for index, item in enumerate(items):
        if item.get("type") == "reasoning":
            if not isinstance(item.get("summary"), list):
                yield f"item {index}: reasoning without a `summary`"
            if not item.get("encrypted_content") and not item.get("id"):
                yield f"item {index}: reasoning without `encrypted_content` or `id`"


def reasoning_followed(items: Items) -> Iterator[str]:
    for index, item in enumerate(items):
        if item.get("type") == "reasoning" and not (index + 1 < len(items) and _is_the_models(items[index + 1])):
            yield f"item {index}: reasoning without the item that followed it"


def hosted_behind_reasoning(items: Items) -> Iterator[str]:
    led = False
    for index, item in enumerate(items):
        led = item.get("type") == "reasoning" or (led and _is_the_models(item))
        if _is_hosted(item) and not led:
            yield f"item {index}: {item['type']} without its reasoning"


def item_ids_fit(items: Items) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item.get("id") is None or _is_output(item):
            continue
        named = str(item["id"])
        if not named.startswith(PREFIXES.get(str(item.get("type")), "")):
            yield f"item {index}: id {named!r} does not begin with {PREFIXES[item['type']]!r}"
        if named in seen:
            yield f"item {index}: id {named!r} is there twice"
        seen.add(named)


RULES: Final[tuple[Rule, ...]] = (
    roles_known,
    content_given,
    content_fits_role,
    calls_named,
    calls_filled,
    call_ids_fit,
    call_ids_unique,
    outputs_have_calls,
    calls_answered_once,
    outputs_given,
    reasoning_replayable,
    reasoning_followed,
    hosted_behind_reasoning,
    item_ids_fit,
)


def _messages(items: Items) -> list[tuple[int, Mapping[str, Any]]]:
    return [(index, item) for index, item in enumerate(items) if item.get("type") == "message"]


def _calls(items: Items) -> list[tuple[int, Mapping[str, Any]]]:
    return [(index, item) for index, item in enumerate(items) if _is_call(item)]


def _outputs(items: Items) -> list[tuple[int, Mapping[str, Any]]]:
    return [(index, item) for index, item in enumerate(items) if _is_output(item)]


def _is_call(item: Mapping[str, Any]) -> bool:
    kind = str(item.get("type", ""))
    return kind in ("function_call", "custom_tool_call") or (kind.endswith("_call") and "call_id" in item)


def _is_output(item: Mapping[str, Any]) -> bool:
    return str(item.get("type", "")).endswith("_output")


def _is_hosted(item: Mapping[str, Any]) -> bool:
    return str(item.get("type", "")).endswith("_call") and not _is_call(item)


def _is_the_models(item: Mapping[str, Any]) -> bool:
    said = item.get("type") == "message" and item.get("role") == "assistant"
    return said or item.get("type") == "reasoning" or _is_call(item) or _is_hosted(item)


def _answered(item: Mapping[str, Any]) -> object:
    """The id of the call that an item is or answers; outputs of the local shell name it by `id`."""
    return item.get("call_id", item.get("id"))


def _block_types(content: object) -> list[str]:
    blocks = content if isinstance(content, list) else []
    return [str(block.get("type")) if isinstance(block, Mapping) else "?" for block in blocks]


def _says_something(block: object) -> bool:
    if not isinstance(block, Mapping):
        return False
    words = [block[key] for key in ("text", "refusal") if key in block]
    return all(isinstance(text, str) and bool(text.strip()) for text in words)


def _is_answer(output: object) -> bool:
    if isinstance(output, str):
        return True
    return isinstance(output, list) and bool(output) and all(kind.startswith("input_") for kind in _block_types(output))
