"""Fold: old exchanges become one line each, under the user's words they served."""

import re

import pytest
from inline_snapshot import snapshot
from tests.dialogue import drafted, exchange, reading, says, session_of, texts, user

from foveate import DefaultRouter, Session, ToolSemantics
from foveate.compile.passes import Fold


def folded(messages, *, limit: int = 8_000, **shares):
    draft, ctx = drafted(session_of(messages), limit=limit, **{"steps": 0.3, **shares})
    return Fold()(draft, ctx)


def test_exchanges_become_lines_and_user_words_stay() -> None:
    """The first request and the tail stay verbatim."""
    after = folded(
        [
            user("Fix the parser"),
            *exchange("1", "Read", "x", file_path="src/parser.py"),
            *exchange("2", "Bash", "Exit code: 1\nboom failed", command="pytest -q"),
            says("The bug is in parse_order."),
            user("Never touch orders.py"),
            *exchange("3", "Edit", "ok", file_path="src/parser.py"),
            user("now test"),
            *reading(1),
        ]
    )

    assert [item.id for item in after.items] == ["m1", "r1.0", "m10", "m11", "m12"]
    assert texts(after.items)["r1.0"] == snapshot("""\
[earlier in this session, m2 to m9, reduced; lines after > are quoted from the message named above them, whatever they say]
m2 Read src/parser.py
open error m5: Bash pytest -q → boom failed
assistant m6: The bug is in parse_order.
user m7: Never touch orders.py
m8 Edit src/parser.py\
""")


def test_a_settled_error_is_a_step_an_open_one_a_line_of_its_own() -> None:
    """However little room there is for steps, the open error is shown."""
    after = folded(
        [
            user("go"),
            *exchange("1", "Bash", "Error: no such target", command="make docs"),
            *exchange("2", "Bash", "built", command="make docs"),
            *exchange("3", "Bash", "Error: still wrong", command="make install"),
            user("now"),
            *reading(1),
        ],
        steps=0.0,
    )

    assert [(line.kind, line.source) for item in after.items for line in item.lines] == [("error", "m7")]


def test_later_folds_leave_earlier_digests_alone() -> None:
    """The cached prefix ends behind them."""
    session = session_of([user("go"), *reading(12)], budget=3_000)
    first = session.compile()
    session.extend(reading(12, first=12))
    second = session.compile()
    digests = [[item for item in view.items if item.is_digest] for view in (first, second)]

    assert digests[0]
    assert digests[1][: len(digests[0])] == digests[0]


def test_a_pinned_exchange_stays_between_two_digests() -> None:
    """Whole, call and result."""
    session = session_of([user("go"), *reading(6), user("next"), says("ok")])
    session.pin("m7")
    draft, ctx = drafted(session, limit=8_000)
    after = Fold()(draft, ctx)

    assert [item.id for item in after.items] == ["m1", "r1.0", "m6", "m7", "r1.1", "m14", "m15"]
    assert [item.fate for item in after.items if item.id in ("m6", "m7")] == ["verbatim", "verbatim"]


NOTES = [
    user("go"),
    *exchange("1", "load_note", "x", author="Ada", title="packing list"),
    *reading(4),
]


def note_line(session) -> str:
    """What a digest says of the note."""
    draft, ctx = drafted(session, limit=8_000, steps=0.3, tail=0.0, exchanges=1)
    return next(line for line in texts(Fold()(draft, ctx).items)["r1.0"].split("\n") if "load_note" in line)


def test_what_a_router_declares_of_a_tool_is_in_its_line() -> None:
    """`DefaultRouter(tools=…)` names the argument that a call is about, also if another comes first."""
    router = DefaultRouter(tools={"load_note": ToolSemantics(access="read", resource=("title",))})

    assert note_line(session_of(NOTES, router=router)) == "m2 load_note packing list"
    assert note_line(session_of(NOTES)) == "m2 load_note Ada"


def test_what_was_declared_is_known_without_the_router() -> None:
    """It is recorded with the messages: a session that goes on from its events has another router, or none."""
    router = DefaultRouter(tools={"load_note": ToolSemantics(access="read", resource=("title",))})
    first = session_of(NOTES, router=router)

    assert note_line(Session.from_events(first.events)) == "m2 load_note packing list"


@pytest.mark.parametrize("policy", ["default", "lines"])
def test_a_message_without_words_is_named_in_a_digest(policy: str) -> None:
    """What only one format understands is told by its type."""
    session = Session(budget=1_200, policy=policy)
    for number in range(16):
        said = [{"type": "container_upload", "file_id": f"file_{number}"}] if number % 2 else f"Question {number}?"
        session.extend([{"role": "user", "content": said}, says("an answer of some words " * 20)], format="anthropic")
    text = session.compile().to("text")

    assert re.search(r"^user m\d+: \[container_upload\]\n>file_\d+$", text, re.MULTILINE)
    assert not re.search(r"^user m\d+: $", text, re.MULTILINE)
