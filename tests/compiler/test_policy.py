"""Policies: named bundles of passes and marks."""

from collections.abc import Iterable

import pytest
from tests.dialogue import exchange, lines, reading, session_of, user, work

from foveate import PASSES, POLICIES, ConfigError, ObservationMasking, Policy, Shares, TokenBudget
from foveate.compile.draft import Draft, PassContext
from foveate.compile.pass_protocol import Pass, PlainPass, pass_name, runs_on
from foveate.compile.passes import Cap, Drop, Repair, Transparent, Truncate
from foveate.compile.policy import isolated, policy_named
from foveate.compile.recipe import spelled

LINES = POLICIES["lines"].passes


def names(passes: Iterable[Pass | PlainPass]) -> list[str]:
    return [pass_name(stage) for stage in passes]


def test_every_step_is_in_the_tuple_in_the_order_in_which_it_runs() -> None:
    """What every request needs first, then cheap to dear, the guarantees last; nothing runs beside it."""
    assert names(PASSES) == [
        "cap", "restore_pins", "repair", "forget", "note", "place_summary", "truncate", "show_errors",
    ]  # fmt: skip
    assert names(LINES) == [
        "cap", "restore_pins", "repair", "forget", "isolate", "supersede", "mask", "trim_calls", "fold", "distil",
        "summarise", "truncate", "show_errors",
    ]  # fmt: skip
    for passes in (PASSES, LINES):
        assert [runs_on(stage) for stage in passes] == ["request", *["reduction"] * (len(passes) - 1)]


def test_the_records_of_a_compile_are_the_tuple_in_its_order() -> None:
    """Capping, restored pins and open errors are told of like all other passes."""
    failed = exchange("e", "bash", f"Error: no such table\n{lines(10)}\nexit code 1", command="make migrate")
    session = session_of([user("go"), *failed, *work(6, size=60), user("now")], budget=1_200, policy="lean")
    session.compile()
    session.pin("m5")
    session.extend([*reading(6, size=20, first=40), *reading(1, size=200, first=60), user("and " * 900)])
    ran = [record.name for record in session.preview().records]

    assert ran == [name for name in names(LINES) if name in ran]
    assert {"cap", "restore_pins", "isolate", "truncate", "show_errors"} <= set(ran)
    assert [stage["name"] for stage in session.preview().explain(json=True)["stages"]] == [
        record.name for record in session.preview().records
    ]


def test_a_tuple_is_completed_by_what_no_reduction_goes_without() -> None:
    """Pins come back and open errors are shown, whatever else was left out."""
    assert names(Policy(name="x", passes=(Drop(), Truncate())).passes) == [
        "restore_pins",
        "drop",
        "truncate",
        "show_errors",
    ]
    assert Policy(name="x", passes=()).passes == ()
    assert names(Policy(name="x", passes=(Cap(),)).passes) == ["cap"]


class Asked:
    """A pass that counts how often it is asked when it runs."""

    name = "asked"

    def __init__(self) -> None:
        self.times = 0

    @property
    def runs_on(self) -> str:
        self.times += 1
        return "reduction"

    def needed(self, _draft: Draft, _ctx: PassContext, /) -> bool:
        return False

    def __call__(self, draft: Draft, _ctx: PassContext, /) -> Draft:
        return draft


def test_when_a_pass_runs_is_asked_as_its_policy_is_made() -> None:
    """No compile asks again, and what follows from the options is no part of a strategy's hash."""
    asked = Asked()
    policy = Policy(name="x", passes=(asked, Truncate()))
    before = asked.times
    session = session_of([user("go"), *work(6, size=60), user("now")], budget=1_200, policy=policy)

    assert session.compile().decision is not None
    assert asked.times == before
    assert "reducing_passes" not in spelled(policy)
    assert "limit" not in spelled(TokenBudget(window=8_000))


def test_isolation_is_one_of_the_passes() -> None:
    """Another one takes its place; where there is none, it stands right behind the repair."""
    own = session_of([user("go")], budget=3_000, policy="lines", isolation=ObservationMasking(above=50))
    policy = own._means.compiler.policy  # type: ignore[union-attr,attr-defined]

    assert names(policy.passes) == names(LINES)
    assert ObservationMasking(above=50) in policy.passes
    assert names(isolated((Repair(), Drop()), Transparent())) == [
        "restore_pins",
        "repair",
        "isolate",
        "drop",
        "show_errors",
    ]


def test_a_request_pass_behind_the_reductions_is_refused() -> None:
    """It would run before them, and the tuple would not say so."""
    with pytest.raises(ConfigError, match=r"pass `cap` runs on every request.*put it before `repair`"):
        Policy(name="x", passes=(Repair(), Cap()))


def test_policies_are_found_by_name() -> None:
    """And an unknown name is refused with the known ones."""
    assert policy_named("mask") is POLICIES["mask"]
    with pytest.raises(
        ConfigError,
        match=r"unknown `policy` 'fast'; known are default, lines, patient, thorough, lean, frugal, chat, transparent, mask, drop",
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
    policy = Policy(name="mine", passes=(Repair(), ObservationMasking(above=50), Truncate()))
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
