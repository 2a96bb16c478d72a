"""A memo by message: what was made of the messages used last, since a request shows most of them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from foveate.log.messages import Message

Made = TypeVar("Made")
_MOST: Final = 1_024


class MadeOfMessage(Generic[Made]):
    """A function of a message alone, with the results for the last few messages kept.

    Messages never change, and one that is kept has its identity to itself. What is made must not be changed either.
    """

    __slots__ = ("_kept", "_make")

    def __init__(self, make: Callable[[Message], Made]) -> None:
        self._make = make
        self._kept: dict[int, tuple[Message, Made]] = {}

    def __call__(self, message: Message) -> Made:
        """What is made of a message."""
        kept = self._kept.get(id(message))
        if kept is not None:
            return kept[1]
        made = self._make(message)
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[id(message)] = (message, made)
        return made
