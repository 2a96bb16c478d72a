"""Triggers: whether this call is the moment for a reduction, judged by the cache's prices, and how far down it goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from foveate.budget.calibrate import Correction
from foveate.budget.economics import break_even_calls, cheapest_batch, marks
from foveate.budget.profiles import CacheRules
from foveate.budget.window import TokenBudget
from foveate.compile.framing import Framing
from foveate.compile.policy import Policy
from foveate.compile.projection import Projection
from foveate.compile.rules import ROOM_FOR_ERROR
from foveate.errors import BudgetError
from foveate.log.events import Trigger
from foveate.log.items import Item

# A rewrite for less than this share of the budget is not worth anybody's attention.
# What must be done is done for nothing, what the user asks for is done for little.
# Where a policy itself says when, it has looked at the worth: newer words may even take more room than the older.
WORTHWHILE: Final[dict[Trigger, float]] = {
    "must": 0.0,
    "capped": 0.0,
    "due": -1.0,
    "asked": 0.03,
    "free": 0.12,
    "pays": 0.12,
}
# Asked for by prices, neither by the budget nor by the user.
FOR_PRICE: Final[frozenset[Trigger]] = frozenset({"free", "pays"})
_BACK_OFF: Final = 0.12
_KNOWN_MISS: Final = 0.1
# What was just reduced is reduced again at a user's wish once it has grown by an eighth.
_GROWN: Final = 8


class Decision(NamedTuple):
    """Why a reduction is made now."""

    trigger: Trigger
    reason: str


class Sizes(NamedTuple):
    """Tokens of messages by our own count: what there is, what a reduction comes down to, what there is room for.

    `scale` is what shares are of and gains are measured by, if that is less than the room.
    """

    used: int
    low: int
    room: int
    scale: int | None = None

    @property
    def measure(self) -> int:
        """What gains are measured by."""
        return self.room if self.scale is None else self.scale


def decide(
    timeline: Projection,
    budget: TokenBudget,
    sizes: Sizes,
    cache: CacheRules,
    *,
    now: float | None,
    patience: float | None,
    asked: bool,
    due: str | None = None,
) -> Decision | None:
    """The reason to reduce at this call, or None; `asked` says whether the caller or the budget asks for it."""
    if budget.over_limit():
        return Decision("must", f"{budget.used} tokens are more than {budget.limit}")
    if missing := _unshown_pins(timeline):
        return Decision("must", f"pinned {', '.join(missing)} must be shown again")
    if timeline.mender.clashes:
        return Decision("must", "a call id stands twice in the request")
    lost = next(filter(timeline.ledger.is_open, timeline.lost_errors), None)
    if lost is not None and sizes.room - sizes.used >= ROOM_FOR_ERROR:
        return Decision("must", f"there is room again for the open error {lost}")
    if due is not None:
        return Decision("due", due)
    if asked:
        return _asked(timeline, budget, sizes)
    if cold := cold_reason(timeline, cache, now):
        return _if_worthwhile(timeline, sizes, Decision("free", cold))
    if patience is not None and timeline.growth:
        kept = timeline.kept or sizes.low
        batch = cheapest_batch(kept, timeline.growth, cache) * patience
        if sizes.used - timeline.looked_up > kept + batch:
            reason = f"{kept + batch:.0f} tokens is the cheapest size to rewrite at, growing {timeline.growth} a call"
            return _if_worthwhile(timeline, sizes, Decision("pays", reason))
    return None


def forgetting(timeline: Projection, sizes: Sizes, cache: CacheRules) -> Decision | None:
    """The reason to take out what was looked up for inputs that are answered, or None while it costs less to carry."""
    newest = timeline.position(timeline.newest_input) if timeline.newest_input is not None else None
    if not timeline.looked_up or newest is None or newest < timeline.sent_messages:
        # Within a turn what was looked up for it serves.
        return None
    items = timeline.mender.items
    first = next((index for index, item in enumerate(items) if item.is_looked_up), len(items))
    behind = sum(item.tokens for item in items[first:]) - timeline.looked_up
    reason = f"{timeline.looked_up} tokens that were looked up for earlier inputs have served"
    if sizes.used > sizes.room:
        return Decision("must", reason) if sizes.used - timeline.looked_up <= sizes.room else None
    if timeline.looked_up < sizes.measure * WORTHWHILE["pays"]:
        return None
    if break_even_calls(behind, timeline.looked_up, cache) > 1 + timeline.further_calls:
        return None
    return Decision("pays", reason)


def making_room(timeline: Projection, sizes: Sizes, wanted: int, *, forgets: bool) -> tuple[Decision | None, Sizes]:
    """The reason to reduce for so many tokens that were looked up, and how far; None if there is room for them."""
    if sizes.used + wanted <= sizes.room:
        return None, sizes
    if forgets and sizes.used - timeline.looked_up + wanted <= sizes.room:
        # It is enough to forget what was looked up before: no other pass has work to do above this mark.
        sizes = sizes._replace(low=max(sizes.used, sizes.room))
    return Decision("must", f"{wanted} tokens that were looked up need room"), sizes


def asked_sizes(timeline: Projection, budget: TokenBudget, sizes: Sizes, framing: int, correction: Correction) -> Sizes:
    """The sizes of a reduction that is asked for: however small a request is, it comes down to half of that mark.

    The mark is the budget's soft threshold, or what its headroom leaves. Where only the caller asks, there is none:
    then it is what there is, unless the low mark is far enough below it and the last attempt brought something.
    """
    mark = budget.asks_from() if budget.should_compact() else None
    if mark is not None:
        goal = correction.room(mark[0]) - framing
    elif timeline.declined or sizes.used - sizes.low <= sizes.room * WORTHWHILE["asked"]:
        goal = sizes.used
    else:
        return sizes
    scale = max(0, min(sizes.room, goal))
    return sizes._replace(low=min(sizes.low, scale // 2), scale=scale)


def _asked(timeline: Projection, budget: TokenBudget, sizes: Sizes) -> Decision | None:
    mark = budget.asks_from() if budget.should_compact() else None
    reason = "compaction was asked for"
    if mark is not None:
        reason = f"{reason}: {budget.used} tokens have reached the {mark[0]} of `{mark[1]}`"
    if sizes.scale is not None and timeline.kept and sizes.used <= timeline.kept + timeline.kept // _GROWN:
        # It is as small as the last reduction could make it; another at every call would bring nothing new.
        return None
    return _if_worthwhile(timeline, sizes, Decision("asked", reason))


def cold_reason(timeline: Projection, cache: CacheRules, now: float | None) -> str | None:
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


def _unshown_pins(timeline: Projection) -> list[str]:
    if not timeline.pins:
        return []
    shown = {item.id for item in timeline.mender.items if item.is_whole}
    return [pin for pin in timeline.pins if pin not in shown and pin not in timeline.mender.left_out]


def _if_worthwhile(timeline: Projection, sizes: Sizes, decision: Decision) -> Decision | None:
    """A decision to reduce, unless there is little to gain or the last attempt on nearly the same gained little."""
    if sizes.used - sizes.low <= sizes.measure * WORTHWHILE[decision.trigger]:
        return None
    if timeline.declined and sizes.used < timeline.declined + sizes.measure * _BACK_OFF:
        return None
    return decision


class Owed(NamedTuple):
    """Tokens of what every request shows as it was said: leading system messages, pinned ones, and the newest input."""

    leading: int
    pinned: int
    newest: int

    @property
    def standing(self) -> int:
        """The tokens of what stays however the conversation goes on."""
        return self.leading + self.pinned


def owed_tokens(timeline: Projection) -> Owed:
    """The tokens that no reduction can take away."""
    newest = timeline.position(timeline.newest_input) if timeline.newest_input is not None else None
    leading = {*range(timeline.leading)} - {newest}
    pinned = {*map(timeline.position, timeline.pins)} - leading - {newest}

    def tokens_of(places: Iterable[int | None]) -> int:
        return sum(timeline.count(timeline.log.message(place)) for place in places if place is not None)

    return Owed(tokens_of(leading), tokens_of(pinned), timeline.newest_input_tokens if newest is not None else 0)


def low_mark(timeline: Projection, framing: Framing, limit: int, cache: CacheRules, policy: Policy, owed: Owed) -> int:
    """The tokens of messages, by our own count, that a reduction comes down to; `limit` is by our own count, too."""
    if policy.low is not None:
        return max(int(limit * policy.low) - framing.tokens, sum(owed))
    return marks(limit, min(limit, framing.tokens + sum(owed)), timeline.growth, cache).low - framing.tokens


def check_room(room: int, owed: Owed, framing: Framing, budget: TokenBudget, correction: Correction) -> None:
    """Refuse a compile in which what must be sent does not fit into the room; found before any work is done."""
    if sum(owed) > room:
        parts = {
            "system, tools and sections": framing.tokens,
            "leading system messages": owed.leading,
            "pinned": owed.pinned,
            "newest input": owed.newest,
        }
        needed = correction.correct(sum(parts.values()))
        listed = ", ".join(f"{name} {tokens}" for name, tokens in parts.items() if tokens)
        raise BudgetError(
            f"what must be sent needs {needed} tokens ({listed}) but `budget` is {budget.limit}; "
            f"raise `budget`, {'unpin, ' if owed.pinned else ''}or shorten {_shortenable(owed)}",
            needed=needed,
            limit=budget.limit,
            parts=parts,
        )


def _shortenable(owed: Owed) -> str:
    """What a caller can make shorter of what must be sent."""
    given = ["system prompt", "tools"]
    given += ["leading system messages"] if owed.leading else []
    given += ["input"] if owed.newest else []
    return f"{', '.join(given[:-1])} or {given[-1]}"


def check_fit(
    before: Sequence[Item], after: Sequence[Item], framing: Framing, budget: TokenBudget, correction: Correction
) -> None:
    """Refuse a request that is over the budget, and one that has room for nothing of its conversation."""
    if budget.over_limit():
        raise BudgetError(
            f"the passes left {budget.used} tokens in a budget of {budget.limit}; "
            "end `passes` with `Truncate()` or raise `budget`",
            needed=budget.used,
            limit=budget.limit,
        )
    if after is not before and _is_all_gone(before, after):
        newest = sum(item.tokens for item in before if item.group == before[-1].group)
        raise BudgetError(
            f"not one message fits into a budget of {budget.limit} tokens, of which system prompt, tools and sections "
            f"take {framing.tokens}; raise `budget`, or shorten them",
            needed=max(correction.correct(framing.tokens + newest), budget.limit + 1),
            limit=budget.limit,
        )


def _is_all_gone(before: Sequence[Item], after: Sequence[Item]) -> bool:
    """Whether a reduction left nothing of a conversation but instructions, though there was more.

    Sections beside it are those of one call, while what a reduction took away stays away.
    """
    is_left = any(item.message.role != "system" or item.is_digest for item in after)
    return not is_left and any(item.message.role != "system" for item in before)
