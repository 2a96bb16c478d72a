"""The configuration of a client gets our server and loses it again, byte for byte."""

from __future__ import annotations

import json
import tomllib
from itertools import product

import pytest

from foveate.errors import ConfigError
from foveate.lookup.clients import CLIENTS, added, client_named, removed

COMMAND = ("/usr/bin/foveate", "mcp", "--store", "/home/me/ünï.db")
JSON_FILES = (
    "",
    "{}",
    "{ }\n",
    '{"numStartups": 1}',
    '{\n  "theme": "dark"\n}\n',
    '{\r\n\t"text": "}{, \\"mcpServers\\": {"\r\n}\r\n',
    '{\n    "mcpServers": {},\n    "list": [1,2]\n}',
    '{"mcpServers":{"other":{"command":"x"}},"k":2}',
    '{\n  "k": 2,\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  }\n}\n',
    '{\n  "mcp": {"other": {"enabled": false}},\n  "mcpServers": {"y": {"args": ["{"]}}\n}',
)
TOML_FILES = (
    "",
    "model = 'x'",
    "model = 'x'\n",
    '[mcp_servers.other]\ncommand = "x"\n',
    "# mine\n[x]\ny = [1,\n 2]\n\n",
)
CASES = [(name, text) for name, client in CLIENTS.items() for text in (JSON_FILES if client.section else TOML_FILES)]


@pytest.mark.parametrize(("name", "before"), CASES)
def test_what_was_added_is_taken_out_byte_for_byte(name: str, before: str) -> None:
    """Order, spaces, comments and line breaks of the rest stay as they were."""
    client = client_named(name)
    after = added(client, before, COMMAND)
    parsed = json.loads(after) if client.section else tomllib.loads(after)
    assert parsed[client.section or "mcp_servers"]["foveate"] == client.entry(COMMAND)
    assert removed(client, after) == before


@pytest.mark.parametrize(("name", "before"), [case for case in CASES if CLIENTS[case[0]].section])
def test_it_is_found_again_in_a_file_that_the_client_wrote_anew(name: str, before: str) -> None:
    """Claude Code writes its file whole at each start."""
    client = client_named(name)
    for indent, is_last in product((None, 2, 4), (True, False)):
        settings = json.loads(added(client, before, COMMAND))
        servers = settings[client.section]
        servers["later"] = {"command": "y"}
        if is_last:
            servers["foveate"] = servers.pop("foveate")
        left = json.loads(removed(client, json.dumps(settings, indent=indent)))
        assert left == {
            **(json.loads(before) if before else {}),
            client.section: {**{key: one for key, one in servers.items() if key != "foveate"}},
        }


def test_a_server_that_is_there_is_not_written_over() -> None:
    """It may be the user's own."""
    client = client_named("claude")
    with pytest.raises(ConfigError, match="has a server 'foveate' already"):
        added(client, added(client, "{}", COMMAND), COMMAND)
    with pytest.raises(ConfigError, match="has no server 'foveate'"):
        removed(client, "{}")


@pytest.mark.parametrize("text", ["// mine\n{}", "{", "[]", '{"mcpServers": []}'])
def test_what_cannot_be_understood_is_left_alone(text: str) -> None:
    """With the entry, so that it can be added by hand."""
    with pytest.raises(ConfigError, match=r"by hand"):
        added(client_named("gemini"), text, COMMAND)


def test_a_table_that_somebody_wrote_is_not_taken_out() -> None:
    """Only what stands between our marks is ours."""
    with pytest.raises(ConfigError, match="take it out by hand"):
        removed(client_named("codex"), '[mcp_servers.foveate]\ncommand = "mine"\n')


def test_an_unknown_client_is_named_with_those_known() -> None:
    """They are four."""
    with pytest.raises(ConfigError, match="known are claude, codex, gemini, opencode"):
        client_named("emacs")
