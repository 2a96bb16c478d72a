"""Reductions: recorded, frozen, undone only by a pin."""

import pytest
from tests.dialogue import call, calls, drafted, exchange, lines, reading, result, session_of, user, work

from foveate import Session, load_events
from foveate.compile.draft import Draft
from foveate.compile.reduction import compared
from foveate.log.events import ReductionRecorded


def reduced(**options) -> Session:
    session = session_of([*work(8), user("and now?")], **{"budget": 4_000, **options})
    session.compile()
    return session


def shown(view) -> dict[str, str]:
    return {item.id: item.fate for item in view.items}


def test_a_reduction_once_made_stays_byte_identical() -> None:
    """Every later compile shows the same replacement."""
    session = reduced()
    first = session.compile()
    session.append(user("more"))
    second = session.compile()

    assert second.items[: len(first.items)] == first.items
    assert second.decision is None


@pytest.mark.parametrize("pinned", ["m2", "m3", "m7"])
def test_pinning_a_reduced_message_restores_it_at_once(pinned: str) -> None:
    """Verbatim, with its exchange, as a must rewrite."""
    session = reduced()
    assert pinned not in shown(session.preview())
    session.pin(pinned)
    view = session.compile()

    assert view.decision is not None
    assert view.decision.trigger == "must"
    assert shown(view)[pinned] == "verbatim"
    (item,) = (item for item in view.items if item.id == pinned)
    position = int(pinned[1:]) - 1
    assert item.message == session.messages[position]
    assert view.tokens <= 4_000


def test_a_pin_stays_through_later_reductions_until_unpinned() -> None:
    """Then it may be reduced again."""
    session = reduced()
    session.pin("m3")
    for _ in range(3):
        session.extend([*work(4), user("next")])
        assert shown(session.compile())["m3"] == "verbatim"
    session.unpin("m3")
    session.extend([*work(8), user("next")])

    assert "m3" not in shown(session.compile())


def test_pinning_a_masked_result_shows_it_whole() -> None:
    """In place of its placeholder, once."""
    session = session_of([user("go"), *reading(12)], budget=4_500, policy="mask")
    masked = [item.id for item in session.compile().items if item.fate == "masked"]
    session.pin(masked[0])
    view = session.compile()

    assert shown(view)[masked[0]] == "verbatim"
    assert [item.id for item in view.items].count(masked[0]) == 1


def test_pinning_one_of_parallel_results_restores_the_batch() -> None:
    """Providers want all results of a response."""
    batch = [
        calls(call("a", "Read", file_path="x"), call("b", "Read", file_path="y")),
        result("b", "B " + lines(5)),
        result("a", "A " + lines(5)),
    ]
    session = session_of([user("go"), *batch, *work(8), user("now")], budget=4_000)
    session.compile()
    session.pin("m4")
    view = session.compile()

    assert {"m2", "m3", "m4"} <= set(shown(view))


def test_pinning_an_exchange_whose_id_was_used_again() -> None:
    """The restored call and the later ones keep apart."""
    session = session_of(
        [
            user("go"),
            *exchange("same", "Read", "first " + lines(10), file_path="a"),
            *work(6),
            *exchange("same", "Read", "second", file_path="b"),
            user("now"),
        ],
        budget=4_000,
    )
    session.compile()
    session.pin("m3")
    request = session.compile().to("openai")
    ids = [one["id"] for message in request for one in message.get("tool_calls") or ()]

    assert len(set(ids)) == len(ids)
    assert any(m["role"] == "tool" and m["content"].startswith("first") for m in request)


def test_replaying_the_events_on_another_policy_shows_the_same_past() -> None:
    """A reduction event stores its replacement, not its parameters."""
    session = reduced()
    replayed = Session.from_events(load_events(session.dump()), budget=4_000, policy="drop")

    assert replayed.preview().payload == session.preview().payload


def test_the_event_has_the_numbers() -> None:
    """Trigger, reason, passes, tokens before and after."""
    session = session_of([*work(8), user("and now?")], budget=4_000)
    (event,) = (body for body in session.compile().proposed if isinstance(body, ReductionRecorded))

    assert (event.number, event.trigger) == (1, "must")
    assert event.before > 4_000 > event.after
    assert event.passes[0] == "repair"


def test_what_a_pass_changed_is_found_by_comparing() -> None:
    """Its author cannot forget to report it."""
    draft, _ = drafted(session_of([user("a"), user("b"), user("c")]))
    first, second, third = draft.items
    after = Draft((first, third, *drafted(session_of([user("x"), user("x"), user("x"), user("d")]))[0].items[3:]))
    record = compared("mine", draft, after)

    assert (record.name, record.rewritten, record.removed, record.added) == ("mine", (), (second.id,), ("m4",))
