"""What OpenAI Responses refuses in a request.

The whole request is judged. Items, blocks and fields of types that are not known here are opaque, and taken; a message
needs no `type`. A call without an output is refused, though not every model does.

- `input_given`: `input` is a list with something in it.
- `instructions_say_something`: `instructions`, if there are any, are text.
- `tools_fit`: a tool has a `type`; a function and a custom tool have a name that is allowed and that no other tool has,
  and a function has `parameters` of an object.
- `answer_format_fits`: the `format` in `text` is of a known type, and one by a schema has a name and that schema, of an
  object.
- `items_typed`: each item is an object with a `type`.
- `fields_known`: an item and its blocks are of types that are taken, and have no other fields than these take.
- `roles_known`: a message is of the user, the assistant, the system or the developer.
- `content_given`: a message says something, and none of its blocks is empty.
- `content_fits_role`: the assistant has `output_text` and `refusal` blocks, all others `input_…` ones.
- `system_is_text`: the system and the developer say text alone.
- `media_taken`: an image or a file is of a type that is taken, and says where it is.
- `calls_named`: a call of a function or a custom tool has a name that is allowed.
- `calls_filled`: a function has `arguments` as text, a custom tool `input` as text.
- `call_ids_fit`: a call and an output have a `call_id` of 1 to 64 characters.
- `call_ids_unique`: no two calls have the same `call_id`.
- `outputs_have_calls`: an output stands behind its call, and is of its kind.
- `calls_answered`: each call has an output.
- `outputs_given`: the output of a function or a custom tool is text or a list of `input_…` blocks.
- `reasoning_replayable`: reasoning has a `summary`, and `encrypted_content` or an `id`.
- `reasoning_followed`: reasoning stands before something else that the model did.
- `programs_stand_first`: what came of a program, and a call inside of one and its output, stand behind that program.
- `approvals_asked`: an approval stands behind the request for it, and there is one to a request.
- `item_ids_fit`: the id of an item begins as those of its type do, and is there once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from foveate.wire.names import OPENAI_NAMES, RESPONSES_IDS
from foveate.wire.responses_acceptance import ROLES, fits_role, is_taken
from foveate.wire.responses_items import FIELDS, PROGRAM, PROGRAM_OUTPUT, answers
from foveate.wire.responses_state import PREFIXES

Items = list[Mapping[str, Any]]
Rule = Callable[[Items], Iterator[str]]


def problems(payload: object) -> list[str]:
    """Everything that would be refused, rule by rule; empty for a valid request."""
    if not isinstance(payload, Mapping):
        return [f"a request is an object, not {type(payload).__name__}"]
    found = [problem for rule in WHOLE for problem in rule(payload)]
    raw = payload.get("input")
    if not isinstance(raw, list):
        return found
    found += items_typed(raw)
    items: Items = [{"type": "message", **item} if isinstance(item, Mapping) else {} for item in raw]
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


def tools_fit(payload: Mapping[str, Any]) -> Iterator[str]:
    given = payload.get("tools", [])
    tools: list[Any] = given if isinstance(given, list) else [None]
    names: Counter[str] = Counter()
    for index, tool in enumerate(tools):
        kind = tool.get("type") if isinstance(tool, Mapping) else None
        if not isinstance(tool, Mapping) or not isinstance(kind, str):
            yield f"tool {index}: no object with a `type`"
        elif kind in ("function", "custom"):
            if tool.get("name") not in OPENAI_NAMES:
                yield f"tool {index}: the name {tool.get('name')!r:.80}"
            schema = tool.get("parameters")
            if kind == "function" and not (isinstance(schema, Mapping) and schema.get("type") == "object"):
                yield f"tool {index}: `parameters` are not those of an object"
            names[str(tool.get("name"))] += 1
    yield from (f"the tool {name!r:.80} is there {times} times" for name, times in names.items() if times > 1)


def answer_format_fits(payload: Mapping[str, Any]) -> Iterator[str]:
    if "text" not in payload:
        return
    match payload["text"]:
        # It also says how much the answer is to say.
        case {**given} if given.get("format") is None and given:
            return
        case {"format": {"type": "json_object" | "text"}}:
            return
        case {"format": {"type": "json_schema", "name": name, "schema": {"type": "object"}}} if name in OPENAI_NAMES:
            return
        case text:
            yield f"`text` has no known `format`: {text!r:.100}"


def items_typed(items: list[Any]) -> Iterator[str]:
    for index, item in enumerate(items):
        if not isinstance(item, Mapping) or not isinstance(item.get("type", "message"), str):
            yield f"item {index}: no object with a `type`"


def roles_known(items: Items) -> Iterator[str]:
    for index, item in _messages(items):
        if item.get("role") not in ROLES:
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
            if not fits_role(kind, "assistant" if item.get("role") == "assistant" else "user"):
                yield f"item {index}: block {kind!r} in a message of {item.get('role')!r}"


def system_is_text(items: Items) -> Iterator[str]:
    for index, item in _messages(items):
        if item.get("role") in ("system", "developer") and any(
            not fits_role(kind, "system") for kind in _block_types(item.get("content"))
        ):
            yield f"item {index}: more than text in a message of {item.get('role')!r}"


def media_taken(items: Items) -> Iterator[str]:
    for index, item in enumerate(items):
        for block in _blocks(item):
            if block.get("type") in ("input_image", "input_file") and not is_taken(block):
                yield f"item {index}: {block.get('type')} of no type that is taken"


def calls_named(items: Items) -> Iterator[str]:
    for index, item in _calls(items):
        if item["type"] in ("function_call", "custom_tool_call"):
            name = item.get("name")
            if name not in OPENAI_NAMES:
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
        if not isinstance(call_id, str) or not 1 <= len(call_id) <= RESPONSES_IDS.longest:
            yield f"item {index}: call id {call_id!r:.100} does not have 1 to {RESPONSES_IDS.longest} characters"


def call_ids_unique(items: Items) -> Iterator[str]:
    for call_id, times in Counter(str(_answered(item)) for _, item in _calls(items)).items():
        if times > 1:
            yield f"call id {call_id!r} is there {times} times"


def outputs_have_calls(items: Items) -> Iterator[str]:
    kinds: dict[str, str] = {}
    for index, item in enumerate(items):
        call_id = str(_answered(item))
        if _is_call(item):
            kinds[call_id] = str(item["type"])
        elif _is_output(item) and call_id not in kinds:
            yield f"item {index}: output {call_id!r} without its call before it"
        elif _is_output(item) and not answers(item["type"], kinds[call_id]):
            yield f"item {index}: {item['type']} for a call that wants the output of a {kinds[call_id]}"


def calls_answered(items: Items) -> Iterator[str]:
    answers = {str(_answered(item)) for _, item in _outputs(items)}
    for index, item in _calls(items):
        if str(_answered(item)) not in answers:
            yield f"item {index}: call {_answered(item)!r} has no output"


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


def programs_stand_first(items: Items) -> Iterator[str]:
    programs: set[str] = set()
    for index, item in enumerate(items):
        match item:
            case {"type": "program"}:
                programs.add(str(_answered(item)))
            case {"type": "program_output"} if str(_answered(item)) not in programs:
                yield f"item {index}: the output of a program {_answered(item)!r:.80} that does not stand before it"
            case {"caller": {"type": "program", "caller_id": caller}} if str(caller) not in programs:
                yield f"item {index}: called by a program {caller!r:.80} that does not stand before it"
            case _:
                continue


def approvals_asked(items: Items) -> Iterator[str]:
    waiting: set[str] = set()
    for index, item in enumerate(items):
        if item.get("type") == "mcp_approval_request":
            waiting.add(str(item.get("id")))
        elif item.get("type") == "mcp_approval_response":
            asked = str(item.get("approval_request_id"))
            if asked not in waiting:
                yield f"item {index}: an approval of {asked!r:.80}, which nothing waits for"
            waiting.discard(asked)


def item_ids_fit(items: Items) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        named = item.get("id")
        if not isinstance(named, str) or _is_output(item):
            continue
        if not named.startswith(prefix := PREFIXES.get(str(item.get("type")), "")):
            yield f"item {index}: id {named!r} does not begin with {prefix!r}"
        if named in seen:
            yield f"item {index}: id {named!r} is there twice"
        seen.add(named)


WHOLE: Final = (input_given, instructions_say_something, tools_fit, answer_format_fits)
RULES: Final[tuple[Rule, ...]] = (
    roles_known,
    content_given,
    content_fits_role,
    system_is_text,
    media_taken,
    calls_named,
    calls_filled,
    call_ids_fit,
    call_ids_unique,
    outputs_have_calls,
    calls_answered,
    outputs_given,
    reasoning_replayable,
    reasoning_followed,
    programs_stand_first,
    approvals_asked,
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
    return kind in ("function_call", "custom_tool_call") or (kind.endswith("_call") and item.get("call_id") is not None)


def _is_output(item: Mapping[str, Any]) -> bool:
    """Whether an item answers a call of the client's; what the provider ran itself names none."""
    kind = str(item.get("type", ""))
    if kind == PROGRAM_OUTPUT:
        return False
    return kind.endswith("_output") and (kind in FIELDS or item.get("call_id") is not None)


def _is_hosted(item: Mapping[str, Any]) -> bool:
    kind = str(item.get("type", ""))
    run = ("mcp_approval_request", PROGRAM, PROGRAM_OUTPUT)
    return kind in run or (kind.endswith("_call") and not _is_call(item))


def _is_the_models(item: Mapping[str, Any]) -> bool:
    said = item.get("type") == "message" and item.get("role") == "assistant"
    return said or item.get("type") in ("reasoning", "compaction") or _is_call(item) or _is_hosted(item)


def _answered(item: Mapping[str, Any]) -> object:
    """The id of the call that an item is or answers; outputs of the local shell name it by `id`."""
    return item.get("call_id", item.get("id"))


def _block_types(content: object) -> list[str]:
    blocks = content if isinstance(content, list) else []
    return [str(block.get("type")) if isinstance(block, Mapping) else "?" for block in blocks]


def _blocks(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The blocks of a message, or of the output of a function or a custom tool."""
    field = {"message": "content", "function_call_output": "output", "custom_tool_call_output": "output"}
    blocks = item.get(field.get(str(item.get("type")), ""))
    return [block for block in blocks if isinstance(block, Mapping)] if isinstance(blocks, list) else []


def _says_something(block: object) -> bool:
    if not isinstance(block, Mapping):
        return False
    words = [block[key] for key in ("text", "refusal") if key in block]
    return all(isinstance(text, str) and bool(text.strip()) for text in words)


def _is_answer(output: object) -> bool:
    if isinstance(output, str):
        return True
    return isinstance(output, list) and bool(output) and all(fits_role(kind, "tool") for kind in _block_types(output))
