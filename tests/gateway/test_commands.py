"""`foveate gateway` and `foveate run`, as they are started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from bench.provider import Step, serve

from tests.gateway.serving import ask

FOVEATE = str(Path(sys.executable).with_name("foveate"))
# An agent that sends one request to where it is told, and ends with the code that it is given.
AGENT = """#!{python}
import json, os, sys, urllib.request
body = json.dumps({{"model": "m", "max_tokens": 9, "messages": [{{"role": "user", "content": "Hello"}}]}}).encode()
asked = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body, {{"x-api-key": "k"}})
print(json.load(urllib.request.urlopen(asked))["content"][0]["text"])
sys.exit(int(sys.argv[1]))
"""


@contextmanager
def started(address: str, store: Path, *options: str) -> Iterator[str]:
    """A gateway as a process, and its address."""
    command = [FOVEATE, "gateway", "--port", "0", "--anthropic", address, "--store", str(store), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Foveate's gateway is at "), process.communicate(timeout=30)
        yield line.split()[-1].rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def test_the_gateway_stands_beside_the_web_app(tmp_path: Path) -> None:
    """Agents, people and commands ask the same address."""
    with (
        serve(lambda _: Step("Yes.")) as provider,
        started(provider.address, tmp_path / "s.db", "--mode", "compile", "--budget", "50000") as address,
        httpx.Client(base_url=address, timeout=60, trust_env=False) as client,
    ):
        assert ask(client, [{"role": "user", "content": "Hello"}]).json()["content"][0]["text"] == "Yes."
        assert client.get("/gateway").status_code == 200
        assert [one["session_id"] for one in client.get("/api/sessions").json()["sessions"]] == ["claude-code-s1"]
        port = address.rsplit(":", 1)[1]
        environment = {**os.environ, "COLUMNS": "200"}
        told = subprocess.check_output(
            [FOVEATE, "gateway", "status", "--port", port, "--json"], text=True, env=environment
        )
        assert json.loads(told)["sessions"][0]["session"] == "claude-code-s1"
        switched = [FOVEATE, "gateway", "off", "claude-code-s1", "--port", port]
        assert subprocess.check_output(switched, text=True).strip() == "claude-code-s1: off"
    budgets = [
        FOVEATE,
        "gateway",
        "status",
        "claude-code-s1",
        "-b",
        "1000",
        "--store",
        str(tmp_path / "s.db"),
        "--json",
    ]
    (outcome,) = json.loads(subprocess.check_output(budgets, text=True))
    assert outcome["budget"] == 1_000
    assert outcome["impossible"] == 0


def test_a_gateway_that_is_not_there_is_said() -> None:
    """With the way to start one."""
    done = subprocess.run([FOVEATE, "gateway", "status", "--port", "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "start one with `foveate gateway`" in done.stderr


def test_run_leaves_nothing_behind(tmp_path: Path) -> None:
    """The agent's exit code is that of the command, its output is the agent's, and its session is in the store."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(AGENT.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    with serve(lambda _: Step("Yes.")) as provider:
        environment = {
            **os.environ,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "ANTHROPIC_BASE_URL": provider.address,
            "TMPDIR": str(tmp_path / "tmp"),
        }
        command = [FOVEATE, "run", "--store", str(tmp_path / "s.db"), "--", "claude", "7"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)
        assert (done.returncode, done.stdout) == (7, "Yes.\n"), done.stderr
        assert "1 request recorded as claude-code-" in done.stderr
        assert len(provider.requests) == 1
    assert list((tmp_path / "tmp").iterdir()) == []
