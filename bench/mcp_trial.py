"""Real agents with `foveate mcp`: `python -m bench.mcp_trial claude-code` asks one to recall what its log holds.

The agent is installed as `bench.agents` says, and gets our server by `foveate mcp install`. The scripted model calls
`recall` without a search for the tool before; what comes back must be what the store has. Claude Code waits for the
server, so that its first answer can be the call. Codex begins without: there the first answer is a command that takes
as long as a model would.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bench.agents import AGENTS, Place, Setup, record
from bench.provider import Call, Request, Shell, Step
from foveate.session import Session

SECRETS: Final = "".join(f"row {number}: checksum {number * 7_919 % 10_007:05}\n" for number in range(40))
CLIENTS: Final = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "opencode": "opencode"}
REFERENCE: Final = "m3"


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one run: the tools that the first request offered, and what the model was given for its call."""

    exits: tuple[int, ...]
    offered: tuple[str, ...]
    called: str
    answer: str
    output: str

    @property
    def is_exact(self) -> bool:
        """Whether the recorded bytes came back."""
        return SECRETS.rstrip("\n") in self.answer


class RecallAtOnce:
    """The model that calls `recall`, under the name that the request offers it by, and then is done.

    `first` are the steps that it does before.
    """

    def __init__(self, first: Sequence[Step] = ()) -> None:
        self._first = list(first)
        self.offered: tuple[str, ...] = ()
        self.called = ""

    def __call__(self, request: Request) -> Step:
        if request.wants_text:
            return Step(text="A side answer.")
        if self._first:
            return self._first.pop(0)
        if not self.called:
            self.offered = tuple(f"{tool.namespace}{tool.name}" for tool in request.tools)
            ours = next((one for one in request.tools if _is_recall(one.namespace, one.name)), None)
            if ours is None:
                return self._in_code(request)
            self.called = f"{ours.namespace}{ours.name}"
            return Step(text="I look it up.", calls=(Call(ours.name, {"reference": REFERENCE}, ours.namespace),))
        return Step(text="Everything is done.")

    def _in_code(self, request: Request) -> Step:
        """As Codex has it where all tools are functions of one that runs JavaScript."""
        runner = next((one for one in request.tools if one.schema is None), None)
        if runner is None:
            return Step(text="There is no recall tool.")
        self.called = "tools.mcp__foveate__recall"
        source = f'text(await {self.called}({{reference: "{REFERENCE}"}}));\n'
        return Step(text="I look it up.", calls=(Call(runner.name, source, runner.namespace),))


def run_trial(name: str, agents: Path, *, model: str = "") -> Trial:
    """Run an agent with our server over a store with one session of its project."""
    with tempfile.TemporaryDirectory(prefix="foveate-mcp-") as folder:
        store = Path(folder, "agent.db")
        with Session.open(store, "earlier") as session:
            session.extend(_log())
        scripted = RecallAtOnce(() if name == "claude-code" else [Step(calls=(Shell("sleep 8"),))])
        agent = replace(AGENTS[name], setup=lambda place: _with_server(name, place, store))
        ran = record(agent, to=None, agents=agents, answer=scripted, model=model)
    answer = _answer_in([one.body for one in ran.provider.received])
    return Trial(ran.exits, scripted.offered, scripted.called, answer, ran.output)


def _log() -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "cat sums.txt"}'}}
    return [
        {"role": "user", "content": "print the sums"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": SECRETS},
        {"role": "assistant", "content": "There are 40 rows."},
    ]


def _with_server(name: str, place: Place, store: Path) -> Setup:
    """The setup of an agent, with our server in its configuration as `foveate mcp install` writes it."""
    setup = AGENTS[name].setup(place)
    for path, text in setup.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    environment = {**os.environ, "HOME": str(place.home), **setup.environment}
    command = [sys.executable, "-m", "foveate", "mcp", "install", CLIENTS[name], "--yes", "--store", str(store)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return _allowed(name, replace(setup, files={}))


def _allowed(name: str, setup: Setup) -> Setup:
    """The setup with our tools allowed, as the user of the agent would say it."""
    if name != "claude-code":
        return setup
    return replace(setup, first=lambda task: [*setup.first(task), "--allowedTools", "mcp__foveate"])


def _answer_in(bodies: Iterable[bytes]) -> str:
    """The result of our tool in the requests of a run: the longest text in them that has our mark."""
    found: list[str] = []
    for body in bodies:
        if body.lstrip()[:1] == b"{":
            _collect(json.loads(body), found)
    return max(found, key=len, default="")


def _collect(value: Any, found: list[str]) -> None:
    match value:
        case str() if "[from the log of Foveate" in value:
            found.append(_plain(value))
        case Mapping():
            for one in value.values():
                _collect(one, found)
        case list():
            for one in value:
                _collect(one, found)
        case _:
            return


def _plain(text: str) -> str:
    """A text without the JSON that some agents put a result of MCP into."""
    start = min((at for at in (text.find("[{"), text.find('{"content"')) if at >= 0), default=-1)
    try:
        value = json.loads(text[start:]) if start >= 0 else None
    except ValueError:
        return text
    blocks = value.get("content") if isinstance(value, dict) else value
    return "\n".join(str(one.get("text", "")) for one in blocks) if isinstance(blocks, list) else text


def _is_recall(namespace: str, name: str) -> bool:
    return "foveate" in f"{namespace}{name}" and name.endswith("recall")


def main(arguments: list[str] | None = None) -> int:
    """Run the trial of one agent, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agent", choices=list(CLIENTS))
    installed = os.environ.get("FOVEATE_AGENTS")
    parser.add_argument("--agents", type=Path, default=installed, required=installed is None)
    parser.add_argument("--model", default="", help="instead of the one that the agent has by default")
    given = parser.parse_args(arguments)
    trial = run_trial(given.agent, Path(given.agents), model=given.model)
    print(f"{given.agent}: exit codes {trial.exits}, called {trial.called!r}, exact {trial.is_exact}")
    if not trial.is_exact:
        print("offered:", ", ".join(trial.offered))
        print(trial.answer[:1_000] or trial.output[-2_000:])
    return 0 if trial.is_exact and set(trial.exits) == {0} else 1


if __name__ == "__main__":
    sys.exit(main())
