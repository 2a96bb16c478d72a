"""Codex: rollout files, one JSON record per line, with an envelope around each item or (older ones) without.

- Items of the model up to the next output of a tool are one response; the outputs of its calls stand behind it.
- Of the events only counts of tokens belong to the log: newer files have them behind the response they count, older
  ones before it. The rest are copies for the screen; failures, interruptions and turns taken back are oddities.
- Instructions of the developer and context that the program sent in the user's name have `program` in their meta.
- A compaction is its message, or if it has none, what can be read of the history it put in place.
- A session is called by its id if the name of the file has it, else like the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from foveate.importers.decoding import (
    count_of,
    decoded,
    kind_of,
    name_in,
    note_others,
    object_in,
    session_name,
    shown,
    tags_of,
)
from foveate.importers.entries import Compaction, Entry, Oddity, Opening, Spoken, Usage, answered
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Record, Recorded, moment
from foveate.log.messages import Message, Text
from foveate.wire import openai_responses

_ENVELOPES: Final = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_ITEM_TYPES: Final = frozenset({"message", "reasoning"})
_ITEM_ENDINGS: Final = ("_call", "_call_output")
_PROGRAM_TEXT: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<user_shell_command>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
)
_FAILURES: Final = frozenset({"error", "stream_error"})
# What came since a response is held back no longer than this, so that a log without responses needs no memory.
_WAITING: Final = 256


def recognises(head: Head) -> bool:
    """Whether a log is a rollout of Codex."""
    if any(_is_enveloped(record) for record in head.records):
        return True
    match head.records:
        case ({"id": str(), "timestamp": str(), "instructions": _} as first, *others):
            return "type" not in first and all(_is_bare(record) for record in others)
        case _:
            return False


def read(log: Recorded) -> Iterator[Entry]:
    """The session of a rollout."""
    return _Reading(log).entries()


CODEX: Final = Importer(
    name="codex", title="Codex rollouts (~/.codex/sessions, .jsonl)", recognises=recognises, read=read
)


def _is_enveloped(record: Record) -> bool:
    match record:
        case {"type": str() as kind, "payload": dict(), "timestamp": str()}:
            return kind in _ENVELOPES
        case _:
            return False


def _is_bare(record: Record) -> bool:
    return "record_type" in record or _is_item(record)


def _is_item(record: Record) -> bool:
    kind = record.get("type")
    return isinstance(kind, str) and (kind in _ITEM_TYPES or kind.endswith(_ITEM_ENDINGS))


@dataclass(slots=True)
class _Response:
    """A response as far as its items were read."""

    line: int
    time: float | None
    usage: Usage | None
    items: list[Record] = field(default_factory=list)
    message: Message | None = None


@dataclass(slots=True)
class _Reading:
    log: Recorded
    session: str | None = None
    model: str | None = None
    response: _Response | None = None
    since: list[Spoken] = field(default_factory=list)
    # Where counts of tokens stand, and one that came before its response.
    counts: Literal["before", "behind"] | None = None
    ahead: Usage | None = None
    total: Usage | None = None
    others: Counter[str] = field(default_factory=Counter)

    def entries(self) -> Iterator[Entry]:
        for line, record in self.log.records():
            match record:
                case {"type": str() as kind, "payload": payload}:
                    if isinstance(payload, dict):
                        yield from self._enveloped(line, kind, payload, moment(record.get("timestamp")))
                    else:
                        self.log.skip(line, f"`payload` must be an object, got {shown(payload)}")
                case {"type": str() as kind}:
                    yield from self._bare(line, kind, record)
                case {"id": str()}:
                    yield from self._begin(record)
                case {"record_type": _}:
                    self.others["record_type"] += 1
                case _:
                    self.log.skip(line, f"a record of Codex has a `type` of text, got {shown(record.get('type'))}")
        yield from self._closed()
        note_others(self.log, self.others)

    def _enveloped(self, line: int, kind: str, payload: Record, time: float | None) -> Iterator[Entry]:
        match kind:
            case "session_meta":
                yield from self._begin(payload)
            case "turn_context":
                yield from self._switch(name_in(payload, "model"))
            case "response_item":
                yield from self._item(line, payload, time)
            case "event_msg":
                yield from self._event(line, payload, time)
            case "compacted":
                yield from self._compaction(line, payload, time)
            case _:
                self.others[kind_of(kind, "untitled")] += 1

    def _bare(self, line: int, kind: str, record: Record) -> Iterator[Entry]:
        if _is_item(record):
            yield from self._item(line, record, moment(record.get("timestamp")))
        else:
            self.others[kind_of(kind, "untitled")] += 1

    def _begin(self, meta: Record) -> Iterator[Entry]:
        """What is known of the session; a resumed one says it again."""
        yield from self._closed()
        # It may go on with another version of the program.
        self.counts = None
        self.session = self.session or session_name(self.log, name_in(meta, "id"))
        git = object_in(meta, "git")
        tags = tags_of(meta, cwd="cwd", version="cli_version", originator="originator")
        yield Opening(
            session=self.session,
            system=name_in(meta, "instructions") or name_in(object_in(meta, "base_instructions"), "text"),
            parent=name_in(meta, "forked_from_id") or _spawner(meta),
            tags={**tags, **tags_of(git, git_branch="branch", git_commit="commit_hash")},
        )

    def _switch(self, model: str | None) -> Iterator[Entry]:
        if model is not None and model != self.model:
            yield from self._closed()
            self.model = model
            yield from self._opened()
            yield Opening(session=self._name(), model=model)

    def _item(self, line: int, item: Record, time: float | None) -> Iterator[Entry]:
        yield from self._opened()
        session = self._name()
        for message in decoded(self.log, line, openai_responses.decode, [item], "item"):
            if message.role == "assistant":
                yield from self._say(line, item, message, time)
            elif message.parts:
                marked = answered(message, program=True) if _is_program_text(message) else message
                self.since.append(Spoken(session=session, message=marked, time=time, line=line))
                if self.response is None or len(self.since) > _WAITING:
                    yield from self._closed()

    def _say(self, line: int, item: Record, message: Message, time: float | None) -> Iterator[Entry]:
        if self.since:
            yield from self._closed()
        if self.response is None:
            self.response = _Response(line=line, time=time, usage=self.ahead)
            self.ahead = None
        self.response.items.append(item)
        # An item alone was just decoded; several are decoded together, as they are one message.
        self.response.message = message if len(self.response.items) == 1 else None

    def _event(self, line: int, event: Record, time: float | None) -> Iterator[Entry]:
        kind = event.get("type")
        if kind == "token_count":
            yield from self._counted(object_in(event, "info"))
            return
        odd = _oddity(kind, event)
        if odd is None:
            self.others[kind_of(kind, "event_msg")] += 1
            return
        yield from self._opened()
        yield from self._closed()
        yield Oddity(session=self._name(), code=odd[0], text=odd[1], time=time, line=line)

    def _counted(self, info: Record) -> Iterator[Entry]:
        usage, total = _usage(object_in(info, "last_token_usage")), _usage(object_in(info, "total_token_usage"))
        # The same total again was sent for the screen: nothing was called in between.
        if usage is None or (total is not None and total == self.total):
            return
        self.total = total
        if self.counts is None:
            self.counts = "before" if self.response is None else "behind"
        if self.counts == "before":
            yield from self._closed()
            self.ahead = usage
        elif self.response is not None:
            self.response.usage = usage
            yield from self._closed()

    def _compaction(self, line: int, payload: Record, time: float | None) -> Iterator[Entry]:
        yield from self._opened()
        yield from self._closed()
        text = name_in(payload, "message")
        history = payload.get("replacement_history")
        if text is None and isinstance(history, list):
            kept = decoded(self.log, line, openai_responses.decode, history, "`replacement_history`")
            text = "\n\n".join(message.text for message in kept if message.text)
        yield Compaction(session=self._name(), text=text or "", time=time, line=line)

    def _closed(self) -> Iterator[Entry]:
        """The response that was waited with, and what was said since."""
        response, since = self.response, self.since
        self.response, self.since = None, []
        if response is not None:
            message = self._whole(response)
            if message.parts:
                spoken = answered(message, usage=response.usage, model=self.model)
                yield Spoken(session=self._name(), message=spoken, time=response.time, line=response.line)
            calls = {call.id for call in message.calls}
            since.sort(key=lambda spoken: _answers(spoken.message) not in calls)
        yield from since

    def _whole(self, response: _Response) -> Message:
        if response.message is not None:
            return response.message
        joined = decoded(self.log, response.line, openai_responses.decode, response.items, "items")
        return joined[0] if joined else Message(id="", role="assistant")

    def _opened(self) -> Iterator[Entry]:
        """Opens a session whose beginning is not in the log."""
        if self.session is None:
            yield Opening(session=self._name())

    def _name(self) -> str:
        if self.session is None:
            self.session = session_name(self.log, None)
        return self.session


def _spawner(meta: Record) -> str | None:
    """The session that started this one as its subagent."""
    spawned = object_in(object_in(object_in(meta, "source"), "subagent"), "thread_spawn")
    return name_in(spawned, "parent_thread_id")


def _usage(usage: Record) -> Usage | None:
    total = count_of(usage.get("input_tokens"))
    # After a compaction there is a count of nothing.
    if not total:
        return None
    return Usage(
        input_tokens=total,
        cached_tokens=count_of(usage.get("cached_input_tokens")),
        output_tokens=count_of(usage.get("output_tokens")),
    )


def _oddity(kind: Any, event: Record) -> tuple[str, str] | None:
    match kind:
        case "turn_aborted":
            return "interrupted", f"the turn was ended: {name_in(event, 'reason') or 'no reason is recorded'}"
        case "thread_rolled_back":
            return "branch", f"turns taken back: {count_of(event.get('num_turns'))}"
        case str() if kind in _FAILURES:
            return "api_error", name_in(event, "message") or kind
        case _:
            return None


def _is_program_text(message: Message) -> bool:
    if message.role == "system":
        return True
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    return message.role == "user" and bool(texts) and all(text.lstrip().startswith(_PROGRAM_TEXT) for text in texts)


def _answers(message: Message) -> str | None:
    return None if message.result is None else message.result.call_id
