"""A recording: one session of a log, whole and in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from foveate.importers.entries import Compaction, Entry, Oddity, Opening, Spoken, Usage
from foveate.importers.events import COMPACTED
from foveate.log.events import (
    CallRecorded,
    DiagnosticRecorded,
    Event,
    FramingSet,
    MessageAppended,
    Tagged,
    UsageReported,
)
from foveate.log.messages import Message


@dataclass(slots=True, kw_only=True)
class RecordedRequest:
    """A request that Foveate compiled and recorded; `place` is the number of messages before it.

    It has `tokens` by our count, `predicted_cached` of which were expected in the provider's cache; with the whole
    history in it, it would have had `untouched` tokens. `framing` are those beside the history.
    """

    number: int
    place: int
    at: float | None
    model: str
    tokens: int
    predicted_cached: int
    untouched: int
    framing: int
    usage: Usage | None = None


@dataclass(slots=True, kw_only=True)
class Recording:
    """What one session of a log holds; `times` go with `messages`, `compactions` name the message they came before."""

    session: str
    format: str = ""
    system: str | None = None
    tools: tuple[dict[str, Any], ...] = ()
    model: str | None = None
    parent: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    times: list[float | None] = field(default_factory=list)
    compactions: list[tuple[int, str]] = field(default_factory=list)
    oddities: list[Oddity] = field(default_factory=list)
    requests: list[RecordedRequest] = field(default_factory=list)

    def calls(self) -> Iterator[int]:
        """Indices of the model's responses: each answered a request made of all messages before it."""
        for index, message in enumerate(self.messages):
            if index and message.role == "assistant" and not message.meta.extra.get("program"):
                yield index


def recordings(entries: Iterable[Entry], format: str = "") -> list[Recording]:
    """The sessions of a log, in the order they begin."""
    found: dict[str, Recording] = {}
    for entry in entries:
        recording = found.setdefault(entry.session, Recording(session=entry.session, format=format))
        match entry:
            case Opening():
                _open(recording, entry)
            case Spoken(message=message, time=time):
                recording.messages.append(message)
                recording.times.append(time)
            case Compaction(text=text):
                recording.compactions.append((len(recording.messages), text))
            case Oddity():
                recording.oddities.append(entry)
    return list(found.values())


def recording_of(session: str, events: Iterable[Event]) -> Recording:
    """The recording that the events of a session hold."""
    recording = Recording(session=session, format="foveate")
    for event in events:
        match event.body:
            case FramingSet(system=system, tools=tools, model=model):
                recording.system, recording.tools, recording.model = system, tools, model
            case MessageAppended(message=message):
                recording.messages.append(without_own_id(message, len(recording.messages) + 1))
                recording.times.append(event.time)
            case DiagnosticRecorded(code=code, text=text) if code == COMPACTED:
                recording.compactions.append((len(recording.messages), text))
            case Tagged(tags=tags, call=None):
                recording.tags.update(tags)
                recording.parent = tags.get("parent", recording.parent)
            case CallRecorded():
                recording.requests.append(_request(event.body, len(recording.messages)))
            case UsageReported():
                _report(recording, event.body)
            case _:
                continue
    return recording


def _request(body: CallRecorded, place: int) -> RecordedRequest:
    framing = body.tokens - sum(size for _, size in body.fates.values())
    return RecordedRequest(
        number=body.number,
        place=place,
        at=body.now,
        model=body.model or "",
        tokens=body.tokens,
        predicted_cached=body.predicted_cached,
        # Calls of the first version did not record the size of the log.
        untouched=framing + body.logged if body.logged else body.tokens,
        framing=framing,
    )


def _report(recording: Recording, body: UsageReported) -> None:
    for request in reversed(recording.requests):
        if request.number == body.call:
            request.usage = Usage.counted(
                body.input_tokens,
                cached=body.cached_tokens,
                written=body.written_tokens,
                written_hour=body.written_hour_tokens,
            )
            return


def without_own_id(message: Message, number: int) -> Message:
    """A message without the name that its log gave it by itself: it will give it again."""
    return msgspec.structs.replace(message, id="") if message.id == f"m{number}" else message


def _open(recording: Recording, opening: Opening) -> None:
    recording.system = opening.system if opening.system is not None else recording.system
    recording.tools = opening.tools or recording.tools
    recording.model = opening.model if opening.model is not None else recording.model
    recording.parent = opening.parent if opening.parent is not None else recording.parent
    recording.tags.update(opening.tags)
