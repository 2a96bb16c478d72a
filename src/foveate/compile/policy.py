"""Policies: named bundles of passes and marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple

from foveate.budget.window import TokenBudget
from foveate.compile.draft import Shares
from foveate.compile.note.writing import Note
from foveate.compile.pass_protocol import (
    Pass,
    PlainPass,
    RequestPass,
    checked_pass,
    innermost,
    pass_name,
    reaches_back,
    runs_on,
)
from foveate.compile.passes import (
    Boundary,
    Cap,
    Distil,
    Drop,
    Fold,
    Forget,
    Isolation,
    Mask,
    PlaceSummary,
    Repair,
    RestorePins,
    ShowErrors,
    Summarise,
    Supersede,
    Transparent,
    TrimCalls,
    Truncate,
)
from foveate.compile.projection import Projection
from foveate.compile.rules import INVARIANTS, Invariant
from foveate.compile.turns import KeepTurns
from foveate.errors import ConfigError
from foveate.log.context import Messages
from foveate.log.state import AgentState

CompactWhen = Callable[[AgentState, Messages, TokenBudget], bool]
When = Callable[[Projection, TokenBudget], str | None]
"""The reason why a policy's passes are due at this call, whatever they gain; None if they are not."""

PASSES: tuple[Pass | PlainPass, ...] = (
    Cap(),  # on every request, before it is decided whether to reduce: it may make a reduction unnecessary
    RestorePins(),  # first in a reduction: what comes back has to be paired, counted and kept by all others
    Repair(),  # before all that reduce: they assume that calls and results are paired
    Forget(),  # before all that counts tokens: where it is enough, nothing else is touched
    Note(),  # evicts what is older than the tail, and writes what happened in it and how the work stands
    PlaceSummary(),  # right after the note: a summary that a model wrote stands for the deeds of its newest story
    Truncate(),  # last of those that take away: the guarantee, not the plan
    ShowErrors(),  # after all that may have taken an open error away; truncating leaves room for its line
)
LINE_PASSES: tuple[Pass | PlainPass, ...] = (
    Cap(),
    RestorePins(),
    Repair(),
    Forget(),
    Boundary(),  # right after the repair: it decides what finished turns leave, the others what is left of it
    Supersede(),  # before masking and folding, or stale reads would be previewed and quoted
    Mask(),  # before folding: where it is enough, the exchanges stay
    TrimCalls(),
    Fold(),  # evicts; everything behind it works on the digest it leaves
    Distil(),  # right after folding: fills the digest's room with evidence
    Summarise(),  # after distilling: the ledger is written beside what is quoted, not twice
    Truncate(),
    ShowErrors(),
)


class Origin(NamedTuple):
    """Where a policy was read from: a source, the hash of what stood there, and the name of it, if it is a template."""

    source: str
    sha256: str
    template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is done to a session's past, and when.

    `passes` are all steps in the order in which they run: those for every request, then those of a reduction. If some
    reduce but no pin could come back, or no open error be shown, `RestorePins` and `ShowErrors` join them.
    `low` is the share of the budget to come down to (None: from the prices). A history may grow by `patience` times
    what is cheapest at the cache's prices before a rewrite is made of its own accord (None: only when it must).
    The newest `keep_turns` turns stay as they were said, as far as the budget allows.
    `when` knows other reasons for one. `origin` names what a policy was read from that is not written in code, such as
    a template.
    """

    name: str
    passes: tuple[Pass | PlainPass, ...] = PASSES
    low: float | None = 0.66
    patience: float | None = None
    shares: Shares = field(default_factory=Shares)
    keep_turns: int | None = None
    when: When | None = None
    origin: Origin | None = None
    recipe_name: ClassVar[str] = "policy@2"
    # Found once, as every compile asks: the passes by when they run, the rule that keeps the last turns,
    # whether what was looked up for an input is taken out once that is answered, all rules.
    request_passes: tuple[RequestPass, ...] = field(init=False, repr=False, compare=False)
    reducing_passes: tuple[Pass | PlainPass, ...] = field(init=False, repr=False, compare=False)
    turn_rule: KeepTurns | None = field(init=False, repr=False, compare=False)
    forgets: bool = field(init=False, repr=False, compare=False)
    rules: tuple[Invariant, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        passes = completed(self.passes)
        asked = tuple(RequestPass(one, reaches_back(one)) for one in passes if runs_on(one) == "request")
        turn_rule = None if self.keep_turns is None else KeepTurns(turns=self.keep_turns)
        found = {
            "passes": passes,
            "request_passes": asked,
            "reducing_passes": passes[len(asked) :],
            "turn_rule": turn_rule,
            "forgets": _has(passes, Forget),
            "rules": INVARIANTS if turn_rule is None else (*INVARIANTS, turn_rule),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)
        if self.low is not None and not 0 < self.low < 1:
            raise ConfigError(f"`low` is a share of the budget between 0 and 1, got {self.low!r}")
        if self.patience is not None and self.patience <= 0:
            raise ConfigError(f"`patience` must be above 0, got {self.patience!r}; None leaves it to the budget")
        self._refuse_unread_shares()

    def _refuse_unread_shares(self) -> None:
        """Refuse shares that nothing asks for where a note is all that older messages leave."""
        if not _has(self.passes, Note) or any(isinstance(innermost(one), _READING_SHARES) for one in self.passes):
            return
        default = Shares()
        given = [name for name in _OF_LINES if getattr(self.shares, name) != getattr(default, name)]
        if given:
            raise ConfigError(
                f"policy {self.name!r}: `{given[0]}` of `shares` has no effect where `Note` writes what older messages "
                "leave; give `Note(tail=…, tail_cap=…, state=…)` in `passes`, or begin with the passes of "
                '`POLICIES["lines"]` (in `foveate.toml`: `base = "lines"`)'
            )


def completed(passes: Iterable[Pass | PlainPass]) -> tuple[Pass | PlainPass, ...]:
    """Checked passes, with those that no reduction goes without."""
    found = tuple(map(checked_pass, passes))
    _refuse_late_rewriting([stage for stage in found if runs_on(stage) == "request"])
    first = next((index for index, stage in enumerate(found) if runs_on(stage) == "reduction"), None)
    if first is None:
        return found
    late = next((stage for stage in found[first:] if runs_on(stage) == "request"), None)
    if late is not None:
        raise ConfigError(
            f"pass `{pass_name(late)}` runs on every request, before anything is reduced; put it before "
            f"`{pass_name(found[first])}`, so that `passes` are in the order in which they run"
        )
    restore = () if _has(found, RestorePins) else (RestorePins(),)
    show = () if _has(found, ShowErrors) else (ShowErrors(),)
    return (*found[:first], *restore, *found[first:], *show)


def _refuse_late_rewriting(passes: Sequence[Pass | PlainPass]) -> None:
    for earlier, later in pairwise(passes):
        if reaches_back(later) and not reaches_back(earlier):
            raise ConfigError(
                f"pass `{pass_name(later)}` rewrites messages and stands behind `{pass_name(earlier)}`, which leaves "
                f"a part of them, perhaps with half of what is to be taken out; put it before `{pass_name(earlier)}`"
            )


def isolated(passes: Iterable[Pass | PlainPass], isolation: Pass | PlainPass) -> tuple[Pass | PlainPass, ...]:
    """Passes with another isolation, in the place of theirs; where they have none, right behind the repair."""
    found = completed(passes)
    if _has(found, Isolation):
        return completed(isolation if isinstance(innermost(stage), Isolation) else stage for stage in found)
    before = max((at for at, one in enumerate(found) if isinstance(innermost(one), _BEFORE_ISOLATION)), default=-1)
    return completed((*found[: before + 1], isolation, *found[before + 1 :]))


def refuse_reducing(passes: Iterable[Pass | PlainPass]) -> None:
    """Refuse passes that only run in reductions, of which there are none without a budget."""
    reducing = next((stage for stage in passes if runs_on(checked_pass(stage)) == "reduction"), None)
    if reducing is not None:
        raise ConfigError(
            f"`passes` has no effect without a `budget` or `model` where it reduces, as `{pass_name(reducing)}` does; "
            "give one, or only passes that run on every request"
        )


_BEFORE_ISOLATION: Final = (Cap, RestorePins, Repair)
_READING_SHARES: Final = (Isolation, Supersede, Mask, TrimCalls, Fold, Distil, Summarise)
_OF_LINES: Final = ("tail", "tail_cap", "digests", "users", "answers", "steps", "ledger")


def _has(passes: Iterable[Pass | PlainPass], kind: type) -> bool:
    return any(isinstance(innermost(stage), kind) for stage in passes)


_LINES: Final = Policy(name="lines", passes=LINE_PASSES, low=0.25, patience=1.0)
POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            # A story by turn and how the work stands: the budget is used for what is read, not for what is cheapest.
            Policy(name="default"),
            # Of older messages single lines, chosen for what they name; reduces when the cache's prices ask for it.
            _LINES,
            replace(_LINES, name="patient", patience=None),  # the whole budget is used before anything is reduced
            # Twice the room for what older messages leave.
            replace(_LINES, name="thorough", patience=None, shares=Shares(digests=0.80)),
            # Large outputs never stand whole: cheapest, and what they held is a recall away.
            replace(_LINES, name="lean", shares=Shares(output=0.05, digests=0.30)),
            # Down to what is being worked on: requests stay small however large the budget is.
            replace(
                _LINES,
                name="frugal",
                low=0.03,
                shares=Shares(exchanges=2, tail=0.02, tail_cap=0.1, digests=0.06, users=0.03, recall=0.02, output=0.03),
            ),
            # Facts said long ago, in few words: more room for what is recalled, less for names of files.
            replace(_LINES, name="chat", shares=Shares(recall=0.30, tail_cap=0.50, digests=0.30)),
            replace(_LINES, name="transparent", passes=isolated(LINE_PASSES, Transparent())),
            Policy(
                name="mask",
                passes=(*PASSES[:4], Supersede(), Mask(), TrimCalls(), Truncate(), ShowErrors()),
                low=0.6,
            ),
            Policy(
                name="drop",
                passes=(*PASSES[:4], Drop(), Truncate(), ShowErrors()),
                low=0.6,
            ),
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
