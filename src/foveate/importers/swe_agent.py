"""SWE-agent: a trajectory, one JSON document per task.

The session is the `history`, or the steps of the `trajectory` where there is none. Actions that are no tool calls but
text (the `action` of a message, or its last fenced block) become calls of `bash`, whose result is the observation that
follows; `commands.as_written` gives the content again. Demonstrations have `demo` in their meta.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from foveate.importers.commands import blocks, result_of, with_command
from foveate.importers.completions import framed, messages_of, outcome, tags_in, thoughts
from foveate.importers.decoding import name_in, object_in
from foveate.importers.entries import Entry, Opening, Spoken, answered
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Record, Recorded
from foveate.log.messages import Message

NAME: Final = "swe-agent"
_OPENING: Final = re.compile(r"^```[\w-]*[^\S\n]*(?=\n)", re.MULTILINE)
# What the config calls a model where none was asked.
_NO_MODELS: Final = ("replay", "human", "human_thought", "instant_empty_submit")
_MAIN_AGENTS: Final = ("main", "primary")


def recognises(head: Head) -> bool:
    """Whether a log is a trajectory of SWE-agent."""
    match head.document:
        case {"history": [{"role": str(), "content": _, "agent": str()}, *_]}:
            return True
        case {"trajectory": [{"action": str(), "observation": str(), "response": str()}, *_]}:
            return True
        case {"trajectory": [], "history": [], "info": dict()}:
            return True
        case _:
            return False


def read(log: Recorded) -> Iterator[Entry]:
    """The session of a trajectory."""
    document = log.document()
    match document:
        case {"history": list() as history} if history:
            yield from _session(log, document, history)
        case {"trajectory": list() as steps}:
            yield from _session(log, document, list(_history(log, steps)))
        case _:
            log.fail(0, f"expected an object with a list `history` or `trajectory`, got {document!r:.80}")


SWE_AGENT: Final = Importer(name=NAME, title="SWE-agent trajectories (.traj)", recognises=recognises, read=read)


def _session(log: Recorded, document: Record, history: list[Any]) -> Iterator[Entry]:
    session = log.stem
    info = object_in(document, "info")
    tags = {**tags_in(document, "environment"), **tags_in(info, "swe_agent_version")}
    opened = False
    pending: str | None = None
    for number, raw in enumerate(history):
        if not isinstance(raw, dict):
            log.skip(0, f"message {number} of `history`: expected an object, got {raw!r:.80}")
            continue
        messages = _messages(log, raw, number, pending)
        if not opened:
            system, messages = framed(messages)
            yield Opening(session=session, system=system, model=_model(document), tags=tags)
            opened = True
        for message in messages:
            yield Spoken(session=session, message=_marked(message, raw))
            pending = _id(number) if any(call.id == _id(number) for call in message.calls) else None
    if opened:
        stats = object_in(info, "model_stats")
        totals = tags_in(stats, "instance_cost", "tokens_sent", "tokens_received", "api_calls")
        yield from outcome(session, tags_in(info, "exit_status"), totals)


def _messages(log: Recorded, raw: Record, number: int, pending: str | None) -> list[Message]:
    content, text = raw.get("content"), _text(raw.get("content"))
    match raw:
        case {"tool_call_ids": [str(), *_] as ids} if raw.get("role") in ("tool", "user"):
            results = [{"role": "tool", "tool_call_id": one, "content": content} for one in ids]
            return messages_of(log, results, first=number)
        case {"role": "assistant", "tool_calls": [_, *_] as calls}:
            said = messages_of(log, [{"role": "assistant", "content": content, "tool_calls": calls}], first=number)
            thinking = thoughts(log, raw)
            return [msgspec.structs.replace(one, parts=(*thinking, *one.parts)) for one in said]
        case {"role": "assistant"} if text is not None and (found := _action(raw, text)) is not None:
            return [with_command(text, *found, _id(number))]
        case {"role": "user" | "tool"} if text is not None and pending is not None and not raw.get("is_demo"):
            return [result_of(pending, text)]
        case _:
            return messages_of(log, [{"role": raw.get("role"), "content": content}], first=number)


def _text(content: object) -> str | None:
    """Content that is nothing but text; None for anything else."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else None for block in blocks]
    return "\n".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else None


def _action(raw: Record, content: str) -> tuple[str, str] | None:
    """The prose and the command of a response in text; None if it has no command."""
    action, thought, parsed = raw.get("action"), raw.get("thought"), _parsed(content)
    if not isinstance(action, str):
        return parsed
    if not action.strip():
        return None
    prose = parsed[0] if parsed is not None else content
    return thought if isinstance(thought, str) else prose, action.rstrip("\n")


def _parsed(content: str) -> tuple[str, str] | None:
    """The prose and the command of a response by its form: the last fenced block, or what is tagged."""
    found = list(blocks(content, _OPENING))
    if found:
        start, end, command = found[-1]
        return f"{content[:start]}{content[end:]}", command.removeprefix("\n")
    before, opened, rest = content.partition("<command>")
    command, closed, after = rest.partition("</command>")
    return (f"{before}{after}", command.strip("\n")) if opened and closed else None


def _history(log: Recorded, steps: list[Any]) -> Iterator[Record]:
    """The messages of a trajectory without a history: what was asked first, then responses and observations."""
    for number, step in enumerate(steps):
        if not isinstance(step, dict):
            log.skip(0, f"step {number} of `trajectory`: expected an object, got {step!r:.80}")
            continue
        query = step.get("query")
        if number == 0 and isinstance(query, list):
            yield from query
        response, thought = step.get("response"), step.get("thought")
        said = response if isinstance(response, str) and response else thought
        yield {"role": "assistant", "content": said or "", "thought": thought, "action": step.get("action")}
        observation = step.get("observation")
        if isinstance(observation, str) and observation:
            yield {"role": "user", "content": observation}


def _marked(message: Message, raw: Record) -> Message:
    agent = name_in(raw, "agent")
    return answered(
        message,
        demo=True if raw.get("is_demo") is True else None,
        agent=agent if agent not in _MAIN_AGENTS else None,
    )


def _model(document: Record) -> str | None:
    name = name_in(object_in(object_in(object_in(document, "replay_config"), "agent"), "model"), "name")
    return name if name not in _NO_MODELS else None


def _id(number: int) -> str:
    return f"call-{number}"
