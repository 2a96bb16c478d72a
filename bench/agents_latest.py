"""The newest versions of agents, and what they send that the pinned ones do not: `python -m bench.agents_latest`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.agents import AGENTS, Agent, AgentError, install_newest, installed_version, record
from bench.gateway_rules import FORMATS, count_marks
from bench.provider import Received

# Hashes and counters in the names of headers would differ in every run.
_HEADERS: Final = frozenset({"content-length", "host"})


def shapes(requests: Sequence[Received]) -> set[str]:
    """What requests are made of: fields, types of items and blocks, headers, and how many marks they bear."""
    found: set[str] = set()
    for one in requests:
        body = json.loads(one.body)
        _, key = FORMATS[one.kind]
        found |= {f"field {name}" for name in body}
        found |= {f"header {name.lower()}" for name, _ in one.headers if name.lower() not in _HEADERS}
        found |= {f"tool type {tool.get('type', 'function')}" for tool in body.get("tools") or ()}
        found.add(f"{count_marks(body)} cache marks")
        for item in body[key]:
            found |= {f"item {item.get('type') or item.get('role')}", *(f"item field {name}" for name in item)}
            inner = item.get("content", item.get("parts"))
            found |= {f"block {_kind(block)}" for block in (inner if isinstance(inner, list) else ())}
    return found


def _kind(block: Any) -> str:
    return str(block.get("type") or "+".join(sorted(block))) if isinstance(block, dict) else type(block).__name__


def compare(agent: Agent, pinned: Path, newest: Path) -> list[str]:
    """The differences of two installed versions of an agent."""
    runs = [record(agent, to=None, agents=folder, tasks=2) for folder in (pinned, newest)]
    before, after = (shapes(run.provider.requests) for run in runs)
    exits = [] if runs[0].exits == runs[1].exits else [f"~ exit codes {runs[0].exits} became {runs[1].exits}"]
    return [*exits, *(f"- {one}" for one in sorted(before - after)), *(f"+ {one}" for one in sorted(after - before))]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 if there is a difference."""
    parser = argparse.ArgumentParser(prog="python -m bench.agents_latest", description=__doc__)
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"of {', '.join(AGENTS)} (all)")
    default = os.environ.get("FOVEATE_AGENTS")
    parser.add_argument("--folder", type=Path, default=Path(default) if default else None, help="of the pinned ones")
    options = parser.parse_args(arguments)
    if options.folder is None:
        parser.error("set FOVEATE_AGENTS, or pass --folder, to where the pinned agents are installed")
    differs = False
    for name in options.agents or AGENTS:
        agent = AGENTS[name]
        with tempfile.TemporaryDirectory(prefix="foveate-newest-") as folder:
            try:
                install_newest(agent, Path(folder))
                lines = compare(agent, options.folder, Path(folder))
            except AgentError as error:
                lines = [f"! {error}"]
            pinned, newest = (installed_version(agent, one) for one in (options.folder, Path(folder)))
        print(f"{name} {pinned or 'not installed'} -> {newest or 'not installed'}")
        for line in lines:
            print(f"  {line}")
        differs |= bool(lines)
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
