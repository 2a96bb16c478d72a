"""Isolation: what is left of the tool traffic of finished turns."""

from tests.dialogue import drafted, reading, says, session_of, user

from foveate import Boundary, ObservationMasking, Transparent

LOG = [user("first"), *reading(3), says("First is done."), user("second"), *reading(3, first=3), says("so far")]


def isolated(isolation):
    draft, ctx = drafted(session_of(LOG), limit=20_000)
    return isolation(draft, ctx)


def test_boundary_keeps_the_outcome_and_a_compact_trace() -> None:
    """Exchanges of the finished turn are folded; its words and the running turn stay."""
    ids = [item.id for item in isolated(Boundary()).items]

    assert ids == ["m1", "r1.0", "m8", "m9", "m10", "m11", "m12", "m13", "m14", "m15", "m16"]


def test_observation_masking_keeps_actions_and_masks_outputs() -> None:
    """Of finished turns only."""
    after = isolated(ObservationMasking())

    assert [item.id for item in after.items if item.fate == "masked"] == ["m3", "m5", "m7"]
    assert len(after.items) == len(LOG)


def test_transparent_keeps_all() -> None:
    """Only the budget can reduce it."""
    draft, ctx = drafted(session_of(LOG))

    assert Transparent()(draft, ctx) is draft


def test_a_turn_ended_explicitly_is_finished() -> None:
    """next_execution makes its traffic history."""
    session = session_of([user("only"), *reading(3), says("done")])
    session.next_execution()
    draft, ctx = drafted(session, limit=20_000)

    assert [item.id for item in Boundary()(draft, ctx).items] == ["m1", "r1.0", "m8"]
