"""Policies: named bundles of passes, isolation and marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from foveate.budget.window import TokenBudget
from foveate.errors import ConfigError
from foveate.log.context import Messages
from foveate.log.state import AgentState
from foveate.transforms import (
    Boundary,
    Distil,
    Drop,
    Fold,
    Mask,
    Repair,
    Summarise,
    Supersede,
    Transparent,
    TrimCalls,
    Truncate,
)
from foveate.views.draft import Pass, PlainPass, Shares, pass_name
from foveate.views.timeline import Timeline

CompactWhen = Callable[[AgentState, Messages, TokenBudget], bool]
When = Callable[[Timeline, TokenBudget], str | None]
"""The reason why a policy's passes are due at this call, whatever they gain; None if they are not."""

PASSES: tuple[Pass | PlainPass, ...] = (
    Repair(),  # first: every later pass assumes that calls and results are paired
    Supersede(),  # before masking and folding, or stale reads would be previewed and quoted
    Mask(),  # before folding: where it is enough, the exchanges stay
    TrimCalls(),
    Fold(),  # evicts; everything behind it works on the digest it leaves
    Distil(),  # right after folding: fills the digest's room with evidence
    Summarise(),  # after distilling: the ledger is written beside what is quoted, not twice
    Truncate(),  # last: the guarantee, not the plan
)


class Origin(NamedTuple):
    """Where a policy was read from: a source, and the hash of what stood there."""

    source: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a session's past is reduced.

    `low` is the share of the budget to come down to (None: from the prices). A history may grow by `patience` times
    what is cheapest at the cache's prices before a rewrite is made of its own accord (None: only when it must).
    `when` knows other reasons for one. `origin` names what a policy was read from that is not written in code, such as
    a template.
    """

    name: str
    passes: tuple[Pass | PlainPass, ...] = PASSES
    isolation: Pass = field(default_factory=Boundary)
    low: float | None = 0.25
    patience: float | None = 1.0
    shares: Shares = field(default_factory=Shares)
    when: When | None = None
    origin: Origin | None = None

    def __post_init__(self) -> None:
        for stage in (*self.passes, self.isolation):
            if not callable(stage):
                raise ConfigError(f"`passes` are callables from draft to draft, got {stage!r}; see `foveate.PASSES`")
            pass_name(stage)
        if self.low is not None and not 0 < self.low < 1:
            raise ConfigError(f"`low` is a share of the budget between 0 and 1, got {self.low!r}")
        if self.patience is not None and self.patience <= 0:
            raise ConfigError(f"`patience` must be above 0, got {self.patience!r}; None leaves it to the budget")


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            Policy(name="default"),
            Policy(name="patient", patience=None),  # the whole budget is used before anything is reduced
            # Twice the room for what older messages leave: keeps the most, for budgets of 30,000 and more.
            Policy(name="thorough", patience=None, shares=Shares(digests=0.80)),
            # Large outputs never stand whole: cheapest, and what they held is a recall away.
            Policy(name="lean", shares=Shares(output=0.05, digests=0.30)),
            # Down to what is being worked on: requests stay small however large the budget is.
            Policy(
                name="frugal",
                low=0.03,
                shares=Shares(exchanges=2, tail=0.02, tail_cap=0.1, digests=0.06, users=0.03, recall=0.02, output=0.03),
            ),
            # Facts said long ago, in few words: more room for what is recalled, less for names of files.
            Policy(name="chat", shares=Shares(recall=0.30, tail_cap=0.50, digests=0.30)),
            Policy(name="transparent", isolation=Transparent()),
            Policy(
                name="mask",
                passes=(Repair(), Supersede(), Mask(), TrimCalls(), Truncate()),
                isolation=Transparent(),
                low=0.6,
                patience=None,
            ),
            Policy(name="drop", passes=(Repair(), Drop(), Truncate()), isolation=Transparent(), low=0.6, patience=None),
        )
    }
)


def policy_named(policy: str | Policy) -> Policy:
    """A policy by name, or the policy itself."""
    if isinstance(policy, Policy):
        return policy
    if policy not in POLICIES:
        raise ConfigError(f"unknown `policy` {policy!r}; known are {', '.join(POLICIES)}")
    return POLICIES[policy]
