"""What must hold of every compile, whatever was said: checked by tests and by the fuzzer."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import foveate
from foveate.chat.templates import template_of
from foveate.chat.working_view import Keeping, endless_policy
from foveate.invariants import Facts, broken
from foveate.views.draft import Draft, PassContext, pass_name
from tests.validity import problems

from .play import BUDGETS, POLICIES, Player, random_ops


@dataclass(frozen=True)
class Checked:
    """A pass that checks every rule but the budget after it has run."""

    inner: Any

    @property
    def name(self) -> str:
        return pass_name(self.inner)

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        needed: Callable[..., bool] | None = getattr(self.inner, "needed", None)
        return needed(draft, ctx) if needed else draft.tokens > ctx.low

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        result = self.inner(draft, ctx)
        timeline = ctx.timeline
        facts = Facts(
            said=timeline.said.__getitem__,
            pins={pin: None for pin in timeline.pins if pin not in timeline.mender.left_out},
            newest_input=timeline.newest_input,
            leading=timeline.leading,
            tokens=0,
            limit=None,
        )
        assert not (violations := broken(result.items, facts)), (self.name, violations)
        return result


_TEMPLATE = template_of(
    b"{{ topic }}\n{{ constraints }}\n{{ ledger }}\n{{ tool_results }}\n{{ recent_turns }}\n{{ reflections }}",
    name="all",
    source="system",
    path=Path("all.md"),
)
ENDLESS = [
    endless_policy(_TEMPLATE, keeping)
    for keeping in (
        Keeping(),
        Keeping(runs=1, threshold=300),
        Keeping(runs=0, every_turn=True),
        Keeping(runs=None),
    )
]


@dataclass
class Outcome:
    """What one random session showed."""

    compiles: int = 0
    refused: int = 0
    reductions: int = 0


def check_session(rng: random.Random, count: int, *, replay: bool = True) -> Outcome:
    """Play a random session and check every promise at every compile."""
    budget = rng.choice(BUDGETS)
    policy = rng.choice([*(foveate.POLICIES[name] for name in POLICIES), *ENDLESS])
    options: dict[str, Any] = {"budget": budget, "policy": policy, "passes": [Checked(one) for one in policy.passes]}
    session = foveate.Session(system=rng.choice((None, "Be brief.")), **options)
    player, outcome = Player(session), Outcome()
    previous: list[dict[str, Any]] | None = None
    reframed = False
    for op in random_ops(rng, count):
        reframed = reframed or op[0] == "reframe"
        before = session.dump() if replay and op[0] == "compile" and rng.random() < 0.1 else None
        try:
            view = player.apply(op)
        except foveate.BudgetError as error:
            assert error.needed > error.limit, error
            outcome.refused += 1
            continue
        if view is None:
            continue
        outcome.compiles += 1
        outcome.reductions += any(type(body).__name__ == "ReductionRecorded" for body in view.proposed)
        request = view.to("openai")
        check_view(view, request, previous, reframed=reframed)
        if rng.random() < 0.1 or outcome.compiles < 5:
            check_explained(view)
        if before is not None:
            check_rebuilt(before, view, options, player.now)
        previous, reframed = (request if view.messages else None), False
    return outcome


def check_view(
    view: foveate.CompiledContext,
    request: list[dict[str, Any]],
    previous: list[dict[str, Any]] | None,
    *,
    reframed: bool,
) -> None:
    """Valid, within budget, accounted for, and an extension of the last request unless it was reduced."""
    found = [problem for problem in problems(request) if "no messages" not in problem]
    assert not found, found
    assert view.budget is not None
    assert view.budget.used <= view.budget.limit
    if previous is not None and not view.proposed and not reframed:
        assert request[: len(previous)] == previous


def check_explained(view: foveate.CompiledContext) -> None:
    """Every message of the log has exactly one fate, and the tokens add up."""
    explanation = view.explain()
    assert sum(item.tokens for item in explanation.items) + explanation.framing == explanation.used == view.tokens
    assert [record.id for record in explanation.fates] == [message.id for message in view.state.context.messages]


def check_rebuilt(before: bytes, view: foveate.CompiledContext, options: dict[str, Any], now: float) -> None:
    """A session rebuilt from its serialised events gives the same bytes."""
    rebuilt = foveate.Session.from_events(foveate.load_events(before), **options)
    again = rebuilt.compile(now=now)
    assert again.payload == view.payload
    assert again.payload_sha256 == view.payload_sha256
    assert again.proposed == view.proposed
