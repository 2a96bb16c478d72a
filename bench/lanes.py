"""Lanes: one arm's way through a session at one budget; each request is charged, checked and judged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, NamedTuple, Self

from bench.outcome import PROVIDERS, Tally
from bench.peering import PeerError, Timed, TooSlowError
from bench.trail import Trail, shows, unchanged
from foveate.budget.economics import call_cost
from foveate.budget.profiles import ModelProfile, profile_for
from foveate.errors import BudgetError
from foveate.inspect.prompt_cache import Scale, finding_of
from foveate.lab.cache import PromptCache
from foveate.lab.chat import Chat
from foveate.lab.contestants import Contestant, Feed, Made, Opening
from foveate.lab.prefix import shared_prefix
from foveate.lab.references import is_visible
from foveate.lab.validity import Validity
from foveate.lab.walk import Moment, users_shown

TOLERANCE: Final = 1.05
MODELS: Final = ("anthropic:claude-sonnet-4-5", "openai:gpt-5.1", "google:gemini-2.5-pro")
_EXAMPLES: Final = 3

Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Prices:
    """Whose prices and cache rules requests are charged by, in the order of `PROVIDERS`."""

    profiles: tuple[ModelProfile, ...]

    @classmethod
    def usual(cls) -> Self:
        """Those of a model of each provider that agents are often run with."""
        return cls(tuple(map(profile_for, MODELS)))

    def described(self) -> dict[str, str]:
        """The model and the numbers, for each provider."""
        return {name: _described(profile) for name, profile in zip(PROVIDERS, self.profiles, strict=True)}


class Sent(NamedTuple):
    """A request that was made, and what each provider would charge for it."""

    made: Made
    tokens: int
    prefix: int
    cost: Triple
    cached: tuple[int, int, int]
    seconds: float
    problems: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A call that arms are judged at: what it needs, and the untouched history beside it."""

    moment: Moment
    trail: Trail
    untouched: Sent


@dataclass(slots=True)
class _Charging:
    """One provider's cache on the way through a session."""

    profile: ModelProfile
    cache: PromptCache

    def send(self, made: Made, moment: Moment) -> tuple[float, int]:
        marks = made.marks if self.profile.cache.breakpoints else None
        charge = self.cache.send(made.chats, at=moment.call.at, marks=marks)
        price = (self.profile.input_price or 0.0) / 1_000_000
        return price * call_cost(charge.tokens, charge.cached, self.profile.cache), charge.cached


class Lane:
    """An arm at a budget on its way through one session; given up if it takes more than `most_seconds` for it."""

    def __init__(self, arm: Contestant, opening: Opening, prices: Prices, most_seconds: float = inf) -> None:
        self._most_seconds = most_seconds
        self.key = arm.name, opening.budget or 0
        self.tally = Tally()
        self.milliseconds: list[float] = []
        self.problems: list[str] = []
        self._arm = arm
        self._opening = replace(opening, profile=prices.profiles[0])
        self._feed: Feed | None = None
        self._validity = Validity()
        self._before: Sequence[Chat] = ()
        scale = Scale(overhead=opening.reserved)
        self._charging = [
            _Charging(profile, PromptCache(profile.cache, opening.sizes.of, scale=scale, finding=finding_of(profile)))
            for profile in prices.profiles
        ]

    def take(self, call: Judged) -> None:
        """Go through one call; what a peer raises is its result, what an arm of ours raises is a defect."""
        try:
            sent = self.sent(call.moment)
        except BudgetError as error:
            self._went_wrong(call, f"refused: {error}")
            # What a request that was not made would have had to show is not kept.
            self._add(Tally(calls=1, refused=1, references=len(call.moment.references)))
        except TooSlowError as error:
            self._went_wrong(call, f"not measured: {error}")
            # Nobody knows what it would have sent, so such a call counts for neither side.
            self._add(Tally(unmeasured=1))
        except PeerError as error:
            self._went_wrong(call, f"failed: {error}")
            self._add(Tally(calls=1, failed=1, references=len(call.moment.references)))
        else:
            if sent.problems:
                self._went_wrong(call, f"invalid: {sent.problems[0]}")
            self.milliseconds.append(1_000 * sent.seconds)
            self._add(self._tallied(sent, call))

    def sent(self, moment: Moment) -> Sent:
        """Make the request of a call and charge it."""
        if self.tally.seconds > self._most_seconds:
            raise TooSlowError(f"given up: it took more than {self._most_seconds:.0f} s for the calls before")
        begun = time.perf_counter()
        if self._feed is None:
            self._feed = self._arm.start(self._opening)
        made = self._feed(moment.step)
        seconds = made.seconds if isinstance(made, Timed) else time.perf_counter() - begun
        sizes = self._opening.sizes
        prefix = sizes.total(made.chats[: shared_prefix(self._before, made.chats)])
        self._before = made.chats
        charges = [charging.send(made, moment) for charging in self._charging]
        cost, cached = zip(*charges, strict=True)
        tokens = self._opening.reserved + sizes.total(made.chats)
        return Sent(made, tokens, prefix, cost, cached, seconds, self._validity.problems(made.chats))

    def _tallied(self, sent: Sent, call: Judged) -> Tally:
        budget = self._opening.budget or 0
        over = sent.tokens > TOLERANCE * budget
        tally = Tally(
            calls=1,
            sent=1,
            invalid=int(bool(sent.problems)),
            broken=int(bool(sent.problems) and not call.untouched.problems),
            over=int(over),
            tokens=sent.tokens,
            prefix=sent.prefix,
            cost=sent.cost,
            cached=sent.cached,
            raw_tokens=call.untouched.tokens,
            raw_cost=call.untouched.cost,
            references=len(call.moment.references),
            seconds=sent.seconds,
        )
        # One that knows no budget stands for "just a bigger window", and is judged for what it would show there.
        is_judged = not over or not self._arm.is_bounded
        return _judged(tally, sent.made, call, budget / 2) if is_judged else tally

    def _went_wrong(self, call: Judged, text: str) -> None:
        if len(self.problems) < _EXAMPLES:
            self.problems.append(f"call {call.moment.number}: {text}"[:300])

    def _add(self, tally: Tally) -> None:
        self.tally = Tally.of((self.tally, tally))


def _judged(tally: Tally, made: Made, call: Judged, far: float) -> Tally:
    """A tally with what the request kept of the history."""
    moment, history = call.moment, call.moment.history
    due = moment.references
    shown = history.kept([one.text for one in due], made.chats) if due else set()
    held = {one.text for one in due if one.text not in shown and history.is_held(one.text, made.recallable)}
    far_back = {one.text for one in due if one.distance > far}
    observed = {one.text for one in due if one.observed_only}
    modified = {one.text for one in due if one.text in call.trail.modified}
    users = users_shown(moment.users, made.chats)
    errors = call.trail.open_errors()
    return replace(
        tally,
        judged=1,
        judged_references=len(due),
        kept=len(shown),
        restorable=len(held),
        visible=sum(one.text in shown or is_visible(one.text, made.chats) for one in due),
        far=len(far_back),
        far_kept=len(far_back & shown),
        far_restorable=len(far_back & held),
        observed=len(observed),
        observed_kept=len(observed & shown),
        observed_restorable=len(observed & held),
        modified=len(modified),
        modified_kept=len(modified & shown),
        modified_restorable=len(modified & held),
        recent=int(unchanged(call.trail.recent(), made.chats)),
        users=sum(users) / len(users) if users else 1.0,
        first=int(users[0] if users else True),
        errors=len(errors),
        errors_kept=shows(errors, made.chats),
    )


def _described(profile: ModelProfile) -> str:
    cache = profile.cache
    return (
        f"{profile.name}: ${profile.input_price} per million input tokens, cache write × {cache.write}, read × "
        f"{cache.read}, at least {cache.minimum_tokens} tokens, {cache.ttl_seconds} s"
    )
