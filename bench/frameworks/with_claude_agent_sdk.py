# /// script
# requires-python = ">=3.11"
# dependencies = ["foveate[claude-agent-sdk]", "claude-agent-sdk==0.2.183"]
# [tool.uv.sources]
# foveate = { path = "../..", editable = true }
# ///
"""Claude Agent SDK: its options, and the agent that it starts, behind a gateway."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from claude_agent_sdk import ClaudeAgentOptions, query

from bench.frameworks.trial import run_recipe
from bench.frameworks.work import Sequence, provider
from bench.provider import Step
from foveate.errors import ConfigError
from foveate.integrations.claude_agent import gateway_options, with_snapshots


def refuses_another_address() -> None:
    """An address that was given is not replaced."""
    try:
        gateway_options(ClaudeAgentOptions(env={"ANTHROPIC_BASE_URL": "http://a"}), address="http://b")
    except ConfigError:
        return
    raise AssertionError("an address that was given is replaced")


async def snapshot(folder: Path) -> None:
    """The hook copies the transcript as it is, and each copy has a name of its own."""
    transcript = folder / "session.jsonl"
    transcript.write_text('{"type": "user"}\n', encoding="utf-8")
    options = with_snapshots(ClaudeAgentOptions(), folder=folder / "kept")
    hook: Any = (options.hooks or {})["PreCompact"][0].hooks[0]
    for _ in range(2):
        assert await hook({"transcript_path": str(transcript)}, None, None) == {}
    kept = sorted((folder / "kept").iterdir())
    assert [one.name for one in kept] == ["session-1.jsonl", "session-2.jsonl"]
    assert {one.read_bytes() for one in kept} == {transcript.read_bytes()}


async def through_an_address(folder: Path) -> None:
    """The agent that the SDK starts asks at the address that the options say."""
    script = Sequence({"": [Step("Hello from the script.")] * 20}, lambda _: "")
    with provider(answer=script, budget=None) as running:
        options = gateway_options(
            ClaudeAgentOptions(cwd=folder, env={"ANTHROPIC_API_KEY": "none", "HOME": str(folder)}, max_turns=1),
            address=running.address,
        )
        said = [repr(message) async for message in query(prompt="Say hello.", options=options)]
    assert any("Hello from the script." in one for one in said), said
    assert running.requests


def main() -> None:
    run_recipe("claude-agent-sdk")
    refuses_another_address()
    with tempfile.TemporaryDirectory() as folder:
        for trial in (snapshot, through_an_address):
            asyncio.run(trial(Path(folder)))
            print(json.dumps({"framework": "claude-agent-sdk", "trial": trial.__name__}), flush=True)


if __name__ == "__main__":
    main()
