"""A name means the template of the vault first, then that of the system, and never a file elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.chat.finding import TemplateFolders
from foveate.errors import ConfigError, TemplateError

SHIPPED = ["chat", "coding", "goal-oriented", "research"]


def write(path: Path, text: str = "{{ topic }}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folders(tmp_path: Path) -> TemplateFolders:
    (tmp_path / "vault").mkdir()
    return TemplateFolders(tmp_path / "vault", tmp_path / "system")


def of_vault(folders: TemplateFolders, name: str, text: str = "of the vault") -> Path:
    assert folders.vault is not None
    return write(folders.vault / folders.folder / name, text)


def of_system(folders: TemplateFolders, name: str, text: str = "of the system") -> Path:
    return write(folders.system / "ContextTemplates" / name, text)


def test_the_vault_comes_first_and_hides_what_has_the_same_name(folders: TemplateFolders):
    of_system(folders, "chat.md")
    of_system(folders, "work/plan.md")
    mine = of_vault(folders, "chat.md")

    listed = [(one.name, one.source) for one in folders.available()]
    assert listed == [("chat", "vault"), ("work/plan", "system")]
    assert folders.load("chat").body == folders.load("chat.md").body == "of the vault"
    assert folders.load("work/plan.md").source == "system"
    assert folders.load("./chat").path == mine


def test_one_level_of_folders_is_looked_into_but_not_those_put_aside(folders: TemplateFolders):
    for name in ("a.md", "b/c.md", "b/d/e.md", "_old/f.md", ".hidden/g.md", "._a.md", "h.txt", "_i.md"):
        of_vault(folders, name)
    assert folders.vault is not None
    (folders.vault / folders.folder / "folder.md").mkdir()

    assert [one.name for one in folders.available()] == ["_i", "a", "b/c"]


def test_a_vault_that_is_missing_leaves_the_system(folders: TemplateFolders, tmp_path: Path):
    of_system(folders, "chat.md")

    for vault in (None, tmp_path / "nowhere", write(tmp_path / "file")):
        assert [one.source for one in TemplateFolders(vault, folders.system).available()] == ["system"]
    assert TemplateFolders(None, tmp_path / "nowhere").available() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter any folder")
@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_a_vault_that_may_not_be_read_leaves_the_system(folders: TemplateFolders, mode: int):
    of_system(folders, "chat.md")
    folder = of_vault(folders, "chat.md").parent
    folder.chmod(mode)
    try:
        assert [one.source for one in folders.available()] == ["system"]
    finally:
        folder.chmod(0o700)


def test_the_folder_in_the_vault_can_be_another(folders: TemplateFolders):
    assert folders.vault is not None
    write(folders.vault / "Templates" / "mine.md")

    assert [one.name for one in TemplateFolders(folders.vault, folders.system, "Templates").available()] == ["mine"]
    for wrong in ("", "../x", "/etc", "a/../../b"):
        with pytest.raises(ConfigError, match=r"`folder` is .*; give a folder within the vault"):
            TemplateFolders(folders.vault, folders.system, wrong)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "work/../../secret", "..\\secret", "a\0b"])
def test_a_name_that_leads_out_is_refused(folders: TemplateFolders, name: str):
    assert folders.vault is not None
    write(folders.vault / "AssistantMD" / "secret.md")

    with pytest.raises(TemplateError, match="is outside of the template folders"):
        folders.load(name)


def test_a_link_that_leads_out_is_refused_and_one_within_the_vault_is_not(folders: TemplateFolders, tmp_path: Path):
    assert folders.vault is not None
    of_system(folders, "chat.md")
    within = of_vault(folders, "x.md").with_name("near.md")
    within.symlink_to(write(folders.vault / "notes" / "near.md", "near"))
    within.with_name("chat.md").symlink_to(write(tmp_path / "private.md"))
    within.with_name("gone.md").symlink_to(tmp_path / "nowhere.md")

    assert folders.load("near").body == "near"
    with pytest.raises(TemplateError, match=r"'chat' is a link that leads out of the vault: .*; copy the file there"):
        folders.load("chat")
    assert [one.name for one in folders.available()] == ["chat", "near", "x"]


def test_an_unknown_name_is_answered_with_those_there_are(folders: TemplateFolders):
    with pytest.raises(
        TemplateError, match=r"no template 'chat' in .*AssistantMD.* and .*; there are none; give a `system` folder"
    ):
        folders.load("chat")
    of_system(folders, "a.md")
    of_vault(folders, "b/c.md")
    for name in ("chat", "", "a.md.md", "A"):
        with pytest.raises(TemplateError, match="there are a, b/c") as caught:
            folders.load(name)
        assert (caught.value.phase, caught.value.pointer) == ("template_load", name)


def test_names_are_found_however_their_letters_are_stored(folders: TemplateFolders):
    of_vault(folders, "cafe\u0301.md")
    of_vault(folders, "长谈/计划.md")
    of_vault(folders, "x.md.md")

    assert [one.name for one in folders.available()] == ["caf\u00e9", "x.md", "长谈/计划"]
    assert [folders.load(one.name).name for one in folders.available()] == ["caf\u00e9", "x.md", "长谈/计划"]
    assert folders.load("cafe\u0301").name == "caf\u00e9"


def test_a_name_that_is_no_utf8_is_passed_over(folders: TemplateFolders):
    folder = of_vault(folders, "a.md").parent
    try:
        (folder / os.fsdecode(b"\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system refuses such names")

    assert [one.name for one in folders.available()] == ["a"]


def test_shipped_templates_are_copied_only_where_there_are_none(folders: TemplateFolders):
    edited = of_system(folders, "coding.md", "mine")
    linked = edited.with_name("research.md")
    linked.symlink_to(edited.with_name("gone.md"))

    assert [path.name for path in folders.seed()] == ["chat.md", "goal-oriented.md"]
    assert edited.read_text() == "mine" and linked.is_symlink()
    assert folders.seed() == []
    assert sorted(path.name for path in edited.parent.iterdir()) == [f"{name}.md" for name in SHIPPED]


def test_a_system_folder_that_cannot_be_written_is_said(tmp_path: Path):
    with pytest.raises(
        TemplateError, match=r"cannot write .*chat.md: .*; give a `system` folder that can be written"
    ) as caught:
        TemplateFolders(None, write(tmp_path / "file")).seed()
    assert (caught.value.phase, caught.value.pointer) == ("template_seed", "system:chat")


NAMES = st.sampled_from(["a", "b", "c", "w/a", "w/b"])


@settings(max_examples=30, deadline=None)
@given(vault=st.sets(NAMES), system=st.sets(NAMES), dotted=st.booleans())
def test_any_name_means_the_vault_then_the_system(
    tmp_path_factory: pytest.TempPathFactory, vault: set[str], system: set[str], dotted: bool
):
    """What is listed is what is loaded, from the same place, and nothing else is."""
    root = tmp_path_factory.mktemp("templates")
    folders = TemplateFolders(root / "vault", root / "system")
    for name in vault:
        of_vault(folders, f"{name}.md")
    for name in system:
        of_system(folders, f"{name}.md")

    assert [one.name for one in folders.available()] == sorted(vault | system)
    for one in folders.available():
        read = folders.load(f"{one.name}.md" if dotted else one.name)
        assert (read.name, read.source, read.path) == (one.name, one.source, one.path)
        assert read.source == ("vault" if one.name in vault else "system")
        assert read.body == f"of the {read.source}"
