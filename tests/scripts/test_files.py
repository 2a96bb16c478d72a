"""Files of a vault: nothing outside is touched, and what is written is there whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from foveate.scripts.files import VaultError, VaultFiles


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_append_replace_and_new(tmp_path: Path) -> None:
    """Appended text stands behind a blank line, and a new file never takes the place of another."""
    files = VaultFiles(tmp_path)

    for text in ("一\n", "二\n"):
        assert files.write("日记/今天.md", text, "append") == "日记/今天.md"
    for text in ("one\n", "two\n"):
        files.write("plan.md", text, "replace")
    made = [files.write("new.md", f"{number}\n", "new") for number in range(3)]

    assert (tmp_path / "日记" / "今天.md").read_text(encoding="utf-8") == "一\n\n二\n"
    assert (tmp_path / "plan.md").read_text() == "two\n"
    assert made == ["new.md", "new-2.md", "new-3.md"]
    assert [(tmp_path / name).read_text() for name in made] == ["0\n", "1\n", "2\n"]
    assert names(tmp_path) == {"日记", "plan.md", *made}


def test_appending_keeps_what_is_there_byte_for_byte(tmp_path: Path) -> None:
    """Without a line end, in another encoding, and with its mode."""
    path = tmp_path / "old.md"
    path.write_bytes(b"caf\xe9\r\nno end")
    path.chmod(0o640)

    VaultFiles(tmp_path).write("old.md", "more\n", "append")

    assert path.read_bytes() == b"caf\xe9\r\nno end\n\nmore\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_nothing_outside_of_the_vault_is_read_or_written(tmp_path: Path) -> None:
    """Neither by `..`, nor by links, nor what belongs to the store or to git."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (vault / "link.md").symlink_to(tmp_path / "secret.md")
    (vault / "out").symlink_to(tmp_path)
    (vault / "gone.md").symlink_to(tmp_path / "gone.md")
    files = VaultFiles(vault, [vault / "context.db"])

    for path in ("../secret.md", "link.md", "out/secret.md", "gone.md", "context.db", "context.db-wal", ".git/config"):
        with pytest.raises(VaultError):
            files.read(path)
        with pytest.raises(VaultError):
            files.write(path, "x", "replace")

    assert (tmp_path / "secret.md").read_text() == "secret"
    assert names(tmp_path) == {"vault", "secret.md"}


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    """A folder, a pipe, another encoding, something huge; each error names the path."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "latin.md").write_bytes(b"one\ncaf\xe9")
    with (tmp_path / "huge.md").open("wb") as file:
        file.truncate(6_000_000)
    files = VaultFiles(tmp_path)

    for path, problem in [
        ("folder", "no regular file"),
        ("pipe", "no regular file"),
        ("latin.md", "line 2"),
        ("huge.md", "more than"),
    ]:
        with pytest.raises(VaultError, match=problem) as caught:
            files.read(path)
        assert path in str(caught.value)
    for path in ("folder", "pipe", "latin.md/below.md", "x" * 300):
        with pytest.raises(VaultError):
            files.write(path, "x", "append")
    assert files.read("nothing.md") is None


def test_a_read_only_file_stays_as_it_is(tmp_path: Path) -> None:
    """Although its folder could be written to."""
    path = tmp_path / "kept.md"
    path.write_text("kept")
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write to everything")

    with pytest.raises(VaultError, match="read-only"):
        VaultFiles(tmp_path).write("kept.md", "x", "replace")
    assert path.read_text() == "kept"


def test_two_who_append_at_once_lose_nothing(tmp_path: Path) -> None:
    """All lines of both are there."""
    files = VaultFiles(tmp_path)

    def append(who: str) -> None:
        for number in range(40):
            files.write("day.md", f"{who}{number}\n", "append")

    threads = [threading.Thread(target=append, args=(who,)) for who in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted((tmp_path / "day.md").read_text().split()) == sorted(
        f"{who}{number}" for who in "ab" for number in range(40)
    )


WRITER = """
import sys
from pathlib import Path
from foveate.scripts.files import VaultFiles
files = VaultFiles(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    files.write("note.md", f"{number % 10}" * 2_000_000 + "\\n", "replace")
    number += 1
"""


def test_a_killed_process_leaves_a_whole_file(tmp_path: Path) -> None:
    """Whenever it is killed, the file is one of those that were written, to its last byte."""
    for moment in (0.05, 0.11, 0.2):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.communicate()

        if (tmp_path / "note.md").exists():
            text = (tmp_path / "note.md").read_text()
            assert len(text) == 2_000_001
            assert len(set(text)) == 2
    assert (tmp_path / "note.md").exists()
