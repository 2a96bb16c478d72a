"""What a session's requests cost, in units of one uncached token: the lab's prompt cache, finding any common prefix."""

from collections.abc import Sequence
from typing import NamedTuple

from bench.messages import Message
from bench.tokens import message_tokens
from foveate.budget.profiles import CacheRules
from foveate.lab.cache import PromptCache


def _rules(*, write: float, minimum: int, ttl: int) -> CacheRules:
    return CacheRules(minimum_tokens=minimum, ttl_seconds=ttl, breakpoints=0, lookback_blocks=0, write=write, read=0.1)


PRICES = {
    "anthropic": _rules(write=1.25, minimum=1024, ttl=300),
    "openai": _rules(write=1.0, minimum=1024, ttl=600),
    "gemini": _rules(write=1.0, minimum=2048, ttl=300),
}


class Charge(NamedTuple):
    """One call: input tokens, those of them read from the cache, and the price of all."""

    tokens: int
    hit: int
    cost: float


class Purse:
    """Charges the requests of a session; without `expires` the cache stays warm for ever."""

    def __init__(self, prices: CacheRules, *, expires: bool) -> None:
        self._prices = prices
        self._expires = expires
        self._cache = PromptCache(prices, message_tokens)

    def charge(self, request: Sequence[Message], at: float | None) -> Charge:
        found = self._cache.send(request, at=at if self._expires else None)
        cost = self._prices.read * found.cached + self._prices.write * (found.tokens - found.cached)
        return Charge(found.tokens, found.cached, cost)
