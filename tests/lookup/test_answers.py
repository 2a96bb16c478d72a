"""What agents are answered about their logs: exact, short, with references, and plain where nothing matches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from foveate import Session
from foveate.errors import ConfigError, FoveateError, UnknownReferenceError
from foveate.lookup.answering import answer
from foveate.lookup.answers import MOST_BYTES, Lookup
from foveate.recall import passages_of
from foveate.recall.tool import ANSWER_MARK, is_answer
from foveate.store import Store
from tests.dialogue import exchange, lines, says, session_of, user, work

ROWS = "".join(f"row {number}: {number * 7} – ünï\n" for number in range(30))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with the sessions of two projects, the newer one last."""
    with Store(tmp_path / "agent.db") as opened:
        fill(opened)
        yield opened


def fill(store: Store) -> None:
    with Session.open(store, "claude-0123abcd", budget=4_000) as session:
        session.tag(cwd="/home/me/shop", model="claude-sonnet-4-5")
        session.extend(
            [user("why does the refund test fail?"), *exchange("r1", "Bash", ROWS, command="cat rows.txt")],
            time=1_700_000_000,
        )
        for message in work(3):
            session.extend([message], time=1_700_000_100)
            if message["role"] == "user":
                session.compile(now=1_700_000_200)
    with Session.open(store, "codex-89abcdef") as session:
        session.tag(cwd="/home/me/site", model="gpt-6.1-sol")
        session.extend([user("make the check pass")], time=1_750_000_000)
        session.extend(
            exchange(
                "t1",
                "Bash",
                "E   ZeroDivisionError: division by zero\n1 failed\nexit code 1",
                command="pytest tests/test_sum.py",
            ),
            time=1_750_000_001,
        )
        session.extend(
            exchange(
                "e1",
                "Edit",
                "The file was updated.",
                file_path="src/sums.py",
                old_string="a / b",
                new_string="a / b if b else 0",
            )
        )
        session.extend(exchange("t2", "Bash", "1 passed in 0.1s", command="pytest tests/test_sum.py"))
        session.append(says("The check passes."))


def test_recall_gives_the_recorded_bytes_back(store: Store) -> None:
    """Below one line that says whose they are."""
    found = Lookup(store=store, session="claude-0123abcd").recall("m3")
    head, _, text = found.partition("\n")
    assert head == "[from the log of Foveate; session claude-0123abcd (as told), m3, tool Bash]"
    assert text == ROWS
    assert Lookup(store=store).recall("claude-0123abcd#m3").endswith(ROWS)


def test_recall_gives_lines_and_what_matches_a_query(store: Store) -> None:
    """As the tool of a session does."""
    lookup = Lookup(store=store, session="claude-0123abcd")
    assert lookup.recall("m3", lines=(2, 3)).splitlines()[1:] == ["row 1: 7 – ünï", "row 2: 14 – ünï"]
    assert "21: row 20: 140" in lookup.recall("m3", query="row 20")


def test_an_answer_has_4_kilobytes_at_most(store: Store, tmp_path: Path) -> None:
    """In bytes, whatever the script; what is left out says how to get it."""
    with Session.open(store, "long") as session:
        session.extend(
            [user("数据" * 20_000), *exchange("x", "Read", lines(3_000, "the same words again"), file_path="a.py")]
        )
    lookup = Lookup(store=store, session="long")
    for said in (
        lookup.recall("m1"),
        lookup.recall("m3"),
        lookup.search("the same words again"),
        lookup.touched("a.py"),
    ):
        assert len(said.encode()) <= MOST_BYTES
    assert "ask for `lines` or a `query`" in lookup.recall("m3")


def test_a_reference_that_is_not_there_is_said_with_the_session(store: Store) -> None:
    """So that an agent sees which log was looked at."""
    with pytest.raises(FoveateError, match=r"no message 'm999' in session codex-89abcdef \(the newest of all\)"):
        Lookup(store=store).recall("m999")
    with pytest.raises(UnknownReferenceError, match="no session 'nobody'"):
        Lookup(store=store).recall("nobody#m1")


def test_why_tells_what_became_of_a_message(store: Store) -> None:
    """By call, as explain does."""
    told = Lookup(store=store, session="claude-0123abcd").why("m3")
    assert "m3, tool Bash:" in told
    assert "in call" in told and "verbatim" in told


def test_search_finds_in_all_sessions_or_in_those_chosen(store: Store) -> None:
    """By project, agent and time; each hit has the reference that recall takes."""
    lookup = Lookup(store=store)
    found = lookup.search("division by zero")
    assert "codex-89abcdef#m3 · tool Bash · 2025-06-15" in found
    assert Lookup(store=store).recall("codex-89abcdef#m3").endswith("exit code 1")
    for options in ({"project": "shop"}, {"agent": "claude"}, {"since": datetime(2026, 1, 1, tzinfo=UTC)}):
        assert "nothing matches 'division by zero'; " in lookup.search("division by zero", **options)
    assert "codex-89abcdef#m3" in lookup.search("division by zero", project="site", agent="gpt-6")


def test_touched_lists_what_was_done_to_a_file(store: Store) -> None:
    """By any name that ends alike; a file that nobody touched is said to be none."""
    for path in ("sums.py", "src/sums.py", "/home/me/site/src/sums.py"):
        assert "changed by Edit, ok: codex-89abcdef#m5" in Lookup(store=store).touched(path)
    assert "no call on 'other/sums.py' was found" in Lookup(store=store).touched("other/sums.py")


def test_fixed_tells_what_was_changed_and_whether_it_passed(store: Store) -> None:
    """The call that failed, the edits after it, and the same call that passed."""
    told = Lookup(store=store).fixed("ZeroDivisionError: division by zero")
    assert "codex-89abcdef#m3" in told
    assert "then changed src/sums.py by Edit: codex-89abcdef#m5" in told
    assert "passed again: codex-89abcdef#m7" in told
    assert "no error like this was found" in Lookup(store=store).fixed("KeyError: 'unseen'")


@pytest.mark.parametrize("ask", ["search", "touched", "fixed"])
def test_an_empty_question_is_refused(store: Store, ask: str) -> None:
    """With what to give instead."""
    with pytest.raises(ConfigError, match="is empty; give"):
        getattr(Lookup(store=store), ask)(" ")


def test_no_search_finds_our_own_answers(store: Store) -> None:
    """Neither the question nor the answer: else each recall would bury what it recalled."""
    told = Lookup(store=store).search("division by zero")
    wrapped = f"Wall time: 0.1 s\nOutput:\n{json.dumps([{'type': 'text', 'text': told}])}"
    asked = exchange("q1", "mcp__foveate__search", told, query="division by zero")
    session = session_of([user("go"), *asked, *exchange("q2", "recall", wrapped, reference="m3")])
    assert is_answer(told) and is_answer(wrapped)
    assert [passages_of(message, 0) for message in session.messages[1:3]] == [[], []]
    assert passages_of(session.messages[4], 0) == []
    with Session.open(store, "asking") as live:
        live.extend([user("what was it?"), *asked])
    assert "asking#" not in Lookup(store=store).search("division by zero")


# --- which session is meant ---------------------------------------------------------------------------------------


def where(store: Store, **options: object) -> str:
    return Lookup(store=store, **options).why("m1").splitlines()[0]  # type: ignore[arg-type]


def test_without_a_name_the_newest_session_of_the_project_is_meant(store: Store) -> None:
    """A folder within the project counts, a neighbor does not."""
    assert "session claude-0123abcd (the newest of this project)" in where(store, project=Path("/home/me/shop"))
    assert "session codex-89abcdef (the newest of this project)" in where(store, project=Path("/home/me"))
    assert "session codex-89abcdef (the newest of all)" in where(store, project=Path("/srv"))


def test_the_session_that_made_the_call_is_meant_before_the_newest(store: Store) -> None:
    """Clients send the id of the call, or of their session, beside the question."""
    lookup = Lookup(store=store)
    for evidence in ({"r1", "toolu_x"}, {"0123abcd-4567-4890-abcd-0123456789ab"}):
        told = lookup.why("m1", evidence=evidence)
        assert "session claude-0123abcd (it asked)" in told
    assert "session codex-89abcdef (the newest of all)" in lookup.why("m1", evidence={"Claude Code", "01", "x" * 40})


def test_of_a_session_with_branches_the_newest_is_meant(store: Store) -> None:
    """A gateway numbers them behind a tilde."""
    with Session.open(store, "codex-89abcdef~2") as session:
        session.extend([user("another way")])
    assert "session codex-89abcdef~2 (as told)" in where(store, session="codex-89abcdef")


# --- calls as they come -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("recall", {"reference": "m3", "lines": {"start": 1, "end": 1}}, "exit code"),
        ("recall", {"reference": 7}, "`reference` must be text"),
        ("recall", {"reference": "m1", "query": 7}, "`query` must be text, got 7"),
        ("search", {"query": "lock", "since": 20260131}, "`since` must be text, got 20260131"),
        ("search", {"query": "lock", "session": "a"}, "no argument 'session'; there are query, project, agent, since"),
        ("recall", {"reference": "m3", "lines": "one"}, "`lines` must be"),
        ("recall", {"reference": "m3", "lines": [9, 2]}, "no range"),
        ("search", {"query": "x", "since": "yesterday"}, "`since` 'yesterday' is no time"),
        ("forget", {}, "no tool 'forget'; there are recall, why, search, touched, fixed"),
    ],
)
def test_what_is_wrong_with_a_call_is_said_to_the_model(store: Store, name: str, arguments: dict, said: str) -> None:
    """Not raised: an agent must be able to ask better."""
    from contextlib import nullcontext

    text, is_answered = answer(lambda: nullcontext(Lookup(store=store)), name, arguments)
    assert text.startswith(ANSWER_MARK)
    assert is_answered == (said == "exit code") and (is_answered or said in text)
