"""Real agents through the gateway, against a provider that enforces its rules: `python -m bench.gateway_trial`.

Each agent reads a fact early, is given long outputs for 25 calls, and is then asked for the fact. The provider answers
from what the request shows: the fact must stand there, or a reference that gives it back. `FOVEATE_AGENTS` names the
folder that the agents are installed in; `python -m bench.agents list` says how.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import uvicorn

from bench.agents import AGENTS, Agent, AgentError, Recording, record
from bench.gateway_rules import FORMATS, Enforcing, request_tokens
from bench.provider import Refusal, Request, Script, Shell, Step
from foveate.api.guard import Guard
from foveate.gateway import Gateway, GatewayRoutes, GatewaySettings, Upstreams
from foveate.gateway.routes import no_pages
from foveate.store import Store
from foveate.threads.matching import canonical

FACT: Final = "The vault of the north tower opens with the word quillfeather-4471."
WORD: Final = "quillfeather-4471"
LOST: Final = "lost"
CALLS: Final = 26
BUDGETS: Final = {"claude-code": 40_000}
BUDGET: Final = 30_000
SECRET: Final = b"a key for items of a trial, 32 b"
# Some 17 kB each: without a gateway the last request has more than 400 kB.
_OUTPUT: Final = "seq {first} {last} | sed 's/^/unit {step} of the build log, line number /'"


class Remembering:
    """A script whose last answer says the fact, if the request shows it."""

    def __init__(self, agent: str, calls: int = CALLS) -> None:
        steps = [Step("First the note.", (Shell(f"echo '{FACT}'"),), thinking="There is a note.")]
        steps += [
            Step(f"Unit {step} next.", (Shell(_OUTPUT.format(first=step * 1_000, last=step * 1_000 + 379, step=step)),))
            for step in range(2, calls)
        ]
        end = (Shell("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),) if agent == "mini-swe-agent" else ()
        self._script = Script([*steps, Step("asked", end)])
        self.gateway: Gateway | None = None
        self.answered: str | None = None

    def __call__(self, request: Request) -> Step | Refusal:
        """The next step; the last one is made of what the request shows."""
        step = self._script(request)
        if not isinstance(step, Step) or step.text != "asked":
            return step
        _, key = FORMATS[request.dialect]
        shown = json.dumps(request.body[key])
        self.answered = "visible" if WORD in shown else self._recalled(shown)
        return Step(f"The word is {self.answered}.", step.calls)

    def _recalled(self, shown: str) -> str:
        """Whether a reference that the request shows gives the fact back."""
        sessions = [one for branches in self.gateway.conversations.branches for one in branches] if self.gateway else []
        found = [
            message.id
            for one in sessions
            for message in one.session.messages
            if WORD in one.session.recall(message.id) and re.search(rf"\b{message.id}\b", shown)
        ]
        return f"recallable by {found[0]}" if found else LOST


@contextmanager
def gateway_at(address: str, store: Path | None, *, port: int = 0, **options: Any) -> Iterator[tuple[Gateway, str]]:
    """A gateway on a port, or on one that is free, in front of a provider, and its address."""
    settings = GatewaySettings(
        upstreams=Upstreams(anthropic=address, openai=address, gemini=address), **{"patience": 30.0, **options}
    )
    opened = Store(store) if store is not None else None
    gateway = Gateway(settings, opened, SECRET)
    gateway.warm_up()
    # With its protocol named, or asyncio leaves small packets waiting for each other.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    # From now on: a client that is faster than the server waits.
    listener.listen(128)
    app = Guard(GatewayRoutes(no_pages, gateway))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", date_header=False, server_header=False))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    try:
        yield gateway, f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
        if opened is not None:
            opened.close()


@dataclass(kw_only=True)
class Trial:
    """What came of one agent's run."""

    agent: str
    budget: int
    recording: Recording
    rules: Enforcing
    script: Remembering
    gateway: Gateway | None = None
    raw: list[int] = field(default_factory=list)

    @property
    def sent(self) -> list[int]:
        """The tokens of each request that the provider received for an answer."""
        return [self.rules.counted[one.number] for one in self.recording.provider.requests]

    @property
    def over_budget(self) -> int:
        """How many requests had more tokens than the budget."""
        return sum(tokens > self.budget for tokens in self.sent)

    @property
    def rewrites(self) -> int:
        """How often a request did not go on from the one before it; side calls go on from nothing."""
        previous: list[bytes] = []
        rewrites = 0
        for one in self.recording.provider.requests:
            _, key = FORMATS[one.kind]
            items = [canonical(item) for item in json.loads(one.body)[key]]
            if len(items) <= 2 and previous:
                continue
            rewrites += items[: len(previous)] != previous
            previous = items
        return rewrites

    @property
    def is_good(self) -> bool:
        """Whether the agent came to its end, nothing was refused, and the fact was found."""
        return not (
            any(self.recording.exits)
            or self.rules.invalid
            or self.recording.provider.errors
            or self.over_budget
            or self.script.answered in (None, LOST)
        )

    def line(self) -> str:
        """One line of the table."""
        return (
            f"{self.agent:<16}{len(self.sent):>6}{max(self.raw, default=0):>10,}{max(self.sent, default=0):>10,}"
            f"{self.rewrites:>10}{len(self.rules.invalid):>9}{self.over_budget:>13}"
            f"{','.join(map(str, self.recording.exits)):>6}  {self.script.answered or 'was not asked'}"
        )


_COLUMNS: Final = (
    ("calls", 6),
    ("raw", 10),
    ("sent", 10),
    ("rewrites", 10),
    ("invalid", 9),
    ("over budget", 13),
    ("exit", 6),
)
HEAD: Final = f"{'agent':<16}{''.join(f'{name:>{width}}' for name, width in _COLUMNS)}  the fact"


def trial(
    agent: Agent, agents: Path, *, budget: int, mode: str = "compile", calls: int = CALLS, window: int | None = None
) -> Trial:
    """One agent's run through a gateway."""
    script, rules = Remembering(agent.name, calls), Enforcing(window=window)
    raw: list[int] = []
    found: list[Gateway] = []

    @contextmanager
    def through(address: str) -> Iterator[str]:
        with (
            tempfile.TemporaryDirectory(prefix="foveate-trial-") as folder,
            gateway_at(address, Path(folder, "trial.db"), mode=mode, budget=budget) as (gateway, at),
        ):
            found.append(gateway)
            script.gateway = gateway
            _watch(gateway, raw)
            yield f"{at}/as/{agent.name}"

    recording = record(
        agent, to=None, agents=agents, tasks=1, answer=script, rules=(rules,), count=rules.count, through=through
    )
    return Trial(
        agent=agent.name, budget=budget, recording=recording, rules=rules, script=script, gateway=found[0], raw=raw
    )


def _watch(gateway: Gateway, raw: list[int]) -> None:
    """Count what the agent itself sends."""
    prepare = gateway.conversations.prepare

    def counted(incoming: Any) -> Any:
        body = json.loads(incoming.body.raw)
        dialect = next(name for name, (form, _) in FORMATS.items() if form == incoming.protocol.format)
        raw.append(request_tokens(dialect, body))
        return prepare(incoming)

    gateway.conversations.prepare = counted  # type: ignore[method-assign]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.gateway_trial", description=__doc__)
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"of {', '.join(AGENTS)} (all)")
    default = os.environ.get("FOVEATE_AGENTS")
    parser.add_argument("--folder", type=Path, default=Path(default) if default else None)
    parser.add_argument("--mode", default="compile")
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--window", type=int, default=None, help="where the provider itself refuses")
    options = parser.parse_args(arguments)
    if options.folder is None:
        parser.error("set FOVEATE_AGENTS, or pass --folder, to where agents are installed")
    print(HEAD)
    good = True
    for name in options.agents or AGENTS:
        try:
            one = trial(
                AGENTS[name],
                options.folder,
                budget=BUDGETS.get(name, BUDGET),
                mode=options.mode,
                calls=options.calls,
                window=options.window,
            )
        except AgentError as error:
            print(f"{name:<16}{error}")
            good = False
            continue
        print(one.line())
        for number, complaint in one.rules.invalid.items():
            print(f"  request {number}: {complaint}")
        for error_text in one.recording.provider.errors:
            print(f"  {error_text}")
        if any(one.recording.exits):
            print(f"  {one.recording.output[-600:]}")
        good &= one.is_good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
