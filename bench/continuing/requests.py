"""Requests: what each arm sends when the follow-up comes, and which of the facts it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bench.continuing.scenario import Place, Scenario
from bench.lanes import Prices
from bench.messages import Message
from bench.reading.arms import ReadingArm
from bench.reading.requests import steps_of
from bench.replay import opening_of
from foveate.errors import BudgetError
from foveate.lab.chat import Chat, texts
from foveate.lab.contestants import Feed, Opening
from foveate.lab.script import ModelCall, Script
from foveate.recall.tool import RECALL_TOOL
from foveate.wire.openai_chat import decode

# Facts of these places cannot be looked up again.
SPOKEN: Final[tuple[Place, ...]] = ("conversation", "tool output")


def _tool(name: str, description: str, *parameters: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS: Final[tuple[dict[str, Any], ...]] = (
    _tool("read_file", "Read a file of the repository.", "path"),
    _tool("write_file", "Write a file of the repository, in the place of the one that is there.", "path", "content"),
    _tool("run_command", "Run a shell command in the repository; it may take up to a minute.", "command"),
    _tool("finish", "Say that the task is done.", "summary"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An arm at the moment of the follow-up: its first request, and what makes the next ones."""

    opening: Opening
    chats: tuple[Chat, ...]
    tokens: int
    feed: Feed
    history: tuple[Message, ...]
    can_recall: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsShown:
    """How many facts of each place an arm's request shows in one scenario, and what it sent; none if it was refused."""

    scenario: str
    arm: str
    shown: dict[Place, int]
    facts: dict[Place, int]
    missing: tuple[str, ...]
    tokens: int
    problem: str = ""


def begin(scenario: Scenario, arm: ReadingArm) -> Begun:
    """Take an arm through the recorded session, up to the request that the follow-up makes; raises `BudgetError`."""
    assert arm.contestant is not None
    can_recall = arm.contestant.kind == "policy"
    script = script_of_scenario(scenario, (*TOOLS, RECALL_TOOL) if can_recall else TOOLS)
    opening = replace(opening_of(script), budget=arm.budget, profile=Prices.usual().profiles[0])
    feed = arm.contestant.start(opening)
    made = [feed(step) for step in steps_of(script)][-1]
    return Begun(
        opening=opening,
        chats=tuple(made.chats),
        tokens=opening.reserved + opening.sizes.total(made.chats),
        feed=feed,
        history=script.chats,
        can_recall=can_recall,
    )


def script_of_scenario(scenario: Scenario, tools: Sequence[dict[str, Any]] = TOOLS) -> Script:
    """The recorded session with the follow-up behind it; its last call is the one that answers that."""
    chats = [*scenario.recorded().messages, {"role": "user", "content": scenario.request}]
    calls = [
        ModelCall(place=place, at=None, model="", usage=None, answer=chat)
        for place, chat in enumerate(chats)
        if chat["role"] == "assistant"
    ]
    return Script(
        name=scenario.name,
        source=scenario.name,
        format="scenario",
        system=scenario.system,
        tools=tuple(tools),
        model="",
        messages=tuple(map(decode, chats)),
        chats=tuple(chats),
        calls=(*calls, ModelCall(place=len(chats), at=None, model="", usage=None, answer=None)),
        compactions=(),
        recorded_messages=len(chats),
    )


def facts_shown(scenario: Scenario, arm: ReadingArm) -> FactsShown:
    """Which facts are in view in an arm's request."""
    shown: dict[Place, int] = dict.fromkeys(SPOKEN, 0)
    facts: dict[Place, int] = dict.fromkeys(SPOKEN, 0)
    missing: list[str] = []
    try:
        begun = begin(scenario, arm)
        chats, tokens, problem = begun.chats, begun.tokens, ""
    except BudgetError as error:
        chats, tokens, problem = (), 0, f"no request: {error}"
    for check in scenario.checks:
        if check.place not in SPOKEN:
            continue
        facts[check.place] += 1
        is_shown = shows(check.fact, chats)
        shown[check.place] += is_shown
        if not is_shown:
            missing.append(check.name)
    return FactsShown(
        scenario=scenario.name,
        arm=arm.name,
        shown=shown,
        facts=facts,
        missing=tuple(missing),
        tokens=tokens,
        problem=problem,
    )


def shows(fact: Sequence[str], chats: Sequence[Chat]) -> bool:
    """Whether all texts of a fact are in a request, however its lines are broken."""
    whole = " ".join(" ".join(text.split()) for chat in chats for text in texts(chat))
    return all(" ".join(text.split()) in whole for text in fact)
