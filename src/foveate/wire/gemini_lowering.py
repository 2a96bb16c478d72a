"""A request by the rules of Gemini, ready to send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from foveate.log.messages import (
    Media,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    fields_of,
    has_content,
)
from foveate.wire.answer_format import answer_format
from foveate.wire.attachments import fetched, held, left_out, takes, type_of
from foveate.wire.data_uri import is_base64, kind_of
from foveate.wire.format import OPENING, Request, framed_as_system, opening_of_nothing
from foveate.wire.gemini import is_original, shell_of
from foveate.wire.gemini_originals import in_camel_case, part_as_it_came, parts_behind, response_as_it_came
from foveate.wire.gemini_parts import NAME, RUN, call_of, echo_of, given_id, part_of, response_of, signature_of
from foveate.wire.names import ANY, GEMINI_NAMES, spelling
from foveate.wire.opaque import without_alien
from foveate.wire.originals import follows_in_log
from foveate.wire.tools import gemini_tools

KINDS: Final = ("text", "functionCall", "functionResponse", "inlineData", "fileData", *RUN)
"""What a part may be; it is one of these or something that is not known here."""
UNSIGNED: Final = "skip_thought_signature_validator"
"""What the provider takes for the signature of a call that it did not make itself."""


def lower(request: Request) -> dict[str, Any]:
    """The keywords of a call: `contents`, `systemInstruction`, `tools`, `generationConfig`.

    A content that came from this format and was not reduced is sent as it came, up to what would be refused. Of all
    else, system messages before all others join the instruction, and later ones become user text in a frame that names
    the system. Thoughts are sent only with their signature. Where a content has calls, newer models want the first of
    them signed: one that has no signature gets the placeholder that is documented for this, wherever it stands, so that
    the bytes of a content stay the same as the conversation goes on.
    """
    lowering = _lowering(request)
    messages = without_alien(request.messages, NAME)
    leading = next((at for at, one in enumerate(messages) if one.role != "system"), len(messages))
    rest = messages[leading:]
    if request.wire > 1:
        rest = [one if is_original(one) else framed_as_system(one) for one in rest]
    contents = _contents(rest, lowering)
    # An original that the model begins is the client's to send.
    if not contents or (contents[0].role == "model" and contents[0].original is None):
        opening = OPENING if contents else opening_of_nothing(request, "Gemini")
        contents.insert(0, _Content("user", [{"text": opening}]))
    tools = gemini_tools(request.tools, lowering.names, anew=request.wire == 1)
    system = _instruction(request, [_prompt(message) for message in messages[:leading]])
    return {
        "contents": [content.as_sent() for content in contents],
        **({"systemInstruction": system} if system else {}),
        **({"tools": tools} if tools else {}),
        **_config(request.response_format),
    }


def _instruction(request: Request, prompts: list[str]) -> dict[str, Any] | None:
    """The system prompt: as it was given, or its texts as parts."""
    given = request.forms.get(NAME)
    more = [{"text": text} for text in prompts if text.strip()]
    if isinstance(given, dict):
        return {**given, "parts": [*given.get("parts", ()), *more]} if more else dict(given)
    said = [{"text": request.system}, *more] if request.system and request.system.strip() else more
    return {"parts": said} if said else None


@dataclass(frozen=True, slots=True)
class _Content:
    """A content to be sent; `original` is the message that it came with, None where Foveate writes it."""

    role: str
    parts: list[dict[str, Any]]
    original: Message | None = None

    @property
    def takes_responses(self) -> bool:
        """Whether further responses may join."""
        return self._responses > 0

    def add_responses(self, parts: list[dict[str, Any]], *, as_they_came: bool) -> None:
        """Add responses: behind media if they came so, but before words, behind which the provider refuses them."""
        if as_they_came and not any("text" in part for part in self.parts):
            self.parts.extend(parts)
            return
        responses = self._responses
        self.parts[responses:responses] = [part for part in parts if "functionResponse" in part]
        self.parts.extend(part for part in parts if "functionResponse" not in part)

    @property
    def _responses(self) -> int:
        """How many responses the content begins with."""
        return next((at for at, part in enumerate(self.parts) if "functionResponse" not in part), len(self.parts))

    def as_sent(self) -> dict[str, Any]:
        """The content in its form."""
        if self.original is None:
            return _signed({"role": self.role, "parts": self.parts})
        return shell_of(self.original, self.parts)


def _contents(messages: list[Message], lowering: _Lowering) -> list[_Content]:
    contents: list[_Content] = []
    before: Message | None = None
    # The calls of an original, whose responses are sent where they stand.
    asked: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            asked = _asked(message, lowering)
        if message.result is not None and message.result.call_id in asked:
            _answer(contents, before, message, lowering)
        elif message.result is None and is_original(message) and (asked or not message.calls):
            parts = _original_parts(message, lowering)
            if contents and contents[-1].original is not None and _came_together(before, message):
                contents[-1].parts.extend(parts)
            elif parts:
                contents.append(_Content("model" if message.role == "assistant" else "user", parts, message))
        else:
            for role, parts in _turns(message, lowering):
                _say(contents, role, parts)
        before = message
    return [content for content in contents if content.parts]


def _asked(message: Message, lowering: _Lowering) -> set[str]:
    """The calls of an original if each is answered: what is not would be refused, and has to be written anew."""
    ids = [call.id for call in message.calls]
    fits = is_original(message) and len({*ids}) == len(ids) and all(call_id in lowering.answers for call_id in ids)
    return {*ids} if fits else set()


def _say(contents: list[_Content], role: str, parts: list[dict[str, Any]]) -> None:
    """Add parts that Foveate writes: to what it wrote before, if that has the same role."""
    if parts and contents and contents[-1].role == role and contents[-1].original is None:
        contents[-1].parts.extend(parts)
    elif parts:
        contents.append(_Content(role, parts))


def _answer(contents: list[_Content], before: Message | None, message: Message, lowering: _Lowering) -> None:
    """Add the response to a call of an original; all of an exchange stand in one content, unless they came apart."""
    original = is_original(message)
    parts = _original_parts(message, lowering) if original else _response_parts(message, lowering)
    last = contents[-1] if contents and contents[-1].role == "user" else None
    apart = last is None or (original and last.original is not None and not _came_together(before, message))
    if last is not None and not apart and last.takes_responses:
        last.add_responses(parts, as_they_came=original and last.original is not None)
        return
    contents.append(_Content("user", parts, message if original else None))


def _came_together(before: Message | None, message: Message) -> bool:
    """Whether a message came in one content with the message before it."""
    kept = fields_of(message.extra, NAME)
    return before is not None and kept.get("continues") is True and follows_in_log(before, message, kept.get("form"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lowering:
    """What is known of the whole request: tool messages by the call they answer, and the names to send."""

    answers: Mapping[str, Message]
    calls: Mapping[str, ToolCall]
    names: Mapping[str, str]


def _lowering(request: Request) -> _Lowering:
    return _Lowering(
        answers={message.result.call_id: message for message in request.messages if message.result is not None},
        calls={call.id: call for message in request.messages for call in message.calls},
        names=spelling(request, names=GEMINI_NAMES, ids=ANY).names,
    )


def _prompt(message: Message) -> str:
    """What a message says as part of the instruction, which is text alone."""
    shown = [part for part in message.parts if isinstance(part, Text | Media)]
    return "\n".join(left_out(part) if isinstance(part, Media) else part.text for part in shown)


def _config(response_format: dict[str, Any] | None) -> dict[str, Any]:
    asked = answer_format(response_format)
    if asked is None:
        return {}
    schema = {} if asked.schema is None else {"responseJsonSchema": asked.schema}
    return {"generationConfig": {"responseMimeType": "application/json", **schema}}


def _turns(message: Message, lowering: _Lowering) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What a message says, by role; calls are followed by their responses, in the order of the calls."""
    # A result is said with its call; a message that only thinks says nothing.
    if message.result is not None or not any(map(has_content, message.parts)):
        return
    if message.role != "assistant":
        yield "user", [part for one in message.parts if (part := _told(one)) is not None]
        return
    answered = [call for call in message.calls if call.id in lowering.answers]
    yield "model", [part for one in message.parts if (part := _said(one, answered, lowering)) is not None]
    yield "user", [_response(call, lowering.answers[call.id], lowering) for call in answered]
    # Media stand behind all responses: the provider wants as many responses as calls before anything else.
    yield "user", [media for call in answered for media in _attached(lowering.answers[call.id])]


def _said(part: Part, answered: list[ToolCall], lowering: _Lowering) -> dict[str, Any] | None:
    signed = signature_of(fields_of(part.extra, NAME).get("part", {}))
    if (echo := echo_of(part)) is not None:
        return echo
    match part:
        case Thinking(text=text):
            return {"text": text, "thought": True, **signed} if signed else None
        case Text(text=text):
            return {"text": text, **signed} if text.strip() else None
        case ToolCall() if part in answered:
            call = call_of(part, is_named=_is_named(part), name=lowering.names[part.name])
            return {"functionCall": call, **signed}
        case Media():
            return {**_media(part), **signed}
        case Opaque(raw=raw):
            return dict(raw)
        case _:
            return None


def _original_parts(message: Message, lowering: _Lowering) -> list[dict[str, Any]]:
    """The parts of an original as they came, but for those that would be refused."""
    role = message.role
    result = message.result
    if result is not None:
        failed = message.extra.get("is_error") is True
        part = in_camel_case(response_as_it_came(result, None, failed=failed))
        name = lowering.names[lowering.calls[result.call_id].name] if result.call_id in lowering.calls else None
        inner = part.get("functionResponse")
        if not isinstance(inner, dict) or not all(is_acceptable(part_of(one) or {}) for one in result.attachments):
            return _response_parts(message, lowering)
        return [_renamed(one, name or inner["name"]) for one in (part, *_behind(result))]
    parts: list[dict[str, Any]] = []
    for one in message.parts:
        raw = part_as_it_came(one, role)
        if raw is not None and isinstance(one, Opaque) and (raw := _repeated(raw, lowering)) is None:
            continue
        if raw is not None and is_acceptable(raw):
            if isinstance(one, ToolCall):
                raw = {**raw, "functionCall": {**raw["functionCall"], "name": lowering.names[one.name]}}
            parts.append(raw)
        elif (made := _said(one, [*message.calls], lowering) if role == "assistant" else _told(one)) is not None:
            parts.append(made)
    return parts


def _behind(result: ToolResult) -> list[dict[str, Any]]:
    return [in_camel_case(raw) for _, raw in parts_behind(result)]


def _renamed(part: dict[str, Any], name: str) -> dict[str, Any]:
    """A part with its response, if it is one, under the name that its call is sent with."""
    response = part.get("functionResponse")
    return {**part, "functionResponse": {**response, "name": name}} if isinstance(response, Mapping) else part


def _repeated(raw: dict[str, Any], lowering: _Lowering) -> dict[str, Any] | None:
    """An opaque part; None for a response that comes again and whose first is not sent as it came: it is refused."""
    inner = raw.get("functionResponse", raw.get("function_response"))
    if not isinstance(inner, Mapping):
        return raw
    call_id = given_id(inner) or ""
    answer, call = lowering.answers.get(call_id), lowering.calls.get(call_id)
    if answer is None or call is None or not is_original(answer):
        return None
    return _renamed(in_camel_case(raw), lowering.names[call.name])


def is_acceptable(raw: Mapping[str, Any]) -> bool:
    """Whether Gemini takes a part as far as one can tell; what nobody knows is taken."""
    kinds = [kind for kind in KINDS if kind in raw]
    match raw:
        case _ if len(kinds) > 1:
            return False
        case {"text": text}:
            return isinstance(text, str) and bool(text.strip() or raw.get("thoughtSignature"))
        case {"inlineData": {"mimeType": str() as media_type, "data": str() as data}}:
            return takes(NAME, kind_of(media_type), media_type) and bool(data) and is_base64(data)
        case {"fileData": {"fileUri": str() as uri}}:
            media_type = raw["fileData"].get("mimeType", "text/plain")
            return bool(uri) and isinstance(media_type, str) and takes(NAME, kind_of(media_type), media_type)
        case {"functionCall": {"args": args}}:
            return isinstance(args, Mapping)
        case {"inlineData": _} | {"fileData": _}:
            return False
        case _:
            # Nobody writes the wire in snake case but for libraries.
            return not any("_" in key for key in raw)


def _response_parts(message: Message, lowering: _Lowering) -> list[dict[str, Any]]:
    """The response of a message as Foveate writes it, and its media."""
    result = message.result
    call = lowering.calls.get(result.call_id) if result is not None else None
    return [] if call is None else [_response(call, message, lowering), *_attached(message)]


def _told(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text):
            return {"text": text} if text.strip() else None
        case Media():
            return _media(part)
        case Opaque(raw=raw):
            return dict(raw)
        case _:
            return None


def _signed(content: dict[str, Any]) -> dict[str, Any]:
    """A content whose first call is signed, if it has calls."""
    at = next((at for at, part in enumerate(content["parts"]) if "functionCall" in part), None)
    if at is None or "thoughtSignature" in content["parts"][at]:
        return content
    parts = list(content["parts"])
    parts[at] = {**parts[at], "thoughtSignature": UNSIGNED}
    return {**content, "parts": parts}


def _is_named(call: ToolCall) -> bool:
    return fields_of(call.extra, NAME).get("minted") is False


def _response(call: ToolCall, message: Message, lowering: _Lowering) -> dict[str, Any]:
    result = message.result or ToolResult(call_id=call.id, text="")
    if is_original(message) and all(is_acceptable(part_of(one) or {}) for one in result.attachments):
        part = in_camel_case(response_as_it_came(result, call.name, failed=message.extra.get("is_error") is True))
        return {**part, "functionResponse": {**part["functionResponse"], "name": lowering.names[call.name]}}
    named = {"id": call.id} if _is_named(call) else {}
    response = response_of(result, failed=message.extra.get("is_error") is True)
    return {"functionResponse": {**named, "name": lowering.names[call.name], "response": response}}


def _attached(message: Message) -> list[dict[str, Any]]:
    result = message.result
    if result is None:
        return []
    if is_original(message) and all(is_acceptable(part_of(one) or {}) for one in result.attachments):
        return [in_camel_case(raw) for one, raw in parts_behind(result) if isinstance(one, Media)]
    return [_media(one) for one in result.attachments]


def _media(media: Media) -> dict[str, Any]:
    """Media the provider takes, or words that they were there."""
    if (content := held(NAME, media)) is not None:
        return {"inlineData": {"mimeType": content.media_type, "data": content.content}}
    media_type = type_of(media)
    own = "file" in fields_of(media.extra, NAME)
    if own and (not media_type or takes(NAME, kind_of(media_type), media_type)):
        return {"fileData": {**({"mimeType": media_type} if media_type else {}), "fileUri": media.reference}}
    if media_type and (address := fetched(NAME, media)) is not None:
        return {"fileData": {"mimeType": media_type, "fileUri": address}}
    return {"text": left_out(media)}
