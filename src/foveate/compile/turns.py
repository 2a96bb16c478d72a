"""The last turns verbatim: which messages that protects, and how the protection yields to a budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from foveate.errors import ConfigError
from foveate.log.items import Item

if TYPE_CHECKING:
    from foveate.compile.rules import Facts


class KeptTurns(NamedTuple):
    """The items that a compile may not touch, their tokens, and what of the last turns had to yield, "" for nothing."""

    ids: frozenset[str] = frozenset()
    tokens: int = 0
    yields: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepTurns:
    """The newest `turns` turns are shown as they were said; the running one counts.

    Where they do not fit, the older part of the running turn yields first, then whole turns, the oldest first. What an
    earlier compile reduced, with less room, is not owed any more.
    """

    turns: int
    name: str = "last turns verbatim"
    recipe_name: ClassVar[str] = "keep_turns@1"

    def __post_init__(self) -> None:
        if isinstance(self.turns, bool) or not isinstance(self.turns, int) or self.turns < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"`keep_turns` must be 1 turn or more, got {self.turns!r}; leave it out to keep none")

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        # Whatever was sent before: only what this compile had to leave alone is looked at.
        if not facts.kept:
            return
        present = {item.id: item for item in items}
        for message_id in sorted(facts.kept):
            item = present.get(message_id)
            if item is None:
                yield f"{message_id} is missing"
            elif not item.is_whole:
                yield f"{message_id} is {item.fate}, not as it was said"

    def kept(self, items: Sequence[Item], room: int, *, newest_input: str | None, exchanges: int) -> KeptTurns:
        """What of the last turns fits into `room` tokens beside what else must be sent."""
        whole = [item for item in items if item.is_whole and not item.is_digest]
        newest = max((item.message.meta.turn for item in whole), default=0)
        last = [item for item in whole if item.message.meta.turn > newest - self.turns]
        if (tokens := _tokens(last)) <= room:
            return KeptTurns(frozenset(item.id for item in last), tokens)
        some = _tail(last, newest, newest_input, exchanges)
        if (left := _tokens(some)) > room:
            nothing = f"`keep_turns={self.turns}` needs {tokens} tokens and has {room}: nothing of it is kept"
            return KeptTurns(yields=nothing)
        before = ""
        # The turns that there are: the number that was asked for may be any.
        for turn, items_of in groupby(sorted(last, key=_turn_of, reverse=True), key=_turn_of):
            if turn == newest:
                continue
            older = list(items_of)
            if left + (size := _tokens(older)) > room:
                before = f" and all but {newest - turn} of the turns"
                break
            some, left = [*some, *older], left + size
        return KeptTurns(frozenset(item.id for item in some), left, self._said(tokens, room, before))

    def _said(self, tokens: int, room: int, before: str) -> str:
        older = f"the older part of the running turn{before}"
        return f"`keep_turns={self.turns}` needs {tokens} tokens and has {room}: {older} may be reduced"


def _tail(last: Sequence[Item], newest: int, newest_input: str | None, exchanges: int) -> list[Item]:
    """The newest exchanges of the running turn, with what was asked."""
    running = [item for item in last if item.message.meta.turn == newest]
    recent = list(dict.fromkeys(item.group for item in reversed(running)))[:exchanges]
    return [item for item in running if item.group in recent or item.id == newest_input]


def _turn_of(item: Item) -> int:
    return item.message.meta.turn


def _tokens(items: Iterable[Item]) -> int:
    return sum(item.tokens for item in items)
