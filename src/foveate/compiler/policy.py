"""Policies: named bundles of passes, isolation and marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from foveate.budget.window import TokenBudget
from foveate.errors import ConfigError
from foveate.log.context import Messages
from foveate.log.state import AgentState
from foveate.transforms import (
    Boundary,
    Distil,
    Fold,
    Mask,
    Repair,
    Summarise,
    Supersede,
    Transparent,
    TrimCalls,
    Truncate,
)
from foveate.views.draft import Pass, PlainPass, Shares

CompactWhen = Callable[[AgentState, Messages, TokenBudget], bool]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a session's past is reduced.

    `low` is the share of the budget to come down to (None: from the prices); `horizon` is how many further calls a
    rewrite may take to pay for itself before it is made of its own accord (0: never).
    """

    name: str
    passes: tuple[Pass | PlainPass, ...] = PASSES
    isolation: Pass = field(default_factory=Boundary)
    low: float | None = None
    horizon: int = 0
    shares: Shares = field(default_factory=Shares)

    def __post_init__(self) -> None:
        if self.low is not None and not 0 < self.low < 1:
            raise ConfigError(f"`low` is a share of the budget between 0 and 1, got {self.low!r}")
        if self.horizon < 0:
            raise ConfigError(f"`horizon` must be 0 calls or more, got {self.horizon!r}")


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            Policy(name="default"),
            Policy(name="transparent", isolation=Transparent()),
            Policy(name="mask", passes=(Repair(), Supersede(), Mask(), TrimCalls(), Truncate()), isolation=Transparent()),
            Policy(name="drop", passes=(Repair(), Truncate()), isolation=Transparent()),
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
