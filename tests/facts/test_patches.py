"""Patches: envelopes and unified diffs, with the real `git` as the oracle."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.compile.facts.patches import FilePatch, parse_envelope, parse_unified, renamed_in

ENVELOPE = """*** Begin Patch
*** Add File: new.py
+one
+
*** Update File: a.py
*** Move to: b.py
@@ def f():
-old
+new
 same

@@
 x
+y
*** Delete File: c.py
*** End Patch
"""


def test_an_envelope_has_files_and_hunks() -> None:
    """Added, changed and moved, deleted; an empty line is one of the file."""
    added, changed, deleted = parse_envelope(f"words before\n{ENVELOPE}words behind")
    assert (added.kind, added.path, added.hunks[0].new) == ("add", "new.py", ("one", ""))
    assert (changed.path, changed.moved_to) == ("a.py", "b.py")
    assert [(hunk.header, hunk.old, hunk.new) for hunk in changed.hunks] == [
        ("def f():", ("old", "same", ""), ("new", "same", "")),
        ("", ("x",), ("x", "y")),
    ]
    assert deleted == FilePatch(path="c.py", kind="delete")


@pytest.mark.parametrize("text", ["", "no patch", "*** Update File: a.py\n@@\n-a\n+b\n"])
def test_what_is_no_envelope_is_none(text: str) -> None:
    """Without its beginning."""
    assert parse_envelope(text) == ()


def test_a_diff_that_was_cut_off_says_so() -> None:
    """Its last hunk does not have all that it announces."""
    (patch,) = parse_unified(
        "noise\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n@@ -9,3 +9,3 @@ def f():\n x\n"
    )
    assert [hunk.complete for hunk in patch.hunks] == [True, False]


def test_a_diff_knows_new_and_deleted_and_renamed_files() -> None:
    """By their names."""
    new = "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+a\n"
    gone = "--- a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
    assert [(one.kind, one.path) for one in parse_unified(new + gone)] == [("add", "a.py"), ("delete", "b.py")]
    assert renamed_in("rename from a.py\nrename to b.py\n") == (("a.py", "b.py"),)


LINES = st.lists(st.sampled_from(["a", "b", "--- a", "+++ b", "@@ -1 +1 @@", "", "-", "+x", " y"]), max_size=12)


def applied(lines: list[str], patch: FilePatch) -> list[str]:
    """A file behind a patch with line numbers."""
    found = list(lines)
    grown = 0
    for hunk in patch.hunks:
        # Of no lines at all the number is that of the line before.
        start = (hunk.old_start or 0) + grown - (1 if hunk.old else 0)
        assert tuple(found[start : start + len(hunk.old)]) == hunk.old
        found[start : start + len(hunk.old)] = hunk.new
        grown += len(hunk.new) - len(hunk.old)
    return found


@settings(max_examples=40)
@given(LINES, LINES)
def test_diffs_of_git_are_read_as_git_wrote_them(tmp_path_factory, old, new) -> None:  # type: ignore[no-untyped-def]
    """Whatever the lines look like."""
    folder: Path = tmp_path_factory.mktemp("diff")
    for name, lines in (("old", old), ("new", new)):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    command = ["git", "diff", "--no-index", "old", "new"]
    text = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    patches = parse_unified(text)
    assert len(patches) == (old != new)
    for patch in patches:
        assert all(hunk.complete for hunk in patch.hunks) and applied(old, patch) == new


@given(st.text(alphabet="ab@-+ \n*/0123,", max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Or is none; never an exception."""
    parse_unified(f"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n{text}")
    parse_envelope(f"*** Begin Patch\n{text}")
