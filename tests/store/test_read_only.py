"""A store that can only be read is read: by every command and call that needs no more."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from foveate import Session
from foveate.store import Store
from foveate.store.access import access_to
from tests.dialogue import lines, user, work
from tests.store.test_checksums import as_written_by_0_1

# Permissions do not bind root until it gives up the capabilities to override them, which lasts until the next `exec`.
WITHOUT_POWERS = """
import ctypes, os, sys
if os.geteuid() == 0 and sys.platform == "linux":
    for capability in (1, 2):
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""

READING = """
import json, sys
from typer.testing import CliRunner
from fastapi.testclient import TestClient
from foveate import Session, StoreError
from foveate.api.app import create_app
from foveate.api.place import Place
from foveate.cli.main import app
from foveate.store import Store

file = sys.argv[1]
said = {}
for command in (
    ["sessions"], ["show", "a"], ["show", "a", "--call", "2"], ["explain", "a"], ["transcript", "a"], ["export", "a"],
    ["search", "fox"], ["recall", "a", "m3"], ["replay", "a", "--policy", "default"], ["diff", "a", "--help"],
    ["db", "check", "--calls"], ["artifact", "--session", "a"], ["check", "a"],
):
    ran = CliRunner().invoke(app, [*command, "--store", file])
    said[" ".join(command)] = [ran.exit_code, ran.output[-300:]]
with Session.open(file, "a", budget=4_000) as session:
    said["messages"] = len(session.messages)
    said["call"] = session.call(2).payload_sha256
    said["compile"] = session.compile().tokens > 0
    try:
        session.append({"role": "user", "content": "more"})
    except StoreError as error:
        said["append"] = str(error)
with TestClient(create_app(Place.found(file)), base_url="http://127.0.0.1") as client:
    for path in ("sessions", "sessions/a", "sessions/a/messages", "sessions/a/calls", "sessions/a/calls/2"):
        said[path] = client.get(f"/api/{path}").status_code
with Store(file) as store:
    said["read_only"] = store.read_only
print(json.dumps(said))
"""


REFUSED = """
import sys
from foveate import StoreError
from foveate.store import Store
try:
    Store(sys.argv[1])
except StoreError as error:
    print(error)
"""


def run_without_powers(code: str, *arguments: str) -> str:
    """What a program prints that is bound by permissions."""
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_POWERS, code, *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3_000:]
    return ran.stdout


@contextmanager
def read_only(folder: Path) -> Generator[None, None, None]:
    """A folder whose files cannot be written, nor others be made in it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        path.chmod(0o444)
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)
        for path in files:
            path.chmod(0o644)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store in a folder of its own."""
    file = tmp_path / "kept" / "agent.db"
    fill(file)
    return file


def fill(file: Path) -> None:
    with Session.open(file, "a", budget=4_000) as session:
        session.extend([user("Where is the fox?"), user(lines(300))])
        session.compile()
        for message in work(2):
            if message["role"] == "assistant":
                session.compile()
            session.append(message)


def check_readings(said: dict[str, Any], file: Path) -> None:
    commands = {name: found for name, found in said.items() if isinstance(found, list)}
    assert {name: found for name, found in commands.items() if found[0] != 0} == {}
    pages = {name: found for name, found in said.items() if name.startswith("sessions/")}
    assert set(pages.values()) == {200}
    assert said["read_only"] and said["compile"] and said["messages"] > 10
    assert f"store {str(file)!r} can only be read" in said["append"]
    assert "change its permissions or name another `store`" in said["append"]


@pytest.mark.parametrize("version", ["this", "0.1"])
def test_everything_is_read_in_a_folder_that_cannot_be_written(file: Path, version: str) -> None:
    """Also a store of 0.1, which cannot be upgraded there; writing is refused with the remedy; not a byte changes."""
    with Store(file) as store:
        if version == "0.1":
            as_written_by_0_1(store)
    shutil.copytree(file.parent, other := file.parent.with_name("other"))
    with Session.open(other / "agent.db", "a", budget=4_000) as session:
        expected = session.call(2).payload_sha256
    before = file.read_bytes()
    with read_only(file.parent):
        said = json.loads(run_without_powers(READING, str(file)))
        assert sorted(path.name for path in file.parent.iterdir()) == ["agent.db", "agent.db.held"]
    check_readings(said, file)
    assert said["call"] == expected
    assert file.read_bytes() == before


def test_what_a_killed_process_left_in_the_log_is_read_too(file: Path, tmp_path: Path) -> None:
    """Its newest messages are in the write-ahead log only; without the index of that log they are not passed over."""
    left = tmp_path / "left"
    left.mkdir()
    with Session.open(file, "a", budget=4_000) as session:
        session.append(user("the newest"))
        for name in ("agent.db", "agent.db-wal", "agent.db-shm"):
            shutil.copy(file.with_name(name), left / name)
    code = "import sys; from foveate import Session; print(Session.open(sys.argv[1], 'a').messages[-1].text)"
    with read_only(left):
        assert run_without_powers(code, str(left / "agent.db")) == "the newest\n"
    (left / "agent.db-shm").unlink()
    with read_only(left):
        said = run_without_powers(REFUSED, str(left / "agent.db"))
    assert "has changes in 'agent.db-wal'" in said and "copy both files" in said


def test_a_writer_that_comes_later_is_noticed(file: Path) -> None:
    """The file was opened as one that nobody writes; when its owner goes on, what is new is read."""
    code = (
        "import sys\nfrom foveate.store import Store\nstore = Store(sys.argv[1])\n"
        "print(len(store.sessions()), flush=True)\nsys.stdin.readline()\nprint(len(store.sessions()), flush=True)"
    )
    with read_only(file.parent):
        command = [sys.executable, "-c", WITHOUT_POWERS, code, str(file)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
            assert reader.stdin is not None and reader.stdout is not None
            assert reader.stdout.readline() == "1\n"
            file.parent.chmod(0o755)
            file.chmod(0o644)
            with Session.open(file, "b") as session:
                session.append(user("one"))
            file.chmod(0o444)
            file.parent.chmod(0o555)
            said, _ = reader.communicate("go\n", timeout=60)
    assert said == "2\n"


def test_a_file_that_cannot_be_read_is_said(file: Path) -> None:
    """With the permissions as the remedy."""
    file.chmod(0)
    assert "cannot be read by this user; change its permissions" in run_without_powers(REFUSED, str(file))


def test_a_file_that_can_be_written_is(file: Path) -> None:
    """Nothing changes for whoever owns it."""
    assert access_to(file).mode == "write"
    assert not Store(file).read_only


CHATTING = """
import json, sys
from typer.testing import CliRunner
from fastapi.testclient import TestClient
from foveate import Session, StoreError
from foveate.api.app import create_app
from foveate.api.place import Place
from foveate.cli.main import app

file = sys.argv[1]
said = {}
for name in ("a", "new"):
    ran = CliRunner().invoke(app, ["chat", name, "--model", "test", "--store", file], input="hello\\n")
    said[f"chat {name}"] = [ran.exit_code, ran.output]
    with TestClient(create_app(Place.found(file)), base_url="http://127.0.0.1") as client:
        answer = client.post(f"/api/chats/{name}/messages", json={"text": "hello"})
        said[f"http {name}"] = [answer.status_code, answer.text]
    try:
        with Session.open(file, name, budget=4_000) as session:
            session.append({"role": "user", "content": "hello"}, hold=True)
    except StoreError as error:
        said[f"session {name}"] = [1, str(error)]
print(json.dumps(said))
"""


def test_a_chat_that_could_not_be_kept_is_refused_at_once(file: Path) -> None:
    """Nothing is answered that would be lost: the terminal, HTTP and sessions say why, and what to do."""
    with read_only(file.parent):
        said = json.loads(run_without_powers(CHATTING, str(file)))
    assert len(said) == 6
    for way, (code, text) in said.items():
        assert code == (503 if way.startswith("http") else 1)
        option = "--store" if way.startswith("chat") else "store"
        assert "can only be read" in text and f"name another `{option}`, such as a copy" in text
        assert "answers:" not in text
