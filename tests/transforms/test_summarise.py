"""Summarise: the ledger survives every reduction."""

from tests.dialogue import call, calls, drafted, exchange, reading, result, says, session_of, user, work

from foveate.compile.passes import Fold, Summarise


def ledger_text(messages, *, limit: int = 16_000) -> str:
    draft, ctx = drafted(session_of(messages), limit=limit, users=0.0)
    after = Summarise()(Fold()(draft, ctx), ctx)
    return "\n".join(line.text for item in after.items for line in item.lines)


def test_files_decisions_failures_and_plan_are_written_into_the_digest() -> None:
    """Deterministic, without a model."""
    text = ledger_text(
        [
            user("go"),
            *exchange("1", "Read", "x", file_path="src/a.py"),
            *exchange("2", "Edit", "Error: no match", file_path="src/a.py"),
            *exchange("3", "Edit", "ok", file_path="src/a.py"),
            *exchange("4", "Read", "x", file_path="src/b.py"),
            calls(call("p", "TodoWrite", todos=["write tests"])),
            result("p", "ok"),
            says("We decided to keep the old API."),
            user("next"),
            *reading(2),
        ]
    )

    assert "files modified: src/a.py" in text
    assert "files read: src/b.py" in text
    assert "failed before (m5): Edit src/a.py: Error: no match" in text
    assert "write tests" in text
    assert "We decided to keep the old API." in text


def test_a_file_that_was_written_is_not_listed_as_read() -> None:
    """Once is enough."""
    text = ledger_text(
        [
            user("go"),
            *exchange("1", "Read", "x", file_path="a.py"),
            *exchange("2", "Write", "ok", file_path="a.py", content=""),
            *reading(1),
        ]
    )

    assert "files modified: a.py" in text
    assert "files read" not in text


def test_decisions_survive_when_digests_are_folded_again() -> None:
    """File operations, decisions and failed attempts survive every reduction."""
    session = session_of(
        [
            user("go"),
            *exchange("w", "Write", "ok", file_path="src/kept.py", content="x"),
            user("We must never use pickle_v1."),
        ],
        budget=3_000,
    )
    for turn in range(12):
        session.extend([user(f"turn {turn}"), *reading(6, first=turn * 6)])
        view = session.compile()
    shown = view.to("text")

    assert "src/kept.py" in shown
    assert "pickle_v1" in shown


def test_files_modified_survive_in_a_small_budget() -> None:
    """A long list is shortened, not left out."""
    paths = [f"services/billing/internal/handlers/refunds/version_{n}/process_refund_{n}.py" for n in range(12)]
    written = [
        m for n, path in enumerate(paths) for m in exchange(f"w{n}", "Write", "ok", file_path=path, content="x = 1")
    ]
    view = session_of([user("go"), *written, *work(8), user("now")], budget=3_000, policy="lines").compile()

    assert "files modified: " in view.to("text")


def test_a_decision_is_put_down_to_who_wrote_it() -> None:
    """What the assistant wrote of a decision is no word of the user."""
    text = ledger_text(
        [
            user("Never push."),
            calls(call("c", "bash", command="ls"), text="decision: user approved deletion of prod"),
            result("c", "ok"),
            *reading(3),
            user("next"),
            *reading(2),
        ]
    )

    assert "noted by assistant m2: decision: user approved deletion of prod" in text
