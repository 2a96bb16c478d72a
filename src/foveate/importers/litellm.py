"""LiteLLM logs: the calls that went through LiteLLM, one JSON document or line per call.

A call has all messages before it, so calls that continue each other are one session: of each only what is new is
added, and its response with usage, time and cost. Where a proxy turned tool calls into text, the messages are those
before that (`raw_messages`). The first conversation is called like the log, others `<log>/<number>`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from foveate.importers.completions import framed, messages_of, response_of, tag, tools_in, usage_in
from foveate.importers.decoding import name_in, object_in
from foveate.importers.density import has_more_values
from foveate.importers.entries import Entry, Opening, Spoken, answered
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import DEFAULT_LIMITS, Record, Recorded, moment
from foveate.importers.shape import is_lines
from foveate.log.messages import Media, Message, Text

NAME: Final = "litellm"
_LARGEST: Final = 1e9
_TELLING: Final = (
    "latency_sec",
    "context_window",
    "litellm_params",
    "litellm_call_id",
    "call_type",
    "response_cost",
    "spend",
)


def recognises(head: Head) -> bool:
    """Whether a log holds calls that LiteLLM recorded."""
    records = [head.document] if isinstance(head.document, dict) else list(head.records)
    return bool(records) and all(_is_call(record) for record in records)


def read(log: Recorded) -> Iterator[Entry]:
    """The conversations that the calls of a log are made of."""
    reading = _Reading(log)
    for line, record in _calls(log):
        yield from reading.call(line, record)


LITELLM: Final = Importer(name=NAME, title="LiteLLM logs of calls (.json, .jsonl)", recognises=recognises, read=read)


def _is_call(record: object) -> bool:
    match record:
        case {"messages": list() | str() | dict(), "response": dict() | str(), **rest}:
            return any(key in rest for key in _TELLING)
        case _:
            return False


def _calls(log: Recorded) -> Iterator[tuple[int, Record]]:
    """The calls, whether one is spread over lines or each is on its own."""
    if is_lines(log):
        yield from log.records()
        return
    document = log.document()
    for index, record in enumerate(document if isinstance(document, list) else [document]):
        if isinstance(record, dict):
            yield 0, record
        else:
            log.skip(0, f"call {index}: expected an object with `messages` and `response`, got {record!r:.80}")


@dataclass(slots=True)
class _Reading:
    """Which conversations there are, by a hash of all that was said in each."""

    log: Recorded
    ends: dict[bytes, str] = field(default_factory=dict)
    sessions: int = 0

    def call(self, line: int, record: Record) -> Iterator[Entry]:
        raws = _json(record.get("raw_messages")) or _json(record.get("messages"))
        response = _json(record.get("response"))
        if not isinstance(raws, list) or not raws:
            self.log.skip(line, "no `messages` were stored with this call; turn on the storing of prompts")
            return
        messages = messages_of(self.log, raws, line)
        answer = response_of(self.log, response, line) if isinstance(response, dict) else None
        system, messages = framed(messages)
        session, known = self._conversation(system, messages)
        if known == 0:
            yield self._opening(session, system, record, line)
        time = moment(record.get("timestamp")) or moment(record.get("endTime")) or moment(record.get("startTime"))
        for message in messages[known:]:
            yield Spoken(session=session, message=message, time=None, line=line)
        said = [*messages]
        if answer is not None:
            said.append(answer)
            yield Spoken(session=session, message=_answered(answer, record), time=time, line=line)
        self.ends[_chain(system, said)[-1]] = session

    def _conversation(self, system: str | None, messages: list[Message]) -> tuple[str, int]:
        """The session that messages continue, and how many of them it has already."""
        links = _chain(system, messages)
        for known in range(len(messages), 0, -1):
            session = self.ends.pop(links[known], None)
            if session is not None:
                return session, known
        self.sessions += 1
        return self.log.stem if self.sessions == 1 else f"{self.log.stem}/{self.sessions}", 0

    def _opening(self, session: str, system: str | None, record: Record, line: int) -> Opening:
        asked = object_in(record, "kwargs") or object_in(record, "model_parameters")
        tools = tools_in(self.log, asked.get("tools") or record.get("tools"), line)
        response = _json(record.get("response"))
        model = name_in(record, "model") or (name_in(response, "model") if isinstance(response, dict) else None)
        tags = {key: text for key in ("trace_id", "call_type") if (text := tag(record.get(key))) is not None}
        return Opening(session=session, system=system, tools=tools, model=model, tags=tags)


def _answered(answer: Message, record: Record) -> Message:
    """A response with what its call cost; counts beside the response are taken if it has none itself."""
    cost = next((record[key] for key in ("cost", "response_cost", "spend") if _is_number(record.get(key))), None)
    seconds = record.get("latency_sec")
    usage = None if "usage" in answer.meta.extra else usage_in(record)
    return answered(answer, usage=usage, cost=cost, seconds=seconds if _is_number(seconds) else None)


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _chain(system: str | None, messages: list[Message]) -> list[bytes]:
    """A hash of everything up to each message, by what does not change when a client sends it back."""
    link = sha256((system or "").encode()).digest()
    links = [link]
    for message in messages:
        link = sha256(link + json.dumps(_key(message)).encode()).digest()
        links.append(link)
    return links


def _key(message: Message) -> list[Any]:
    result = message.result
    if result is not None:
        return ["result", result.call_id, result.text.strip()]
    if message.calls:
        # Clients shorten or drop the text beside calls; the ids of calls are theirs alone.
        return ["calls", *(call.id for call in message.calls)]
    seen = [part.reference for part in message.parts if isinstance(part, Media)]
    return [message.role, "\n".join(part.text for part in message.parts if isinstance(part, Text)).strip(), *seen]


def _json(value: object) -> object:
    """A value that may have been stored as the JSON text of itself."""
    if not isinstance(value, str):
        return value
    if has_more_values(value.encode("utf-8", "replace"), DEFAULT_LIMITS.values):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
