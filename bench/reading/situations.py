"""Situations: the deep steps of recorded sessions at which requests are read, chosen by a seed and never by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from bench.material import Material, Split
from bench.replay import least_tokens, opening_of
from bench.tokens import message_tokens
from foveate.lab.chat import Chat, calls_of, content_of
from foveate.lab.script import ModelCall, Script

# What came before a situation is so many budgets at least, so that no policy can show all of it.
DEPTH: Final = 2.5
MOST_PER_SESSION: Final = 2
SEED: Final = 20_261_118
PINNED: Final = Path(__file__).parent / "chosen.json"
PINNED_BUDGETS: Final = (8_000, 32_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A step to be read at: the session by its hash, the number of the call, and what came before it.

    `history_sha256` is of the texts and calls before the step, so that requests compiled elsewhere can be told to be of
    the same history.
    """

    id: str
    session: str
    split: Split
    call: int
    place: int
    history_tokens: int
    history_sha256: str


def situations_in(
    material: Material, budget: int, *, seed: int = SEED, most: int = MOST_PER_SESSION
) -> list[Situation]:
    """Up to two deep steps of a session, one of each half of those that there are."""
    opening = opening_of(material.script)
    if least_tokens(material.script, opening) > budget:
        return []
    deep = [(number, before) for number, _, before in deep_calls(material.script, DEPTH * budget)]
    random = Random(f"{seed} {budget} {material.name}")
    middle = (len(deep) + 1) // 2
    halves = [deep[:middle], deep[middle:]] if most > 1 else [deep]
    return [_situation(material, *random.choice(half)) for half in halves if half]


def chosen_situations(materials: Sequence[Material], budget: int, *, seed: int = SEED) -> list[Situation]:
    """The situations of all sessions, in the order of their ids."""
    found = [one for material in materials for one in situations_in(material, budget, seed=seed)]
    return sorted(found, key=lambda one: one.id)


def pinned_situations() -> dict[int, tuple[Situation, ...]]:
    """The situations of the recorded sessions by budget, as they were fixed before anything was read."""
    return msgspec.json.decode(PINNED.read_bytes(), type=dict[int, tuple[Situation, ...]])


def pin_situations(materials: Sequence[Material]) -> None:
    """Fix the situations of the recorded sessions."""
    chosen = {budget: chosen_situations(materials, budget) for budget in PINNED_BUDGETS}
    PINNED.write_bytes(msgspec.json.format(msgspec.json.encode(chosen), indent=1) + b"\n")


def deep_calls(script: Script, least: float) -> Iterator[tuple[int, ModelCall, int]]:
    """Calls with more than `least` tokens before them whose answer calls a tool with arguments, and those tokens."""
    before = done = 0
    for number, call in enumerate(script.calls):
        before += sum(map(message_tokens, script.chats[done : call.place]))
        done = call.place
        if before > least and call.answer is not None and any(map(_has_arguments, calls_of(call.answer))):
            yield number, call, before


def history_hash(chats: Sequence[Chat]) -> str:
    """A hash of what was said and called."""
    said = sha256()
    for chat in chats:
        called = [(one["function"]["name"], one["function"]["arguments"]) for one in calls_of(chat)]
        said.update(repr((chat["role"], content_of(chat), called)).encode("utf-8", "replace"))
    return said.hexdigest()


def _situation(material: Material, number: int, before: int) -> Situation:
    place = material.script.calls[number].place
    return Situation(
        id=f"{material.name}-{number}",
        session=material.name,
        split=material.split,
        call=number,
        place=place,
        history_tokens=before,
        history_sha256=history_hash(material.script.chats[:place]),
    )


def _has_arguments(called: Chat) -> bool:
    return called["function"]["arguments"].strip() not in ("", "{}", "null")
