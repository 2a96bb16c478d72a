"""A request by the rules of OpenAI Responses, ready to send."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from foveate.log.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult, fields_of
from foveate.wire.answer_format import answer_format
from foveate.wire.attachments import left_out
from foveate.wire.format import Request, opening_of_nothing
from foveate.wire.opaque import without_alien
from foveate.wire.openai_responses import (
    answers_as_it_came,
    as_it_ran,
    call_item,
    custom_input,
    is_as_it_came,
    is_original,
    item_as_it_came,
    item_fields,
    items_of,
    kind_of,
    output_item,
    role_of,
    said_item,
)
from foveate.wire.pieces import Piece
from foveate.wire.responses_acceptance import is_acceptable
from foveate.wire.responses_blocks import NAME, parts_of, sent_media
from foveate.wire.responses_items import FIELDS, PROGRAM, PROGRAM_OUTPUT, answers, hosted, sent
from foveate.wire.responses_reading import APPROVAL, CUSTOM, FUNCTION
from foveate.wire.responses_state import (
    Lowering,
    is_of_reasoning,
    lowering_of,
    with_new_id,
    with_valid_id,
    without_caller,
    without_id,
)
from foveate.wire.tools import responses_tools


def lower(request: Request) -> dict[str, Any]:
    """The keywords of a call: `instructions`, `input`, `tools`, `text`.

    An item that came from this format and was not reduced is sent as it came, up to what would be refused. Others have
    the fields that the provider takes, and no others. Reasoning is sent with what followed it, or not at all; without
    it, the ids of what followed are left out too, and what the provider ran itself is said in words. So it is wherever
    there is no reasoning to it although the request has some, and where it is too large. A call of one of the
    provider's own tools is then one of a function, if there was reasoning to it.
    """
    messages = without_alien(request.messages, NAME)
    lowering = lowering_of(request)
    items: list[dict[str, Any]] = []
    for message in messages:
        if message.result is not None:
            items.append(_output(message, message.result, lowering))
        elif message.role == "assistant":
            items += _settled(_without_repeats(_entries(message, lowering), lowering), lowering, is_original(message))
        elif (item := _told(message, lowering)) is not None:
            items.append(item if lowering.anew else with_new_id(item, lowering.seen))
    instructions = {"instructions": request.system} if request.system and request.system.strip() else {}
    tools = responses_tools(request.tools, lowering.names, anew=request.wire == 1)
    return {
        **instructions,
        "input": items or [_words("user", opening_of_nothing(request, "OpenAI Responses"))],
        **({"tools": tools} if tools else {}),
        **_text(request.response_format),
    }


class _Entry(NamedTuple):
    """An item as it is sent behind its reasoning, and as it is sent alone; None if it cannot be.

    An item that is sent `once` says the same wherever its id stands again.
    """

    led: dict[str, Any] | None
    alone: dict[str, Any] | None
    reasoning: bool = False
    once: bool = False


def _text(response_format: dict[str, Any] | None) -> dict[str, Any]:
    asked = answer_format(response_format)
    # A schema of anything but an object is refused.
    if asked is None or (asked.schema is not None and asked.schema.get("type") != "object"):
        return {}
    if asked.schema is None:
        return {"text": {"format": {"type": "json_object"}}}
    more = {"strict": asked.strict, "description": asked.description}
    known = {key: value for key, value in more.items() if value is not None}
    return {"text": {"format": {"type": "json_schema", "name": asked.name, "schema": asked.schema, **known}}}


def _words(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


# --- what the model said ----------------------------------------------------------------------------------------------


def _entries(message: Message, lowering: Lowering) -> Iterator[_Entry]:
    """The items of what the model said, in order."""
    reasoned = False
    for parts in items_of(message.parts):
        first = parts[0]
        reasoned = reasoned or is_of_reasoning(first)
        entry = _written(parts, lowering, reasoned=reasoned)
        # Originals stay what they are behind their reasoning, however much of the message is left.
        came = _as_it_came(parts, lowering) if entry.led is not None or isinstance(first, Opaque | Text) else None
        if came is not None and not lowering.reasons and _is_sent_anywhere(as_it_ran(first)):
            yield _Entry(came, came, once=True)
        else:
            yield entry if came is None else entry._replace(led=came)


def _is_sent_anywhere(ran: dict[str, Any] | None) -> bool:
    """Whether the provider ran something that Foveate cannot write, and that belongs to nothing: it is sent whole."""
    return ran is not None and ran.get("type") not in (*FIELDS, PROGRAM, PROGRAM_OUTPUT)


def _as_it_came(parts: list[Part], lowering: Lowering) -> dict[str, Any] | None:
    """An item as it came, with the ids and names to send; None if it came from elsewhere or would be refused."""
    first = parts[0]
    if fields_of(first.extra, NAME).get("came") is not True:
        return None
    item = said_item(parts)
    if isinstance(first, ToolCall):
        kind = kind_of(first)
        native = kind in (FUNCTION, CUSTOM) or first.id in lowering.originals
        named = {"name": lowering.names[first.name]} if "name" in item else {}
        item = {**item, "call_id": lowering.ids[first.id], **named}
        if not native or (kind not in (FUNCTION, CUSTOM) and not is_as_it_came(first)):
            return None
    if not is_acceptable(item):
        return None
    # How the ids of an unknown type look, nobody knows.
    return item if isinstance(first, Opaque) and first.extra.get("whole") is True else with_valid_id(item)


def _written(parts: list[Part], lowering: Lowering, *, reasoned: bool) -> _Entry:
    """An item as Foveate writes it."""
    first = parts[0]
    ran = as_it_ran(first)
    if isinstance(first, ToolCall):
        return _call(first, lowering, reasoned=reasoned)
    if ran is not None and isinstance(first, Text):
        return _ran(ran, first.text, lowering)
    if isinstance(first, Opaque) and first.extra.get("whole") is True:
        return _Entry(dict(first.raw), dict(first.raw), once=not lowering.anew)
    if isinstance(first, Thinking):
        return _own(item_fields(first.extra))
    return _said([part for part in parts if isinstance(part, Text | Media | Opaque)])


def _said(parts: list[Piece]) -> _Entry:
    content = [block for part in parts if (block := _said_block(part)) is not None]
    if not content:
        return _Entry(None, None)
    item = sent({**item_fields(parts[0].extra), "type": "message", "role": "assistant", "content": content})
    return _Entry(with_valid_id(item), without_id(item))


def _call(call: ToolCall, lowering: Lowering, *, reasoned: bool) -> _Entry:
    kind = kind_of(call)
    call_id, name = lowering.ids[call.id], lowering.names[call.name]
    plain: dict[str, Any] = {"type": FUNCTION, "call_id": call_id, "name": name, "arguments": call.arguments}
    if kind == FUNCTION:
        item = sent({**item_fields(call.extra), **plain})
        return _Entry(with_valid_id(item), without_id(item))
    if kind == CUSTOM:
        given = {"type": kind, "call_id": call_id, "name": name, "input": custom_input(call)}
        item = sent({**item_fields(call.extra), **given})
        return _Entry(with_valid_id(item), without_id(item))
    # Calls of other kinds have their own forms of question and answer: both as they came, or both as a function's.
    result = lowering.results.get(call.id)
    if kind in FIELDS and result is not None and is_as_it_came(call) and _is_native(result, kind):
        item = sent({**call_item(call), "call_id": call_id})
        return _Entry(item, plain if reasoned else without_id(item))
    if kind not in FIELDS and call.id in lowering.originals and is_as_it_came(call):
        # Of a type that nobody knows, what answers it means something only behind it, such as the tools of a search.
        item = {**said_item([call]), "call_id": call_id}
        return _Entry(item, without_id({**item, **({"name": name} if "name" in item else {})}))
    return _Entry(plain, plain)


def _is_native(result: ToolResult, kind: str) -> bool:
    kept = fields_of(result.extra, NAME)
    return answers(kept.get("type"), kind) and ("output" not in kept or answers_as_it_came(result))


def _ran(item: dict[str, Any], text: str, lowering: Lowering) -> _Entry:
    """What the provider ran itself: as it takes it back, or in words."""
    fields, words = hosted(item), _words("assistant", text)
    if fields is None or lowering.reasons:
        return _Entry(fields, words, once=fields is not None and not lowering.anew)
    if lowering.anew:
        if fields["id"] in lowering.seen:
            return _Entry(None, words)
        lowering.seen.add(fields["id"])
    return _Entry(fields, fields, once=not lowering.anew)


def _own(item: dict[str, Any]) -> _Entry:
    """Reasoning, or the context that the provider made small."""
    item = sent(item)
    match item:
        case {"type": "reasoning"}:
            item = with_valid_id({"summary": [], **item})
            replayable = isinstance(item.get("encrypted_content"), str) or "id" in item
            return _Entry(item if replayable and isinstance(item["summary"], list) else None, None, reasoning=True)
        case {"type": "compaction", "encrypted_content": str() as content} if content:
            return _Entry(without_id(item), without_id(item))
        case _:
            return _Entry(None, None)


def _without_repeats(entries: Iterable[_Entry], lowering: Lowering) -> list[_Entry]:
    """The entries without those that are sent once and were sent before: the provider refuses a second of one id."""
    kept: list[_Entry] = []
    seen = set(lowering.seen)
    for entry in entries:
        named = entry.led.get("id") if entry.once and entry.led is not None else None
        if isinstance(named, str) and named in seen:
            continue
        if isinstance(named, str):
            seen.add(named)
        kept.append(entry)
    return kept


def _settled(entries: list[_Entry], lowering: Lowering, whole: bool) -> Iterator[dict[str, Any]]:
    """The items that are sent: each stretch behind its reasoning, or as if there had been none.

    Of a message that is `whole` nothing was taken, so that what has no reasoning before it never had any.
    """
    start = 0
    while start < len(entries):
        head = start
        while head < len(entries) and entries[head].reasoning:
            head += 1
        end = head
        while end < len(entries) and not entries[end].reasoning:
            end += 1
        stretch = entries[start:end]
        led = (whole or start < head) and head < end and _can_be_replayed(stretch, head - start, lowering.seen)
        for entry in stretch:
            item = entry.led if led and entry.led is not None else entry.alone
            if item is not None and lowering.misses_program(item):
                item = entry.alone if item.get("type") == PROGRAM_OUTPUT else without_caller(item)
            if item is not None:
                lowering.note(item)
                yield item
        start = end


def _can_be_replayed(stretch: Sequence[_Entry], head: int, seen: set[str]) -> bool:
    ids = [entry.led["id"] for entry in stretch if entry.led is not None and isinstance(entry.led.get("id"), str)]
    # The provider refuses reasoning without the very item that followed it, and an id that was there before.
    return (
        all(entry.led is not None for entry in stretch[: head + 1] if head)
        and len(ids) == len(set(ids))
        and seen.isdisjoint(ids)
    )


def _said_block(part: Piece) -> dict[str, Any] | None:
    """A block of the model's own words; it cannot send media back."""
    if isinstance(part, Opaque):
        return dict(part.raw)
    if isinstance(part, Media):
        return {"type": "output_text", "text": left_out(part)}
    block: dict[str, Any] = fields_of(part.extra, NAME).get("block", {})
    if not part.text.strip():
        return None
    if block.get("type") == "refusal":
        return {"type": "refusal", "refusal": part.text}
    # What was noted of the text has no bound, and tells the model nothing.
    annotations: dict[str, Any] = {"annotations": []} if isinstance(block.get("annotations"), list) else {}
    return {"type": "output_text", "text": part.text, **annotations}


# --- what the model is told -------------------------------------------------------------------------------------------


def _told(message: Message, lowering: Lowering) -> dict[str, Any] | None:
    ran = as_it_ran(message.parts[0]) if len(message.parts) == 1 else None
    asked = str(ran.get("approval_request_id")) if ran is not None and ran.get("type") == APPROVAL else ""
    if ran is not None and asked in lowering.approvals:
        lowering.approvals.discard(asked)
        if is_original(message):
            return dict(ran)
        return without_id(sent({**ran, "approve": ran.get("approve") is True}))
    first = message.parts[0] if len(message.parts) == 1 else None
    if isinstance(first, Opaque) and first.extra.get("whole") is True:
        return dict(first.raw)
    if ran is None and is_original(message) and is_acceptable(item := item_as_it_came(message, {})):
        return with_valid_id(item)
    repeated = fields_of(message.extra, NAME).get("repeated")
    if isinstance(repeated, dict) and lowering.answers(repeated):
        return {**repeated, "call_id": lowering.ids[repeated["call_id"]]}
    role = role_of(message)
    content = [block for part in message.parts if (block := _told_block(part, role)) is not None]
    return {"type": "message", "role": role, "content": content} if content else None


def _output(message: Message, result: ToolResult, lowering: Lowering) -> dict[str, Any]:
    call_id = lowering.ids[result.call_id]
    kind = lowering.kinds.get(call_id, FUNCTION)
    if is_original(message):
        item = item_as_it_came(message, {})
        if answers(item.get("type"), kind) and is_acceptable(item):
            item = without_caller(item) if lowering.misses_program(item) else item
            return {**item, "id" if "call_id" not in item else "call_id": call_id}
    if kind in (FUNCTION, CUSTOM):
        return {"type": f"{kind}_output", "call_id": call_id, "output": _answer(result)}
    item = sent(output_item(result, kind))
    return {**item, "id" if "call_id" not in item else "call_id": call_id}


def _answer(result: ToolResult) -> Any:
    kept = fields_of(result.extra, NAME).get("output")
    as_it_came = isinstance(kept, list) and answers_as_it_came(result)
    if not as_it_came and not result.media:
        return result.text
    parts = parts_of(kept, "input_text", "result") if as_it_came else (Text(text=result.text), *result.media)
    return [block for part in parts if (block := _told_block(part, "tool")) is not None] or result.text


def _told_block(part: object, role: str) -> dict[str, Any] | None:
    """A block of what the model is told; a system prompt is text alone."""
    match part:
        case Text(text=text):
            return {"type": "input_text", "text": text} if text.strip() else None
        case Opaque(raw=raw):
            return dict(raw)
        case Media():
            block = None if role in ("system", "developer") else sent_media(part)
            return {"type": "input_text", "text": left_out(part)} if block is None else block
        case _:
            return None
