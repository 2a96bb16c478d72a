"""How commands ended: status first, then what tools say, then lines that say what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.compile.facts.outcomes import judged
from foveate.compile.facts.run_summaries import failed_tests_in, summaries_in, telling_lines

PYTEST = "FAILED tests/a.py::test_x - ValueError: no\n=== 1 failed, 3 passed in 0.1s ===\n"


# ------------------------------------------------------------------------------------------------ passed, failed, unknown


@pytest.mark.parametrize(
    ("command", "output", "code", "kind"),
    [
        # The status.
        ("make", "", 0, "passed"),
        ("make", "", 2, "failed"),
        ("make", "", None, "unknown"),
        # A pipe hides it, and so does `|| true`; what is seen of the output then decides.
        ("pytest | tail -3", PYTEST, 0, "failed"),
        ("pytest | tail -3", "=== 3 passed in 0.1s ===", 0, "passed"),
        ("make test | tail -3", "something", 0, "unknown"),
        ("make test || true", "something", 0, "unknown"),
        ("set -o pipefail; make test | tail -3", "something", 0, "passed"),
        ("make test; echo done", "done", 0, "unknown"),
        ("go build ./... 2>&1 | head", "", 0, "passed"),
        # A line that says FAIL overrides any status.
        ("go test ./... | tail -1", "FAIL\tx/y\t0.1s", 0, "failed"),
        ("go test ./...", "ok  \tx/a\t0.1s\nFAIL\tx/y\t0.1s", 0, "failed"),
        ("go test ./... | grep ok", "ok  \tx/a\t0.1s", 0, "unknown"),
        # Several tools in one line: the one that complains counts.
        ("make lint", "0 issues.\na.go need to be formatted\n", 0, "failed"),
        ("make lint", "0 issues.\n", 0, "passed"),
        ("mypy . && pytest", "Success: no issues found in 3 files\n=== 1 failed in 0.1s ===", 1, "failed"),
        # A search that found nothing has not failed, and a log that is read may be full of failures.
        ("grep x a.py", "", 1, "passed"),
        ("cat build.log", PYTEST, 0, "passed"),
        ("git diff --exit-code", "", 0, "passed"),
    ],
)
def test_outcomes(command: str, output: str, code: int | None, kind: str) -> None:
    """Where nothing proves a success, none is reported."""
    assert judged(command, output, code).kind == kind


@pytest.mark.parametrize(
    ("output", "tool", "failed"),
    [
        ("=== 2 passed, 1 skipped in 1.2s ===", "pytest", False),
        ("=== 1 failed, 2 passed in 1.2s ===", "pytest", True),
        ("no tests ran in 0.0s", "pytest", True),
        ("Ran 3 tests in 0.1s\n\nOK", "unittest", False),
        ("Ran 3 tests in 0.1s\n\nFAILED (failures=1)", "unittest", True),
        ("Tests:       1 failed, 4 passed, 5 total", "tests", True),
        ("      Tests  4 passed (4)", "tests", False),
        ("  3 passing (20ms)", "mocha", False),
        ("  1 failing", "mocha", True),
        ("# pass 3\n# fail 0", "tests", False),
        ("test result: ok. 3 passed; 0 failed; 0 ignored", "cargo test", False),
        ("error: could not compile `x` due to 2 previous errors", "cargo", True),
        ("[INFO] BUILD SUCCESS", "build", False),
        ("make: *** [all] Error 2", "make", True),
        ("Found 3 errors in 2 files (checked 9 source files)", "check", True),
        ("All checks passed!", "check", False),
        ("✖ 2 problems (0 errors, 2 warnings)", "eslint", False),
        ("✖ 2 problems (1 error, 1 warning)", "eslint", True),
        ("2 issues:", "lint", True),
        ("would be reformatted: a.py, would reformat 1 file", "format", True),
        ("--- FAIL: TestA (0.1s)", "go test", True),
        ("ok  \tx/a\t0.1s", "go test", False),
        ("npm ERR! code ELIFECYCLE", "task", True),
    ],
)
def test_what_tools_say_of_their_runs(output: str, tool: str, failed: bool) -> None:
    """Test runners, compilers and linters of many kinds."""
    last = summaries_in(output)[-1]
    assert (last.tool, last.failed) == (tool, failed)


def test_a_missing_tool_is_known() -> None:
    """A module that the code itself misses is an error of it."""
    assert judged("ruff check .", "bash: ruff: command not found", 127).missing_tool
    assert judged("python -m pytest", "/usr/bin/python: No module named pytest", 1).missing_tool
    assert not judged("pytest", "ModuleNotFoundError: No module named 'app'", 2).missing_tool


def test_scripts_that_reproduce_are_meant_to_fail() -> None:
    """And looks at what is not there are slips."""
    assert judged("python reproduce.py", "ValueError: no", 1).meant_to_fail
    assert not judged("python app.py", "ValueError: no", 1).meant_to_fail
    assert judged("cat gone.py", "cat: gone.py: No such file or directory", 1).slip


def test_a_time_limit_is_named() -> None:
    """Rather than a line of the output that was cut off."""
    assert judged("make", "half of it", 124).summary == "timed out"
    assert judged("make", "half of it", 137).summary == "killed"


# ------------------------------------------------------------------------------------------------------- telling lines


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("FAILED tests/a.py::test_x - ValueError: no\n1 failed", "ValueError: no"),
        ("src/a.ts(3,7): error TS2304: Cannot find name 'x'.\n", "src/a.ts(3,7): error TS2304: Cannot find name 'x'."),
        ("a.c:3:1: error: expected ';'\n1 error\n", "a.c:3:1: error: expected ';'"),
        ("# x\n./a.go:3:2: undefined: y\n", "./a.go:3:2: undefined: y"),
        ("Traceback (most recent call last):\n  File\nKeyError: 'a'\nKeyError: 'b'\n", "KeyError: 'b'"),
        ("panic: no map\n", "no map"),
        ("error[E0308]: mismatched types\nerror: could not compile\n", "error[E0308]: mismatched types"),
        ("cp: /x: Permission denied\n", "cp: /x: Permission denied"),
    ],
)
def test_the_line_that_says_what_is_wrong(output: str, line: str) -> None:
    """Not the count of errors below it."""
    assert telling_lines(output)[0] == line


def test_failed_tests_have_names() -> None:
    """As their runners write them."""
    output = "FAILED tests/a.py::test_x - no\n--- FAIL: TestA (0.1s)\nFAIL: test_b (m.T)\ntest c::d ... FAILED\n  ✕ adds (3 ms)\n"
    assert failed_tests_in(output) == ("tests/a.py::test_x", "TestA", "test_b (m.T)", "c::d", "adds")


@given(st.text(max_size=300), st.sampled_from([0, 1, None]))
def test_any_output_has_an_outcome(output: str, code: int | None) -> None:
    """A status that says failure is never a success of a command that does something."""
    assert judged("make all", output, code).kind in ("passed", "failed", "unknown")
    if code == 1:
        assert judged("make all", output, code).kind == "failed"
