"""The conversation view: for people, without tool traffic."""

from inline_snapshot import snapshot
from tests.dialogue import call, calls, exchange, result, says, session_of, user

from foveate.log.messages import Message, Text, Thinking


def shown(*messages) -> list[str]:
    return [f"{message.role}: {message.text}" for message in session_of(messages).conversation]


def test_only_what_people_and_the_assistant_said_is_shown() -> None:
    """No calls, no outputs, no thinking, no empty messages."""
    assert shown(
        user("Fix it"),
        calls(call("a", "Read", file_path="x"), text="Let me look."),
        result("a", "secret tool output"),
        calls(call("b", "Edit", file_path="x")),
        result("b", "ok"),
        Message(id="", role="assistant", parts=(Thinking(text="hm"), Text(text="Done."))),
    ) == ["user: Fix it", "assistant: Let me look.", "assistant: Done."]


def test_a_failure_that_nothing_settled_is_one_line() -> None:
    """What went wrong, not its whole output."""
    trace = "Traceback (most recent call last):\n  File 'x.py', line 3\nValueError: bad amount"

    assert shown(user("Run"), *exchange("a", "Bash", trace, command="python x.py")) == snapshot(
        ["user: Run", "assistant: Bash python x.py error: ValueError: bad amount"]
    )


def test_a_denial_is_one_line() -> None:
    """The person said no; the record shows it."""
    assert shown(user("Push"), *exchange("a", "Bash", "Rejected by user", command="git push")) == snapshot(
        ["user: Push", "assistant: Bash git push denied: Rejected by user"]
    )


def test_of_a_retry_chain_that_failed_only_the_last_attempt_speaks() -> None:
    """One line for three tries."""
    lines = shown(
        user("Edit"),
        *(m for n in range(3) for m in exchange(f"e{n}", "Edit", f"Error: no match {n}", file_path="a.py")),
    )

    assert lines == ["user: Edit", "assistant: Edit a.py error: Error: no match 2"]


def test_a_retry_chain_that_succeeded_says_nothing() -> None:
    """What came of it is that it worked."""
    assert shown(
        user("Edit"),
        *exchange("1", "Edit", "Error: no match", file_path="a.py"),
        *exchange("2", "Edit", "ok", file_path="a.py"),
        says("Edited."),
    ) == ["user: Edit", "assistant: Edited."]


def test_a_line_stays_short() -> None:
    """However much a tool said."""
    (_, line) = shown(user("Go"), *exchange("a", "Bash", "Error: " + "x" * 5_000, command="make " + "y" * 500))

    assert len(line) < 200
    assert "\n" not in line


def test_reductions_do_not_change_the_conversation() -> None:
    """It is a view of the log, not of a request."""
    session = session_of([user("one " * 3_000), says("two"), user("three")], budget=400)
    before = session.conversation
    session.compile()

    assert session.conversation == before
