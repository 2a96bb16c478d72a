"""Real coding agents against the scripted provider: `python -m bench.agents record claude-code --to DIR`.

Every request is written to the folder as it came. The agent gets an empty home, the address of the provider on
loopback, and a key that is none. `python -m bench.agents list` says how each agent is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.agent_steps import PICTURE, SUBAGENT_STEPS, steps_for
from bench.provider import Answer, Count, Rule, Script, ScriptedProvider, serve
from foveate.errors import FoveateError

Through = Callable[[str], AbstractContextManager[str]]
TASK: Final = "Look at calc.py, add a function that multiplies, with a test, and run the tests."
SECOND_TASK: Final = "Now show me the whole build and what changed."
SECONDS: Final = 120.0
INSTALL_SECONDS: Final = 300.0
COMPACT_AT: Final = 100_000
"""Tokens at which agents that can be told so compact; a recording stays far below unless its usage is scaled."""
_CALC: Final = "def add(a, b):\n    return a + b\n"
_TEST: Final = "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n"


class AgentError(FoveateError):
    """An agent that is not installed, or that did not come to its end."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an agent runs: `home` and `work` are folders of its own."""

    home: Path
    work: Path
    address: str
    model: str


@dataclass(frozen=True, slots=True)
class Setup:
    """What one agent needs: variables, files below its folders, and its command for the first and for a later task."""

    environment: Mapping[str, str]
    first: Callable[[str], list[str]]
    later: Callable[[str], list[str]]
    files: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent at the version that was tried.

    Attributes:
        name: on the command line.
        program: that is started.
        install: how to get it.
        model: unless another is asked for.
        setup: to run it at a place.

    """

    name: str
    program: str
    install: str
    model: str
    setup: Callable[[Place], Setup]


@dataclass(frozen=True, slots=True)
class Recording:
    """A finished run: exit codes of its commands, what it printed, and what the provider received."""

    exits: tuple[int, ...]
    output: str
    provider: ScriptedProvider


def _claude(place: Place) -> Setup:
    flags = ["--model", place.model, "--allowedTools", "Bash,Read,Edit,ToolSearch,Agent", "--output-format", "json"]
    return Setup(
        {
            "ANTHROPIC_BASE_URL": place.address,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(COMPACT_AT),
        },
        lambda task: ["-p", task, *flags],
        lambda task: ["-p", task, "--continue", *flags],
    )


def _codex(place: Place) -> Setup:
    # The built-in provider, not one of the configuration: only it sends all that Codex can send.
    settings = (
        f'model = "{place.model}"\nopenai_base_url = "{place.address}/v1"\n'
        f"model_auto_compact_token_limit = {COMPACT_AT}\n"
    )
    folder = place.home / ".codex"
    flags = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return Setup(
        {"CODEX_HOME": str(folder), "OPENAI_API_KEY": "none"},
        lambda task: [*flags, task],
        lambda task: [*flags, "resume", "--last", task],
        {folder / "config.toml": settings, folder / "auth.json": json.dumps({"OPENAI_API_KEY": "none"})},
    )


def _gemini(place: Place) -> Setup:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    return Setup(
        {
            "GOOGLE_GEMINI_BASE_URL": place.address,
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        lambda task: ["-y", "-p", task],
        lambda task: ["-y", "--resume", "latest", "-p", task],
        {place.home / ".gemini" / "settings.json": json.dumps(settings)},
    )


def _opencode(place: Place) -> Setup:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{place.address}/v1", "apiKey": "none"},
        "models": {place.model: {"limit": {"context": 200_000, "output": 8_000}}},
    }
    settings = {"provider": {"scripted": provider}, "model": f"scripted/{place.model}"}
    return Setup(
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        lambda task: ["run", task],
        lambda task: ["run", "--continue", task],
        {place.work / "opencode.json": json.dumps(settings)},
    )


def _qwen(place: Place) -> Setup:
    return Setup(
        {"OPENAI_BASE_URL": f"{place.address}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": place.model},
        lambda task: ["--auth-type", "openai", "-y", "-p", task],
        lambda task: ["--auth-type", "openai", "-y", "--continue", "-p", task],
    )


def _copilot(place: Place) -> Setup:
    return Setup(
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{place.address}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": place.model,
        },
        lambda task: ["--allow-all-tools", "-p", task],
        lambda task: ["--allow-all-tools", "--continue", "-p", task],
    )


def _pi(place: Place) -> Setup:
    model = {"id": place.model, "name": place.model, "contextWindow": 200_000, "maxTokens": 8_000, "input": ["text"]}
    provider = {
        "baseUrl": f"{place.address}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [
            {**model, "reasoning": False, "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)}
        ],
    }
    flags = ["--provider", "scripted", "--model", place.model]
    return Setup(
        {"PI_OFFLINE": "1"},
        lambda task: [*flags, "-p", task],
        lambda task: [*flags, "--continue", "-p", task],
        {place.home / ".pi" / "agent" / "models.json": json.dumps({"providers": {"scripted": provider}})},
    )


def _mini(place: Place) -> Setup:
    # It ends when a command says so, and cannot resume: a later task is a session of its own.
    command = ["--model", f"openai/{place.model}", "--yolo", "--exit-immediately", "--task"]
    return Setup(
        {
            "OPENAI_API_BASE": f"{place.address}/v1",
            "OPENAI_API_KEY": "none",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
        },
        lambda task: [*command, task],
        lambda task: [*command, task],
    )


_NPM: Final = "npm i node@24 "
_PIP: Final = "python3 -m venv . && bin/pip install mcp "

AGENTS: Final = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            "claude",
            _NPM + "@anthropic-ai/claude-code@2.1.327",
            "claude-sonnet-4-5",
            _claude,
        ),
        Agent("codex", "codex", _NPM + "@openai/codex@0.169.0", "gpt-6.1-sol", _codex),
        Agent("gemini-cli", "gemini", _NPM + "@google/gemini-cli@0.61.0", "", _gemini),
        Agent("opencode", "opencode", _NPM + "opencode-ai@1.18.33", "scripted-model", _opencode),
        Agent("qwen", "qwen", _NPM + "@qwen-code/qwen-code@0.24.4", "scripted-model", _qwen),
        Agent("copilot", "copilot", _NPM + "@github/copilot@1.0.102", "scripted-model", _copilot),
        Agent("pi", "pi", _NPM + "@earendil-works/pi-coding-agent@0.74.2", "scripted-model", _pi),
        Agent("mini-swe-agent", "mini", _PIP + "mini-swe-agent==2.4.6", "scripted-model", _mini),
    )
}


def install(agents: Sequence[Agent], folder: Path) -> None:
    """Install agents into a folder, and print their versions.

    Raises:
        AgentError: if one cannot be installed, or is another version than was asked for.

    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {agent.name: _version_wanted(agent) for agent in agents}
    missing = [agent for agent in agents if installed_version(agent, folder) != wanted[agent.name]]
    for command in _install_commands(missing):
        ran = subprocess.run(  # noqa: S602  the commands of this file
            command, cwd=folder, shell=True, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        if ran.returncode:
            raise AgentError(f"`{command}` failed in {folder}: {ran.stderr[-500:]}")
    for agent in agents:
        found = installed_version(agent, folder)
        print(f"{agent.name} {found}")
        if found != wanted[agent.name]:
            raise AgentError(f"{agent.name} is {found} in {folder}, and {wanted[agent.name]} was asked for")


def _install_commands(agents: Sequence[Agent]) -> list[str]:
    """All of npm's at once; a tree with some of them that was not asked for would be taken apart."""
    packages = [agent.install.removeprefix(_NPM) for agent in agents if agent.install.startswith(_NPM)]
    others = [agent.install for agent in agents if not agent.install.startswith(_NPM)]
    return [*([f"{_NPM}--no-audit --no-fund --silent {' '.join(packages)}"] if packages else []), *others]


def _version_wanted(agent: Agent) -> str:
    return agent.install.rsplit("=" if "==" in agent.install else "@", 1)[-1]


def installed_version(agent: Agent, folder: Path) -> str:
    """The version of an agent in a folder; "" if it is not there."""
    if not agent.install.startswith(_NPM):
        name = agent.install.rsplit(" ", 1)[-1].partition("=")[0].replace("-", "_")
        found = next(folder.glob(f"lib/python3*/site-packages/{name}-*.dist-info"), None)
        return found.name.removeprefix(f"{name}-").removesuffix(".dist-info") if found is not None else ""
    package = agent.install.removeprefix(_NPM).rpartition("@")[0]
    try:
        return str(json.loads((folder / "node_modules" / package / "package.json").read_bytes())["version"])
    except FileNotFoundError:
        return ""


def _nothing() -> None:
    """Leave things as they are."""


def find_program(agent: Agent, folder: Path | None) -> Path:
    """The program of an agent in a folder that npm or pip installed into.

    Raises:
        AgentError: if it is not there.

    """
    if folder is None:
        raise AgentError(
            "no folder of agents is named: set FOVEATE_AGENTS, or pass --agents, to where they are installed"
        )
    found = (folder / place / agent.program for place in ("node_modules/.bin", "bin"))
    program = next((path for path in found if path.exists()), None)
    if program is None:
        raise AgentError(f"{agent.name} is not installed in {folder}: there, run `{agent.install}`")
    return program


def record(
    agent: Agent,
    *,
    to: Path | None,
    agents: Path | None,
    model: str = "",
    tasks: int = 1,
    seconds: float = SECONDS,
    scale: float = 1.0,
    answer: Answer | None = None,
    rules: Sequence[Rule] = (),
    count: Count | None = None,
    through: Through = nullcontext,
    between: Callable[[], None] = _nothing,
) -> Recording:
    """Run an agent until its tasks are done, and write each request to a folder.

    `scale` multiplies the usage that the provider reports: agents compact by that figure. `through` is given
    the address of the provider, and gives the one that the agent is to use. `between` is called between two tasks.

    Raises:
        AgentError: if the agent is not installed, or takes more time than it was given.

    """
    program = find_program(agent, agents)
    script = answer or Script(steps_for(agent.name, tasks=tasks), subagent_steps=SUBAGENT_STEPS)
    with (
        tempfile.TemporaryDirectory(prefix="foveate-agent-") as name,
        serve(script, folder=to, scale=scale, rules=rules, count=count) as provider,
        through(provider.address) as address,
    ):
        place = Place(Path(name, "home"), Path(name, "work"), address, model or agent.model)
        setup = _prepared(agent, place)
        environment = {
            "PATH": os.pathsep.join((str(program.parent), "/usr/local/bin", "/usr/bin", "/bin")),
            "HOME": str(place.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **setup.environment,
        }
        commands = [setup.first(TASK), *[setup.later(SECOND_TASK)] * (tasks - 1)]
        ran: list[tuple[int, str]] = []
        for command in commands:
            if ran:
                between()
            ran.append(_run([str(program), *command], environment, place.work, seconds))
    return Recording(tuple(code for code, _ in ran), "\n".join(output for _, output in ran), provider)


def _prepared(agent: Agent, place: Place) -> Setup:
    place.home.mkdir(parents=True)
    place.work.mkdir(parents=True)
    (place.work / "calc.py").write_text(_CALC, encoding="utf-8")
    (place.work / "test_calc.py").write_text(_TEST, encoding="utf-8")
    (place.work / "plot.png").write_bytes(PICTURE)
    identity = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com")
    for arguments in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "--message", "Add")):
        subprocess.run(["git", *arguments], cwd=place.work, check=True, capture_output=True)  # noqa: S607
    setup = agent.setup(place)
    for path, text in setup.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return setup


def _run(command: list[str], environment: Mapping[str, str], work: Path, seconds: float) -> tuple[int, str]:
    """The exit code and what was printed; an agent and all that it started end with the time it was given."""
    process = subprocess.Popen(
        command,
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as late:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        raise AgentError(
            f"{Path(command[0]).name} was not done after {seconds:g} seconds and was ended; "
            f"give it more by --seconds. Its last words: {output[-500:]!r}"
        ) from late
    return process.returncode, output


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = _parser().parse_args(arguments)
    if options.command == "list":
        for agent in AGENTS.values():
            print(f"{agent.name:<16}{agent.install}")
        return 0
    try:
        if options.command == "install":
            install([AGENTS[name] for name in options.names], options.to)
            return 0
        return _record(options)
    except AgentError as error:
        print(error, file=sys.stderr)
        return 1


def _record(options: argparse.Namespace) -> int:
    to: Path = options.to
    to.mkdir(parents=True, exist_ok=True)
    if any(to.iterdir()):
        raise AgentError(f"{to} is not empty: name another folder, so that two recordings are not mixed")
    agent = AGENTS[options.agent]
    recording = record(
        agent,
        to=to,
        agents=options.agents,
        model=options.model,
        tasks=options.tasks,
        seconds=options.seconds,
        scale=options.scale,
    )
    provider = recording.provider
    print(f"{agent.name}: {len(provider.received)} requests, {len(provider.requests)} for an answer, in {to}")
    for error in provider.errors:
        print(error, file=sys.stderr)
    failed = any(recording.exits) or not provider.requests
    if failed:
        print(f"exit codes {recording.exits}; last words: {recording.output[-1_000:]}", file=sys.stderr)
    return 1 if provider.errors or failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.agents", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="agents, and how each is installed")
    fill = commands.add_parser("install", help="install agents at the versions that were tried")
    fill.add_argument("names", nargs="+", choices=sorted(AGENTS), metavar="AGENT", help=f"some of {', '.join(AGENTS)}")
    fill.add_argument("--to", type=Path, required=True, help="the folder for FOVEATE_AGENTS")
    one = commands.add_parser("record", help="run an agent and keep its requests")
    one.add_argument("agent", choices=sorted(AGENTS), metavar="AGENT", help=f"one of {', '.join(AGENTS)}")
    one.add_argument("--to", type=Path, required=True, help="an empty or new folder, outside the repository")
    default = os.environ.get("FOVEATE_AGENTS")
    one.add_argument(
        "--agents",
        type=Path,
        default=Path(default) if default else None,
        help="where `list` was followed and agents are installed (FOVEATE_AGENTS)",
    )
    one.add_argument(
        "--model", default="", help="that the agent is to ask for: what it sends depends on it (see README)"
    )
    one.add_argument(
        "--tasks",
        type=int,
        choices=range(1, 6),
        default=2,
        help="turns; each but the first resumes the session, if the agent can (2)",
    )
    one.add_argument("--seconds", type=float, default=SECONDS, help=f"for each task ({SECONDS:g})")
    one.add_argument(
        "--scale", type=float, default=1.0, help="of the usage that is reported: at 6, most agents compact (1)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
