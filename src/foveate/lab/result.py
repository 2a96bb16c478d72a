"""Results: what a replay measured, as plain frozen data that becomes JSON.

A `Result` has one `SessionResult` for each session, in it one `Lane` for each policy: the way of that policy through
the session, as sums (`Totals`) and call by call (`Series`). Columns of a series have one entry for each recorded call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

import msgspec

from foveate.inspect.costs import SessionCosts
from foveate.inspect.rates import Unit

PolicyKind = Literal["policy", "baseline", "own"]
ProblemKind = Literal["invalid", "refused", "failed"]
BreakCause = Literal["rewritten", "expired", "model", "missed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over the calls of a lane, or over all sessions.

    Args:
        calls: recorded calls; `sent` of them became a request, the others were refused or failed.
        tokens: input tokens of all requests; `cached` of them were found in the prompt cache.
        cost: of the input, in the result's `cost_unit`.
        over: requests larger than the budget.
        invalid: requests that a provider would reject.
        references: what the recorded actions took from the history; each was `kept`, is `restorable`, or is `lost`.
        judged: requests whose references and user messages were looked at: those that are not over budget.
        user_kept: for each judged request the share of user messages so far that it shows; divide by `judged`.
        first_kept: judged requests that show the first user message.
        seconds: what the policy took to make the requests.

    """

    calls: int = 0
    sent: int = 0
    refused: int = 0
    failed: int = 0
    invalid: int = 0
    over: int = 0
    tokens: int = 0
    cached: int = 0
    cost: float = 0.0
    judged: int = 0
    references: int = 0
    kept: int = 0
    restorable: int = 0
    lost: int = 0
    user_kept: float = 0.0
    first_kept: int = 0
    seconds: float = 0.0

    @property
    def cached_share(self) -> float | None:
        """The share of input tokens that came from the cache."""
        return self.cached / self.tokens if self.tokens else None

    @property
    def user_share(self) -> float | None:
        """The mean share of user messages that requests show."""
        return self.user_kept / self.judged if self.judged else None

    @property
    def milliseconds(self) -> float | None:
        """The mean time to make a request."""
        return 1_000 * self.seconds / self.sent if self.sent else None

    @classmethod
    def of(cls, parts: Iterable[Self]) -> Self:
        """The sum of several."""
        listed = list(parts)
        return cls(**{one.name: sum(getattr(part, one.name) for part in listed) for one in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A call at which a policy went wrong: `invalid` request, `refused` for the budget, or `failed` with an error."""

    call: int
    kind: ProblemKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A call that found less in the cache than the previous request had put there.

    Args:
        call: which call, from 0.
        message: index of the first message of the request that differs (0 is the system prompt, if there is one).
        role: of that message, "" if the request ended before the difference.
        reference: what to call the message: its id in the log where it has one, else the beginning of its text.
        cause: `rewritten` by the policy, cache `expired`, other `model`, or `missed`: the mark was out of reach.
        lost: tokens of the previous request that had to be paid again or were given up.

    """

    call: int
    message: int
    role: str
    reference: str
    cause: BreakCause
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A lane call by call; a call without a request has 0 everywhere.

    Args:
        tokens: input tokens of the request, overhead included.
        cached: of those, found in the cache; the rest is new and written.
        cost: of the input, in the result's `cost_unit`.
        over: 1 where the request is larger than the budget.
        milliseconds: to make the request.
        fates: for each fate the tokens of the request that have it, summing up to `tokens`: "overhead" (system prompt,
            tools and what the log does not show), "verbatim", "masked", "folded" and so on. "left out" is beside them:
            by how much the request is smaller than the untouched history.
        problems: calls that went wrong.
        breaks: calls at which the cached prefix broke.

    """

    tokens: tuple[int, ...] = ()
    cached: tuple[int, ...] = ()
    cost: tuple[float, ...] = ()
    over: tuple[int, ...] = ()
    milliseconds: tuple[float, ...] = ()
    fates: dict[str, tuple[int, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    breaks: tuple[Break, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One policy's way through one session."""

    totals: Totals
    series: Series


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedUsage:
    """What the provider charged the recorded agent, over the `calls` whose usage was recorded.

    The columns have one entry for each recorded call of the session, None where nothing was recorded. Costs are None
    if the price of the recorded model is not known.
    """

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    input_cost: float | None
    output_cost: float | None
    inputs: tuple[int | None, ...]
    cached: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How our numbers compare with the recorded ones: recorded input ≈ `overhead` + `ratio` × counted.

    Args:
        overhead: tokens of every request that the log does not show: system prompt, tools.
        ratio: the provider's tokens for each one of ours.
        calls: how many recorded calls it was learned from; 0 if there were none and nothing is corrected.
        input_error: median of |simulated − recorded| / recorded input tokens.
        recorded_share: cached tokens over input tokens as recorded; None if the log does not say.
        simulated_share: the same as simulated for what the recorded agent sent.
        cause: if the two differ by more than 0.05, why.

    """

    overhead: int = 0
    ratio: float = 1.0
    calls: int = 0
    input_error: float | None = None
    recorded_share: float | None = None
    simulated_share: float | None = None
    cause: str = ""

    @property
    def error(self) -> float | None:
        """The absolute difference of the two shares."""
        if self.recorded_share is None or self.simulated_share is None:
            return None
        return abs(self.recorded_share - self.simulated_share)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResult:
    """One recorded session under every policy.

    Args:
        name: the session, unique in a result.
        source: the file it came from.
        format: which program recorded it.
        model: the model that was recorded, "" if none was.
        priced_as: the model whose prices and cache rules were used.
        limit: the largest request that the budget allows: `overhead + ratio × budget`; None for no limit.
        messages: how many messages it has.
        calls: how many model calls were recorded.
        times: when each call was made, in seconds since 1970; None where that was not recorded.
        usage: what the provider counted, if that was recorded.
        costs: what the session cost, and what it would have cost with the whole history in every request.
        lanes: each policy's way, by its name.

    """

    name: str
    source: str
    format: str
    model: str
    priced_as: str
    limit: int | None
    messages: int
    calls: int
    times: tuple[float | None, ...]
    usage: RecordedUsage | None
    costs: SessionCosts
    calibration: Calibration
    lanes: dict[str, Lane]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInfo:
    """A policy that took part."""

    name: str
    kind: PolicyKind
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A session that was not replayed, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a replay measured.

    Args:
        model: whose prices and cache rules were asked for; "" for those of each session's recorded model.
        budget: the most tokens of system prompt, tools and messages as the log shows them and as we count them; what
            the log does not show comes on top. None for the window of each session's model.
        cost_unit: dollars, or input tokens if no price is known.
        prices_from: which price list.
        policies: those compared, in the order they were asked for.
        sessions: in the order of their names' appearance.
        totals: sums over all sessions, by policy.
        left_out: sessions that could not be replayed.

    """

    model: str
    budget: int | None
    cost_unit: Unit
    prices_from: str
    policies: tuple[PolicyInfo, ...]
    sessions: tuple[SessionResult, ...]
    totals: dict[str, Totals]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def calls(self) -> int:
        """Recorded calls over all sessions."""
        return sum(session.calls for session in self.sessions)

    @property
    def share_error(self) -> float | None:
        """The mean absolute error of the simulated cached share, over sessions that recorded one."""
        errors = [session.calibration.error for session in self.sessions]
        known = [error for error in errors if error is not None]
        return sum(known) / len(known) if known else None


def as_dict(result: Result) -> dict[str, Any]:
    """The result as plain data: dicts, lists, texts, numbers."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result))
    return plain


def loaded(plain: Any) -> Result:
    """The result that `as_dict` made plain."""
    return msgspec.convert(plain, Result)
