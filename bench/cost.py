"""A simulated prompt cache: what a session's requests cost, in units of one uncached token."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from bench.messages import Message
from bench.tokens import message_tokens, request_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Multipliers of the input price; the cache holds prefixes of at least `minimum` tokens."""

    write: float
    read: float
    minimum: int
    ttl: float


PRICES = {
    "anthropic": Prices(write=1.25, read=0.1, minimum=1024, ttl=300),
    "openai": Prices(write=1.0, read=0.1, minimum=1024, ttl=600),
    "gemini": Prices(write=1.0, read=0.1, minimum=2048, ttl=300),
}


class Charge(NamedTuple):
    """One call: input tokens, those of them read from the cache, and the price of all."""

    tokens: int
    hit: int
    cost: float


class PromptCache:
    """Remembers the last request of a session; whole messages are the unit of a prefix."""

    def __init__(self, prices: Prices, *, expires: bool) -> None:
        self._prices = prices
        self._expires = expires
        self._previous: Sequence[Message] = ()
        self._at: float | None = None

    def charge(self, request: Sequence[Message], at: float | None) -> Charge:
        tokens = request_tokens(request)
        hit = 0 if self._is_cold(at) else self._common_prefix(request)
        self._previous, self._at = request, at
        cost = self._prices.read * hit + self._prices.write * (tokens - hit)
        return Charge(tokens, hit, cost)

    def _is_cold(self, at: float | None) -> bool:
        if not self._expires or at is None or self._at is None:
            return False
        return at - self._at > self._prices.ttl

    def _common_prefix(self, request: Sequence[Message]) -> int:
        pairs = zip(self._previous, request, strict=False)
        # Equal dicts have equal canonical JSON, and identical ones compare at no cost.
        same = takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs)
        tokens = sum(message_tokens(message) for _, message in same)
        return tokens if tokens >= self._prices.minimum else 0
