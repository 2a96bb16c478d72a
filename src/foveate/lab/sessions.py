"""Contestants that are compilers, policies or functions, each with a session's log behind it.

What a request of a compiler can be asked to give back is judged strictly: a message counts as recallable if a
placeholder stands in its place and names its reference, or if a line of a digest stands under its reference. That the
log has it, or that a digest covers it, does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from foveate.compile.compiled import CompiledContext
from foveate.compile.compilers import Compiler
from foveate.compile.policy import Policy
from foveate.errors import ConfigError
from foveate.lab.chat import Chat, texts
from foveate.lab.contestants import Feed, Made, Opening, Step
from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.session import Session
from foveate.session.replaying import next_view
from foveate.wire.openai_chat import encode

Own = Callable[[list[Chat], int | None], list[Chat]]
"""A policy as a plain function on OpenAI chat messages: all of them so far, system prompt first, and the
tokens that they may have."""

# Lines of other kinds stand for many messages, and name none.
_NAMING: Final = frozenset({"user", "step", "answer", "error", "evidence"})


def start_policy(policy: Policy, opening: Opening) -> Feed:
    """Begin a session that is reduced by a policy; without a budget nothing can be reduced."""
    return _fed(opening, policy_session(policy, opening))


def policy_session(policy: Policy, opening: Opening, session_id: str = "session") -> Session:
    """A new session that is reduced by a policy; without a budget nothing can be reduced."""
    system = opening.system or None
    if opening.budget is None:
        return Session(system=system, tools=opening.tools, session_id=session_id)
    return Session(
        budget=opening.budget,
        policy=policy,
        model=opening.profile,
        system=system,
        tools=opening.tools,
        session_id=session_id,
    )


def start_compiler(compiler: Compiler, opening: Opening) -> Feed:
    """Begin a session that a compiler of somebody's own decides for."""
    return _fed(opening, Session(compiler=compiler, system=opening.system or None, tools=opening.tools))


def start_function(function: Own, opening: Opening) -> Feed:
    """Begin a session whose requests a function makes of all messages so far.

    It gets copies, which it may change; what it returns is taken for what was said where it is the same.
    """
    said: dict[bytes, Chat] = {_plain(chat): chat for chat in opening.head()}
    log = list(said)

    def feed(step: Step) -> Made:
        for chat in step.chats:
            written = _plain(chat)
            said.setdefault(written, chat)
            log.append(written)
        made: Any = function([msgspec.json.decode(written) for written in log], opening.room)
        if not isinstance(made, list | tuple) or not all(isinstance(one, dict) for one in made):
            raise ConfigError(f"a policy returns a list of chat messages, got {made!r:.80}")
        return Made(chats=[said.setdefault(written, msgspec.json.decode(written)) for written in map(_plain, made)])

    return feed


def _plain(chat: Chat) -> bytes:
    try:
        return msgspec.json.encode(chat, order="deterministic")
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"a policy returns messages of plain JSON, got {chat!r:.80}: {error}") from error


def _fed(opening: Opening, session: Session) -> Feed:
    shown = ShownRequests(opening)

    def feed(step: Step) -> Made:
        ids = session.extend(msgspec.structs.replace(message, id="") for message in step.messages)
        shown.said.update(zip(ids, step.chats, strict=True))
        return shown.made(next_view(session, step.at))

    return feed


class ShownRequests:
    """Turns compiled requests into chat messages: what is as it was said becomes the very object that was given."""

    def __init__(self, opening: Opening) -> None:
        # By their ids in the session.
        self.said: dict[str, Chat] = {}
        self._head = opening.head()
        self._known: dict[int, tuple[Message, Chat]] = {}
        self._named: dict[int, tuple[Item, frozenset[int]]] = {}

    def made(self, view: CompiledContext) -> Made:
        """A compiled request, with what the lab judges it by."""
        messages = view.messages
        recallable: set[int] = set()
        for item in view.items:
            if item.fate not in ("verbatim", "repaired"):
                recallable |= self._recallable(item, view)
        return Made(
            chats=[*self._head, *map(self._chat, messages)],
            fates={fate: tokens for fate, (_, tokens) in view.fates.items()},
            marks=tuple(len(self._head) + mark for mark in view.breakpoints),
            names=("",) * len(self._head) + tuple(message.id for message in messages),
            recallable=frozenset(recallable),
        )

    def _chat(self, message: Message) -> Chat:
        known = self._known.get(id(message))
        if known is None:
            chat = encode(message)
            said = self.said.get(message.id)
            known = self._known[id(message)] = message, said if said == chat and said is not None else chat
        return known[1]

    def _recallable(self, item: Item, view: CompiledContext) -> frozenset[int]:
        known = self._named.get(id(item))
        if known is None:
            places = map(view.position, _named(item, list(texts(self._chat(item.message)))))
            known = self._named[id(item)] = item, frozenset(place for place in places if place is not None)
        return known[1]


def _named(item: Item, shown: Sequence[str]) -> Iterator[str]:
    if item.is_digest:
        yield from {line.source for line in item.lines if line.kind in _NAMING and line.source}
    elif any(f"reference {item.id}" in text or f"characters in {item.id}" in text for text in shown):
        yield item.id
