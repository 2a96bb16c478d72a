"""Turns: what was said in a chat, as its page shows it, the newest first to be read from the store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from foveate.agents.toolset import open_calls
from foveate.compile.timeline import REDUCTION_DECLINED
from foveate.inspect.log_state import Diagnostic, LogState
from foveate.inspect.messages import MessageRow, calls_answered_by, first_of_last_turns, messages_at
from foveate.log.events import DiagnosticRecorded, MessageAppended
from foveate.log.messages import Media, Message, Opaque, Text, Thinking, ToolCall
from foveate.recall.readable import readable, readable_call
from foveate.store import SessionInfo, Store
from foveate.web.held import STORE_FAILED, Held
from foveate.web.links import to_call, to_log
from foveate.wire.opaque import readable_opaque

Entry = dict[str, Any]
"""What a page shows of a message, or of what went wrong."""

_MOST_TURNS: Final = 50
# A turn may have hundreds of tool calls.
_MOST_MESSAGES: Final = 400
_LONGEST: Final = 40_000
_LINE: Final = 140
# Said of a compile's own economy, of interest to nobody who chats; and what one notice tells for all that waits.
QUIET: Final = frozenset({REDUCTION_DECLINED, STORE_FAILED})
"""The codes of diagnostics that do not stand in a conversation."""

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)")


class Turns(NamedTuple):
    """What a page shows of a chat, from message number `first` on; whether what was said last has an answer."""

    first: int
    entries: list[Entry]
    is_answered: bool


def first_of_turns(store: Store, info: SessionInfo, end: int) -> int:
    """The number of the message with which the last turns before another message begin."""
    return max(first_of_last_turns(store, info, end, turns=_MOST_TURNS), end - _MOST_MESSAGES)


def turns_between(store: Store, info: SessionInfo, state: LogState, first: int, end: int) -> Turns:
    """A chat from a message up to another one."""
    rows = messages_at(store, info, range(first, min(end + 1, info.messages)))
    # What went wrong before the next message belongs to this one.
    begin, stop = rows[0].seq if first and rows else 0, rows[-1].seq if end < info.messages else info.events
    rows = rows[: end - first]
    messages = [row.message for row in rows if row.message is not None]
    calls = calls_answered_by(store, info, [message.id for message in messages if message.role == "assistant"])
    noted = [one for one in state.diagnostics if begin <= one.seq < stop and one.body.code not in QUIET]
    is_answered = not messages or (messages[-1].role == "assistant" and not open_calls(messages))
    return Turns(first, list(_entries(info.session_id, rows, calls, noted)), is_answered)


def with_held(turns: Turns, held: Held, most: int | None = None) -> Turns:
    """What a page shows of a chat, and behind it what waits to be written into the store: `most` messages of it."""
    entries: list[Entry] = []
    messages: list[Message] = []
    for event in held.events:
        match event.body:
            case MessageAppended(message=message):
                if most is not None and len(messages) >= most:
                    break
                messages.append(message)
                entries += _held_message(message, entries)
            case DiagnosticRecorded(code=code) if code not in QUIET:
                entries.append(diagnostic(f"d{event.seq}", event.body))
            case _:
                continue
    if not messages:
        return turns
    is_answered = messages[-1].role == "assistant" and not open_calls(messages)
    return Turns(turns.first, [*turns.entries, *entries], is_answered)


def _held_message(message: Message, before: Sequence[Entry]) -> list[Entry]:
    if message.result is not None and message.role == "tool":
        steps = [step for entry in before for step in entry.get("steps", ())]
        if with_result(steps, message.result.call_id, readable(message), failed=message.meta.outcome == "error"):
            return []
    text, thoughts = _words(message)
    shown = answer(message.id, text) if message.role == "assistant" else said(message.id, text)
    shown["steps"] = [*thoughts, *(step(call) for call in message.calls)]
    return [shown if message.role in ("user", "assistant") else {**shown, "who": "note"}]


def said(key: str, text: str, when: str = "") -> Entry:
    """What a person said."""
    return {"key": key, "who": "user", "parts": parts_of(text), "steps": [], "when": when}


def answer(key: str, text: str = "") -> Entry:
    """What the model says, with the tools it calls."""
    return {"key": key, "who": "assistant", "parts": parts_of(text), "steps": [], "when": ""}


def step(call: ToolCall) -> Entry:
    """A tool call, folded into one line; `result` is None until it is there."""
    whole = readable_call(call)
    line = " ".join(whole[: 2 * _LINE].split())
    return {
        "id": call.id,
        "line": line if len(line) <= _LINE else f"{line[: _LINE - 1]}…",
        "call": "" if whole == line and len(line) <= _LINE else _shortened(whole),
        "result": None,
        "failed": False,
    }


def with_result(steps: Iterable[Entry], call_id: str, text: str, *, failed: bool) -> bool:
    """Put a result to its call; whether the call is there."""
    for one in steps:
        if one["id"] == call_id and one["result"] is None:
            one.update(result=_shortened(text), failed=failed)
            return True
    return False


def diagnostic(key: str, body: DiagnosticRecorded) -> Entry:
    """What was odd or failed, and cost no answer."""
    title = f"{body.phase.replace('_', ' ')}: {body.code.replace('_', ' ')}"
    return {"key": key, "who": "diagnostic", "title": title, "pointer": body.subject or "", "text": body.text}


def parts_of(text: str) -> list[dict[str, Any]]:
    r"""A text in pieces, of which those between fences are code; nothing in it is interpreted.

    >>> [(one["code"], one["text"]) for one in parts_of("So:\n```py\nx = 1\n```\nDone.")]
    [(False, 'So:'), (True, 'x = 1'), (False, 'Done.')]
    """
    pieces: list[dict[str, Any]] = []
    lines: list[str] = []
    fence, name = "", ""

    def end(*, code: bool) -> None:
        if code or any(line.strip() for line in lines):
            pieces.append({"code": code, "name": name, "text": "\n".join(lines) if code else _trimmed(lines)})
        lines.clear()

    for line in _shortened(text).split("\n"):
        found = _FENCE.fullmatch(line.rstrip())
        if not fence and found is not None:
            end(code=False)
            fence, name = found[1], found[2].strip()[:40]
        elif fence and found is not None and found[1].startswith(fence) and not found[2].strip():
            end(code=True)
            fence, name = "", ""
        else:
            lines.append(line)
    # A fence that nobody closed is code to the end: more of it may be on its way.
    end(code=bool(fence))
    return pieces


def moment(time: datetime) -> str:
    """A time on the reader's own clock, short if it is of today."""
    here, now = time.astimezone(), datetime.now(UTC).astimezone()
    return f"{here:%H:%M}" if here.date() == now.date() else f"{here:%Y-%m-%d %H:%M}"


def _entries(
    session: str, rows: Sequence[MessageRow], calls: Mapping[str, int], noted: Iterable[Diagnostic]
) -> Iterator[Entry]:
    """Messages, and between them what went wrong, in the order it happened."""
    told = list(noted)
    steps: list[Entry] = []
    for row in rows:
        while told and told[0].seq < row.seq:
            one = told.pop(0)
            yield diagnostic(f"d{one.seq}", one.body)
        message = row.message
        if message is not None and message.result is not None and message.role == "tool":
            failed = message.meta.outcome == "error"
            if with_result(steps, message.result.call_id, readable(message), failed=failed):
                continue
        shown = _shown(session, row, calls)
        steps += shown["steps"]
        yield shown
    for one in told:
        yield diagnostic(f"d{one.seq}", one.body)


def _shown(session: str, row: MessageRow, calls: Mapping[str, int]) -> Entry:
    message = row.message
    if message is None:
        lost = "This message cannot be read; `foveate db check` says more."
        return {**said(f"m{row.position + 1}", lost), "who": "note"}
    shown = answer(message.id) if message.role == "assistant" else said(message.id, "")
    if message.role not in ("user", "assistant"):
        shown["who"] = "note"
    text, thoughts = _words(message)
    shown |= {"parts": parts_of(text), "when": moment(row.time), "whole": _whole(session, message.id, text)}
    shown["steps"] = [*thoughts, *(step(call) for call in message.calls)]
    if message.id in calls:
        shown |= {"call": calls[message.id], "link": to_call(session, calls[message.id])}
    return shown


def _words(message: Message) -> tuple[str, list[Entry]]:
    """What a message says, and what was thought before, folded."""
    if message.role == "tool":
        return readable(message), []
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    texts += [f"[{part.kind}: {part.reference[:_LINE]}]" for part in message.parts if isinstance(part, Media)]
    texts += [readable_opaque(part.raw)[:_LINE] for part in message.parts if isinstance(part, Opaque)]
    thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and part.text.strip()]
    folded = [
        {"id": "", "line": "thought", "call": "", "result": _shortened(text), "failed": False} for text in thoughts
    ]
    return "\n".join(text for text in texts if text), folded


def _whole(session: str, message_id: str, text: str) -> str:
    """Where a text that is too long to be shown can be read."""
    return to_log(session, message_id) if len(text) > _LONGEST else ""


def _trimmed(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")


def _shortened(text: str) -> str:
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]}\n… {left:,} more characters; the log has them all"
