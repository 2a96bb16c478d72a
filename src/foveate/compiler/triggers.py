"""Triggers: whether this call is the moment for a reduction, judged by the cache's prices."""

from __future__ import annotations

from typing import Final, NamedTuple

from foveate.budget.economics import cheapest_batch
from foveate.budget.profiles import CacheRules
from foveate.budget.window import TokenBudget
from foveate.log.events import Trigger
from foveate.views.timeline import Timeline

# A rewrite for less than this share of the budget is not worth anybody's attention.
_WORTHWHILE: Final = 0.15
_KNOWN_MISS: Final = 0.1


class Decision(NamedTuple):
    """Why a reduction is made now."""

    trigger: Trigger
    reason: str


def decide(
    timeline: Timeline,
    budget: TokenBudget,
    low: int,
    cache: CacheRules,
    *,
    framing: int,
    now: float | None,
    patience: float | None,
    asked: bool,
) -> Decision | None:
    """The reason to reduce at this call, or None."""
    if budget.over_limit():
        return Decision("must", f"{budget.used} tokens are more than {budget.limit}")
    if missing := _unshown_pins(timeline):
        return Decision("must", f"pinned {', '.join(missing)} must be shown again")
    if asked or budget.should_compact():
        return _if_worthwhile(timeline, budget, low, Decision("asked", "compaction was asked for"), share=0.0)
    if cold := cold_reason(timeline, cache, now):
        return _if_worthwhile(timeline, budget, low, Decision("free", cold))
    if patience is not None and timeline.growth:
        kept = timeline.kept or low
        batch = cheapest_batch(kept, timeline.growth, cache) * patience
        if budget.used - framing > kept + batch:
            reason = f"{kept + batch:.0f} tokens is the cheapest size to rewrite at, growing {timeline.growth} a call"
            return _if_worthwhile(timeline, budget, low, Decision("pays", reason))
    return None


def cold_reason(timeline: Timeline, cache: CacheRules, now: float | None) -> str | None:
    """Why the provider's cache holds nothing of the last request, or None if it does."""
    sent = timeline.sent
    if sent is None:
        return None
    if timeline.model_switched:
        return "the model was switched, its cache is cold"
    if now is not None and sent.now is not None and now - sent.now > cache.ttl_seconds:
        return f"idle for {now - sent.now:.0f} s, the cache is cold"
    usage = timeline.usage
    expected = sent.predicted if sent.predicted > 2 * cache.minimum_tokens else 0
    if usage is not None and usage.cached_tokens is not None and usage.cached_tokens < expected * _KNOWN_MISS:
        return "the last call missed the cache"
    return None


def _unshown_pins(timeline: Timeline) -> list[str]:
    if not timeline.pins:
        return []
    shown = {item.id for item in timeline.mender.items if item.fate in ("verbatim", "repaired")}
    return [pin for pin in timeline.pins if pin not in shown and pin not in timeline.mender.left_out]


def _if_worthwhile(
    timeline: Timeline, budget: TokenBudget, low: int, decision: Decision, share: float = _WORTHWHILE
) -> Decision | None:
    if budget.used - low <= budget.limit * share or timeline.declined >= budget.used:
        return None
    return decision
