"""Saving a template into the vault: whole or not at all, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from foveate.chat.finding import TemplateFolders
from foveate.chat.saving import saved_template
from foveate.errors import TemplateError


@pytest.fixture
def folders(tmp_path: Path) -> TemplateFolders:
    (tmp_path / "vault").mkdir()
    return TemplateFolders(tmp_path / "vault", tmp_path / "system")


@pytest.mark.parametrize("name", ["mine", "mine.md", "work/mine", "我的模板"])
def test_a_saved_template_is_found_under_its_name(folders: TemplateFolders, name: str) -> None:
    saved_template(folders, name, "About {{ topic }}")
    assert folders.load(name).text == "About {{ topic }}"


@pytest.mark.parametrize("name", ["", ".md", "../up", "/etc/x", "a/b/c", "_off", ".x", "nul\0", "line\nbreak", "a\\b"])
def test_a_name_that_is_no_place_is_refused_with_a_remedy(folders: TemplateFolders, name: str, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="give a name such as chat or work/coding"):
        saved_template(folders, name, "x")
    assert list(tmp_path.rglob("*.md")) == []


def test_what_cannot_be_written_leaves_nothing_behind(folders: TemplateFolders, tmp_path: Path) -> None:
    """A folder of the template's name stays, and no half of a file is left beside it."""
    taken = tmp_path / "vault" / folders.folder / "mine.md"
    taken.mkdir(parents=True)
    with pytest.raises(TemplateError, match="cannot write"):
        saved_template(folders, "mine", "x")
    assert list(taken.parent.iterdir()) == [taken]


def test_what_cannot_be_read_as_a_template_is_not_written_over_one_that_can(folders: TemplateFolders) -> None:
    saved_template(folders, "mine", "good")
    for bad in ("---\n: [\n---\n", "x" * 100_001):
        with pytest.raises(TemplateError):
            saved_template(folders, "mine", bad)
    assert folders.load("mine").text == "good"


def test_a_template_does_not_leave_the_vault_by_a_link(folders: TemplateFolders, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    place = tmp_path / "vault" / folders.folder
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    with pytest.raises(TemplateError, match="leads out of the vault"):
        saved_template(folders, "mine", "x")
    assert list(outside.iterdir()) == []
