"""OpenHands V0: histories of events, one run per line (`output.jsonl`), or one history as a JSON document.

- A run is a session, called by its `instance_id`, else `<file>/<number>`.
- Actions of one response of the model are one message. Without the response, the action is a call by its own name.
- Observations are results of the action they name as `cause`, or else of the last one that has none.
- What the program adds for the model (recalled knowledge, errors without a call) is a user message with `program` in
  its meta. A condensation is a compaction. Changes of state are no messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.importers.completions import outcome, program_message, response_of, tag, tags_in, tools_in, usage_in
from foveate.importers.decoding import name_in, object_in
from foveate.importers.entries import Compaction, Entry, Oddity, Opening, Spoken, Usage, answered
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Record, Recorded, moment
from foveate.importers.shape import is_lines
from foveate.log.messages import Media, Message, Part, Text, ToolCall, ToolResult
from foveate.log.text import encodable
from foveate.wire.fields import arguments_text

NAME: Final = "openhands"
_SILENT_ACTIONS: Final = ("recall", "change_agent_state", "condensation_request", "null", "pause", "resume", "stop")
_SILENT_OBSERVATIONS: Final = ("agent_state_changed", "null", "loop_detection")
_SAYING: Final = ("message", "finish", "think", "reject")
# What an action carries besides the arguments of its tool.
_OWN_FIELDS: Final = (
    "action",
    "thought",
    "is_confirmed",
    "confirmation_state",
    "action_risk",
    "security_risk",
    "keep_prompt",
    "kernel_init_code",
    "blocking",
    "hidden",
    "id",
    "source",
    "timestamp",
    "message",
    "llm_metrics",
)


def recognises(head: Head) -> bool:
    """Whether a log holds histories of OpenHands V0."""
    match head.document:
        case {"history": [_, *_] as history}:
            return _is_history(history)
        case [_, *_] as history:
            return _is_history(history)
        case _:
            runs = head.records
            return bool(runs) and all(_is_history(run.get("history")) for run in runs)


def read(log: Recorded) -> Iterator[Entry]:
    """The sessions of the runs."""
    names: set[str] = set()
    for number, (line, run) in enumerate(_runs(log), start=1):
        history = run.get("history")
        if not isinstance(history, list):
            log.skip(line, f"run {number}: expected a list `history`, got {type(history).__name__}")
            continue
        name = tag(run.get("instance_id")) or (f"{log.stem}/{number}" if line else log.stem)
        session = name if name not in names else f"{name}-{number}"
        names.add(session)
        yield from _Run(log, session, line, run).entries(history)


OPENHANDS: Final = Importer(
    name=NAME, title="OpenHands V0 histories (output.jsonl, .json)", recognises=recognises, read=read
)


def _is_history(history: object) -> bool:
    if not isinstance(history, list) or not history:
        return False
    events = history[0] if isinstance(history[0], list) else history
    return bool(events) and all(
        isinstance(event, dict)
        and (isinstance(event.get("action"), str) or isinstance(event.get("observation"), str))
        and not isinstance(event.get("role"), str)
        for event in events[:20]
    )


def _runs(log: Recorded) -> Iterator[tuple[int, Record]]:
    """The runs with their lines; a single history has none."""
    if is_lines(log):
        yield from log.records()
        return
    document = log.document()
    yield 0, document if isinstance(document, dict) else {"history": document}


@dataclass(slots=True)
class _Run:
    """One run as its events come by."""

    log: Recorded
    session: str
    line: int
    run: Record
    # The ids of calls by the id of their action, the calls without a result, and those that were said by response.
    calls: dict[Any, str] = field(default_factory=dict)
    waiting: dict[str, None] = field(default_factory=dict)
    said: set[tuple[str, str]] = field(default_factory=set)
    usages: dict[str, Usage] = field(default_factory=dict)
    number: int = 0
    begun: bool = False

    def entries(self, history: list[Any]) -> Iterator[Entry]:
        self.usages = _usages(self.run)
        yield self._opening()
        for event in _events(history):
            self.number += 1
            match event:
                case {"action": str() as action}:
                    yield from self._action(action, event)
                case {"observation": str() as observation}:
                    yield from self._observation(observation, event)
                case _:
                    self._skip(f"expected an object with `action` or `observation`, got {event!r:.80}")
        cost = tags_in(object_in(self.run, "metrics"), "accumulated_cost")
        yield from outcome(self.session, tags_in(self.run, "success", "error"), cost)

    def _opening(self) -> Opening:
        metadata = object_in(self.run, "metadata")
        tags = {
            **tags_in(self.run, "instance_id"),
            **tags_in(metadata, "agent_class", "dataset"),
        }
        return Opening(session=self.session, model=name_in(object_in(metadata, "llm_config"), "model"), tags=tags)

    def _action(self, action: str, event: Record) -> Iterator[Entry]:
        fields = _fields(event, "args")
        if action == "system":
            tools = tools_in(self.log, fields.get("tools"), self.line)
            yield Opening(session=self.session, system=name_in(fields, "content"), tools=tools)
        elif action == "condensation":
            yield self._condensed(fields, event)
        elif isinstance(event.get("tool_call_metadata"), dict):
            yield from self._called(event, event["tool_call_metadata"])
        elif action in _SILENT_ACTIONS:
            return
        elif _is_users(action, event, fields, first=not self.begun):
            yield from self._from_user(event, fields)
        elif action in _SAYING:
            text = next((text for key in ("content", "final_thought", "thought") if (text := name_in(fields, key))), "")
            if text:
                yield self._spoken(_said("assistant", text), event)
        else:
            yield from self._named(action, f"call-{self.number}", event)

    def _called(self, event: Record, metadata: Record) -> Iterator[Entry]:
        """The response that an action came from, at its first action."""
        call_id, name = name_in(metadata, "tool_call_id"), name_in(metadata, "function_name")
        if call_id is None or name is None:
            self._skip("`tool_call_metadata` has no `tool_call_id` or no `function_name`")
            return
        self._wait(call_id, event)
        response = object_in(metadata, "model_response")
        response_id = name_in(response, "id") or ""
        if (response_id, call_id) in self.said:
            return
        message = response_of(self.log, response, self.line)
        if message is None or all(call.id != call_id for call in message.calls):
            yield from self._named(name, call_id, event)
            return
        if response_id:
            self.said.update((response_id, call.id) for call in message.calls)
        yield self._spoken(answered(message, usage=self.usages.get(response_id)), event)

    def _named(self, name: str, call_id: str, event: Record) -> Iterator[Entry]:
        """An action as a call of a tool by its name."""
        fields = _fields(event, "args")
        thought = name_in(fields, "thought")
        said: list[Part] = [Text(text=thought)] if thought is not None else []
        values = {key: value for key, value in fields.items() if key not in _OWN_FIELDS and value is not None}
        try:
            arguments = arguments_text(values, "`args`")
        except MessageError as error:
            self._skip(str(error))
            return
        self._wait(call_id, event)
        call = ToolCall(id=call_id, name=encodable(name), arguments=arguments)
        yield self._spoken(Message(id="", role="assistant", parts=(*said, call)), event)

    def _wait(self, call_id: str, event: Record) -> None:
        self.waiting[call_id] = None
        if isinstance(event.get("id"), int | str):
            self.calls[event["id"]] = call_id

    def _from_user(self, event: Record, fields: Record) -> Iterator[Entry]:
        text = name_in(fields, "content") or name_in(fields, "command") or name_in(event, "message") or ""
        urls = fields.get("image_urls") or fields.get("images_urls")
        images = [
            Media(kind="image", reference=encodable(url))
            for url in (urls if isinstance(urls, list) else ())
            if isinstance(url, str)
        ]
        if text or images:
            message = _said("user", text)
            yield self._spoken(msgspec.structs.replace(message, parts=(*message.parts, *images)), event)

    def _observation(self, observation: str, event: Record) -> Iterator[Entry]:
        text = event.get("content")
        text = encodable(text) if isinstance(text, str) else ""
        call_id = self._answers(event)
        if observation in _SILENT_OBSERVATIONS:
            return
        if observation == "agent_condensation":
            yield Compaction(session=self.session, text=text, time=moment(event.get("timestamp")), line=self.line)
        elif observation == "recall" and call_id is None:
            knowledge = "\n\n".join(_recalled(_fields(event, "extras")))
            if knowledge:
                yield self._spoken(program_message(knowledge), event)
        elif call_id is not None:
            yield self._spoken(_result(call_id, text, event, failed=observation in ("error", "user_rejected")), event)
        elif text:
            yield self._spoken(program_message(text), event)

    def _answers(self, event: Record) -> str | None:
        """The call that an observation answers."""
        call_id = name_in(object_in(event, "tool_call_metadata"), "tool_call_id")
        cause = event.get("cause")
        if call_id is None and isinstance(cause, int | str) and cause != -1:
            call_id = self.calls.get(cause)
        elif call_id is None and "id" not in event and self.waiting:
            # Only histories without ids say nothing of causes; there the order is all there is.
            call_id = next(reversed(self.waiting))
        if call_id is not None:
            self.waiting.pop(call_id, None)
        return call_id

    def _condensed(self, fields: Record, event: Record) -> Entry:
        time, summary = moment(event.get("timestamp")), name_in(fields, "summary")
        if summary is not None:
            return Compaction(session=self.session, text=summary, time=time, line=self.line)
        text = "the agent left out earlier events without a summary"
        return Oddity(session=self.session, code="forgotten", text=text, time=time, line=self.line)

    def _spoken(self, message: Message, event: Record) -> Spoken:
        self.begun = True
        return Spoken(session=self.session, message=message, time=moment(event.get("timestamp")), line=self.line)

    def _skip(self, reason: str) -> None:
        self.log.skip(self.line, f"event {self.number}: {reason}")


def _events(history: list[Any]) -> Iterator[Any]:
    """The events one by one; older histories have pairs of an action and its observation."""
    for event in history:
        if isinstance(event, list):
            yield from event
        else:
            yield event


def _fields(event: Record, key: str) -> Record:
    """What an event carries; in older histories that stands in the event itself."""
    return object_in(event, key) if isinstance(event.get(key), dict) else event


def _is_users(action: str, event: Record, fields: Record, *, first: bool) -> bool:
    source = event.get("source")
    if source is not None:
        return bool(source == "user")
    # Histories without sources: the agent's messages wait for a response, the task comes first.
    return action == "message" and (first or fields.get("wait_for_response") is not True)


def _said(role: Any, text: str) -> Message:
    return Message(id="", role=role, parts=(Text(text=encodable(text)),) if text else ())


def _result(call_id: str, text: str, event: Record, *, failed: bool) -> Message:
    extra = {"is_error": True} if failed or event.get("success") is False else {}
    return Message(id="", role="tool", parts=(ToolResult(call_id=call_id, text=text),), extra=extra)


def _recalled(extras: Record) -> Iterator[str]:
    """The texts that a recall put before the model."""
    for key in ("repo_instructions", "additional_agent_instructions", "conversation_instructions"):
        text = name_in(extras, key)
        if text is not None:
            yield text
    knowledge = extras.get("microagent_knowledge")
    for one in knowledge if isinstance(knowledge, list) else ():
        text = name_in(one, "content") if isinstance(one, dict) else None
        if text is not None:
            yield text


def _usages(run: Record) -> dict[str, Usage]:
    """What the metrics of a run say of each response."""
    counted = object_in(run, "metrics").get("token_usages")
    found: dict[str, Usage] = {}
    for one in counted if isinstance(counted, list) else ():
        usage, response_id = usage_in(one), name_in(one, "response_id") if isinstance(one, dict) else None
        if usage is not None and response_id is not None:
            found[response_id] = usage
    return found
