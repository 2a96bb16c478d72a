"""Policies: named bundles of passes, isolation and marks."""

import pytest
from tests.dialogue import session_of, user, work

from foveate import PASSES, POLICIES, ConfigError, ObservationMasking, Policy, Shares
from foveate.compiler.policy import policy_named
from foveate.compiler.reduction import stages
from foveate.transforms import Drop, Repair, Truncate
from foveate.views.draft import pass_name


def test_the_order_of_the_stages_is_the_one_of_the_design() -> None:
    """Cheap to dear, the guarantee last."""
    assert [pass_name(stage) for stage in PASSES] == [
        "repair", "supersede", "mask", "trim_calls", "fold", "distil", "summarise", "truncate",
    ]  # fmt: skip


def test_isolation_stands_behind_the_repair_or_first() -> None:
    """It decides first what finished turns leave."""
    assert [pass_name(stage) for stage in stages(Policy(name="x"))][:2] == ["repair", "isolate"]
    assert [pass_name(stage) for stage in stages(Policy(name="x", passes=(Drop(), Truncate())))] == [
        "isolate",
        "drop",
        "truncate",
    ]
    assert [pass_name(stage) for stage in stages(Policy(name="x", passes=()))] == ["isolate"]


def test_policies_are_found_by_name() -> None:
    """And an unknown name is refused with the known ones."""
    assert policy_named("mask") is POLICIES["mask"]
    with pytest.raises(
        ConfigError,
        match=r"unknown `policy` 'fast'; known are default, patient, thorough, lean, frugal, chat, transparent, mask, drop",
    ):
        policy_named("fast")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Policy(name="x", low=1.5), "`low` is a share of the budget between 0 and 1, got 1.5"),
        (lambda: Policy(name="x", patience=0), "`patience` must be above 0, got 0; None leaves it to the budget"),
        (lambda: Shares(tail=2), "`tail` is a share of the budget from 0 to 1, got 2"),
        (lambda: Shares(exchanges=0), "`exchanges` must be 1 or more, got 0"),
    ],
)
def test_impossible_numbers_are_refused(made, said: str) -> None:
    """Value, option and range."""
    with pytest.raises(ConfigError, match=said):
        made()


def test_a_policy_of_ones_own_is_used_and_named() -> None:
    """The strategy of a view says which."""
    policy = Policy(name="mine", isolation=ObservationMasking(above=50), passes=(Repair(), Truncate()))
    view = session_of([*work(4), user("now")], budget=3_000, policy=policy).compile()

    assert view.strategy == "pipeline:mine"
    assert any(record.fate == "masked" and record.by == "isolate" for record in view.explain().fates)


def test_last_n_exchanges_are_verbatim_where_there_is_room() -> None:
    """Three, by default."""
    session = session_of(
        [user("go"), *work(10, reads=1, size=5), user("now")], budget=3_000, compact_when=lambda *_: True
    )
    view = session.compile()
    fates = {record.id: record.fate for record in view.explain().fates}

    assert view.proposed
    assert [fates[f"m{n}"] for n in range(len(session.messages) - 7, len(session.messages) + 1)] == ["verbatim"] * 8
