"""What holds the content of sessions is created for its owner alone, whatever the umask says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foveate import Session
from foveate.chat.finding import TemplateFolders
from foveate.chat.saving import saved_template
from foveate.cli.main import app
from foveate.knowledge.base import Knowledge
from foveate.knowledge.charting import chart
from foveate.private_files import make_private_folder
from foveate.scripts.files import VaultFiles
from foveate.store import Store
from foveate.workflow.lock import held
from foveate.workflow.snapshots import Snapshots
from tests.dialogue import user


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    """The least careful umask there is."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder: Path) -> dict[str, int]:
    """The permissions of a folder and of all that is in it."""
    return {path.relative_to(folder.parent).as_posix(): mode(path) for path in (folder, *folder.rglob("*"))}


def test_a_store_and_its_journals_are_private(tmp_path: Path) -> None:
    """From their first byte on, and so are the folders that are made for them and the transcript."""
    folder = tmp_path / "deep" / "down"
    with Session.open(folder / "agent.db", "a", transcript=folder / "talks" / "a.md") as session:
        session.append(user("one"))
        found = modes(tmp_path / "deep")
    assert found == {
        "deep": 0o700,
        "deep/down": 0o700,
        "deep/down/agent.db": 0o600,
        "deep/down/agent.db-wal": 0o600,
        "deep/down/agent.db-shm": 0o600,
        "deep/down/agent.db.held": 0o700,
        "deep/down/agent.db.held/gate-c": 0o600,
        "deep/down/agent.db.held/lock-c": 0o600,
        "deep/down/talks": 0o700,
        "deep/down/talks/a.md": 0o600,
    }


def test_what_is_open_stays_open_and_the_check_mentions_it(tmp_path: Path) -> None:
    """Somebody may share a store with a group on purpose."""
    tmp_path.chmod(0o750)
    file = tmp_path / "agent.db"
    file.touch(0o640)
    with Session.open(file, "a") as session:
        session.append(user("one"))
        assert mode(file) == mode(tmp_path / "agent.db-wal") == 0o640
    assert mode(tmp_path) == 0o750
    ran = CliRunner().invoke(app, ["db", "check", "--store", str(file)])
    assert ran.exit_code == 0
    assert "other users may read" in ran.output and "(mode 640)" in ran.output
    file.chmod(0o600)
    assert "other users" not in CliRunner().invoke(app, ["db", "check", "--store", str(file)]).output


def test_exports_are_private_unless_the_file_is_there(tmp_path: Path) -> None:
    """They have the same texts as the store."""
    store = tmp_path / "agent.db"
    with Session.open(store, "a") as session:
        session.append(user("one"))
    for command, name in (("export", "a.jsonl"), ("transcript", "a.md")):
        output = tmp_path / name
        for expected in (0o600, 0o644):
            ran = CliRunner().invoke(app, [command, "a", "--store", str(store), "--output", str(output)])
            assert ran.exit_code == 0, ran.output
            assert mode(output) == expected
            output.chmod(0o644)


def test_vaults_and_templates_are_private(tmp_path: Path) -> None:
    """Folders and notes that we make in a vault; what is there keeps its permissions."""
    vault = tmp_path / "vault"
    vault.mkdir(0o755)
    files = VaultFiles(vault)
    files.write("notes/day.md", "one", "append")
    (vault / "notes" / "day.md").chmod(0o664)
    files.write("notes/day.md", "two", "append")
    folders = TemplateFolders(vault, tmp_path / "system")
    saved_template(folders, "mine", folders.seed()[0].read_text())
    found = modes(vault) | modes(tmp_path / "system")
    assert found.pop("vault") == 0o755 and found.pop("vault/notes/day.md") == 0o664
    assert {0o600, 0o700} == set(found.values())


def test_states_locks_and_maps_are_private(tmp_path: Path) -> None:
    """What work keeps beside the store: states of a directory, the lock of a run, what was found in a repository."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("def total(): ...\n")
    kept = tmp_path / "kept"
    Snapshots(kept / "work" / "states.git", project).take()
    with held(kept / "work" / "run.lock", "run"):
        pass
    with Store(kept / "context.db") as store:
        chart(Knowledge(store, "project"), project)
    assert mode(kept / "work" / "states.git") == 0o700
    assert mode(kept / "work") == mode(kept / "maps") == mode(kept) == 0o700
    assert mode(kept / "work" / "run.lock") == 0o600
    assert {mode(path) for path in (kept / "maps").iterdir()} == {0o600}


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    """As with any other way to make a folder."""
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "file")
