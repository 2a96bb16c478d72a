"""Evidence: who sent a request, and which of its conversations it belongs to, by what the request itself says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from foveate.gateway.bodies import WireBody, decode, encode
from foveate.gateway.matching import ItemKeys
from foveate.gateway.protocols import Protocol
from foveate.threads.matching import canonical

DIES_OF_OVERFLOW: Final = frozenset({"codex", "gemini-cli", "mini-swe-agent", "opencode"})
"""Agents that end, or lose their task, if a provider says that a request is too long."""
_BY_PROGRAM: Final = (
    ("claude-cli/", "claude-code"),
    ("codex", "codex"),
    ("GeminiCLI", "gemini-cli"),
    ("opencode/", "opencode"),
    ("QwenCode/", "qwen"),
    ("litellm", "litellm"),
)
_SESSION_HEADERS: Final = (
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
    "x-litellm-session-id",
)
_AGENT_HEADERS: Final = ("x-claude-code-agent-id", "x-openai-subagent")
# As agents say it in their first messages: Claude Code and its like, Codex, opencode.
_FOLDERS: Final = re.compile(rb"(?:[Ww]orking directory: |<cwd>)(/[^\\<\"\n]{1,400})")
_LOOKED_AT: Final = 200_000
_LEADING: Final = frozenset({"system", "developer"})
_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_MOST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who sent a request.

    Attributes:
        agent: the program, such as `claude-code`; "" if nothing tells.
        session: what it calls its session; "" if it has no name for it.
        subagent: its sub-agent, if one of those asks.
        window: the window of the session that it is in; another one begins when the agent compacts.
        kind: what it says the request is for, such as `compaction`.

    """

    agent: str = ""
    session: str = ""
    subagent: str = ""
    window: str = ""
    kind: str = ""


def sender_of(headers: Mapping[str, str], body: WireBody, named: str = "") -> Sender:
    """Who sent a request; `named` is what the launcher of the agent said."""
    turn = _codex_turn(headers.get("x-codex-turn-metadata", ""))
    window = headers.get("x-codex-window-id", "")
    return Sender(
        agent=named or _program(headers),
        session=_first(headers, _SESSION_HEADERS) or _session_in(body.fields),
        subagent=_first(headers, _AGENT_HEADERS),
        window=window,
        kind=str(turn.get("request_kind") or ""),
    )


def _program(headers: Mapping[str, str]) -> str:
    said = headers.get("user-agent", "")
    if "x-initiator" in headers:
        return "copilot"
    return next((agent for start, agent in _BY_PROGRAM if said.lower().startswith(start.lower())), "")


def _first(headers: Mapping[str, str], names: Sequence[str]) -> str:
    return next((headers[name][:_MOST] for name in names if headers.get(name)), "")


def _session_in(fields: Mapping[str, Any]) -> str:
    """The session's name in a body, for clients whose headers a proxy has dropped."""
    match fields:
        case {"metadata": {"user_id": str() as user}} if user.startswith("{"):
            return str(_object(user).get("session_id") or "")[:_MOST]
        case {"prompt_cache_key": str() as key}:
            return key[:_MOST]
        case _:
            return ""


def _codex_turn(said: str) -> dict[str, Any]:
    return _object(said) if said else {}


def _object(text: str) -> dict[str, Any]:
    try:
        value = decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around the items of a request.

    Attributes:
        system: the system prompt as it came; None where it stands among the items.
        tools: as they came, those included that an item declares.
        key: the keyed hash of both.
        kin: the keyed hash of the tools' names: what a compaction of the agent's own does not change.
        leading: how many items stand first that are instructions and not said by anybody.

    """

    system: Any
    tools: tuple[dict[str, Any], ...]
    key: str
    kin: str
    leading: int


def frame_of(protocol: Protocol, body: WireBody, keys: ItemKeys) -> Frame:
    """What stands around the items of a request."""
    system = body.fields.get(protocol.system) if protocol.system else None
    given = body.fields.get("tools")
    tools = tuple(tool for tool in given if isinstance(tool, dict)) if isinstance(given, list) else ()
    leading = 0
    declared: list[str] = []
    for raw in body.items:
        item = decode(raw)
        if not isinstance(item, dict):
            break
        if item.get("type") == "additional_tools":
            declared += [str(tool.get("name")) for tool in item.get("tools") or () if isinstance(tool, dict)]
        elif item.get("role") not in _LEADING:
            break
        leading += 1
    names = sorted({*declared, *(str(tool.get("name") or _function(tool) or tool.get("type")) for tool in tools)})
    return Frame(
        system=system,
        tools=tools,
        key=keys.hashed(canonical({"system": system, "tools": list(tools)})),
        kin=keys.hashed(encode(names or ["none"])),
        leading=leading,
    )


def _function(tool: Mapping[str, Any]) -> object:
    inner = tool.get("function")
    return inner.get("name") if isinstance(inner, Mapping) else None


def conversation_key(sender: Sender, protocol: Protocol, frame: Frame, body: WireBody, keys: ItemKeys) -> str:
    """The name of the conversation that a request belongs to, the same for all its requests.

    It is what the agent calls its session; without that, a hash of what stands before the first words and of those.
    """
    if sender.session:
        name = sender.session
    else:
        first = body.items[: frame.leading + 1]
        said = encode([frame.key, *(keys.of(raw) for raw in first)])
        name = keys.hashed(said)
    program = sender.agent or protocol.name
    parts = [program, _short(name), *([_short(sender.subagent)] if sender.subagent else [])]
    return _NAME.sub("-", "-".join(parts))


def working_directory(body: bytes) -> str:
    """The folder that an agent works in, if it says so where it begins."""
    found = _FOLDERS.search(body, 0, _LOOKED_AT)
    return found[1].decode("utf-8", "replace").strip() if found is not None else ""


def _short(name: str) -> str:
    """The part of an id that people tell it by; ids made of the time of day differ at their end only."""
    bare = name.removeprefix("ses_").replace("-", "")
    return bare if len(bare) <= 16 else f"{bare[:6]}{bare[-10:]}"
