"""Rates: whose prices and cache rules a call is charged by, and what one request costs at them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal

from foveate.budget.economics import call_cost
from foveate.budget.profiles import ModelProfile, profile_for
from foveate.errors import UnknownModelError
from foveate.importers.entries import Usage
from foveate.inspect.model_calls import ChargedCall, is_named, usual_model, usual_ttl

Unit = Literal["USD", "input tokens"]
# Anthropic's price of a write that stays for an hour.
_HOUR: Final = 3_600
_FIVE_MINUTES: Final = 300
_HOUR_WRITE: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCost:
    """The input tokens of a request as its provider counts them, those of them found in the cache, and their cost."""

    tokens: int = 0
    cached: int = 0
    cost: float = 0.0

    @property
    def cached_share(self) -> float | None:
        """The share of input tokens that came from the cache."""
        return self.cached / self.tokens if self.tokens else None

    def as_dict(self) -> dict[str, Any]:
        """The cost as plain data."""
        return {"tokens": self.tokens, "cached": self.cached, "cost": self.cost, "cached_share": self.cached_share}

    @classmethod
    def total(cls, parts: Iterable[RequestCost]) -> RequestCost:
        """Several requests together."""
        listed = list(parts)
        return cls(
            tokens=sum(one.tokens for one in listed),
            cached=sum(one.cached for one in listed),
            cost=sum(one.cost for one in listed),
        )


def request_cost(
    tokens: int, cached: int, profile: ModelProfile, *, written: int | None = None, is_priced: bool = True
) -> RequestCost:
    """The cost of one request, in dollars or in input tokens."""
    each = (profile.input_price or 0.0) / 1_000_000 if is_priced else 1.0
    cost = each * call_cost(tokens, cached, profile.cache, written=written)
    return RequestCost(tokens=tokens, cached=min(cached, tokens), cost=cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Whose prices and cache rules calls are charged by: those of each call's own model, or of one that was chosen."""

    usual: str = ""
    ttl: int | None = None
    chosen: ModelProfile | None = None

    @classmethod
    def of_calls(cls, calls: Sequence[ChargedCall], chosen: ModelProfile | None = None) -> Rates:
        """The rates of a session."""
        return cls(usual=usual_model(calls), ttl=usual_ttl(call.usage for call in calls), chosen=chosen)

    @property
    def is_same_provider(self) -> bool:
        """Whether calls are charged by the provider that they went to, or by one of which nothing else is known."""
        recorded = model_profile(self.usual)
        return self.chosen is None or recorded is None or recorded.provider == self.chosen.provider

    def profile(self, model: str = "", ttl: int | None = None) -> ModelProfile:
        """The profile that calls of a model are charged by; a call without a model is charged as most others are."""
        return _charged_profile(self, model if is_named(model) else self.usual, ttl or self.ttl)

    def profile_of_usage(self, model: str, usage: Usage) -> ModelProfile:
        """The profile that a reported call is charged by: where its writes stay for different times, at their mean."""
        found = self.profile(model, usage.ttl_seconds)
        if not usage.written_tokens or usage.written_hour_tokens is None:
            return found
        share = min(1.0, usage.written_hour_tokens / usage.written_tokens)
        short, long = (self.profile(model, ttl).cache.write for ttl in (_FIVE_MINUTES, _HOUR))
        return replace(found, cache=replace(found.cache, write=share * long + (1 - share) * short))

    def is_priced(self, models: Iterable[str]) -> bool:
        """Whether all of these models, and the usual one, have a price."""
        return all(self.profile(model).input_price is not None for model in {"", *models})


# Asked for once a call, and there are few models.
@lru_cache(maxsize=256)
def _charged_profile(rates: Rates, name: str, ttl: int | None) -> ModelProfile:
    found = rates.chosen or model_profile(name) or ModelProfile(name=name)
    # How long one provider keeps a prefix says nothing about another's cache.
    return _keeping(found, ttl) if rates.is_same_provider else found


@lru_cache(maxsize=256)
def model_profile(model: str) -> ModelProfile | None:
    """The profile of a recorded model, if it is known; a proxy may have put its own name before the model's."""
    for name in (model, model.rpartition("/")[2]):
        try:
            return profile_for(name) if name else None
        except UnknownModelError:
            continue
    return None


def _keeping(profile: ModelProfile, ttl: int | None) -> ModelProfile:
    """A profile with the time that prefixes were kept for, and the price of that."""
    if ttl is None:
        return profile
    write = _HOUR_WRITE if ttl >= _HOUR and profile.cache.breakpoints > 0 else profile.cache.write
    return replace(profile, cache=replace(profile.cache, ttl_seconds=ttl, write=write))
