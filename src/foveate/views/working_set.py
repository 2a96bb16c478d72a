"""The working set: which entities the agent's own actions use, recent and frequent uses weighing more."""

from __future__ import annotations

import math
from typing import Final

from foveate.log.messages import Message
from foveate.log.semantics import argument_texts
from foveate.views.entities import entities

HALF_LIFE: Final = 18.0
_IN_USE: Final = 400
_MAX_INPUT: Final = 20_000


class WorkingSet:
    """Decayed counts of the entities used by actions; time is counted in steps of the agent."""

    __slots__ = ("_uses", "step")

    def __init__(self) -> None:
        self.step = 0
        self._uses: dict[str, tuple[float, int]] = {}

    def feed(self, message: Message) -> None:
        """Take one recorded message."""
        if message.role == "assistant":
            self.step += 1
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
        """Entities used within a few half-lives; `_uses` is kept in order of last use."""
        oldest = self.step - 4 * HALF_LIFE
        recent: list[str] = []
        for entity in reversed(self._uses):
            if self._uses[entity][1] < oldest:
                break
            recent.append(entity)
        return recent

    def _use(self, entity: str, weight: float) -> None:
        weight += self.weight(entity)
        self._uses.pop(entity, None)
        self._uses[entity] = (weight, self.step)

    def weight(self, entity: str) -> float:
        """How much an entity was used of late; 0 if never."""
        use = self._uses.get(entity)
        if use is None:
            return 0.0
        weight, step = use
        return weight * math.exp2((step - self.step) / HALF_LIFE)
