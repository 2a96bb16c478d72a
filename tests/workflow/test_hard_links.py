"""A file that by a hard link is one outside is on no map that agents are shown."""

from __future__ import annotations

import os
from pathlib import Path

from foveate.hard_links import HardLinks
from foveate.knowledge.repository import build_map


def test_a_hard_link_to_a_file_outside_is_not_on_the_map(tmp_path: Path) -> None:
    """Neither when it is found nor when an earlier map had it; one between two files inside is on it."""
    outside, repo = tmp_path / "out.py", tmp_path / "repo"
    repo.mkdir()
    outside.write_text('"""Words of the outside."""\n')
    (repo / "one.py").write_text('"""Words of the inside."""\n')
    os.link(repo / "one.py", repo / "two.py")
    os.link(outside, repo / "linked.py")
    known = build_map(repo).files
    assert [file.path for file in known] == ["one.py", "two.py"]

    (repo / "linked.py").unlink()
    (repo / "linked.py").write_text("x = 1\n")
    known = build_map(repo).files
    os.link(repo / "linked.py", tmp_path / "also.py")
    again = build_map(repo, known)

    assert [entry.location for entry in again.entries] == ["one.py", "two.py"]
    assert again.left_out == {"hard link to a file outside": 1}
    assert HardLinks(repo).leads_out(repo / "linked.py")
