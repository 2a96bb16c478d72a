"""`foveate serve` as a process of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from foveate.api.admission import MOST_GUESSES
from foveate.cli.main import app
from tests.api.serving import fill

TOKEN = "correct-horse-battery-staple"  # noqa: S105  it opens nothing else
ANY = "0.0.0.0"  # noqa: S104  a token guards it, and this machine


@contextmanager
def served(folder: Path, *options: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A running server, its address, and what it says of itself."""
    command = [sys.executable, "-m", "foveate", "serve", "--port", "0", *options]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FOVEATE_")}
    with subprocess.Popen(
        command, cwd=folder, env={**clean, "XDG_DATA_HOME": str(folder / "data"), **env}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            said = process.stdout.readline() + process.stdout.readline()
            found = re.search(r"http://\S+", said)
            assert found is not None, said or process.communicate()[1]
            yield process, found.group(), said
        finally:
            process.kill()


def fetched(address: str, **headers: str) -> tuple[int, str]:
    try:
        with urlopen(Request(address, headers=headers), timeout=60) as answer:  # noqa: S310  it was just started
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_store_is_served_until_somebody_ends_it(tmp_path: Path) -> None:
    """Pages and API at one address; Ctrl-C ends it in order, without a traceback."""
    fill(tmp_path / "agent.db")
    with served(tmp_path, "--store", "agent.db", "--vault", str(tmp_path)) as (process, address, said):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        assert "agent.db" in said and "the option `--store`" in said
        status, message = fetched(f"{address}api/sessions/sample/messages/m2")
        assert status == 200 and '"role":"user"' in message
        assert fetched(f"{address}api/sessions", Host="evil.example")[0] == 403
        assert fetched(f"{address}api/sessions", Origin="http://evil.example")[0] == 403
        status, page = fetched(address)
        assert status == 200 and "<html" in page
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "Traceback" not in err and err.rstrip().endswith("ended")


def test_others_need_the_token(tmp_path: Path) -> None:
    with served(tmp_path, "--host", ANY, FOVEATE_TOKEN=TOKEN) as (_, address, _):
        assert fetched(f"{address}api/sessions")[0] == 401
        assert fetched(f"{address}api/sessions", Authorization=f"Bearer {TOKEN}")[0] == 200
        assert fetched(address)[0] == 401
    assert (tmp_path / "data" / "foveate" / "context.db").exists()


def test_guesses_count_for_the_address_that_connects(tmp_path: Path) -> None:
    """A guesser that claims to forward for somebody else each time has no more guesses than any other."""
    with served(tmp_path, "--host", ANY, FOVEATE_TOKEN=TOKEN) as (_, address, _):
        answers = [
            fetched(
                f"{address}api/sessions", **{"Authorization": "Bearer wrong", "X-Forwarded-For": f"10.0.0.{number}"}
            )
            for number in range(MOST_GUESSES + 1)
        ]
    assert [status for status, *_ in answers] == [401] * MOST_GUESSES + [429]


@pytest.fixture
def somewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("FOVEATE_STORE", "FOVEATE_SYSTEM", "FOVEATE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def refused(*options: str, code: int = 2) -> str:
    done = CliRunner().invoke(app, ["serve", *options])
    assert done.exit_code == code, (done.output, done.exception)
    assert done.stderr.startswith("foveate: ")
    return done.stderr


def test_a_port_that_is_taken_is_said_with_a_way_out(somewhere: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused("--port", str(port))
    assert f"`--port` {port} is taken" in said and "give another" in said
    assert not list(somewhere.iterdir()), "nothing was made"


def test_what_cannot_work_is_said_before_anything_is_made(somewhere: Path) -> None:
    assert "FOVEATE_TOKEN" in refused("--host", ANY)
    assert "FOVEATE_TOKEN" in refused("--host", "")
    assert "`--token`" in refused("--token", "not a header\n")
    assert "`--vault` 'nowhere' is no folder" in refused("--vault", "nowhere")
    assert "is no address of this machine" in refused("--host", "no.such.host.invalid", "--token", TOKEN)
    assert "cannot listen" in refused("--host", "192.0.2.1", "--token", TOKEN)
    assert not list(somewhere.iterdir())


def test_a_store_that_is_none_is_refused(somewhere: Path) -> None:
    (somewhere / "notes.db").write_text("this is no database, but long enough to be taken for one" * 100)
    assert "not a database" in refused("--port", "0", "--store", "notes.db", code=1)
    (somewhere / "system").mkdir()
    (somewhere / "system" / "context.db").write_text("neither is this" * 100)
    assert "(place: the option `--system`)" in refused("--port", "0", "--system", "system", code=1)
