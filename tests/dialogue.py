"""Short ways to write OpenAI chat messages, as an agent's loop would record them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from foveate import Session
from foveate.budget.tokens import SplintrCounter
from foveate.compile.draft import Draft, PassContext, Shares
from foveate.compile.timeline import Projector
from foveate.log.items import Item
from foveate.log.messages import Message

COUNTER = SplintrCounter()
WORDS = "the quick brown fox jumps over the lazy dog while nobody minds "


def user(text: Any) -> dict[str, Any]:
    """What a person said."""
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    """What the model said."""
    return {"role": "assistant", "content": text}


def call(id: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    """One tool call."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def calls(*tool_calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    """A response of the model that calls tools."""
    return {"role": "assistant", "content": text, "tool_calls": list(tool_calls)}


def result(id: str, text: Any) -> dict[str, Any]:
    """What a tool answered."""
    return {"role": "tool", "tool_call_id": id, "content": text}


def exchange(id: str, name: str, output: str, /, **arguments: Any) -> list[dict[str, Any]]:
    """One call with its result."""
    return [calls(call(id, name, **arguments)), result(id, output)]


def lines(count: int, prefix: str = "line") -> str:
    """Some text of `count` lines, each of about a dozen tokens."""
    return "\n".join(f"{prefix} {number}: {WORDS[:39]}" for number in range(count))


def reading(count: int, *, size: int = 40, first: int = 0) -> list[dict[str, Any]]:
    """A run of exchanges that each read another file."""
    return [
        message
        for number in range(first, first + count)
        for message in exchange(f"read{number}", "Read", lines(size, f"file{number}"), file_path=f"src/file{number}.py")
    ]


def work(turns: int, *, reads: int = 4, size: int = 40) -> list[dict[str, Any]]:
    """Turns of an agent: a request, some files read, an answer."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages.append(user(f"Request {turn}: look at module_{turn} please"))
        messages += reading(reads, size=size, first=turn * reads)
        messages.append(says(f"Module_{turn} is fine."))
    return messages


def session_of(messages: Iterable[Any], **options: Any) -> Session:
    """A session in which these messages were said."""
    session = Session(**options)
    session.extend(messages)
    return session


def drafted(session: Session, *, limit: int = 100_000, low: int = 0, **shares: Any) -> tuple[Draft, PassContext]:
    """The draft of a session's log, as passes get it, with a tail of one exchange unless told otherwise."""
    timeline = Projector(COUNTER).projection(session.context)
    ctx = PassContext(
        limit=limit,
        low=low,
        number=timeline.reductions + 1,
        timeline=timeline,
        shares=Shares(**{"exchanges": 1, "tail": 0.0, **shares}),
        running=session.context.execution_id,
    )
    return Draft(timeline.mender.projected), ctx


def texts(items: Iterable[Item] | Iterable[Message]) -> dict[str, str]:
    """What each item says, by id."""
    return {item.id: (item.message if isinstance(item, Item) else item).text for item in items}


def plain(message: Message) -> dict[str, Any]:
    """A message as plain data, its meta left out."""
    return {key: value for key, value in msgspec.to_builtins(message).items() if key != "meta"}
