"""What is open, and what closes it."""

from __future__ import annotations

import pytest

from foveate.compile.facts.command_scope import check_scopes
from foveate.compile.facts.errors import MAX_OPEN, OpenErrors
from tests.facts.played import Played

FAILED = "FAILED tests/a.py::test_x - ValueError: no\n=== 1 failed in 0.1s ===\n"
PASSED = "=== 9 passed in 0.1s ===\n"


def played(*runs: tuple[str, str, int]) -> OpenErrors:
    """Errors after these commands, each with its output and status."""
    errors = OpenErrors()
    log = Played(errors)
    for command, output, code in runs:
        log.run(command, output, code)
    return errors


def covers(wide: str, narrow: str) -> bool:
    """Whether a command says of all of another one how it is now."""
    (first,), (second,) = check_scopes(wide, "/repo"), check_scopes(narrow, "/repo")
    return first.covers(second)


# ------------------------------------------------------------------------------------------------------------- what opens


def test_an_error_has_the_line_that_tells() -> None:
    """And the names of the tests."""
    (error,) = played(("pytest tests/a.py", FAILED, 1)).view()
    assert (error.command, error.line, error.tests) == ("pytest tests/a.py", "ValueError: no", ("tests/a.py::test_x",))


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("grep -rn x .", "", 1),
        ("cat gone.py", "cat: gone.py: No such file or directory", 1),
        ("ruff check .", "bash: ruff: command not found", 127),
        ("python reproduce_bug.py", "ValueError: no", 1),
        ("make test | tail -3", "nothing to see", 0),
    ],
)
def test_what_is_no_open_error(command: str, output: str, code: int) -> None:
    """Searches without a hit, missing files and tools, scripts that are meant to fail, runs that say nothing."""
    assert played((command, output, code)).view() == ()


def test_an_edit_that_missed_is_no_open_error() -> None:
    """A tool that no table knows is different: what it refused matters."""
    errors = OpenErrors()
    log = Played(errors)
    log.call("Edit", "<tool_use_error>String to replace not found in file.</tool_use_error>", file_path="a.py")
    log.call("book_flight", "Error: payment declined", flight="HAT1")
    assert [error.command for error in errors.view()] == ["book_flight"]


def test_the_same_check_failing_again_is_one_error() -> None:
    """As it fails now."""
    errors = played(("pytest", FAILED, 1), ("pytest", FAILED.replace("ValueError: no", "KeyError: yes"), 1))
    assert [error.line for error in errors.view()] == ["KeyError: yes"]


def test_at_most_so_many_are_held() -> None:
    """The oldest goes."""
    errors = played(*((f"./check{number} run", f"Error: number {number}", 1) for number in range(MAX_OPEN + 3)))
    assert len(errors.view()) == MAX_OPEN and errors.view()[0].line == "Error: number 3"


# ------------------------------------------------------------------------------------------------------------ what closes


@pytest.mark.parametrize(
    ("wide", "narrow", "does"),
    [
        ("pytest", "pytest", True),
        ("pytest", "pytest tests/a.py", True),
        ("pytest tests", "pytest tests/a.py", True),
        ("pytest tests/a.py", "pytest tests/a.py::test_x", True),
        ("pytest tests/a.py", "pytest", False),
        ("pytest tests/b.py", "pytest tests/a.py", False),
        ("pytest -k other", "pytest", False),
        ("pytest", "pytest -k one", True),
        ("python -m pytest", "pytest tests/a.py", True),
        ("uv run pytest -q", "pytest tests/a.py", True),
        ("go test ./...", "go test ./pkg/a", True),
        ("go test ./...", "go build ./...", True),
        ("go build ./...", "go test ./...", False),
        ("go test ./pkg/...", "go test ./pkg/a -run TestX", True),
        ("go test ./pkg/a -run TestY", "go test ./pkg/a -run TestX", False),
        ("pytest", "go test ./...", False),
        ("gofmt -l .", "go build ./...", False),
        ("ruff check .", "ruff check a.py", True),
        ("ruff format --check .", "ruff check .", False),
        ("python gen.py", "python gen.py --again", True),
        ("python gen.py", "python other.py", False),
        ("git rebase --continue", "git rebase main", True),
    ],
)
def test_a_check_covers_what_is_in_it(wide: str, narrow: str, does: bool) -> None:
    """The suite a file, a file its tests, tests the build of their language; nothing the other way round."""
    assert covers(wide, narrow) is does


def test_an_error_closes_when_its_check_passes() -> None:
    """And says by which message."""
    errors = played(("pytest tests/a.py", FAILED, 1), ("pytest", PASSED, 0))
    assert errors.view() == ()
    (resolved,) = errors.settled
    assert (resolved.by, resolved.how, resolved.error.line) == ("m4", "passed", "ValueError: no")


def test_a_narrower_run_closes_nothing() -> None:
    """Unless it is of the very tests that had failed."""
    assert played(("pytest", FAILED, 1), ("pytest tests/b.py", PASSED, 0)).view()
    assert not played(("pytest", FAILED, 1), ("pytest tests/a.py::test_x", PASSED, 0)).view()


def test_a_hidden_status_closes_nothing_unless_a_summary_says_so() -> None:
    """`| tail` and `|| true`."""
    assert played(("make test", "Error: no", 2), ("make test | tail -1", "bye", 0)).view()
    assert played(("make test", "Error: no", 2), ("make test || true", "bye", 0)).view()
    assert not played(("pytest", FAILED, 1), ("pytest | tail -1", PASSED, 0)).view()


def test_a_wider_run_that_fails_elsewhere_closes_the_tests_that_pass() -> None:
    """What failed before is not among its failures."""
    other = "FAILED tests/b.py::test_y - KeyError: b\n=== 1 failed, 8 passed in 0.1s ===\n"
    errors = played(("pytest tests/a.py", FAILED, 1), ("pytest", other, 1))
    assert [error.line for error in errors.view()] == ["KeyError: b"]
    assert [one.error.line for one in errors.settled] == ["ValueError: no"]


def test_a_removed_script_fails_no_more() -> None:
    """Nor does one in a folder that is gone."""
    assert not played(("python try_it.py", "ValueError: no", 1), ("rm try_it.py", "", 0)).view()
    assert played(("python try_it.py", "ValueError: no", 1), ("rm other.py", "", 0)).view()


def test_the_user_settles_an_error() -> None:
    """By its message."""
    errors = played(("pytest", FAILED, 1))
    errors.resolve("m1", 5)
    assert errors.view()
    errors.resolve("m2", 5)
    assert not errors.view() and errors.settled[0].how == "settled by the user"


def test_a_run_in_the_background_ends_when_its_rest_is_read() -> None:
    """Its first output says nothing of how it ended."""
    errors = OpenErrors()
    log = Played(errors)
    begun = "Wall time: 1 second\nProcess running with session ID 7\nOutput:\n"
    log.call("exec_command", begun + FAILED[:10], cmd="pytest", workdir="/repo")
    assert errors.view() == ()
    log.call("write_stdin", f"Wall time: 1 second\nProcess exited with code 1\nOutput:\n{FAILED[10:]}", session_id=7)
    assert [error.line for error in errors.view()] == ["ValueError: no"]
