"""The last turns verbatim: kept by every pass, as far as the budget allows, in the order in which protection yields."""

from __future__ import annotations

import pytest
from tests.dialogue import exchange, lines, reading, says, session_of, user, work

from foveate import POLICIES, ConfigError, Draft, InvariantError, PassContext, Policy, Session, reducing_pass
from foveate.compile.rules import INVARIANTS
from foveate.compile.turns import KeepTurns
from foveate.log.events import DiagnosticRecorded


def fates(view) -> dict[str, str]:
    return {record.id: record.fate for record in view.explain().fates}


def diagnostics(view) -> list[str]:
    return [
        body.text for body in view.proposed if isinstance(body, DiagnosticRecorded) and body.code == "turns_yielded"
    ]


# A turn of `work` has ten messages, of some 1,800 tokens; the newest is an input alone.
TALK = [*work(8), user("and now?")]


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "thorough"])
def test_the_last_turns_stay_as_they_were_said(policy: str) -> None:
    """Whatever the policy does to older ones."""
    view = session_of(TALK, budget=8_000, policy=policy, keep_turns=3).compile()
    found = fates(view)

    assert view.decision is not None
    assert [found[f"m{number}"] for number in range(61, 82)] == ["verbatim"] * 21
    assert set(found.values()) != {"verbatim"}
    assert diagnostics(view) == []


def test_without_it_they_are_reduced_like_all_others() -> None:
    """It is the option that keeps them."""
    found = fates(session_of(TALK, budget=8_000, policy="lines").compile())
    assert "verbatim" not in {found[f"m{number}"] for number in range(62, 70)}


def test_whole_turns_yield_to_the_budget_the_oldest_first_and_the_view_says_so() -> None:
    """Of three turns two fit."""
    view = session_of(TALK, budget=2_600, keep_turns=3).compile()
    found = fates(view)

    assert [found[f"m{number}"] for number in range(71, 82)] == ["verbatim"] * 11
    assert "verbatim" not in {found[f"m{number}"] for number in range(62, 70)}
    (said,) = diagnostics(view)
    assert said.startswith("`keep_turns=3` needs")
    assert "all but 2 of the turns may be reduced" in said
    assert any("turns_yielded: `keep_turns=3`" in line for line in view.explain().diagnostics)


def test_the_older_part_of_the_running_turn_yields_before_whole_turns() -> None:
    """The turn before stays; of the running one, what was asked and the newest exchanges."""
    talk = [*work(4, reads=2, size=20), user("look at all"), *reading(12, first=20, size=40)]
    view = session_of(talk, budget=4_000, keep_turns=2).compile()
    found = fates(view)
    last = len(talk)

    assert [found[f"m{number}"] for number in range(19, 26)] == ["verbatim"] * 7
    assert [found[f"m{number}"] for number in range(last - 5, last + 1)] == ["verbatim"] * 6
    assert found["m27"] != "verbatim"
    (said,) = diagnostics(view)
    assert said.endswith("the older part of the running turn may be reduced")


def test_a_budget_that_nothing_of_it_fits_is_kept_nevertheless() -> None:
    """The rule yields, the budget does not."""
    view = session_of(
        [user("go"), *exchange("a", "Read", lines(400), file_path="a")], budget=900, keep_turns=2
    ).compile()

    assert view.tokens <= 900
    assert "nothing of it is kept" in diagnostics(view)[0]


def test_new_outputs_of_kept_turns_are_not_capped() -> None:
    """Even under a policy that shows large outputs by their ends."""
    talk = [user("go"), *exchange("a", "Read", lines(100), file_path="a")]
    view = session_of(talk, budget=8_000, policy="lean", keep_turns=1).compile()

    assert fates(view)["m3"] == "verbatim"
    assert fates(session_of(talk, budget=8_000, policy="lean").compile())["m3"] == "masked"


def test_it_is_verified_like_every_rule() -> None:
    """A pass of somebody's own that touches a kept turn costs an error that names the rule."""

    @reducing_pass
    def forgetful(draft: Draft, ctx: PassContext) -> Draft:
        return draft.with_items(item for item in draft.items if item.message.role != "assistant" or item.message.calls)

    session = session_of([*work(2), user("and?"), says("this."), user("now?")], budget=2_000, keep_turns=2)
    session.use(Policy(name="own", passes=(forgetful, *POLICIES["default"].reducing_passes)))
    with pytest.raises(InvariantError, match=r"last turns verbatim: m\d+ is missing"):
        session.compile()

    assert Policy(name="x", keep_turns=2).rules == (*INVARIANTS, KeepTurns(turns=2))
    assert Policy(name="x").rules == INVARIANTS


@pytest.mark.parametrize("turns", [0, -1, True, "3"])
def test_what_is_no_number_of_turns_is_refused(turns: object) -> None:
    """With value and option."""
    with pytest.raises(ConfigError, match="`keep_turns` must be 1 turn or more"):
        Session(budget=8_000, keep_turns=turns)  # type: ignore[arg-type]


def test_it_is_refused_where_it_would_do_nothing() -> None:
    """Without a budget nothing is ever reduced."""
    with pytest.raises(ConfigError, match="`keep_turns` has no effect without a `budget`"):
        Session(keep_turns=2)


@pytest.mark.parametrize("budget", [2_600, 8_000, 64_000])
def test_any_number_of_turns_may_be_asked_for(budget: int) -> None:
    """More than there are keeps as many as fit, and no work is done for those that there are not."""
    many = session_of(TALK, budget=budget, keep_turns=10**15).compile()
    some = session_of(TALK, budget=budget, keep_turns=9).compile()

    assert fates(many) == fates(some)
    assert [one.replace(f"{10**15}", "9") for one in diagnostics(many)] == diagnostics(some)
