"""Copy on write: a container that others may keep is copied before it changes."""

from __future__ import annotations

from copy import copy
from typing import Generic, TypeVar

Container = TypeVar("Container")


class Shared(Generic[Container]):
    """A container that snapshots share until its owner changes it."""

    __slots__ = ("_is_lent", "current")

    def __init__(self, value: Container) -> None:
        # To be read by its owner, and changed by way of `own` alone.
        self.current = value
        self._is_lent = False

    def snapshot(self) -> Container:
        """The container as it is now; nobody changes it from here on."""
        self._is_lent = True
        return self.current

    def own(self) -> Container:
        """The container, to be changed by its owner; a copy, if a snapshot has it."""
        if self._is_lent:
            self.current = copy(self.current)
            self._is_lent = False
        return self.current
