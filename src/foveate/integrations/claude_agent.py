"""Claude Agent SDK: agents behind the gateway, and a snapshot before they compact (extra: `foveate[claude-agent-sdk]`).

The SDK starts Claude Code, whose messages no hook can change: its requests go through `foveate gateway`.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from foveate.errors import ConfigError
from foveate.integrations.supported import require

require("claude-agent-sdk")

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher  # noqa: E402

from foveate.private_files import create_private_file, make_private_folder  # noqa: E402
from foveate.session.beside import run_beside  # noqa: E402


def gateway_options(options: ClaudeAgentOptions | None = None, *, address: str) -> ClaudeAgentOptions:
    """Options whose agent sends its requests to a gateway, such as that of `foveate gateway` at `address`."""
    chosen: Any = options or ClaudeAgentOptions()
    if "ANTHROPIC_BASE_URL" in chosen.env:
        raise ConfigError(
            f"`env` sends requests to {chosen.env['ANTHROPIC_BASE_URL']} already; leave ANTHROPIC_BASE_URL out, and "
            "give the gateway that address"
        )
    return replace(chosen, env={**chosen.env, "ANTHROPIC_BASE_URL": address.rstrip("/")})


def with_snapshots(options: ClaudeAgentOptions | None = None, *, folder: str | Path) -> ClaudeAgentOptions:
    """Options whose agent leaves a copy of its transcript in a folder before it compacts.

    `foveate import FOLDER` reads the copies. Each is named by the session and how many there were before it.
    """
    chosen: Any = options or ClaudeAgentOptions()
    place = Path(folder)

    async def snapshot(event: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        await run_beside(_copy, Path(event["transcript_path"]), place)
        return {}

    hooks = dict(chosen.hooks or {})
    hooks["PreCompact"] = [*hooks.get("PreCompact", ()), HookMatcher(hooks=[snapshot])]
    return replace(chosen, hooks=hooks)


def _copy(transcript: Path, folder: Path) -> None:
    data = transcript.read_bytes()
    make_private_folder(folder)
    number = 1 + sum(1 for _ in folder.glob(f"{transcript.stem}-*.jsonl"))
    with create_private_file(folder / f"{transcript.stem}-{number}.jsonl") as file:
        file.write(data)
