"""The working set: which entities the agent's own actions use, recent and frequent uses weighing more."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import Final

from foveate.compile.sharing import Shared
from foveate.log.messages import Message
from foveate.log.semantics import argument_texts

HALF_LIFE: Final = 18.0
_IN_USE: Final = 400
_MAX_INPUT: Final = 20_000
_TIDY: Final = 100
# In half-lives; a use so long ago weighs a billionth.
_FORGOTTEN: Final = 30


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """Decayed counts of the entities used by actions; time is counted in steps of the agent."""

    step: int = 0
    # The weight of each entity at its last use and the step of it, in the order of last use.
    uses: Mapping[str, tuple[float, int]] = field(default_factory=dict)

    def in_use(self, least: float = 0.1) -> list[str]:
        """The entities in use, most used first."""
        weighed = [(self.weight(entity), entity) for entity in self._recent()]
        return [entity for weight, entity in sorted(weighed, reverse=True)[:_IN_USE] if weight >= least]

    def weight(self, entity: str) -> float:
        """How much an entity was used of late; 0 if never."""
        use = self.uses.get(entity)
        return 0.0 if use is None else _faded(use, self.step)

    def _recent(self) -> list[str]:
        """Entities used within a few half-lives."""
        oldest = self.step - 4 * HALF_LIFE
        recent: list[str] = []
        for entity, (_, step) in reversed(tuple(self.uses.items())):
            if step < oldest:
                break
            recent.append(entity)
        return recent


class WorkingSetBuilder:
    """Keeps a working set up message by message."""

    __slots__ = ("_step", "_uses")

    def __init__(self, working: WorkingSet | None = None) -> None:
        working = working or WorkingSet()
        self._step = working.step
        self._uses = Shared(dict(working.uses))

    def working_set(self) -> WorkingSet:
        """The working set as it is now."""
        return WorkingSet(self._step, self._uses.snapshot())

    def feed(self, message: Message) -> None:
        """Take one recorded message."""
        if message.role == "assistant":
            self._step += 1
            if self._step % _TIDY == 0:
                self._forget()
            for call in message.calls:
                self._use(argument_texts(call.arguments), 1.0)
        elif message.role == "user":
            self._use(message.text[:_MAX_INPUT], 0.5)

    def _forget(self) -> None:
        """Let go of what weighs nothing any more, so that the set does not grow with the log."""
        oldest = self._step - _FORGOTTEN * HALF_LIFE
        uses = self._uses.own()
        for entity in list(takewhile(lambda one: uses[one][1] < oldest, uses)):
            del uses[entity]

    def _use(self, text: str, weight: float) -> None:
        found = dict.fromkeys(entities(text))
        uses = self._uses.own() if found else {}
        for entity in found:
            used = uses.pop(entity, None)
            uses[entity] = (weight if used is None else weight + _faded(used, self._step), self._step)


def _faded(use: tuple[float, int], now: int) -> float:
    weight, step = use
    return weight * math.exp2((step - now) / HALF_LIFE)


_WORD: Final = re.compile(r"[A-Za-z0-9_~.][\w./@-]{2,}\w")
# A word is an entity if something in it is not plain prose: a separator, a digit, an inner capital.
_MARKED: Final = re.compile(r"[A-Za-z0-9][_/.\d-]\w|\d|[a-z][A-Z]|[A-Z]{2}[a-z]|^[_~./]")
_NUMBER: Final = re.compile(r"[\d.,:/-]+$")
_HYPHENATED_PROSE: Final = re.compile(r"[A-Za-z]+(?:-[a-z]+)+$")


def entities(text: str) -> list[str]:
    """The entities of a text in order, with repetitions.

    >>> entities("open src/app.py and fix parse_order for ORD-20931, then rest")
    ['src/app.py', 'parse_order', 'ORD-20931']
    """
    return list(filter(is_entity, _WORD.findall(text)))


@lru_cache(200_000)
def is_entity(word: str) -> bool:
    """Whether a word names something, rather than being prose or a bare number."""
    return (
        len(word) <= 200
        and _MARKED.search(word) is not None
        and _NUMBER.match(word) is None
        and _HYPHENATED_PROSE.match(word) is None
    )
