"""Sizes: the tokens of chat messages, counted once for each text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from foveate.budget.accounting import PER_MESSAGE, message_tokens
from foveate.budget.tokens import TokenCounter
from foveate.errors import MessageError
from foveate.lab.chat import Chat, texts
from foveate.log.messages import Message
from foveate.wire.openai_chat import decode


class Sizes:
    """Counts messages as the product does; what was counted is remembered.

    It holds on to the messages it was asked about, so that an identity never comes to mean another message.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = _Remembering(counter)
        self._known: dict[int, tuple[Chat, int]] = {}

    @property
    def counter(self) -> TokenCounter:
        """The counter behind it, which remembers texts too."""
        return self._counter

    def of(self, message: Chat) -> int:
        """The tokens of a message; of a malformed one, those of its texts."""
        known = self._known.get(id(message))
        if known is None:
            known = self._known[id(message)] = message, self._counted(message)
        return known[1]

    def total(self, messages: Iterable[Chat]) -> int:
        """The tokens of several messages."""
        return sum(map(self.of, messages))

    def know(self, chats: Iterable[Chat], messages: Iterable[Message]) -> None:
        """Take the tokens of messages of a log for those of the chat messages that they became."""
        for chat, message in zip(chats, messages, strict=True):
            self._known[id(chat)] = chat, message_tokens(message, self._counter)

    def prepare(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Count many texts at once, which is faster than one by one."""
        self._counter.prepare(list({text for message in messages for text in texts(message)}))

    def _counted(self, message: Chat) -> int:
        try:
            return message_tokens(decode(message), self._counter)
        except (MessageError, msgspec.MsgspecError, RecursionError):
            return PER_MESSAGE + sum(map(self._counter.count, texts(message)))


class _Remembering:
    """A counter that counts no text twice."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._known: dict[str, int] = {}

    @property
    def name(self) -> str:
        return self._counter.name

    def prepare(self, texts: Sequence[str]) -> None:
        self._known.update(zip(texts, self._counter.count_many(texts), strict=True))

    def count(self, text: str) -> int:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._counter.count(text)
        return known

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]
