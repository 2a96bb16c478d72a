"""The working set: which entities the agent's own actions use, recent and frequent uses weighing more."""

from __future__ import annotations

import math
from itertools import takewhile
from typing import Final

from foveate.log.messages import Message
from foveate.log.semantics import argument_texts
from foveate.views.entities import entities

HALF_LIFE: Final = 18.0
_IN_USE: Final = 400
_MAX_INPUT: Final = 20_000
_TIDY: Final = 100
# In half-lives; a use so long ago weighs a billionth.
_FORGOTTEN: Final = 30


class WorkingSet:
    """Decayed counts of the entities used by actions; time is counted in steps of the agent."""

    __slots__ = ("step", "uses")

    def __init__(self) -> None:
        self.step = 0
        self.uses: dict[str, tuple[float, int]] = {}

    def feed(self, message: Message) -> None:
        """Take one recorded message."""
        if message.role == "assistant":
            self.step += 1
            if self.step % _TIDY == 0:
                self._forget()
            for call in message.calls:
                for entity in dict.fromkeys(entities(argument_texts(call.arguments))):
                    self._use(entity, 1.0)
        elif message.role == "user":
            for entity in dict.fromkeys(entities(message.text[:_MAX_INPUT])):
                self._use(entity, 0.5)

    def in_use(self, least: float = 0.1) -> list[str]:
        """The entities in use, most used first."""
        weighed = [(self.weight(entity), entity) for entity in self._recent()]
        return [entity for weight, entity in sorted(weighed, reverse=True)[:_IN_USE] if weight >= least]

    def _recent(self) -> list[str]:
        """Entities used within a few half-lives; `uses` is kept in order of last use."""
        oldest = self.step - 4 * HALF_LIFE
        recent: list[str] = []
        for entity in reversed(self.uses):
            if self.uses[entity][1] < oldest:
                break
            recent.append(entity)
        return recent

    def _forget(self) -> None:
        """Let go of what weighs nothing any more, so that the set does not grow with the log."""
        oldest = self.step - _FORGOTTEN * HALF_LIFE
        for entity in list(takewhile(lambda one: self.uses[one][1] < oldest, self.uses)):
            del self.uses[entity]

    def _use(self, entity: str, weight: float) -> None:
        weight += self.weight(entity)
        self.uses.pop(entity, None)
        self.uses[entity] = (weight, self.step)

    def weight(self, entity: str) -> float:
        """How much an entity was used of late; 0 if never."""
        use = self.uses.get(entity)
        if use is None:
            return 0.0
        weight, step = use
        return weight * math.exp2((step - self.step) / HALF_LIFE)
