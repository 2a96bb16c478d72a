"""`foveate mcp` as clients see it: over standard input and output, with the official SDK on the other side."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from typer.testing import CliRunner

from foveate import Session
from foveate.cli.main import app
from foveate.lookup.answers import MOST_BYTES
from foveate.store import Store
from tests.dialogue import exchange, lines, user

OUTPUT = lines(40, "row of the output")


def server(*arguments: str, folder: Path, **environment: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "foveate", "mcp", *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
        cwd=folder,
    )


async def test_the_tools_are_served_and_only_recall_is_always_loaded(tmp_path: Path) -> None:
    """A client that defers tools shows the one that placeholders name."""
    store = tmp_path / "agent.db"
    with Session.open(store, "mine") as session:
        session.tag(cwd=str(tmp_path))
        session.extend([user("go"), *exchange("c1", "Bash", OUTPUT, command="cat rows.txt")])
    async with (
        stdio_client(server("--store", str(store), folder=tmp_path)) as (incoming, outgoing),
        ClientSession(incoming, outgoing) as client,
    ):
        await client.initialize()
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["recall", "why", "search", "touched", "fixed"]
        loaded = [name for name, tool in tools.items() if (tool.meta or {})["anthropic/alwaysLoad"]]
        assert loaded == ["recall"]
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools.values())

        recalled = await client.call_tool("recall", {"reference": "m3"})
        text = recalled.content[0].text  # type: ignore[union-attr]
        assert not recalled.is_error
        assert text.partition("\n")[2] == OUTPUT and len(text.encode()) <= MOST_BYTES
        assert "session mine (the newest of this project)" in text

        missing = await client.call_tool("recall", {"reference": "m99"})
        assert missing.is_error and "no message 'm99'" in missing.content[0].text  # type: ignore[union-attr]


async def test_a_store_may_come_later(tmp_path: Path) -> None:
    """An agent starts its servers before anything was recorded; the variable names the session as the option does."""
    store = tmp_path / "agent.db"
    parameters = server(folder=tmp_path, FOVEATE_STORE=str(store), FOVEATE_SESSION="named")
    async with stdio_client(parameters) as (incoming, outgoing), ClientSession(incoming, outgoing) as client:
        await client.initialize()
        early = await client.call_tool("search", {"query": "anything"})
        assert early.is_error and "no store at" in early.content[0].text  # type: ignore[union-attr]
        for name in ("named", "newer"):
            with Session.open(store, name) as session:
                session.append(user(f"said in {name}"))
        later = await client.call_tool("recall", {"reference": "m1"})
        assert "said in named" in later.content[0].text  # type: ignore[union-attr]


def test_asking_changes_nothing_but_the_index(tmp_path: Path) -> None:
    """Events, calls and sessions are those that were there."""
    from contextlib import nullcontext

    from foveate.lookup.answering import answer
    from foveate.lookup.answers import Lookup

    with Store(tmp_path / "agent.db") as store:
        with Session.open(store, "mine", budget=4_000) as session:
            session.extend([user("go"), *exchange("c1", "Bash", OUTPUT, command="cat rows.txt")])
            session.compile()
        before = [(info.session_id, info.events, info.last_activity_at) for info in store.sessions()]
        for name, argument in (
            ("recall", "reference"),
            ("why", "reference"),
            ("search", "query"),
            ("touched", "path"),
            ("fixed", "error"),
        ):
            answer(lambda: nullcontext(Lookup(store=store)), name, {argument: "m3"})
        assert [(info.session_id, info.events, info.last_activity_at) for info in store.sessions()] == before


# --- install ------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, without the variables of clients."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("client", "file"),
    [
        ("claude", ".claude.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("opencode", ".config/opencode/opencode.json"),
    ],
)
def test_install_writes_what_it_shows_and_uninstall_leaves_nothing(home: Path, client: str, file: str) -> None:
    """A file that was made for it goes again; one that was there keeps its bytes and its permissions."""
    run, path = CliRunner(), home / file
    shown = run.invoke(app, ["mcp", "install", client, "--yes", "--store", "here.db"])
    assert shown.exit_code == 0, shown.output
    assert str(Path("here.db").absolute()) in path.read_text() and "+" in shown.output
    assert path.stat().st_mode & 0o077 == 0
    assert run.invoke(app, ["mcp", "uninstall", client, "--yes"]).exit_code == 0
    assert not path.exists()
    before = "# mine\n" if client == "codex" else '{"mine": [1,2]}'
    path.write_text(before)
    path.chmod(0o644)
    run.invoke(app, ["mcp", "install", client, "--yes"])
    assert path.read_text() != before and path.stat().st_mode & 0o777 == 0o644
    run.invoke(app, ["mcp", "uninstall", client, "--yes"])
    assert path.read_text() == before


def test_nothing_is_written_that_nobody_agreed_to(home: Path) -> None:
    """Without a terminal there is nobody to ask."""
    refused = CliRunner().invoke(app, ["mcp", "install", "claude"])
    assert refused.exit_code == 2 and "give `--yes`" in refused.output
    assert '"foveate"' in refused.output
    assert not (home / ".claude.json").exists()
