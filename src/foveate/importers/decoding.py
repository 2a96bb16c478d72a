"""Decoding: pieces of a record as messages and plain values, with errors that name the log and the line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from foveate.errors import MessageError
from foveate.importers.reading import Recorded
from foveate.log.messages import Message
from foveate.log.text import encodable
from foveate.wire.format import Where

# Beyond this a number is no count of anything, and JSON readers disagree about its value.
_LARGEST: Final = 2**53
_SHOWN: Final = 80

Decode = Callable[[Sequence[Any], Where], list[Message]]


def decoded(log: Recorded, line: int, decode: Decode, raws: Sequence[Any], what: str = "message") -> list[Message]:
    """Raw messages by a wire format; malformed ones are left out, or refuse the log."""
    try:
        return decode(raws, lambda _: what)
    except MessageError as error:
        log.skip(line, str(error))
    except RecursionError:
        log.skip(line, f"{what}: nested too deeply")
    return []


def shown(value: object) -> str:
    """A value as errors show it: plain ones themselves, others by their type."""
    if value is None or isinstance(value, str | int | float):
        return f"{value!r:.80}"
    return type(value).__name__


def count_of(value: object) -> int | None:
    """A recorded count; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LARGEST:
        return None
    return int(value)


def name_in(record: dict[str, Any], key: str) -> str | None:
    """A field of text with something in it; None for anything else."""
    value = record.get(key)
    return encodable(value) if isinstance(value, str) and value else None


def object_in(record: dict[str, Any], key: str) -> dict[str, Any]:
    """A field that is an object; empty for anything else."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def kind_of(value: object, otherwise: str) -> str:
    """The type that a record says it has, short enough to be shown."""
    return encodable(value[:_SHOWN]) if isinstance(value, str) and value else otherwise


def note_others(log: Recorded, kinds: Counter[str]) -> None:
    """Note how many records of a log are no messages, by their type."""
    if kinds:
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.most_common(_SHOWN)))
        log.notes.append(f"records that are no messages: {counts}")


def tags_of(record: dict[str, Any], **keys: str) -> dict[str, str]:
    """Tags from fields of text: `tags_of(record, git_branch="gitBranch")`."""
    found = ((tag, name_in(record, key)) for tag, key in keys.items())
    return {tag: value for tag, value in found if value is not None}


def session_name(log: Recorded, id: str | None) -> str:
    """How a session is called: by its id if the file's name has it or there is no file, else like the file."""
    if id is None or (log.file_name and id not in log.file_name):
        return encodable(log.stem)
    return id
