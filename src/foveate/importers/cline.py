"""Cline: the messages of a session, or the `api_conversation_history.json` of a task.

- Messages are Anthropic ones. A file that was attached is a text with its path; a tool result that is no text and no
  list of blocks is its JSON, as the model was given it.
- `inputTokens` counts all tokens of a request, cached or not.
- A `.compaction.json` is what a session was sent as after a compaction: a session of its own, with the whole one as
  its parent. A summary in it is a compaction; where messages were only taken out, that is an oddity.
- Results and notices that the program wrote as text of the user have `program` in their meta.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, Final

from foveate.importers.decoding import count_of, decoded, name_in, object_in, session_name, shown, tags_of
from foveate.importers.entries import Compaction, Entry, Oddity, Opening, Spoken, Usage, answered
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Record, Recorded, moment
from foveate.log.messages import Message, Text
from foveate.wire import anthropic
from foveate.wire.format import Where

_HISTORY: Final = "api_conversation_history"
_COMPACTED: Final = ".compaction"
_WHOLE: Final = ".messages"
_PROGRAM_TEXT: Final = ("<environment_details>", "<SYSTEM_NOTICE>", "[TASK RESUMPTION]", "[ERROR]")
_LOOKED_AT: Final = 50


def recognises(head: Head) -> bool:
    """Whether a log is of Cline."""
    match head.document:
        case {"sessionId": str(), "system_prompt": _, "messages": list() as messages}:
            return all(_is_said(message) for message in messages[:_LOOKED_AT])
        case [_, *_] as messages if _HISTORY in head.name or any(_has_time(message) for message in messages):
            return all(_is_said(message) for message in messages[:_LOOKED_AT])
        case _:
            return False


def read(log: Recorded) -> Iterator[Entry]:
    """The session of a file."""
    document = log.document()
    framing: Record = document if isinstance(document, dict) else {}
    messages = framing.get("messages") if framing else document
    if not isinstance(messages, list):
        log.fail(0, "a session of Cline is a list of messages, or an object with `messages`")
    session, parent = _names(log, name_in(framing, "sessionId"))
    system = name_in(framing, "system_prompt")
    yield Opening(session=session, system=system, parent=parent, tags=tags_of(framing, agent="agent"))
    model: str | None = None
    for index, recorded in enumerate(messages):
        if not isinstance(recorded, dict):
            log.skip(0, f"message {index}: expected an object, got {shown(recorded)}")
            continue
        named = name_in(object_in(recorded, "modelInfo"), "id")
        if named not in (None, model):
            model = named
            yield Opening(session=session, model=model)
        yield from _entries(log, session, recorded, f"message {index}")


CLINE: Final = Importer(
    name="cline",
    title="Cline sessions and tasks (*.messages.json, api_conversation_history.json)",
    recognises=recognises,
    read=read,
)


def _has_time(message: object) -> bool:
    """Whether a message has what Cline adds to those of Anthropic."""
    return isinstance(message, dict) and isinstance(message.get("ts"), int) and anthropic.recognises(message)


def _is_said(message: object) -> bool:
    match message:
        case {"role": "user" | "assistant", "content": str() | list(), **others}:
            return "tool_calls" not in others
        case _:
            return False


def _names(log: Recorded, id: str | None) -> tuple[str, str | None]:
    """The name of the session, and of the one that it is a compaction of."""
    name = session_name(log, id)
    whole = name.removesuffix(_COMPACTED).removesuffix(_WHOLE)
    is_compacted = PurePath(log.file_name).stem.endswith(_COMPACTED)
    return (f"{whole}/compaction", whole) if is_compacted else (whole, None)


def _entries(log: Recorded, session: str, recorded: Record, where: str) -> Iterator[Entry]:
    time = moment(recorded.get("ts"))
    metadata = object_in(recorded, "metadata")
    messages = decoded(log, 0, _decode, [recorded], where)
    match metadata.get("kind"):
        case "compaction_summary":
            text = "\n".join(message.text for message in messages)
            yield Compaction(session=session, text=text, time=time)
            return
        case "compaction":
            removed, reason = count_of(metadata.get("messagesRemoved")), name_in(metadata, "reason")
            text = f"messages taken out of the following: {removed} ({reason})"
            yield Oddity(session=session, code="compaction", text=text, time=time)
        case _:
            pass
    for message in messages:
        if message.parts:
            yield Spoken(session=session, message=_known(message, recorded), time=time)


def _known(message: Message, recorded: Record) -> Message:
    """A message with what was recorded of it."""
    if message.role != "assistant":
        return answered(message, program=True) if _is_program_text(message) else message
    return answered(
        message,
        usage=_usage(object_in(recorded, "metrics")),
        model=name_in(object_in(recorded, "modelInfo"), "id"),
        response_id=name_in(recorded, "id"),
    )


def _decode(recorded: Sequence[Record], where: Where) -> list[Message]:
    raws = [{"role": one.get("role"), "content": _content(one.get("content"))} for one in recorded]
    return anthropic.decode(raws, where)


def _content(content: Any) -> Any:
    """Content with Cline's own blocks as Anthropic's."""
    if not isinstance(content, list):
        return content
    return [_block(block) if isinstance(block, dict) else block for block in content]


def _block(block: Record) -> Record:
    match block:
        case {"type": "file", "path": str() as path, "content": str() as text}:
            return {"type": "text", "text": f"{path}\n{text}"}
        case {"type": "tool_result"}:
            # Anthropic's results do not name their tool, and are refused with it.
            known = {key: value for key, value in block.items() if key != "name"}
            return {**known, "content": _answer(block.get("content"))}
        case _:
            return block


def _answer(content: Any) -> Any:
    if isinstance(content, dict) or (isinstance(content, list) and not all(_is_block(one) for one in content)):
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return content


def _is_block(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def _is_program_text(message: Message) -> bool:
    texts = [part.text.lstrip() for part in message.parts if isinstance(part, Text)]
    return message.role == "user" and bool(texts) and all(_is_written_by_program(text) for text in texts)


def _is_written_by_program(text: str) -> bool:
    if text.startswith(_PROGRAM_TEXT):
        return True
    # Tools that are called in words have results like `[read_file for 'a.py'] Result:`.
    return text.startswith("[") and text.partition("\n")[0].rstrip().endswith("] Result:")


def _usage(metrics: Record) -> Usage | None:
    total = count_of(metrics.get("inputTokens"))
    if total is None:
        return None
    return Usage(
        input_tokens=total,
        cached_tokens=count_of(metrics.get("cacheReadTokens")),
        written_tokens=count_of(metrics.get("cacheWriteTokens")),
        output_tokens=count_of(metrics.get("outputTokens")),
    )
