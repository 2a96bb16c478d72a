"""How a tool execution ended."""

import pytest

from foveate.log.outcomes import outcome_of


@pytest.mark.parametrize(
    ("text", "shell", "outcome"),
    [
        ("def f(): ...", False, "ok"),
        ("", False, "ok"),
        ("Error: file not found", False, "error"),
        ("<tool_use_error>String to replace not found</tool_use_error>", False, "error"),
        ("FileNotFoundError: a.py", False, "error"),
        ("Traceback (most recent call last):\n  File x\nValueError: no", False, "error"),
        ("3 passed", True, "ok"),
        ("Exit code: 0\nall good", True, "ok"),
        ("Exit code: 1\n2 failed", True, "error"),
        ("output\nProcess exited with code 127", True, "error"),
        ("bash: frobnicate: command not found", True, "error"),
        ("collected 3 items\nTraceback (most recent call last):\nKeyError: 'x'", True, "error"),
        ("The user doesn't want to proceed with this tool use.", False, "denied"),
        ("Rejected by user", False, "denied"),
        ("[Request interrupted by user]", False, "interrupted"),
    ],
)
def test_the_outcome_is_read_from_the_output(text: str, shell: bool, outcome: str) -> None:
    """Success, failure, denial and interruption are told apart."""
    assert outcome_of(text, shell=shell) == outcome


def test_words_inside_a_file_are_no_error() -> None:
    """A file that speaks of errors further down was read well."""
    assert outcome_of("import logging\n\nraise ValueError('Error: exit code 1')") == "ok"


def test_a_file_about_errors_is_no_error() -> None:
    """A heading is content, not a failure."""
    assert outcome_of("# Error handling\nAll errors are JSON.") == "ok"


def test_the_wire_has_the_last_word() -> None:
    """`is_error` decides; a flagged denial is still a denial."""
    assert outcome_of("Error: shown on purpose", extra={"is_error": False}) == "ok"
    assert outcome_of("nothing to see", extra={"is_error": True}) == "error"
    assert outcome_of("Denied by the user", extra={"is_error": True}) == "denied"
