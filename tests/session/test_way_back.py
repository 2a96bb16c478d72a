"""Placeholders and digests name the way back that the model has: a tool, a command, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.dialogue import exchange, lines, reading, session_of, user

from foveate import RECALL_TOOL, ConfigError, Policy, Session, Shares
from foveate.compile.policy import PASSES
from foveate.session.options import recall_tool_in

LEAN = Policy(name="lean", passes=PASSES, shares=Shares(output=0.04))
BASH = {"name": "Bash", "description": "Run a command.", "input_schema": {"type": "object", "properties": {}}}


def over_mcp(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object", "properties": {"reference": {"type": "string"}}}, **fields}


@pytest.mark.parametrize(
    "name", ["mcp__foveate__recall", "foveate_recall", "foveate__recall", "mcp_foveate_recall", "foveate-recall"]
)
def test_the_tool_is_named_as_the_client_names_it(name: str) -> None:
    """A client puts the name of its MCP server before the name of the tool."""
    view = session_of([user("go"), *reading(30)], budget=3_000, tools=[BASH, over_mcp(name)]).compile()
    assert recall_tool_in([BASH, over_mcp(name)]) == name
    assert f"{name} " in view.to("text")


@pytest.mark.parametrize(
    "tool",
    [over_mcp("recall_memory"), over_mcp("mcp__other__recall"), over_mcp("mcp__foveate__recall", defer_loading=True)],
)
def test_no_other_tool_is_taken_for_it(tool: dict[str, Any]) -> None:
    """Tools of others are not ours, and one whose loading is deferred is not there yet."""
    assert recall_tool_in([tool]) is None


def test_the_tool_of_a_namespace_is_named_by_both() -> None:
    """As Codex gives the tools of a server."""
    namespace = {"type": "namespace", "name": "mcp__foveate", "tools": [{"type": "function", **over_mcp("recall")}]}
    assert recall_tool_in([BASH, namespace]) == "mcp__foveate.recall"
    assert recall_tool_in([{**namespace, "name": "mcp__other"}]) is None


def test_a_command_is_named_where_there_is_a_shell_and_it_was_switched_on() -> None:
    """Without a shell nobody could run it, and without the option nobody is told of it."""
    log = [user("go"), *reading(30)]
    command = "foveate recall my-session"
    switched_on = session_of(log, budget=3_000, tools=[BASH], recall_command=command).compile().to("text")
    assert "`foveate recall my-session`" in switched_on
    for options in (
        {"tools": [BASH]},
        {"recall_command": command},
        {"tools": [over_mcp("read")], "recall_command": command},
    ):
        assert "recall" not in session_of(log, budget=3_000, **options).compile().to("text")


def test_the_tool_goes_before_the_command() -> None:
    """It needs no quoting, and answers in less."""
    tools = [BASH, RECALL_TOOL]
    text = (
        session_of([user("go"), *reading(30)], budget=3_000, tools=tools, recall_command="foveate recall s")
        .compile()
        .to("text")
    )
    assert "foveate recall" not in text and "recall" in text


def test_what_the_command_gave_back_is_not_capped_again() -> None:
    """Or the model would be told to recall the answer of its recall, without end."""
    large = lines(200)
    session = session_of(
        [user("go"), *exchange("big", "Bash", large, command="cat all.txt")],
        budget=8_000, policy=LEAN, tools=[BASH], recall_command="foveate recall s",
    )  # fmt: skip
    assert "`foveate recall s` restores it" in session.compile().to("text")
    session.extend(exchange("again", "Bash", large, command="foveate recall s m3"))
    assert session.compile().to("text").count("line 100") == 1


@pytest.mark.parametrize("command", ["", "  ", "foveate recall\ns", "foveate `recall`"])
def test_a_command_that_cannot_stand_on_a_line_is_refused(command: str) -> None:
    """The error says what a command looks like."""
    with pytest.raises(ConfigError, match="`recall_command` is a command on one line"):
        Session(budget=3_000, tools=[BASH], recall_command=command)


def test_a_recorded_reduction_stays_as_it_was_when_the_way_back_changes() -> None:
    """What was sent with one hint is sent so again, whatever tools the agent has by then."""
    session = session_of([user("go"), *reading(30)], budget=3_000, tools=[BASH])
    before = session.compile().to("openai")
    session.reframe(tools=[BASH, over_mcp("mcp__foveate__recall")])
    assert session.compile().to("openai") == before
