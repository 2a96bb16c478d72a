"""Lanes: one contestant's way through a session, charged and judged call by call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from foveate.errors import BudgetError
from foveate.inspect.prompt_cache import Scale
from foveate.inspect.rates import Rates, RequestCost, request_cost
from foveate.lab.cache import Charge, PromptCache
from foveate.lab.chat import Chat, content_of
from foveate.lab.contestants import Contestant, Feed, Made, Opening
from foveate.lab.result import Break, Lane, Problem, ProblemKind, Series, Totals
from foveate.lab.script import ModelCall
from foveate.lab.validity import Validity
from foveate.lab.walk import Moment, users_shown

OVERHEAD: Final = "overhead"
LEFT_OUT: Final = "left out"
_PREVIEW: Final = 60
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What requests are charged by.

    Args:
        rates: whose prices and cache rules.
        is_priced: whether all of its models have a price; else costs are in input tokens.
        scale: from our tokens to the provider's.
        warm: tokens that an earlier session left in the cache.

    """

    rates: Rates = field(default_factory=Rates)
    is_priced: bool = False
    scale: Scale = field(default_factory=Scale)
    warm: int = 0


class ChargedRequests:
    """Charges the requests of one contestant, one after the other."""

    def __init__(self, opening: Opening, terms: Terms) -> None:
        self._terms = terms
        rules = terms.rates.profile().cache
        self._cache = PromptCache(rules, opening.sizes.of, scale=terms.scale, warm=terms.warm)

    def send(self, call: ModelCall, made: Made) -> tuple[Charge, RequestCost]:
        """Charge a request that stands for a recorded call."""
        rates = self._terms.rates
        # How long the recorded agent had its prefixes kept says nothing about another provider.
        ttl = call.usage.ttl_seconds if call.usage is not None and rates.is_same_provider else None
        profile = rates.profile(call.model)
        charge = self._cache.send(made.chats, at=call.at, model=call.model, ttl=ttl, marks=made.marks, profile=profile)
        return charge, request_cost(charge.tokens, charge.cached, profile, is_priced=self._terms.is_priced)


class Runner:
    """A contestant on its way through a session; its failures are results, not errors."""

    def __init__(
        self,
        contestant: Contestant,
        opening: Opening,
        terms: Terms,
        said: Sequence[Chat],
        *,
        sent: Sequence[RequestCost | None],
    ) -> None:
        self._contestant = contestant
        self._opening = opening
        self._terms = terms
        self._said = {id(chat) for chat in said}
        self._validity = Validity()
        self._requests = ChargedRequests(opening, terms)
        # What the log tells of the calls as they were sent, if these are they.
        self._recorded = sent if contestant.was_sent else [None] * len(sent)
        self._entries: list[_Entry] = []
        self._feed: Feed | None = None

    def take(self, moment: Moment) -> None:
        """Go through one call."""
        begun = time.perf_counter()
        try:
            if self._feed is None:
                self._feed = self._contestant.start(self._opening)
            made = self._feed(moment.step)
        except BudgetError as error:
            self._entries.append(_failed(moment, "refused", str(error)))
        except Exception as error:  # noqa: BLE001  a contestant is anybody's code, and what it raises is its result
            self._entries.append(_failed(moment, "failed", f"{type(error).__name__}: {error}"))
        else:
            self._entries.append(self._sent(moment, made, time.perf_counter() - begun))

    def lane(self) -> Lane:
        """What was measured."""
        entries = self._entries
        totals = [entry.totals for entry in entries]
        names = list(dict.fromkeys(name for entry in entries for name in entry.fates))
        return Lane(
            totals=Totals.of(totals),
            series=Series(
                tokens=tuple(one.tokens for one in totals),
                cached=tuple(one.cached for one in totals),
                cost=tuple(one.cost for one in totals),
                over=tuple(one.over for one in totals),
                milliseconds=tuple(round(1_000 * one.seconds, 3) for one in totals),
                fates={name: tuple(entry.fates.get(name, 0) for entry in entries) for name in names},
                problems=tuple(entry.problem for entry in entries if entry.problem is not None),
                breaks=tuple(entry.broken for entry in entries if entry.broken is not None),
            ),
        )

    def _sent(self, moment: Moment, made: Made, seconds: float) -> _Entry:
        charge, cost = self._requests.send(moment.call, made)
        recorded = self._recorded[moment.number]
        if recorded is not None:
            charge, cost = charge._replace(tokens=recorded.tokens, cached=recorded.cached), recorded
        budget = self._opening.budget
        over = budget is not None and self._opening.reserved + charge.counted > budget
        wrong = self._validity.problems(made.chats)
        totals = Totals(
            calls=1,
            sent=1,
            invalid=int(bool(wrong)),
            over=int(over),
            tokens=charge.tokens,
            cached=charge.cached,
            cost=cost.cost,
            seconds=seconds,
        )
        return _Entry(
            totals=totals if over and self._contestant.is_bounded else _judged(totals, moment, made),
            fates=self._fates(moment, made, charge),
            problem=Problem(call=moment.number, kind="invalid", text=wrong[0]) if wrong else None,
            broken=_broken(moment.number, made, charge),
        )

    def _fates(self, moment: Moment, made: Made, charge: Charge) -> dict[str, int]:
        """The tokens of a request by fate, on the provider's scale."""
        sizes, head = self._opening.sizes, len(self._opening.head())
        fates = made.fates if made.fates is not None else self._guessed(made.chats[head:])
        ratio = self._terms.scale.ratio
        scaled = {fate: round(ratio * tokens) for fate, tokens in fates.items() if tokens}
        excess = sum(scaled.values()) - charge.tokens
        if excess > 0:
            # Each was rounded by itself; together they are no more than the request.
            scaled[max(scaled, key=scaled.__getitem__)] -= excess
        history = charge.counted - sizes.total(made.chats[:head])
        return {
            OVERHEAD: charge.tokens - sum(scaled.values()),
            **scaled,
            LEFT_OUT: max(0, round(ratio * (moment.logged - history))),
        }

    def _guessed(self, chats: Sequence[Chat]) -> dict[str, int]:
        """The fates of messages whose maker does not tell: what was not said so is masked output, or rewritten."""
        fates: dict[str, int] = {}
        for chat in chats:
            changed = "masked" if chat.get("role") == "tool" else "rewritten"
            fate = "verbatim" if id(chat) in self._said else changed
            fates[fate] = fates.get(fate, 0) + self._opening.sizes.of(chat)
        return fates


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One call of a lane."""

    totals: Totals
    fates: Mapping[str, int] = field(default_factory=dict)
    problem: Problem | None = None
    broken: Break | None = None


def _failed(moment: Moment, kind: ProblemKind, text: str) -> _Entry:
    counts = Totals(calls=1, refused=int(kind == "refused"), failed=int(kind == "failed"))
    return _Entry(totals=counts, problem=Problem(call=moment.number, kind=kind, text=text[:_LONGEST]))


def _judged(totals: Totals, moment: Moment, made: Made) -> Totals:
    """The totals of a call with what its request kept of the history."""
    history = moment.history
    due = [reference.text for reference in moment.references]
    shown = history.kept(due, made.chats) if due else set()
    restorable = sum(history.is_held(text, made.recallable) for text in due if text not in shown)
    users = users_shown(moment.users, made.chats)
    return replace(
        totals,
        judged=1,
        references=len(due),
        kept=len(shown),
        restorable=restorable,
        lost=len(due) - len(shown) - restorable,
        user_kept=sum(users) / len(users) if users else 1.0,
        first_kept=int(users[0] if users else True),
    )


def _broken(number: int, made: Made, charge: Charge) -> Break | None:
    if charge.cause is None:
        return None
    first = made.chats[charge.shared] if charge.shared < len(made.chats) else None
    name = made.names[charge.shared] if charge.shared < len(made.names) else ""
    said = " ".join(content_of(first).split())[:_PREVIEW] if first is not None else ""
    return Break(
        call=number,
        message=charge.shared,
        role=str(first.get("role", "")) if first is not None else "",
        reference=name or said,
        cause=charge.cause,
        lost=charge.lost,
    )
