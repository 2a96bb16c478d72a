"""Gemini CLI: its session files, one JSON document each.

- What a model says precedes the calls it makes: a recorded message of the model is its thoughts, its text and its
  calls, followed by the results, which the file keeps inside the calls. A call without a result has none here.
- A call with the status `error` is an error, one that was cancelled is interrupted; success says only that the tool
  ran, so it is left to the output.
- Notices of the program (`info`, `error`, `warning`) were not sent to a model: they are oddities.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from foveate.importers.decoding import count_of, name_in, object_in, session_name, shown, tags_of
from foveate.importers.entries import Entry, Oddity, Opening, Spoken, Usage, answered
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Record, Recorded, moment
from foveate.log.messages import Media, Message, MessageMeta, Part, Text, Thinking, ToolCall, ToolResult
from foveate.log.text import encodable

_NOTICES: Final = frozenset({"info", "error", "warning"})


def recognises(head: Head) -> bool:
    """Whether a log is a session of Gemini CLI."""
    match head.document:
        case {"sessionId": str(), "projectHash": str(), "startTime": _, "messages": list()}:
            return True
        case _:
            return False


def read(log: Recorded) -> Iterator[Entry]:
    """The session of a file."""
    document = log.document()
    if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
        log.fail(0, "a session of Gemini CLI is an object with a list of `messages`")
    session = session_name(log, name_in(document, "sessionId"))
    yield Opening(session=session, tags=tags_of(document, project="projectHash"))
    model: str | None = None
    for index, recorded in enumerate(document["messages"]):
        if not isinstance(recorded, dict):
            log.skip(0, f"message {index}: expected an object, got {shown(recorded)}")
            continue
        if recorded.get("type") == "gemini" and name_in(recorded, "model") not in (None, model):
            model = name_in(recorded, "model")
            yield Opening(session=session, model=model)
        yield from _entries(log, session, recorded, f"message {index}")


GEMINI_CLI: Final = Importer(
    name="gemini-cli",
    title="Gemini CLI sessions (~/.gemini/tmp/*/chats, session-*.json)",
    recognises=recognises,
    read=read,
)


def _entries(log: Recorded, session: str, recorded: Record, where: str) -> Iterator[Entry]:
    time = moment(recorded.get("timestamp"))
    match recorded.get("type"):
        case "user":
            parts = _parts(log, recorded.get("content"), where)
            if parts:
                yield Spoken(session=session, message=Message(id="", role="user", parts=tuple(parts)), time=time)
        case "gemini":
            yield from _answer(log, session, recorded, where)
        case str() as kind if kind in _NOTICES:
            text = "\n".join(
                part.text for part in _parts(log, recorded.get("content"), where) if isinstance(part, Text)
            )
            yield Oddity(session=session, code=f"notice_{kind}", text=text, time=time)
        case kind:
            log.skip(0, f"{where}: unknown `type` {shown(kind)}; known are user, gemini, info, error, warning")


def _answer(log: Recorded, session: str, recorded: Record, where: str) -> Iterator[Entry]:
    """A response, and what its calls returned."""
    calls = list(_calls(log, recorded, where))
    parts: list[Part] = [*_thoughts(recorded), *_parts(log, recorded.get("content"), where)]
    parts += [call for call, _, _ in calls]
    if parts:
        message = answered(
            Message(id="", role="assistant", parts=tuple(parts)),
            usage=_usage(object_in(recorded, "tokens")),
            model=name_in(recorded, "model"),
            response_id=name_in(recorded, "id"),
        )
        yield Spoken(session=session, message=message, time=moment(recorded.get("timestamp")))
    for _, result, time in calls:
        if result is not None:
            yield Spoken(session=session, message=result, time=time)


def _thoughts(recorded: Record) -> list[Thinking]:
    thoughts = recorded.get("thoughts")
    if not isinstance(thoughts, list):
        return []
    texts = [_thought(thought) for thought in thoughts if isinstance(thought, dict)]
    return [Thinking(text=text) for text in texts if text]


def _thought(thought: Record) -> str:
    return "\n".join(text for text in (name_in(thought, "subject"), name_in(thought, "description")) if text)


def _calls(log: Recorded, recorded: Record, where: str) -> Iterator[tuple[ToolCall, Message | None, float | None]]:
    """The calls of a response, each with its result if it has one, and when that came."""
    calls = recorded.get("toolCalls", [])
    if not isinstance(calls, list):
        log.skip(0, f"{where}: `toolCalls` must be a list, got {shown(calls)}")
        return
    for index, call in enumerate(calls):
        place = f"{where}, call {index}"
        if not isinstance(call, dict):
            log.skip(0, f"{place}: expected an object, got {shown(call)}")
            continue
        id, name = name_in(call, "id"), name_in(call, "name")
        if id is None or name is None:
            log.skip(0, f"{place}: a call has an `id` and a `name`, got {shown(id)} and {shown(name)}")
            continue
        arguments = _json(call.get("args", {}))
        if arguments is None:
            log.skip(0, f"{place}: `args` is nested too deeply")
            continue
        result = _result(log, id, call, place)
        yield ToolCall(id=id, name=name, arguments=arguments), result, moment(call.get("timestamp"))


def _result(log: Recorded, call_id: str, call: Record, where: str) -> Message | None:
    given = call.get("result")
    if given is None:
        return None
    parts = _parts(log, given, where)
    texts = [part.text for part in parts if isinstance(part, Text)]
    media = tuple(part for part in parts if isinstance(part, Media))
    status = call.get("status")
    return Message(
        id="",
        role="tool",
        parts=(ToolResult(call_id=call_id, text="\n".join(texts), media=media),),
        meta=MessageMeta(outcome="interrupted" if status == "cancelled" else None),
        extra={"is_error": True} if status == "error" else {},
    )


def _parts(log: Recorded, content: object, where: str) -> list[Text | Media]:
    """What is in a text, a part of Gemini's, or a list of them."""
    if content is None or content == "":
        return []
    parts: list[Text | Media] = []
    for given in content if isinstance(content, list) else [content]:
        part = _part({"text": given} if isinstance(given, str) else given)
        if part is None:
            log.skip(0, f"{where}: content must be text or parts that can be read, got {shown(given)}")
        else:
            parts.append(part)
    return parts


def _part(part: object) -> Text | Media | None:
    match part:
        case {"text": str() as text}:
            return Text(text=encodable(text))
        case {"functionResponse": {"response": dict() as response}}:
            return _readable(response)
        case {"inlineData": {"data": str() as content, "mimeType": str() as kind}}:
            return _media(kind, f"data:{kind};base64,{content}")
        case {"fileData": {"fileUri": str() as address} as file}:
            return _media(name_in(file, "mimeType"), address)
        case dict():
            return _as_json(part)
        case _:
            return None


def _readable(response: Record) -> Text | None:
    """The words of a result: its output or its error, or all of it as JSON."""
    match response:
        case {"output": str() as text, **others} | {"error": str() as text, **others} if not others:
            return Text(text=encodable(text))
        case _:
            return _as_json(response)


def _media(media_type: str | None, reference: str) -> Media:
    kind = (media_type or "").partition("/")[0]
    known = None if media_type is None else encodable(media_type)
    match kind:
        case "image" | "audio":
            return Media(kind=kind, reference=encodable(reference), media_type=known)
        case _:
            return Media(kind="file", reference=encodable(reference), media_type=known)


def _as_json(value: Record) -> Text | None:
    text = _json(value)
    return None if text is None else Text(text=text)


def _json(value: Any) -> str | None:
    try:
        return encodable(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return None


def _usage(tokens: Record) -> Usage | None:
    """What was counted: thoughts are paid as output, and what tools put into the request as input."""
    asked = count_of(tokens.get("input"))
    if asked is None:
        return None
    said = count_of(tokens.get("output"))
    return Usage(
        input_tokens=asked + (count_of(tokens.get("tool")) or 0),
        cached_tokens=count_of(tokens.get("cached")),
        output_tokens=None if said is None else said + (count_of(tokens.get("thoughts")) or 0),
    )
