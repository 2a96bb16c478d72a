"""Repair: pairs made whole, ids unique, empty messages left out."""

from tests.dialogue import call, calls, drafted, exchange, result, session_of, user

from foveate.compile.draft import Draft
from foveate.compile.passes import Repair


def test_a_sound_draft_is_the_same_draft() -> None:
    """Repair costs nothing where nothing is wrong."""
    draft, ctx = drafted(session_of([user("go"), *exchange("a", "Read", "x", file_path="f")]))

    assert Repair()(draft, ctx) is draft


def test_what_a_pass_tore_apart_is_mended() -> None:
    """A call that lost its result gets a stand-in, a result that lost its call becomes a note."""
    draft, ctx = drafted(
        session_of([user("go"), *exchange("a", "Read", "x", file_path="f"), *exchange("b", "Read", "y", file_path="g")])
    )
    torn = Draft(tuple(item for item in draft.items if item.id not in ("m3", "m4")))

    assert [(item.id, item.message.role, item.message.text) for item in Repair()(torn, ctx).items] == [
        ("m1", "user", "go"),
        ("m2", "assistant", ""),
        ("m2+a", "tool", "[no result was recorded for this call]"),
        ("m5", "user", "[tool result without its call, b]\n>y"),
    ]


def test_repair_is_idempotent() -> None:
    """Twice is once."""
    draft, ctx = drafted(
        session_of(
            [user("go"), result("ghost", "x"), calls(call("a", "f"), call("a", "f")), result("a", "1"), user("")]
        )
    )
    once = Repair()(draft, ctx)

    assert Repair()(once, ctx) == once
