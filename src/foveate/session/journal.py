"""The journal: what a session needs of whoever keeps its events for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from foveate.budget.tokens import TokenCounter
from foveate.compiler.compiled import CompiledContext
from foveate.log.context import AgentContext
from foveate.log.events import Event
from foveate.log.kept import Kept
from foveate.recall import PassageIndex
from foveate.views.timeline import Projector


class Journal(Protocol):
    """Keeps the events of one session."""

    @property
    def held_in(self) -> str | None:
        """Where events wait to be written, in words; None if none do."""
        ...

    def append(self, events: Sequence[Event], /, *, hold: bool = False) -> Kept:
        """Keep events for good, all or none; a `ConflictError` if another writer was first.

        With `hold`, a store that cannot be written takes them later, and the result says so.
        """
        ...

    def reload(self) -> tuple[AgentContext, Projector]:
        """The log as it stands, after held events came behind another writer's, and what folds it."""
        ...

    def since(self, length: int, /) -> list[Event]:
        """The events from number `length` on, which others appended."""
        ...

    def rebuilt(self, number: int, counter: TokenCounter, /) -> CompiledContext:
        """A past call, from what was kept."""
        ...

    def index(self) -> PassageIndex:
        """Finds passages of the log; what was appended is in it."""
        ...

    def artifact(self, handle: str, /) -> str:
        """The text behind a handle."""
        ...

    def save(self, context: AgentContext, projector: Projector, /) -> None:
        """Make sure that the session can be opened quickly from here."""
        ...

    def close(self, context: AgentContext, projector: Projector, /) -> bool:
        """Let go of everything, so that the session can be opened quickly later; whether the store has all of it."""
        ...
