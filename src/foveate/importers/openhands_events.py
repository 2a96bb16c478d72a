"""OpenHands V1: the events of a conversation, as a JSON list, JSON lines, or a folder with one file per event.

- Actions with the same `llm_response_id` are one message, also if results came between them; the results follow it.
- The knowledge that a message was extended with for the model is part of that message.
- A rejected action and an error of the agent are results that failed; without a call they are messages of the program.
- A condensation with a summary is a compaction. Other kinds (state updates, pauses) are no messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.importers.completions import program_message, thoughts, tools_in
from foveate.importers.decoding import name_in, object_in
from foveate.importers.entries import Compaction, Entry, Oddity, Opening, Spoken, answered
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Record, Recorded, moment
from foveate.importers.shape import is_lines
from foveate.log.messages import Media, Message, Part, Text, ToolCall, ToolResult
from foveate.log.text import encodable
from foveate.wire.fields import arguments_text

NAME: Final = "openhands-events"
_KINDS: Final = (
    "SystemPromptEvent",
    "MessageEvent",
    "ActionEvent",
    "ObservationEvent",
    "AgentErrorEvent",
    "Condensation",
)
_LOOKED_AT: Final = 20
_FILES: Final = "event-*.json"


def recognises(head: Head) -> bool:
    """Whether a log holds events of OpenHands V1."""
    document = head.document
    events = _listed(document) if not isinstance(document, dict) or "kind" not in document else [document]
    found = (events or list(head.records))[:_LOOKED_AT]
    return all(_is_event(event) for event in found) and any(event["kind"] in _KINDS for event in found)


def event_files(files: Iterable[Path]) -> list[Path] | None:
    """The files of a folder that keeps one event in each, in their order; None for any other folder."""
    return sorted(path for path in files if path.match(_FILES)) or None


def read(log: Recorded) -> Iterator[Entry]:
    """The session of a conversation."""
    conversation = _Conversation(log, log.stem)
    yield Opening(session=conversation.session)
    for line, event in _events(log):
        yield from conversation.take(line, event)
    yield from conversation.close()


OPENHANDS_EVENTS: Final = Importer(
    name=NAME, title="OpenHands V1 events (a folder of event-*.json, .json, .jsonl)", recognises=recognises, read=read
)


def _is_event(event: object) -> bool:
    match event:
        case {"kind": str(), "id": str(), "source": str()}:
            return True
        case _:
            return False


def _listed(document: object) -> list[Any]:
    match document:
        case list():
            return document
        case {"events": list() as events}:
            return events
        case _:
            return []


def _events(log: Recorded) -> Iterator[tuple[int, Record]]:
    values = log.records() if is_lines(log) else iter([(0, log.document())])
    for line, value in values:
        events = [value] if isinstance(value, dict) and "kind" in value else _listed(value)
        if not events and value != []:
            log.skip(line, f"expected an event with `kind` or a list of such, got {value!r:.80}")
        for event in events:
            if isinstance(event, dict):
                yield line, event
            else:
                log.skip(line, f"expected an object with `kind`, got {event!r:.80}")


@dataclass(slots=True)
class _Response:
    """A response whose actions may not all have come yet, with the results that came meanwhile."""

    id: str
    message: Message
    time: float | None
    line: int
    results: list[Spoken] = field(default_factory=list)


@dataclass(slots=True)
class _Conversation:
    """One conversation as its events come by."""

    log: Recorded
    session: str
    response: _Response | None = None

    def take(self, line: int, event: Record) -> Iterator[Entry]:
        match event.get("kind"):
            case "ActionEvent":
                yield from self._action(line, event)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation" as kind:
                yield from self._result(line, event, failed=kind != "ObservationEvent")
            case "MessageEvent":
                yield from self.close()
                yield from self._message(line, event)
            case "SystemPromptEvent":
                yield from self.close()
                system = _text([*_blocks(event.get("system_prompt")), *_blocks(event.get("dynamic_context"))]) or None
                yield Opening(session=self.session, system=system, tools=self._tools(line, event))
            case "Condensation":
                yield from self.close()
                yield self._condensed(line, event)
            case "ConversationErrorEvent":
                yield from self.close()
                text = name_in(event, "detail") or name_in(event, "code") or "the conversation failed"
                time = moment(event.get("timestamp"))
                yield Oddity(session=self.session, code="conversation_error", text=text, time=time, line=line)
            case str():
                return
            case other:
                self.log.skip(line, f"an event needs a `kind`, got {other!r:.80}")

    def close(self) -> Iterator[Entry]:
        """The response that is complete now, and the results of its calls."""
        response, self.response = self.response, None
        if response is not None:
            yield Spoken(session=self.session, message=response.message, time=response.time, line=response.line)
            yield from response.results

    def _action(self, line: int, event: Record) -> Iterator[Entry]:
        call = self._call(line, event)
        if call is None:
            return
        response_id = name_in(event, "llm_response_id") or ""
        if self.response is not None and response_id and self.response.id == response_id:
            said = self.response.message
            # Only the first action of a response has its thought; what others repeat of it is not said twice.
            self.response.message = msgspec.structs.replace(said, parts=(*said.parts, call))
            return
        yield from self.close()
        thinking = thoughts(self.log, event, line)
        parts = (*thinking, *_blocks(event.get("thought")), call)
        message = answered(Message(id="", role="assistant", parts=parts), response_id=response_id or None)
        self.response = _Response(response_id, message, moment(event.get("timestamp")), line)

    def _call(self, line: int, event: Record) -> ToolCall | None:
        made = object_in(event, "tool_call")
        function = object_in(made, "function") or made
        call_id = name_in(event, "tool_call_id") or name_in(made, "id")
        name = name_in(event, "tool_name") or name_in(function, "name")
        if call_id is None or name is None:
            self.log.skip(line, f"an action needs `tool_call_id` and `tool_name`, got {call_id!r} and {name!r}")
            return None
        arguments = function.get("arguments")
        if arguments is None:
            arguments = {key: value for key, value in object_in(event, "action").items() if key != "kind"}
        try:
            return ToolCall(id=call_id, name=name, arguments=arguments_text(arguments, "`arguments`"))
        except MessageError as error:
            self.log.skip(line, str(error))
            return None

    def _result(self, line: int, event: Record, *, failed: bool) -> Iterator[Entry]:
        observation = object_in(event, "observation")
        parts = _blocks(observation.get("content", observation.get("output"))) or _blocks(event.get("error"))
        reason = name_in(event, "rejection_reason")
        if reason is not None:
            # As OpenHands puts it before the model.
            parts = [Text(text=f"Action rejected: {reason}")]
        parts += _blocks(event.get("extended_content"))
        text = _text(parts)
        media = tuple(part for part in parts if isinstance(part, Media))
        time, call_id = moment(event.get("timestamp")), name_in(event, "tool_call_id")
        if call_id is None:
            yield from self.close()
            yield Spoken(session=self.session, message=program_message(text), time=time, line=line)
            return
        failed = failed or observation.get("is_error") is True
        message = Message(
            id="",
            role="tool",
            parts=(ToolResult(call_id=call_id, text=text, media=media),),
            extra={"is_error": True} if failed else {},
        )
        spoken = Spoken(session=self.session, message=message, time=time, line=line)
        if self.response is None:
            yield spoken
        else:
            self.response.results.append(spoken)

    def _message(self, line: int, event: Record) -> Iterator[Entry]:
        raw = object_in(event, "llm_message")
        role = raw.get("role")
        if role not in ("user", "assistant", "system"):
            self.log.skip(line, f"a message event needs an `llm_message` with a known `role`, got {role!r:.80}")
            return
        thinking = thoughts(self.log, raw, line)
        parts = (*thinking, *_blocks(raw.get("content")), *_blocks(event.get("extended_content")))
        message = answered(Message(id="", role=role, parts=parts), response_id=name_in(event, "llm_response_id"))
        if event.get("source") == "environment":
            message = answered(message, program=True)
        yield Spoken(session=self.session, message=message, time=moment(event.get("timestamp")), line=line)

    def _tools(self, line: int, event: Record) -> tuple[Record, ...]:
        """The tools as a request has them; those that are named by their class alone are left out."""
        tools = event.get("tools")
        wired = [
            tool
            for tool in (tools if isinstance(tools, list) else ())
            if isinstance(tool, dict) and (isinstance(tool.get("function"), dict) or name_in(tool, "name") is not None)
        ]
        return tools_in(self.log, wired, line)

    def _condensed(self, line: int, event: Record) -> Entry:
        time, summary = moment(event.get("timestamp")), name_in(event, "summary")
        if summary is not None:
            return Compaction(session=self.session, text=summary, time=time, line=line)
        forgotten = event.get("forgotten_event_ids")
        count = len(forgotten) if isinstance(forgotten, list) else 0
        text = f"the agent left out {count} earlier events without a summary"
        return Oddity(session=self.session, code="forgotten", text=text, time=time, line=line)


def _blocks(content: object) -> list[Part]:
    """The parts of content: text, or a list of blocks with text and images."""
    parts: list[Part] = []
    for block in content if isinstance(content, list) else [content]:
        match block:
            case str() as text if text:
                parts.append(Text(text=encodable(text)))
            case {"text": str() as text} if text:
                parts.append(Text(text=encodable(text)))
            case {"image_urls": list() as urls}:
                parts += [Media(kind="image", reference=encodable(url)) for url in urls if isinstance(url, str) and url]
            case _:
                continue
    return parts


def _text(parts: list[Part]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))
