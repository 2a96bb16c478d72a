"""Clients: where agents keep their MCP servers, and how one is added to and taken from a configuration.

A configuration belongs to its user: what is added is a piece of text in it, the rest stays byte for byte, and taking it
out gives the bytes back that were there before.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from foveate.errors import ConfigError

SERVER: Final = "foveate"
_BEGIN: Final = "# >>> foveate mcp: written by `foveate mcp install`, taken out by `foveate mcp uninstall`"
_END: Final = "# <<< foveate mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """An agent with MCP: the folder of its configuration, by a variable or below the home, and the form of an entry.

    `section` is the field of a JSON file that holds all servers; a client without one is configured in TOML.
    """

    name: str
    variable: str
    folder: str
    file: str
    section: str = ""

    def path(self, environment: Mapping[str, str], home: Path) -> Path:
        """The file that this client reads for all projects."""
        named = environment.get(self.variable) if self.variable else None
        return (Path(named) if named else home / self.folder) / self.file

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        """What says how to start a server."""
        if self.name == "opencode":
            return {"type": "local", "command": list(command), "enabled": True}
        started = {"command": command[0], "args": list(command[1:])}
        # Claude Code waits for a server that is always loaded, so that its tools are there in the first request; those
        # that say they need not be are deferred all the same.
        return {"type": "stdio", **started, "alwaysLoad": True} if self.name == "claude" else started


CLIENTS: Final = {
    client.name: client
    for client in (
        Client(name="claude", variable="CLAUDE_CONFIG_DIR", folder="", file=".claude.json", section="mcpServers"),
        Client(name="codex", variable="CODEX_HOME", folder=".codex", file="config.toml"),
        Client(name="gemini", variable="", folder=".gemini", file="settings.json", section="mcpServers"),
        Client(
            name="opencode",
            variable="OPENCODE_CONFIG_DIR",
            folder=".config/opencode",
            file="opencode.json",
            section="mcp",
        ),
    )
}


def client_named(name: str) -> Client:
    """The client with a name; an error lists them."""
    if name not in CLIENTS:
        raise ConfigError(f"no client {name!r} is known; known are {', '.join(CLIENTS)}")
    return CLIENTS[name]


def this_client(client: Client) -> Path:
    """The file of a client for the user who runs this."""
    return client.path(os.environ, Path.home())


def added(client: Client, text: str, command: Sequence[str]) -> str:
    """A configuration with our server in it; refused if it has one already, or cannot be understood."""
    before = _parsed(client, text)
    if SERVER in _servers(client, before):
        raise ConfigError(
            f"the configuration of {client.name} has a server {SERVER!r} already; take it out first, with "
            f"`foveate mcp uninstall {client.name}` or by hand"
        )
    after = _added_toml(text, client.entry(command)) if not client.section else _added_json(client, text, command)
    _check(client, before, after, client.entry(command))
    return after


def removed(client: Client, text: str) -> str:
    """A configuration without our server; refused if it has none."""
    before = _parsed(client, text)
    entry = _servers(client, before).get(SERVER)
    if entry is None:
        raise ConfigError(f"the configuration of {client.name} has no server {SERVER!r}; there is nothing to take out")
    after = _removed_json(client, text) if client.section else _removed_toml(text)
    _check(client, _parsed(client, after), text, entry)
    return after


def _check(client: Client, without: dict[str, Any], text: str, entry: Any) -> None:
    """Raise if a text says anything else than what stands without our server, and our server."""
    found = _parsed(client, text)
    ours = _servers(client, found).pop(SERVER, None)
    if ours != entry or _filled(found) != _filled(without):
        raise ConfigError(
            f"the configuration of {client.name} cannot be changed safely; add or take out the server {SERVER!r} by "
            "hand"
        )


def _filled(parsed: dict[str, Any]) -> dict[str, Any]:
    """A configuration without empty sections: one that we made may be left behind."""
    return {name: value for name, value in parsed.items() if value != {}}


def _parsed(client: Client, text: str) -> dict[str, Any]:
    try:
        parsed = (json.loads(text) if client.section else tomllib.loads(text)) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"the configuration of {client.name} is not plain {'JSON' if client.section else 'TOML'} ({error}); add "
            f"the server by hand: {json.dumps(client.entry(('foveate', 'mcp')))}"
        ) from error
    if not isinstance(parsed, dict) or not isinstance(_section(client, parsed), dict):
        raise ConfigError(f"the configuration of {client.name} has another form than expected; add the server by hand")
    return parsed


def _section(client: Client, parsed: dict[str, Any]) -> Any:
    return parsed.get(client.section or "mcp_servers", {})


def _servers(client: Client, parsed: dict[str, Any]) -> dict[str, Any]:
    servers: dict[str, Any] = _section(client, parsed)
    return servers


# --- TOML -------------------------------------------------------------------------------------------------------------


def _added_toml(text: str, entry: Mapping[str, Any]) -> str:
    # Strings and lists of strings are written in TOML as in JSON.
    fields = "\n".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items())
    gap = "" if not text or text.endswith("\n") else "\n"
    return (
        f"{text}{gap}{_BEGIN}{'' if not gap else ' (on a line of its own)'}\n[mcp_servers.{SERVER}]\n{fields}\n{_END}\n"
    )


def _removed_toml(text: str) -> str:
    found = re.search(rf"(?ms)^{re.escape(_BEGIN)}( \(on a line of its own\))?\n.*?^{re.escape(_END)}\n?", text)
    if found is None:
        raise ConfigError(
            f"the table [mcp_servers.{SERVER}] was not written by `foveate mcp install`; take it out by hand"
        )
    # The line break before it was ours, too, where the file had none at its end.
    start = found.start() - 1 if found[1] else found.start()
    return text[:start] + text[found.end() :]


# --- JSON -------------------------------------------------------------------------------------------------------------


def _added_json(client: Client, text: str, command: Sequence[str]) -> str:
    entry = client.entry(command)
    if not text.strip():
        return json.dumps({client.section: {SERVER: entry}}, indent=2, ensure_ascii=False) + "\n"
    top = text.index("{")
    section = _members(text, top).get(client.section)
    if section is None:
        return _inserted(text, top, _member(client.section, {SERVER: entry}, "  "), "")
    return _inserted(text, section[1], _member(SERVER, entry, "    "), "  ")


def _inserted(text: str, opening: int, member: str, indent: str) -> str:
    """A text with a member put behind an opening brace."""
    is_empty = not _members(text, opening)
    return f"{text[: opening + 1]}{member}{f'{chr(10)}{indent}' if is_empty else ','}{text[opening + 1 :]}"


def _member(name: str, value: Any, indent: str) -> str:
    lines = json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")
    return f"\n{indent}{json.dumps(name)}: {lines}"


def _removed_json(client: Client, text: str) -> str:
    parsed = json.loads(text)
    if text == _added_json(client, "", _command_of(client, parsed)):
        return ""
    top = text.index("{")
    section = _members(text, top)[client.section]
    members = _members(text, section[1])
    if len(members) == 1:
        # All of the section may be ours; it is if it reads as it was written.
        ours = _member(client.section, parsed[client.section], "  ")
        for written in (f"{ours},", f"{ours}\n"):
            if text.startswith(written, top + 1):
                return text[: top + 1] + text[top + 1 + len(written) :]
    return _without(text, section[1], members, SERVER)


def _command_of(client: Client, parsed: dict[str, Any]) -> list[str]:
    entry = parsed[client.section][SERVER]
    command = entry.get("command") if isinstance(entry, dict) else None
    if isinstance(command, list):
        return [str(one) for one in command] or [""]
    arguments = entry.get("args") if isinstance(entry, dict) else None
    return [str(command), *(map(str, arguments) if isinstance(arguments, list) else ())]


def _without(text: str, opening: int, members: Mapping[str, tuple[int, int, int]], name: str) -> str:
    """A text without a member of an object, the comma that parted it, and the space before it."""
    names = list(members)
    place = names.index(name)
    start, _, end = members[name]
    begin = members[names[place - 1]][2] if place else opening + 1
    if place + 1 < len(names):
        # Its own comma goes, and what stands before it.
        comma = text.index(",", end)
        return text[:begin] + text[comma + 1 :] if not place else text[:begin] + text[end:]
    return text[:begin] + (
        text[end:] if place else text[end:].lstrip() if not text[begin:start].strip() else text[end:]
    )


def _members(text: str, opening: int) -> dict[str, tuple[int, int, int]]:
    """The members of an object by name: where each begins, where its value does, and where it ends."""
    decoder = json.JSONDecoder()
    found: dict[str, tuple[int, int, int]] = {}
    at = _skip(text, opening + 1)
    while text[at] != "}":
        name, end = decoder.raw_decode(text, at)
        value = _skip(text, text.index(":", end) + 1)
        _, last = decoder.raw_decode(text, value)
        found[name] = (at, value, last)
        at = _skip(text, last)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
