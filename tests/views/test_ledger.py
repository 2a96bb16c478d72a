"""The ledger: facts that no reduction may lose."""

import pytest
from tests.dialogue import call, calls, exchange, says, session_of, user

from foveate import DefaultRouter, ToolSemantics
from foveate.compile.facts.errors import ErrorsState
from foveate.compile.ledger import MAX_OPEN_ERRORS, Ledger, LedgerBuilder, error_line


def ledger_of(*messages, **options) -> Ledger:
    builder = LedgerBuilder()
    for order, message in enumerate(session_of(messages, **options).messages):
        builder.feed(message, order)
    return builder.ledger()


def test_files_read_and_written_are_known_with_their_last_source() -> None:
    """Newest last; a failed write wrote nothing."""
    ledger = ledger_of(
        user("go"),
        *exchange("1", "Read", "x", file_path="a.py"),
        *exchange("2", "Read", "x", file_path="b.py"),
        *exchange("3", "Read", "x", file_path="a.py"),
        *exchange("4", "Write", "ok", file_path="c.py", content="x"),
        *exchange("5", "Write", "Error: disk full", file_path="d.py", content="x"),
    )

    assert ledger.read == {"b.py": "m5", "a.py": "m7"}
    assert list(ledger.read) == ["b.py", "a.py"]
    assert ledger.written == {"c.py": "m9"}


def test_an_error_is_open_until_its_command_passes_or_a_wider_one() -> None:
    """Another command settles nothing."""
    failed = exchange("1", "Bash", "FAILED tests/a.py::test_x\nExit code: 1", command="pytest tests/a.py")
    elsewhere = exchange("2", "Bash", "2 passed in 0.1s", command="pytest tests/b.py")
    wider = exchange("3", "Bash", "9 passed in 0.1s", command="pytest")

    assert list(ledger_of(user("go"), *failed, *elsewhere).open_errors) == ["m3"]
    ledger = ledger_of(user("go"), *failed, *elsewhere, *wider)
    assert ledger.open_errors == {}
    assert [(one.error.message_id, one.by, one.how) for one in ledger.settled] == [("m3", "m7", "passed")]


def test_a_call_that_missed_its_mark_is_no_open_error() -> None:
    """Nothing is broken where a text was not found; it is known as a failure."""
    ledger = ledger_of(user("go"), *exchange("1", "Edit", "Error: no match", file_path="a.py"))

    assert ledger.open_errors == {}
    assert [one.message_id for one in ledger.failures] == ["m3"]


def test_of_a_retry_chain_the_last_attempt_is_the_open_one() -> None:
    """Earlier attempts are known as retried, and all as failures."""
    ledger = ledger_of(
        user("go"), *(m for n in range(3) for m in exchange(f"e{n}", "book", f"Error: no seat {n}", flight_id="F1"))
    )

    assert [(one.message_id, one.text) for one in ledger.open_errors.values()] == [("m7", "Error: no seat 2")]
    assert set(ledger.retried) == {"m3", "m5"}
    assert [one.message_id for one in ledger.failures] == ["m3", "m5", "m7"]


def test_a_denial_is_open_like_an_error() -> None:
    """The model must not ask again as if nothing had been said."""
    (failure,) = ledger_of(
        user("go"), *exchange("1", "Bash", "Rejected by user", command="git push")
    ).open_errors.values()

    assert (failure.attempt, failure.text) == ("git push", "Rejected by user")


def test_an_error_can_be_settled_by_hand() -> None:
    """session.resolve(id) ends it."""
    before = ledger_of(user("go"), *exchange("1", "Bash", "Exit code: 1", command="make"))
    builder = LedgerBuilder(before, ErrorsState(held=before.held))
    builder.resolve("m3", 3)

    assert builder.ledger().open_errors == {}
    assert before.is_open("m3")


def test_open_errors_are_bounded() -> None:
    """The newest count; an error nobody came back to lapses."""
    ledger = ledger_of(
        user("go"), *(m for n in range(12) for m in exchange(f"e{n}", "Bash", "Error: x", command=f"python f{n}.py"))
    )

    assert len(ledger.open_errors) == MAX_OPEN_ERRORS
    assert list(ledger.open_errors)[-1] == "m25"


def test_decisions_and_the_plan_are_noted() -> None:
    """In English and in Chinese."""
    ledger = ledger_of(
        user("We must never drop the orders table.\nThe weather is nice."),
        user("我们决定使用 SQLite。"),
        calls(call("p", "TodoWrite", todos=["a", "b"])),
        says("I decided to add an index."),
    )

    assert [note.text for note in ledger.decisions] == [
        "We must never drop the orders table.",
        "我们决定使用 SQLite。",
        "I decided to add an index.",
    ]
    assert ledger.plan is not None
    assert ledger.plan.message_id == "m3"


def test_a_plan_tool_declared_by_the_user_is_a_plan() -> None:
    """The table is extendable for every use of it."""
    router = DefaultRouter(tools={"set_goals": ToolSemantics(access="plan")})

    assert ledger_of(user("go"), calls(call("p", "set_goals", goals=["a"])), router=router).plan is not None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "(no output)"),
        ("just this", "just this"),
        ("E   assert 1 == 2\nFAILED tests/a.py::test\n1 failed in 2s", "FAILED tests/a.py::test"),
        ("E   KeyError: 'a'\n=== short test summary info ===\n=== 1 error in 0.34s ===", "E   KeyError: 'a'"),
        (
            "error[E0308]: mismatched types\nerror: could not compile `x` due to 1 previous error",
            "error[E0308]: mismatched types",
        ),
        ("3 errors", "3 errors"),
        ("Error: first\nnoise\nValueError: last", "ValueError: last"),
    ],
)
def test_the_telling_line_of_an_output(text: str, line: str) -> None:
    """A program that fails says why last, and may count its errors still later."""
    assert error_line(text) == line
