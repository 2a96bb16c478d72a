"""Validity: whether a provider would accept requests that have most of their messages in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foveate.lab.chat import Chat
from foveate.lab.prefix import shared_prefix
from foveate.wire.openai_rules import problems


class Validity:
    """Looks at each exchange once: no rule of the format is about more than a message and the results behind it."""

    def __init__(self) -> None:
        # With the messages themselves, so that their identities never come to mean others.
        self._sound: dict[tuple[int, ...], list[Chat]] = {}
        # The last request that nothing was wrong with.
        self._good: Sequence[Chat] = ()

    def problems(self, request: Sequence[Chat]) -> list[str]:
        """Everything a provider would refuse in a request; empty if nothing."""
        start = shared_prefix(self._good, request)
        # From the last exchange of the common part on, because what follows may belong to it.
        start -= 1
        while start > 0 and request[start].get("role") == "tool":
            start -= 1
        start = max(0, start)
        if request and all(self._is_sound(exchange) for exchange in _exchanges(request[start:])):
            self._good = request
            return []
        return problems(list(request))

    def _is_sound(self, exchange: list[Chat]) -> bool:
        key = tuple(map(id, exchange))
        if key not in self._sound:
            if problems(exchange):
                return False
            self._sound[key] = exchange
        return True


def _exchanges(request: Sequence[Chat]) -> Iterator[list[Chat]]:
    exchange: list[Chat] = []
    for message in request:
        if exchange and message.get("role") != "tool":
            yield exchange
            exchange = []
        exchange.append(message)
    yield exchange
