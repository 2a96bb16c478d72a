"""mini-swe-agent: a trajectory, one JSON document per task.

The action of a response is its only fenced bash block, or a tool call in newer ones; a block becomes a call of `bash`,
whose result is the message that follows. `commands.as_written` gives the content with the block again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from foveate.importers.commands import blocks, result_of, with_command
from foveate.importers.completions import framed, messages_of, outcome, program_message, tag, tags_in, usage_in
from foveate.importers.decoding import name_in, object_in
from foveate.importers.entries import Entry, Opening, Spoken, answered
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Record, Recorded, moment
from foveate.log.messages import Message, Text
from foveate.log.text import encodable

NAME: Final = "mini-swe-agent"
_OPENING: Final = re.compile(r"```(?:bash|mswea_bash_command)\s*\n")


def recognises(head: Head) -> bool:
    """Whether a log is a trajectory of mini-swe-agent."""
    match head.document:
        case {"trajectory_format": str() as format, "messages": list()}:
            return format.startswith(NAME)
        case {"messages": list(), "info": {"mini_version": str()}}:
            return True
        case _:
            return False


def read(log: Recorded) -> Iterator[Entry]:
    """The session of a trajectory."""
    match log.document():
        case {"messages": list() as raws} as document:
            yield from _session(log, document, raws)
        case other:
            log.fail(0, f"expected an object with a list `messages`, got {type(other).__name__}")


MINI_SWE_AGENT: Final = Importer(
    name=NAME, title="mini-swe-agent trajectories (.traj.json)", recognises=recognises, read=read
)


def _session(log: Recorded, document: Record, raws: list[Any]) -> Iterator[Entry]:
    session = tag(document.get("instance_id")) or log.stem
    info = object_in(document, "info")
    tags = {**tags_in(document, "instance_id"), **tags_in(info, "mini_version")}
    system, begun = framed(messages_of(log, [_plain(raw) for raw in raws[:1]]))
    model = name_in(object_in(object_in(info, "config"), "model"), "model_name")
    yield Opening(session=session, system=system, model=model, tags=tags)
    for message in begun:
        yield Spoken(session=session, message=message)
    pending: str | None = None
    for number, raw in enumerate(raws[1:], start=1):
        said = _message(log, raw, number, pending)
        if said is not None:
            yield Spoken(session=session, message=said, time=_time(raw))
            pending = _id(number) if any(call.id == _id(number) for call in said.calls) else None
    totals = tags_in(object_in(info, "model_stats"), "instance_cost", "api_calls")
    yield from outcome(session, tags_in(info, "exit_status"), totals)


def _message(log: Recorded, raw: object, number: int, pending: str | None) -> Message | None:
    match raw:
        case {"role": "assistant", "content": str() as content, **rest} if not rest.get("tool_calls"):
            return _answered(_response(content, number), raw)
        case {"role": "user" | "exit", "content": str() as content} if pending is not None:
            return result_of(pending, content)
        case {"role": "exit", "content": str() as content}:
            return program_message(content)
        case _:
            found = messages_of(log, [_plain(raw)], first=number)
            return _answered(found[0], raw) if found else None


def _response(content: str, number: int) -> Message:
    found = list(blocks(content, _OPENING))
    if len(found) != 1:
        # Any other number of blocks was an error to the agent: nothing was run.
        return Message(id="", role="assistant", parts=(Text(text=encodable(content)),))
    start, end, command = found[0]
    prose = "\n\n".join(filter(None, (content[:start].strip(), content[end:].strip())))
    return with_command(content, prose, command, _id(number))


def _id(number: int) -> str:
    return f"call-{number}"


def _answered(message: Message, raw: object) -> Message:
    response = object_in(object_in(raw, "extra") if isinstance(raw, dict) else {}, "response")
    return answered(
        message,
        usage=usage_in(response.get("usage")),
        model=name_in(response, "model"),
        response_id=name_in(response, "id"),
    )


def _time(raw: object) -> float | None:
    extra = object_in(raw, "extra") if isinstance(raw, dict) else {}
    return moment(object_in(extra, "response").get("created")) or moment(extra.get("timestamp"))


def _plain(raw: object) -> object:
    """A message without what the agent noted beside it."""
    return {key: value for key, value in raw.items() if key != "extra"} if isinstance(raw, dict) else raw
