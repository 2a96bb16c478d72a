"""Code as it stands: what reads, edits and commands prove of files, with the real `sed` and `git` as the oracle."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.compile.facts.code import CodeState
from foveate.compile.facts.errors import OpenErrors
from foveate.compile.facts.outcomes import judged
from tests.facts.played import Played


def check(state: CodeState, path: Path) -> int:
    """Every current piece stands in the file, at its line."""
    text = path.read_text().removesuffix("\n").split("\n")
    current = [piece for piece in state.pieces(str(path)) if piece.current]
    for piece in current:
        if piece.start is not None:
            assert tuple(text[piece.start - 1 : piece.start - 1 + len(piece.lines)]) == piece.lines
        else:
            assert "\n".join(piece.lines) in path.read_text()
    return sum(len(piece.lines) for piece in current)


LINES = st.sampled_from(["a", "b", "foo(a)", "  return b", "", "}"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["read", "sed", "delete", "edit", "diff"]), st.integers(1, 12), LINES), max_size=12
)


@settings(max_examples=30)
@given(st.lists(LINES, min_size=4, max_size=14), STEPS)
def test_current_pieces_are_what_the_file_holds(tmp_path_factory, lines, steps) -> None:  # type: ignore[no-untyped-def]
    """Whatever the order of reads and edits, with the real programs doing them."""
    folder = tmp_path_factory.mktemp("code")
    path = folder / "f.py"
    path.write_text("\n".join(lines) + "\n")
    subprocess.run("git init -q . && git add .", shell=True, cwd=folder, check=True, capture_output=True)  # noqa: S602
    state = CodeState()
    played = Played(state)
    for kind, at, word in steps:
        if kind == "read":
            played.shell(f"sed -n '{at},{at + 3}p' f.py", folder)
        elif kind == "sed":
            played.shell("sed -i 's/foo(a)/bar/g' f.py", folder)
        elif kind == "delete":
            played.shell(f"sed -i '{at}d' f.py", folder)
        elif kind == "diff":
            played.shell("git diff", folder)
        else:
            text = path.read_text()
            old = word + "\n"
            if text.count(old) == 1:
                path.write_text(text.replace(old, "new\nlines\n"))
                played.call(
                    "str_replace", "The file has been edited.", path=str(path), old_str=old, new_str="new\nlines\n"
                )
        check(state, path)


def test_a_command_that_may_write_makes_a_piece_unsure() -> None:
    """A generator: the text is as it was read; tests leave sources alone."""
    state = CodeState()
    played = Played(state)
    head = "Wall time: 0 seconds\nProcess exited with code 0\nOutput:\n"
    played.call("exec_command", head + "one\ntwo\n", cmd="cat f.py", workdir="/repo")
    played.call("exec_command", head, cmd="pytest -q", workdir="/repo")
    assert [(piece.lines, piece.doubt) for piece in state.pieces("/repo/f.py")] == [(("one", "two"), "none")]
    played.call("exec_command", head, cmd="make generate", workdir="/repo")
    assert [piece.doubt for piece in state.pieces("/repo/f.py")] == ["command"]


def test_no_success_is_reported_where_there_was_none() -> None:
    """A pipe hides a status, and a line that says FAIL overrides one."""
    assert judged("go test ./... | tail -3", "--- FAIL: TestA (0.1s)\nFAIL\tx/y\t0.1s\nFAIL\n", 0).kind == "failed"
    assert judged("make lint", "0 issues.\na.go need to be formatted\n", 0).kind == "failed"
    assert judged("make test | tail -3 || true", "something\n", 0).kind == "unknown"
    assert judged("ruff check .", "ruff: command not found", 127).missing_tool


def test_an_error_closes_when_a_wider_run_passes() -> None:
    """The suite after one file; what is kept is the line that says what is wrong."""
    errors = OpenErrors()
    played = Played(errors)
    failed = "FAILED tests/a.py::test_x - ValueError: no\n=== 1 failed in 0.1s ===\n"
    played.call("exec_command", f"Process exited with code 1\nWall time: 0\nOutput:\n{failed}", cmd="pytest tests/a.py")
    assert [error.line for error in errors.view()] == ["ValueError: no"]
    passed = "Wall time: 0\nProcess exited with code 0\nOutput:\n=== 9 passed in 0.1s ===\n"
    played.call("exec_command", passed, cmd="pytest")
    assert errors.view() == () and [one.how for one in errors.settled] == ["passed"]
