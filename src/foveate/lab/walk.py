"""The walk: the recorded calls of a session, and what each would have to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from foveate.lab.chat import Chat, content_of, texts
from foveate.lab.contestants import Opening, Step
from foveate.lab.references import History, Reference
from foveate.lab.script import ModelCall, Script

# So much of a user message is enough to know it by.
_RECOGNISED: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A call: what came in, what the recorded action will refer to, what users said, the tokens of the log so far."""

    number: int
    call: ModelCall
    step: Step
    history: History
    references: Sequence[Reference]
    users: Sequence[Chat]
    logged: int


def moments(script: Script, opening: Opening) -> Iterator[Moment]:
    """The calls of a session in order."""
    history = History(script.system, script.chats, opening.sizes.of)
    users: list[Chat] = []
    done = logged = 0
    for number, call in enumerate(script.calls):
        new = script.chats[done : call.place]
        for chat in new:
            history.append(chat)
        logged += opening.sizes.total(new)
        users += filter(says_something, new)
        yield Moment(
            number=number,
            call=call,
            step=Step(chats=new, messages=script.messages[done : call.place], at=call.at),
            history=history,
            references=history.references(call.answer) if call.answer is not None else (),
            users=users,
            logged=logged,
        )
        done = call.place


def users_shown(users: Sequence[Chat], request: Sequence[Chat]) -> list[bool]:
    """For each user message of the history, whether the request shows it."""
    present = set(map(id, request))
    if all(id(chat) in present for chat in users):
        return [True] * len(users)
    verbatim = {_recognisable(message) for message in request}
    missing = [chat for chat in users if _recognisable(chat) not in verbatim]
    whole = "\n".join(text for message in request for text in texts(message)) if missing else ""
    return [_recognisable(chat) in verbatim or _recognisable(chat) in whole for chat in users]


def says_something(chat: Chat) -> bool:
    """Whether a user message has a text that it can be known by."""
    return chat["role"] == "user" and bool(_recognisable(chat))


def _recognisable(chat: Chat) -> str:
    return content_of(chat).strip()[:_RECOGNISED]
