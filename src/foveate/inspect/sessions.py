"""Sessions of a store, as a list: found by words, sorted, some at a time, each with what it cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from foveate.inspect.session_costs import input_costs
from foveate.store import SessionInfo, Store

SortKey = Literal["last_activity", "created", "title", "session_id", "messages", "tokens", "calls", "cost"]
_KEYS: Final[dict[SortKey, Callable[[SessionInfo], Any]]] = {
    "last_activity": lambda info: info.last_activity_at,
    "created": lambda info: info.created_at,
    "title": lambda info: info.title.casefold(),
    "session_id": lambda info: info.session_id.casefold(),
    "messages": lambda info: info.messages,
    "tokens": lambda info: info.tokens,
    "calls": lambda info: info.calls,
}

CostReader = Callable[[Store, Sequence[SessionInfo]], dict[int, float | None]]
"""Reads the input cost of sessions in dollars, by their keys; a server remembers what it has read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session as far as it is known without its log; `cost` is of its input in dollars, None if it is not known."""

    info: SessionInfo
    cost: float | None

    @property
    def model(self) -> str | None:
        """The model that the session was last framed with."""
        model = self.info.metadata.get("model")
        return model if isinstance(model, str) else None


class SessionPage(NamedTuple):
    """Some of the sessions that match, and how many match."""

    total: int
    sessions: list[SessionSummary]


def list_sessions(
    store: Store,
    *,
    search: str = "",
    vault: str | None = None,
    sort: SortKey = "last_activity",
    descending: bool = True,
    offset: int = 0,
    limit: int | None = None,
    read_costs: CostReader = input_costs,
) -> SessionPage:
    """The sessions of a store that have all words of `search` in their names, titles, vaults or tags."""
    words = search.casefold().split()
    found = [info for info in store.sessions() if vault in (None, info.vault_name) and _has(info, words)]
    if sort == "cost":
        costs = read_costs(store, found)
        # What has no price is cheaper than what costs nothing.
        found.sort(key=lambda info: -1.0 if (cost := costs.get(info.key)) is None else cost, reverse=descending)
    else:
        found.sort(key=_KEYS[sort], reverse=descending)
    chosen = found[offset:] if limit is None else found[offset : offset + limit]
    costs = read_costs(store, chosen)
    return SessionPage(len(found), [SessionSummary(info=info, cost=costs.get(info.key)) for info in chosen])


def _has(info: SessionInfo, words: list[str]) -> bool:
    tags = (text for tag in info.tags.items() for text in tag)
    text = "\n".join((info.session_id, info.title, info.vault_name, *tags)).casefold()
    return all(word in text for word in words)
