"""OpenAI Responses items, both ways.

Consecutive items of the model (reasoning, messages, calls, and what the provider ran itself) are one assistant message
with its parts in order; each output of a call is a tool message. What the provider ran itself is kept as it came behind
what can be read of it, which other formats send. Items of types that Foveate has no part for are opaque: those that a
program sends, such as tools that come as an item, as system messages, and all others as the model's. What loads tools
is pinned.

What went in comes out again byte for byte, but for half characters, which are replaced. `pinned` and `is_error` are
meant for Foveate and stay here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from foveate.log.messages import (
    Media,
    Message,
    MessageMeta,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    fields_of,
    foreign,
)
from foveate.wire.fields import arguments_object, arguments_text, mapping
from foveate.wire.format import Where
from foveate.wire.opaque import without_alien
from foveate.wire.originals import NOTES, RAW, difference, rewritten
from foveate.wire.responses_blocks import NAME, answer_of, block_of
from foveate.wire.responses_items import PROGRAM, PROGRAM_OUTPUT, note
from foveate.wire.responses_reading import (
    FUNCTION,
    PROGRAMS,
    TOLD,
    carrier_of,
    is_output,
    is_the_models,
    loads_tools,
    plain_output,
    result_message,
    said_parts,
    told_message,
)

# Anthropic's responses are messages by type too, but always the assistant's.
_OWN_TYPES: Final = PROGRAMS | {
    "reasoning",
    "compaction",
    "compaction_summary",
    "item_reference",
    "mcp_list_tools",
    "mcp_approval_request",
    PROGRAM,
    PROGRAM_OUTPUT,
}
_OWN_ENDINGS: Final = ("_call", "_call_output", "_search_output", "_approval_response")
_OWN_BLOCKS: Final = frozenset({"input_text", "output_text", "input_image", "input_file", "refusal"})


def recognises(raw: object) -> bool:
    """Whether a raw message can only be an item of OpenAI Responses."""
    if not isinstance(raw, Mapping):
        return False
    kind, content = raw.get("type"), raw.get("content")
    if kind is None or kind == "message":
        if isinstance(content, str):
            return kind == "message" and "role" in raw
        if kind == "message" and raw.get("role") in TOLD:
            return True
        return isinstance(content, list | tuple) and any(_is_own_block(block) for block in content)
    if isinstance(kind, str) and kind in PROGRAMS:
        return True
    return isinstance(kind, str) and "role" not in raw and (kind in _OWN_TYPES or kind.endswith(_OWN_ENDINGS))


def decode(raws: Sequence[object], where: Where) -> list[Message]:
    """The messages of items, in order."""
    messages: list[Message] = []
    said: list[Part] = []
    for index, raw in enumerate(raws):
        item, place = mapping(raw, where(index)), where(index)
        if is_the_models(item, place):
            said += noted_item(said_parts(item, said, place), item)
            continue
        if said:
            messages.append(_assistant(said))
            said = []
        messages.append(noted_message(_read(item, place), item))
    if said:
        messages.append(_assistant(said))
    return messages


def _read(item: Mapping[str, Any], where: str) -> Message:
    """The message of an item that is not the model's."""
    return result_message(item, where) if is_output(item) else told_message(item, where)


def _assistant(parts: list[Part]) -> Message:
    """What the model said; that it is whole is known by how many parts there were."""
    meta = MessageMeta(pinned=any(isinstance(part, Opaque) and loads_tools(part.raw) for part in parts))
    return Message(id="", role="assistant", parts=tuple(parts), meta=meta, extra=foreign(NAME, {"form": len(parts)}))


def is_original(message: Message) -> bool:
    """Whether a message is as it came from this format: what a pass reduced has lost its notes."""
    form = fields_of(message.extra, NAME).get("form")
    return form is not None and (message.role != "assistant" or form == len(message.parts))


def noted_message(message: Message, came: Mapping[str, Any]) -> Message:
    """A message that the model did not say, with what it takes to write its item again as it came."""
    result = message.result
    plain = {key: came[key] for key in came if key not in ("pinned", "is_error")}
    kept = {**fields_of(message.extra, NAME), "form": "text" if isinstance(came.get("content"), str) else "item"}
    message = msgspec.structs.replace(message, extra={**message.extra, **foreign(NAME, kept)})
    notes = difference(plain, output_item(result, FUNCTION) if result is not None else told_item(message))
    if not notes:
        return message
    return msgspec.structs.replace(message, extra={**message.extra, **foreign(NAME, {**kept, **notes})})


def noted_item(parts: list[Part], came: Mapping[str, Any]) -> list[Part]:
    """The parts of one item of the model, the first with what it takes to write the item again as it came."""
    plain = {key: came[key] for key in came if key != "pinned"}
    first = parts[0]
    kept = {**fields_of(first.extra, NAME), "came": True}
    if came.get("type", "message") == "message" and isinstance(came.get("content"), str):
        kept["text"] = True
    parts = [msgspec.structs.replace(first, extra={**first.extra, **foreign(NAME, kept)}), *parts[1:]]
    (made,) = said_items(parts)
    notes = difference(plain, made)
    if not notes:
        return parts
    extra = {**first.extra, **foreign(NAME, {**kept, **notes})}
    return [msgspec.structs.replace(first, extra=extra), *parts[1:]]


def encode(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The items of messages, in order, as they came."""
    items: list[dict[str, Any]] = []
    kinds: dict[str, str] = {}
    for message in without_alien(messages, NAME):
        if message.role == "assistant":
            items += said_items(message.parts)
            kinds.update((call.id, kind_of(call)) for call in message.calls)
        else:
            items.append(item_as_it_came(message, kinds))
    return items


def repeated(message: Message) -> dict[str, Any]:
    """The `extra` of a note on a further output of a call that was answered before: some agents send several.

    This format takes them, where the call is, as they came; all others get the words of the note.
    """
    return foreign(NAME, {"repeated": item_as_it_came(message, {})}) if is_original(message) else {}


def item_as_it_came(message: Message, kinds: Mapping[str, str]) -> dict[str, Any]:
    """The item of a message that the model did not say; `kinds` are those of the calls before it."""
    kept, result = fields_of(message.extra, NAME), message.result
    raw = kept.get(RAW)
    if isinstance(raw, dict) and _same(_read(raw, "item"), message):
        return dict(raw)
    made = told_item(message) if result is None else output_item(result, kinds.get(result.call_id, FUNCTION))
    return rewritten(made, kept)


def said_items(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """The items of what the model said, in order."""
    return [said_item(run) for run in items_of(parts)]


def items_of(parts: Iterable[Part]) -> list[list[Part]]:
    """The parts of each item, in order; what no item can be made of is left out."""
    runs: list[list[Part]] = []
    is_open = False
    for part in parts:
        kept = fields_of(part.extra, NAME)
        if isinstance(part, Text | Media | Opaque) and not _is_whole(part):
            if not is_open or "item" in kept:
                runs.append([])
            runs[-1].append(part)
            is_open = True
            continue
        is_open = False
        if _is_whole(part) or isinstance(part, ToolCall) or "item" in kept:
            runs.append([part])
    return runs


def said_item(parts: list[Part]) -> dict[str, Any]:
    """The item of one run of parts, as it came."""
    first = parts[0]
    kept = fields_of(first.extra, NAME)
    raw = kept.get(RAW)
    if isinstance(raw, dict) and list(map(_plain, said_parts(raw, [], "item"))) == list(map(_plain, parts)):
        return dict(raw)
    if isinstance(first, ToolCall):
        made = call_item(first)
    elif (ran := as_it_ran(first)) is not None:
        made = dict(ran)
    elif isinstance(first, Opaque) and _is_whole(first):
        made = dict(first.raw)
    elif isinstance(first, Thinking):
        made = dict(kept["item"])
    else:
        shown = [block_of(part, "output_text") for part in parts if isinstance(part, Text | Media | Opaque)]
        content = _in_form(shown, "text" if kept.get("text") is True else "item")
        made = {"type": "message", "role": "assistant", "content": content, **kept.get("item", {})}
    return rewritten(made, kept)


def told_item(message: Message) -> dict[str, Any]:
    """The item of what a user or a system prompt said, or of what a program set up."""
    first = message.parts[0] if len(message.parts) == 1 else None
    if isinstance(first, Opaque) and _is_whole(first):
        return dict(first.raw)
    item = as_it_ran(first) if first is not None else None
    if item is not None:
        return dict(item)
    content = [block_of(part, "input_text") for part in message.parts if isinstance(part, Text | Media | Opaque)]
    form = fields_of(message.extra, NAME).get("form")
    fields = item_fields(message.extra)
    return {"type": "message", "role": role_of(message), "content": _in_form(content, form), **fields}


def _is_whole(part: Part) -> bool:
    """Whether a part is an item of its own, and no block in one."""
    if isinstance(part, Opaque):
        return part.extra.get("whole") is True
    return as_it_ran(part) is not None


def _in_form(content: list[dict[str, Any]], form: object) -> Any:
    match content:
        case [{"type": "input_text" | "output_text", "text": str() as text, **more}] if form == "text" and not more:
            return text
        case _:
            return content


def _same(original: Message, message: Message) -> bool:
    """Whether a message says what its original did."""
    return original.role == message.role and list(map(_plain, original.parts)) == list(map(_plain, message.parts))


def _plain(part: Part) -> Part:
    """A part without the notes on how it was written."""
    kept = {
        key: value for key, value in fields_of(part.extra, NAME).items() if key not in NOTES | {"led", "text", "came"}
    }
    extra = {key: value for key, value in part.extra.items() if key != f"@{NAME}"}
    return msgspec.structs.replace(part, extra={**extra, **foreign(NAME, kept)})


def as_it_ran(part: Part) -> dict[str, Any] | None:
    """The item of what the provider ran itself, if a part was one and still says what can be read of it."""
    item = fields_of(part.extra, NAME).get("ran")
    return item if isinstance(item, dict) and isinstance(part, Text) and part.text == note(item) else None


def role_of(message: Message) -> str:
    """The role of a message that the model did not say."""
    return "developer" if message.extra.get("role") == "developer" else message.role


def kind_of(call: ToolCall) -> str:
    """The type of a call's item."""
    return str(fields_of(call.extra, NAME).get("type", FUNCTION))


def call_item(call: ToolCall) -> dict[str, Any]:
    """The item of a call, of the kind it came as."""
    kind, fields = kind_of(call), item_fields(call.extra)
    match kind:
        case "function_call":
            return {"type": kind, "call_id": call.id, "name": call.name, "arguments": call.arguments, **fields}
        case "custom_tool_call":
            return {"type": kind, "call_id": call.id, "name": call.name, "input": custom_input(call), **fields}
        case _:
            if not is_as_it_came(call):
                fields[carrier_of(fields)] = arguments_object(call.arguments)
            return {"type": kind, "call_id": call.id, **fields}


def custom_input(call: ToolCall) -> str:
    """What a custom tool was given."""
    given = arguments_object(call.arguments)
    text = given.get("input")
    return text if isinstance(text, str) and len(given) == 1 else call.arguments


def is_as_it_came(call: ToolCall) -> bool:
    """Whether a call of another kind than functions still asks for what it asked for."""
    fields = item_fields(call.extra)
    return arguments_text(fields.get(carrier_of(fields), {}), "call") == call.arguments


def output_item(result: ToolResult, kind: str) -> dict[str, Any]:
    """The item of a result; `kind` is the type of its call, for results that do not say their own."""
    kept = fields_of(result.extra, NAME)
    named = {"id" if kept.get("named") == "id" else "call_id": result.call_id}
    kind = str(kept.get("type", f"{kind}_output"))
    output = kept["output"] if answers_as_it_came(result) else plain_output(result)
    return {"type": kind, **named, "output": output, **item_fields(result.extra)}


def answers_as_it_came(result: ToolResult) -> bool:
    """Whether a result that was no plain text still says what it said."""
    kept = fields_of(result.extra, NAME)
    return "output" in kept and answer_of(kept["output"], "result") == (result.text, result.media)


def item_fields(extra: Mapping[str, Any]) -> dict[str, Any]:
    """What an item says besides what has its place in a message."""
    return dict(fields_of(extra, NAME).get("item", {}))


def _is_own_block(block: object) -> bool:
    return isinstance(block, Mapping) and isinstance(block.get("type"), str) and block["type"] in _OWN_BLOCKS
