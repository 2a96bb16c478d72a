"""The formats by name, and messages of any of them told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

import msgspec

from foveate.errors import ConfigError, MessageError
from foveate.log.messages import Message, Opaque, Part, fields_of
from foveate.wire import (
    anthropic,
    anthropic_request,
    anthropic_rules,
    gemini,
    gemini_lowering,
    gemini_rules,
    langchain,
    langchain_encoding,
    langchain_rules,
    openai_chat,
    openai_request,
    openai_responses,
    openai_rules,
    pydantic_ai,
    pydantic_ai_encoding,
    pydantic_ai_rules,
    responses_lowering,
    responses_rules,
)
from foveate.wire.format import Bridge, Format, apart
from foveate.wire.opaque import ALSO
from foveate.wire.openai_blocks import KNOWN_TYPES

_BRIDGES: Final = "foveate.bridges"

OPENAI: Final = Format(
    name="openai",
    recognises=openai_chat.recognises,
    decode=openai_chat.decode_all,
    encode=apart(openai_chat.encode_all),
    lower=apart(openai_request.lower),
    problems=openai_rules.sent_problems,
)

COMPATIBLE: Final = Format(
    name="openai-compatible",
    # Read as OpenAI's own: nothing but what it is sent tells such a server from OpenAI.
    recognises=lambda _raw: False,
    decode=openai_chat.decode_all,
    encode=apart(openai_chat.encode_all),
    lower=apart(openai_request.lower_compatible),
    problems=openai_rules.compatible_problems,
)

RESPONSES: Final = Format(
    name="openai-responses",
    recognises=openai_responses.recognises,
    decode=openai_responses.decode,
    encode=apart(openai_responses.encode),
    lower=apart(responses_lowering.lower),
    problems=responses_rules.problems,
)

ANTHROPIC: Final = Format(
    name="anthropic",
    recognises=anthropic.recognises,
    decode=anthropic.decode,
    encode=apart(anthropic.encode),
    lower=apart(anthropic_request.lower),
    problems=anthropic_rules.problems,
)

PYDANTIC_AI: Final = Format(
    name=pydantic_ai.NAME,
    recognises=pydantic_ai.recognises,
    decode=pydantic_ai.decode,
    encode=apart(pydantic_ai_encoding.encode),
    lower=apart(pydantic_ai_encoding.lower),
    problems=pydantic_ai_rules.problems,
    bridge=pydantic_ai.NAME,
)

LANGCHAIN: Final = Format(
    name=langchain.NAME,
    recognises=langchain.recognises,
    decode=langchain.decode,
    encode=apart(langchain_encoding.encode),
    lower=apart(langchain_encoding.lower),
    problems=langchain_rules.problems,
    bridge=langchain.NAME,
)

GEMINI: Final = Format(
    name="gemini",
    recognises=gemini.recognises,
    decode=gemini.decode,
    encode=apart(gemini.encode),
    lower=apart(gemini_lowering.lower),
    problems=gemini_rules.problems,
)

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {format.name: format for format in (OPENAI, COMPATIBLE, RESPONSES, ANTHROPIC, GEMINI, PYDANTIC_AI, LANGCHAIN)}
)
# OpenAI's, where nothing tells it from the others with roles.
_UNCLEAR: Final = replace(OPENAI, name="unclear")
_LOOKED_BACK: Final = 20
# The most telling first; with a role and a text alone, a message could be of any of those with roles.
_WITH_ROLES: Final = (RESPONSES, ANTHROPIC, OPENAI)
# The name under which each of them notes how a content was written.
_FORM_NOTES: Final = {RESPONSES.name: "form", ANTHROPIC.name: "@form", OPENAI.name: "form"}
# Where messages hold what libraries give as objects, and how deep: blocks, and the blocks in a result.
_HOLDERS: Final = ("content", "tool_calls", "parts")
_DEEPEST: Final = 2
_TELLING: Final = (*(format for format in FORMATS.values() if format not in _WITH_ROLES), *_WITH_ROLES)


def format_named(name: str) -> Format:
    """A format by its name."""
    if name not in FORMATS:
        raise ConfigError(f"unknown `format` {name!r}; known are {', '.join(FORMATS)}")
    return FORMATS[name]


def decode_any(raws: Sequence[object]) -> list[Message]:
    """The messages of raw ones in any format, also mixed; a malformed one is refused with a `MessageError`."""
    return decode_next(raws, ())


def decode_next(raws: Sequence[object], before: Sequence[Message], format: str | None = None) -> list[Message]:
    """The messages of raw ones behind those that a conversation has, whose format is the first that is thought of.

    It is read off the newest of them, so that every process that goes on with the conversation knows the same.
    """
    try:
        return _decoded(raws, before, format)
    except RecursionError as error:
        raise MessageError(
            f"message {_deepest(raws)}: its values are nested deeper than can be read; give plain JSON, a few hundred "
            "levels deep at most"
        ) from error


def _deepest(raws: Sequence[object]) -> int:
    """The index of the first message that is nested too deep to be looked at."""
    for index, raw in enumerate(raws):
        try:
            repr(raw)
        except RecursionError:
            return index
    return 0


def _decoded(raws: Sequence[object], before: Sequence[Message], format: str | None) -> list[Message]:
    dumped = [_dumped(raw, index) for index, raw in enumerate(raws)]
    if format is not None:
        given = format_named(format)
        found = [None if isinstance(raw, Message) else given for raw in dumped]
    else:
        found = _formats_of(dumped, _format_before(before))
    messages: list[Message] = []
    for one, start, run in _runs(dumped, found):
        if one is None:
            messages += [raw for raw in run if isinstance(raw, Message)]
        elif one is _UNCLEAR:
            messages += [_common(raw, _place(start, index)) for index, raw in enumerate(run)]
        else:
            messages += one.decode(run, partial(_place, start))
    return messages


def _format_before(messages: Sequence[Message]) -> Format | None:
    """The format with roles that the newest of some messages came in, if that is among the last."""
    newest = len(messages) - 1
    for index in range(newest, max(-1, newest - _LOOKED_BACK), -1):
        extra = messages[index].extra
        found = [format for format, note in _FORM_NOTES.items() if note in fields_of(extra, format)]
        if len(found) == 1:
            return FORMATS[found[0]]
    return None


def _common(raw: object, where: str) -> Message:
    """A message that could be of several formats: OpenAI's, and an original for each of them."""
    (message,) = OPENAI.decode([raw], lambda _: where)
    if not isinstance(raw, Mapping) or not _is_common(raw):
        return message
    others = [ANTHROPIC] if not isinstance(raw["content"], str) else [ANTHROPIC, RESPONSES]
    for format in others:
        (other,) = format.decode([raw], lambda _: where)
        pairs = zip(message.parts, other.parts, strict=True)
        parts = tuple(
            msgspec.structs.replace(one, extra={**its.extra, **one.extra, **_also(one, format)}) for one, its in pairs
        )
        message = msgspec.structs.replace(message, parts=parts, extra={**other.extra, **message.extra})
    return message


def _also(part: Part, format: Format) -> dict[str, Any]:
    return {ALSO: [format.name]} if isinstance(part, Opaque) else {}


def _is_common(raw: Mapping[str, Any]) -> bool:
    """Whether a message says no more than a role, texts and what nobody knows, which several formats write alike."""
    content = raw.get("content")
    if not _has_role(raw) or set(raw) != {"role", "content"}:
        return False
    return isinstance(content, str) or (isinstance(content, list) and all(map(_is_common_block, content)))


def _is_common_block(block: object) -> bool:
    match block:
        case {"type": "text", "text": str(), **more}:
            return more.keys() <= {"cache_control"}
        case {"type": str() as kind}:
            return kind not in KNOWN_TYPES and anthropic_rules.is_of_unknown_type(block)
        case _:
            return False


def to_objects(format: Format, data: Any) -> Any:
    """Plain data as the framework's own objects, for formats that have such."""
    return data if format.bridge is None else _bridge(format.bridge).to_objects(data)


def _dumped(raw: object, index: int, depth: int = 0) -> object:
    """What a provider's own library gave as objects, also inside of a message, as plain data; the rest as it is."""
    if isinstance(raw, str | Message) or depth > _DEEPEST:
        return raw
    if isinstance(raw, Mapping):
        changed: dict[str, Any] = {}
        for key in _HOLDERS:
            held = raw.get(key)
            if isinstance(held, list | tuple):
                plain = [_dumped(one, index, depth + 1) for one in held]
                if any(one is not other for one, other in zip(plain, held, strict=True)):
                    changed[key] = plain
        return {**raw, **changed} if changed else raw
    dump = getattr(raw, "model_dump", None)
    if not callable(dump) or any(_packages(raw) & {format.bridge} for format in FORMATS.values()):
        return raw
    try:
        return dump(mode="json", exclude_none=True)
    except (TypeError, ValueError) as error:
        raise MessageError(f"{_place(0, index)}: {type(raw).__name__} is no plain data: {error}") from error


def _place(start: int, index: int) -> str:
    return f"message {start + index}"


def _runs(raws: Sequence[object], formats: Sequence[Format | None]) -> Iterator[tuple[Format | None, int, list[Any]]]:
    """Stretches of one format each, as plain data: formats may spread one message over several raw ones."""
    start = 0
    for format, run in groupby(zip(formats, raws, strict=True), key=itemgetter(0)):
        found = [raw for _, raw in run]
        plain = found if format is None or format.bridge is None else _as_data(found, format.bridge, start)
        yield format, start, plain
        start += len(plain)


def _formats_of(raws: Sequence[object], known: Format | None) -> list[Format | None]:
    """The format of each raw message behind those of a known format; None for messages of our own.

    What says no more than a role and a text could be of several formats: it goes with what stands before it, or else
    with what comes next, if that is written with roles too. Instructions before all else are a system prompt.
    """
    formats: list[Format | None] = []
    unclear: list[int] = []
    last = known
    for index, raw in enumerate(raws):
        format = None if isinstance(raw, Message) else _format_of(raw, last, index)
        if format is None and not isinstance(raw, Message):
            unclear.append(index)
        elif format is not None:
            if format in _WITH_ROLES and last is not format:
                for waiting in unclear:
                    formats[waiting] = _resolved(raws, waiting, format)
                unclear.clear()
            last = format
        formats.append(format)
    for waiting in unclear:
        formats[waiting] = _UNCLEAR
    return formats


def _resolved(raws: Sequence[object], index: int, format: Format) -> Format:
    """The format of an unclear message before one of a known format with roles."""
    raw = raws[index]
    if _has_role(raw):
        return format
    is_first = all(isinstance(one, Mapping) and one.get("role") == "system" for one in raws[:index])
    is_said = _is_instruction(raw) and (format is RESPONSES or (format is ANTHROPIC and not is_first))
    return format if is_said else OPENAI


def _format_of(raw: object, last: Format | None, index: int) -> Format | None:
    """The format of a raw message behind one of format `last`; None if there are several that it could have."""
    if not isinstance(raw, Mapping):
        return _format_of_object(raw, index)
    if last is not None and last.recognises(raw):
        return last
    if last in _WITH_ROLES and (_is_common(raw) or _is_instruction(raw)):
        return last
    found = _told_apart(raw)
    if found is None and last in _WITH_ROLES and _has_role(raw):
        return last
    # An item of a type that nobody knows goes with those before it.
    return last if found is None and last is RESPONSES and _is_item(raw) else found


def _told_apart(raw: Mapping[str, Any]) -> Format | None:
    """The format that a raw message can only be of, asked of the most telling first; None if there are several."""
    return next((format for format in _TELLING if format.recognises(raw)), None)


def _is_instruction(raw: object) -> bool:
    """Whether a message is a system's that several formats write alike."""
    return isinstance(raw, Mapping) and raw.get("role") == "system" and isinstance(raw.get("content"), str | list)


def _is_item(raw: Mapping[str, Any]) -> bool:
    return isinstance(raw.get("type"), str) and not {"role", "data", "parts", "kind"} & raw.keys()


def _has_role(raw: object) -> bool:
    return isinstance(raw, Mapping) and raw.get("role") in ("user", "assistant")


def _format_of_object(raw: object, index: int) -> Format:
    packages = _packages(raw)
    for format in FORMATS.values():
        name = format.bridge
        # Only a framework whose object this can be is imported.
        if name in packages and _bridge(name).recognises(raw):
            return format
    raise MessageError(f"message {index}: expected a mapping with `role`, got {type(raw).__name__}")


def _packages(raw: object) -> set[str | None]:
    """The packages that an object's classes come from, spelt as bridges are: `langchain_core` is "langchain"."""
    tops = (base.__module__.partition(".")[0] for base in type(raw).__mro__)
    return {top.removesuffix("_core").replace("_", "-") for top in tops}


def _as_data(raws: Sequence[object], bridge: str, start: int) -> list[Any]:
    """Messages of which some are a framework's objects, as plain data."""
    plain: list[Any] = []
    for index, raw in enumerate(raws, start):
        try:
            plain += [raw] if isinstance(raw, Mapping) else _bridge(bridge).to_data([raw])
        except MessageError as error:
            raise MessageError(f"{_place(0, index)}: {error}") from error
    return plain


@cache
def _bridge(name: str) -> Bridge:
    # Not on top: it takes longer to import than all formats, and plain data never needs it.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found = tuple(entry_points(group=_BRIDGES, name=name))
    if not found:
        raise ConfigError(f"no bridge to {name!r} is installed; `pip install 'foveate[{name}]'` brings it")
    try:
        bridge: Bridge = found[0].load()
    except ImportError as error:
        raise ConfigError(
            f"{error.name or name!r} is not installed; `pip install 'foveate[{name}]'` brings it"
        ) from error
    return bridge
