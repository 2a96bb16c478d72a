"""What is known of a model: window, prices, rules of its prompt cache."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

from foveate.errors import ConfigError, UnknownModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRules:
    """How a provider caches prompts, and what that costs in multiples of the input price."""

    minimum_tokens: int
    ttl_seconds: int
    # Explicit markers a request may carry; 0 where caching is automatic.
    breakpoints: int
    # Content blocks a marker searches backwards; 0 where there is no such limit.
    lookback_blocks: int
    write: float
    read: float
    recipe_name: ClassVar[str] = "cache@1"

    def __post_init__(self) -> None:
        for option, value in (
            ("minimum_tokens", self.minimum_tokens),
            ("ttl_seconds", self.ttl_seconds),
            ("breakpoints", self.breakpoints),
            ("lookback_blocks", self.lookback_blocks),
            ("write", self.write),
            ("read", self.read),
        ):
            if value < 0:
                raise ConfigError(f"`{option}` of the cache rules must be 0 or more, got {value!r}")


# Without a model, assume the dearest rewrites in common use: who is careful there is safe anywhere.
DEFAULT_RULES = CacheRules(
    minimum_tokens=1_024, ttl_seconds=300, breakpoints=4, lookback_blocks=20, write=1.25, read=0.1
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """A model's window and prices (USD per million tokens); None is unknown, never a guess."""

    name: str
    provider: str = ""
    window: int | None = None
    output_limit: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    cache: CacheRules = DEFAULT_RULES

    def __post_init__(self) -> None:
        for option, value in (("window", self.window), ("output_limit", self.output_limit)):
            if value is not None and value <= 0:
                raise ConfigError(
                    f"`{option}` of {self.name!r} must be 1 token or more, got {value!r}; leave it out if unknown"
                )


def profile_for(model: str, *, overrides: Mapping[str, ModelProfile] | None = None) -> ModelProfile:
    """The profile of a model, also spelled `provider:model` or `provider/model`."""
    if overrides and model in overrides:
        return overrides[model]
    # Here and not on top: the price list takes most of a second to import. It is the one that
    # came with the package; nothing is fetched.
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

    snapshot = get_snapshot()
    for provider_id, reference in _spellings(model):
        try:
            provider, info = snapshot.find_provider_model(reference, None, provider_id, None)
        except LookupError:
            continue
        return _profile(model, provider, info)
    raise UnknownModelError(_unknown(model, snapshot))


def known_profile(model: str) -> ModelProfile:
    """What is known of a model; of one that nobody knows, its name."""
    try:
        return profile_for(model)
    except UnknownModelError:
        return ModelProfile(name=model)


# Rules that prices do not tell, as published by the providers; multipliers only where the price
# list has none.
_AUTOMATIC = CacheRules(minimum_tokens=1_024, ttl_seconds=300, breakpoints=0, lookback_blocks=0, write=1.0, read=0.5)
_PROVIDER_RULES: dict[str, CacheRules] = {
    "anthropic": DEFAULT_RULES,
    "azure": replace(_AUTOMATIC, ttl_seconds=600),
    "deepseek": replace(_AUTOMATIC, minimum_tokens=64, ttl_seconds=3_600, read=0.1),
    "google": replace(_AUTOMATIC, minimum_tokens=2_048, read=0.1),
    "openai": replace(_AUTOMATIC, ttl_seconds=600),
}
_MINIMUM_TOKENS: tuple[tuple[str, int], ...] = (
    (r"claude-(?:opus-4[-.][5-9]|haiku-4[-.]5)", 4_096),
    (r"claude-(?:sonnet-4[-.]6|3(?:[-.]5)?-haiku)", 2_048),
)


def _spellings(model: str) -> Iterator[tuple[str | None, str]]:
    prefix, separator, rest = model.strip().partition(":")
    if not separator or "/" in prefix:
        prefix, separator, rest = model.strip().partition("/")
    if separator and prefix and rest:
        yield prefix, rest
    yield None, model.strip()
    # Names that belong to a reseller's catalogue: `organisation/model`, `region.maker.model`.
    if "/" in model:
        yield "openrouter", model.strip()
    if "." in model:
        yield "aws", model.strip()


def _profile(model: str, provider: Provider, info: ModelInfo) -> ModelProfile:
    price = _standing_price(info)
    return ModelProfile(
        name=model,
        provider=provider.id,
        window=info.context_window,
        input_price=_usd(price, "input_mtok"),
        output_price=_usd(price, "output_mtok"),
        cache=_rules(provider.id, info.id, price),
    )


def _standing_price(info: ModelInfo) -> ModelPrice | None:
    """The newest list price; discounts by the hour are left out, as budgets know no clock."""
    if not isinstance(info.prices, list):
        return info.prices
    standing = [each.prices for each in info.prices if not hasattr(each.constraint, "start_time")]
    return standing[-1] if standing else None


def _usd(price: ModelPrice | None, unit: str) -> float | None:
    value = getattr(price, unit, None)
    # Prices by prompt size start from a base; the multipliers are the same in all tiers.
    value = getattr(value, "base", value)
    return float(value) if isinstance(value, Decimal) else None


def _rules(provider: str, model: str, price: ModelPrice | None) -> CacheRules:
    # A Claude keeps its markers and limits wherever it is hosted.
    host = "anthropic" if "claude" in model.lower() else provider
    # Nothing published: nearly every server keeps a prefix cache, so a rewrite is not free even
    # without a discount; half price is between no cache and the usual tenth.
    rules = _PROVIDER_RULES.get(host, _AUTOMATIC)
    full = _usd(price, "input_mtok")
    read = _usd(price, "cache_read_mtok")
    write = _usd(price, "cache_write_mtok")
    return replace(
        rules,
        minimum_tokens=next(
            (tokens for name, tokens in _MINIMUM_TOKENS if re.search(name, model.lower())),
            rules.minimum_tokens,
        ),
        read=round(read / full, 4) if full and read is not None else rules.read,
        write=round(write / full, 4) if full and write else rules.write,
    )


def _unknown(model: str, snapshot: DataSnapshot) -> str:
    names: dict[str, str] = {}
    for provider in snapshot.providers:
        for info in provider.models:
            names.setdefault(info.id, f"{provider.id}:{info.id}")
    near = difflib.get_close_matches(re.split("[:/]", model)[-1].lower(), names, n=3)
    hint = f" (near: {', '.join(repr(names[name]) for name in near)})" if near else ""
    return (
        f"`model` {model!r} is not in the price list{hint}; give a window yourself with"
        " `Session(budget=…)` or `ModelProfile(name=…, window=…)`"
    )
