"""Gemini contents, both ways.

A content of the model is one assistant message; a content of the user is one tool message for each function response,
with the media behind it, which agents put there for the tool, and a user message for all else between them.

Calls without an id get one. A response without an id answers, of the newest content with calls, the first call of its
name that is still open. Where that content was given in an earlier batch, the first response of a name in the batch
answers the first open call of that name, the second the second, and so on; the router goes on from there if the
responses come in several batches. Ids made here are not written again.

What went in comes out again byte for byte, but for half characters, which are replaced. A response that comes twice in
one content stays where it came, as do parts of kinds that Foveate does not know.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import Media, Message, MessageMeta, Opaque, Part, Text, ToolResult, fields_of, foreign
from foveate.log.text import encodable
from foveate.wire.fields import arguments_text, mapping, rest, unknown_role
from foveate.wire.format import Where
from foveate.wire.gemini_originals import behind, noted, part_as_it_came, parts_behind, response_as_it_came
from foveate.wire.gemini_parts import NAME, camel, given_id, result_of, said_part, told_part
from foveate.wire.opaque import without_alien

_ROLES: Final = ("user", "model", "function")
_NONE: Final[frozenset[str]] = frozenset()
_KNOWN: Final = frozenset({"role", "parts", "pinned"})

Parts = list[dict[str, Any]]


def recognises(raw: object) -> bool:
    """Whether a raw message can only be a Gemini content."""
    if not isinstance(raw, Mapping) or "kind" in raw or raw.get("role", "user") not in _ROLES:
        return False
    parts = raw.get("parts")
    return isinstance(parts, list | tuple) and all(
        isinstance(part, str) or (isinstance(part, Mapping) and "type" not in part) for part in parts
    )


def decode(raws: Sequence[object], where: Where) -> list[Message]:
    """The messages of contents, in order."""
    contents = [mapping(raw, where(index)) for index, raw in enumerate(raws)]
    parts = [_parts(content, where(index)) for index, content in enumerate(contents)]
    roles = [_role(content, where(index)) for index, content in enumerate(contents)]
    ids = _call_ids(roles, parts, where)
    messages: list[Message] = []
    for index, content in enumerate(contents):
        fields = rest(content, _KNOWN, where(index))
        kept: dict[str, Any] = {"form": 0, **({"content": fields} if fields else {})}
        if [key for key in content if key != "pinned"] != ["role", "parts", *fields]:
            kept["keys"] = {str(key): None for key in content if key != "pinned"}
        if roles[index] == "model":
            said = [
                noted(said_part(part, ids.get((index, at), ""), f"{where(index)}, part {at}"), content["parts"][at])
                for at, part in enumerate(parts[index])
            ]
            messages.append(_message("assistant", said, content, kept))
        else:
            if roles[index] == "function":
                kept["role"] = "function"
            messages += _told(content, parts[index], ids, index, kept, where(index))
    return messages


def encode(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The contents of messages, in order, as they came."""
    contents: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in without_alien(messages, NAME):
        kept = fields_of(message.extra, NAME)
        names.update((call.id, call.name) for call in message.calls)
        parts = _encoded(message, names)
        if kept.get("continues") is True and contents:
            contents[-1]["parts"] += parts
        else:
            contents.append(shell_of(message, parts))
    return contents


def is_original(message: Message) -> bool:
    """Whether a message is as it came from this format: what a pass reduced has lost its notes."""
    return "form" in fields_of(message.extra, NAME)


def shell_of(message: Message, parts: Parts) -> dict[str, Any]:
    """The content that parts stand in, as it came."""
    kept = fields_of(message.extra, NAME)
    role = "model" if message.role == "assistant" else str(kept.get("role", "user"))
    content = {"role": role, "parts": parts, **kept.get("content", {})}
    keys = kept.get("keys")
    # What was not there, such as the role of a user, does not come in.
    return {key: content[key] for key in keys if key in content} if isinstance(keys, dict) else content


def _parts(content: Mapping[str, Any], where: str) -> Parts:
    parts = content.get("parts")
    if parts is None:
        return []
    if not isinstance(parts, list | tuple):
        raise MessageError(f"{where}: `parts` must be a list, got {type(parts).__name__}")
    return [camel(part, f"{where}, part {at}") for at, part in enumerate(parts)]


def _role(content: Mapping[str, Any], where: str) -> str:
    role = content.get("role", "user")
    if role not in _ROLES:
        raise unknown_role(role, _ROLES, where)
    return str(role)


def _call_ids(roles: Sequence[str], contents: Sequence[Parts], where: Where) -> dict[tuple[int, int], str]:
    """The ids of calls that have none, and of the responses to them, by content and part."""
    ids: dict[tuple[int, int], str] = {}
    answers: Counter[str] = Counter()
    waiting: list[_Waiting] = []
    for index, at, kind, call in _exchanged(roles, contents):
        name, given = str(call.get("name")), given_id(call)
        if kind == "functionCall":
            if waiting and waiting[0].place[0] != index:
                waiting = []
            arguments = arguments_text(call.get("args"), f"{where(index)}, part {at}")
            ids[index, at] = given or _minted(index, at, name, arguments)
            waiting.append(_Waiting((index, at), name, ids[index, at], given is not None))
            continue
        match = next((one for one in waiting if (one.id == given if given else one.name == name)), None)
        if match is not None:
            waiting.remove(match)
        ids[index, at] = _open_id(name, answers) if match is None else match.id
    left: Counter[str] = Counter()
    ids.update((one.place, _open_id(one.name, left)) for one in waiting if not one.named)
    return ids


class _Waiting(NamedTuple):
    """A call of the newest content with calls that has no response yet."""

    place: tuple[int, int]
    name: str
    id: str
    named: bool


def _minted(index: int, at: int, name: str, arguments: str) -> str:
    sign = hashlib.sha256(f"{index}:{at}:{encodable(name)}:{arguments}".encode()).hexdigest()[:16]
    return f"{NAME}-{sign}"


def _exchanged(roles: Sequence[str], contents: Sequence[Parts]) -> Iterator[tuple[int, int, str, Mapping[str, Any]]]:
    """Every call of the model and every response to one, by content and part."""
    for index, (role, parts) in enumerate(zip(roles, contents, strict=True)):
        kind = "functionCall" if role == "model" else "functionResponse"
        for at, part in enumerate(parts):
            if kind in part:
                yield index, at, kind, part[kind]


def _open_id(name: str, counts: Counter[str]) -> str:
    """The id by which a call and its response find each other over two batches."""
    counts[name] += 1
    return f"{NAME}-{encodable(name)}-{counts[name]}"


def _told(
    content: Mapping[str, Any],
    parts: Parts,
    ids: Mapping[tuple[int, int], str],
    index: int,
    kept: dict[str, Any],
    where: str,
) -> list[Message]:
    """The messages of a content of the user; all but the first are marked as more of it."""
    messages: list[Message] = []
    said: list[Part] = []
    answered: list[Any] = []
    for at, part in enumerate(parts):
        place = f"{where}, part {at}"
        raw = content["parts"][at]
        if "functionResponse" not in part:
            told = noted(told_part(part, place), raw)
            if messages and not said and not isinstance(told, Text):
                messages[-1] = _with_behind(messages[-1], told)
            else:
                said.append(told)
            continue
        response = mapping(part["functionResponse"], place)
        # Only with an id it is the same response that comes again; without one it answers another call.
        if given_id(response) and response in answered:
            again = Opaque(format=NAME, raw=rest(mapping(raw, place), _NONE, place))
            if said:
                said.append(again)
            else:
                messages[-1] = _with_behind(messages[-1], again)
            continue
        if said:
            messages.append(_message("user", said, content, _more(kept, messages)))
            said = []
        answered.append(response)
        result, failed = result_of(part, ids[index, at], place)
        message = _message("tool", [noted(result, raw, failed=failed)], content, _more(kept, messages))
        messages.append(_failed(message) if failed else message)
    if said or not messages:
        messages.append(_message("user", said, content, _more(kept, messages)))
    return messages


def _with_behind(message: Message, part: Media | Opaque) -> Message:
    """A result with a part that stood behind its response."""
    parts = tuple(behind(one, part) if isinstance(one, ToolResult) else one for one in message.parts)
    return msgspec.structs.replace(message, parts=parts)


def _more(kept: dict[str, Any], before: list[Message]) -> dict[str, Any]:
    return {"form": len(before), "continues": True} if before else kept


def _message(role: Any, parts: list[Part], content: Mapping[str, Any], kept: dict[str, Any]) -> Message:
    pinned = content.get("pinned") is True
    return Message(
        id="",
        role=role,
        parts=tuple(parts),
        meta=MessageMeta(pinned=pinned),
        extra={**({"pinned": True} if pinned else {}), **foreign(NAME, kept)},
    )


def _failed(message: Message) -> Message:
    return Message(
        id="", role=message.role, parts=message.parts, meta=message.meta, extra={**message.extra, "is_error": True}
    )


def _encoded(message: Message, names: Mapping[str, str]) -> Parts:
    result = message.result
    if result is not None:
        name = names.get(result.call_id) or message.meta.tool_name
        response = response_as_it_came(result, name, failed=message.extra.get("is_error") is True)
        return [response, *(raw for _, raw in parts_behind(result))]
    return [part for one in message.parts if (part := part_as_it_came(one, message.role)) is not None]
