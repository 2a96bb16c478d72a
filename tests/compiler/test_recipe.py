"""Fingerprints: two calls with the same one were decided alike, wherever the code stood that decided."""

from __future__ import annotations

import re
from functools import partial

import pytest
from tests.properties.check import ENDLESS

from foveate import (
    POLICIES,
    BudgetAwareCompiler,
    Draft,
    PassContext,
    PipelineCompiler,
    Policy,
    PragmaticCompiler,
    TokenBudget,
    reducing_pass,
)
from foveate.compile.passes import Fold, Mask, Truncate
from foveate.compile.recipe import fingerprint, recipe_of, source_of, spelled
from foveate.scripts.recent import recent_policy

BUDGET = TokenBudget(window=8_000)


@pytest.mark.parametrize("part", [Mask, Fold, PipelineCompiler, Policy])
def test_moving_and_renaming_changes_no_fingerprint(part: type, request: pytest.FixtureRequest) -> None:
    """A part of a strategy is known by the name that it gives itself."""
    request.addfinalizer(partial(setattr, part, "__module__", part.__module__))
    request.addfinalizer(partial(setattr, part, "__qualname__", part.__qualname__))
    policy = Policy(name="x", passes=(Mask(), Fold(), Truncate()))
    compiler = PipelineCompiler(budget=BUDGET, policy=policy)
    before = fingerprint(compiler)
    part.__module__, part.__qualname__ = "foveate.compile.passes.elsewhere", "Renamed"

    assert fingerprint(compiler) == before
    assert source_of(compiler) == "custom"


def test_a_new_version_of_a_pass_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deliberately: its name counts how often it began to decide otherwise."""
    compiler = PipelineCompiler(budget=BUDGET, policy=POLICIES["lines"])
    before = fingerprint(compiler)
    monkeypatch.setattr(Mask, "recipe_name", "mask@2")

    assert fingerprint(compiler) != before


def test_every_part_of_a_strategy_of_ours_has_a_name_of_its_own() -> None:
    """Or moving it would change what strategy a stored call seems to have."""
    policies = [*POLICIES.values(), *ENDLESS, recent_policy(3), Policy(name="x", keep_turns=2)]
    compilers = [
        PragmaticCompiler(),
        BudgetAwareCompiler(budget=BUDGET),
        *(PipelineCompiler(budget=BUDGET, policy=policy) for policy in policies),
    ]
    text = " ".join(map(spelled, compilers))

    assert re.findall(r"foveate[\w.]*:\w+", text) == []
    assert len(set(re.findall(r"[\w.-]+@\d+", text))) > 25


def test_options_are_part_of_it() -> None:
    """Of a pass as of a policy."""
    assert recipe_of(Mask()) != recipe_of(Mask(above=200))
    assert fingerprint(PipelineCompiler(budget=BUDGET, policy=Policy(name="x"))) != fingerprint(
        PipelineCompiler(budget=BUDGET, policy=Policy(name="x", keep_turns=2))
    )


def test_a_pass_of_ones_own_is_known_by_module_and_name() -> None:
    """Until it is given a name."""

    @reducing_pass
    def shorten(draft: Draft, ctx: PassContext) -> Draft:
        return draft

    assert spelled(shorten) == f"{__name__}:{shorten.__qualname__}"
    shorten.recipe_name = "shorten@1"  # type: ignore[attr-defined]
    assert spelled(shorten) == "shorten@1"
