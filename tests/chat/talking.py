"""Models by script, and chats to test with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from foveate.agents.driver import OnText, Reply, Schema
from foveate.agents.toolset import Answer
from foveate.chat.conversation import Conversation
from foveate.chat.endless import Endless, Terms
from foveate.chat.finding import TemplateFolders
from foveate.session import Session
from foveate.wire.format import Request

Rule = Callable[[Request], dict[str, Any] | str | Exception]


class Model:
    """Answers by a rule, and keeps what it was asked."""

    def __init__(self, rule: Rule | None = None, *, name: str = "scripted", wait: float = 0.0) -> None:
        self.name = name
        self.asked: list[Request] = []
        self._rule = rule or (lambda request: f"I see: {request.messages[-1].text[:40]}")
        self._wait = wait

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: OnText | None = None) -> Reply:
        self.asked.append(messages)
        if self._wait:
            await asyncio.sleep(self._wait)
        said = self._rule(messages)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, str):
            if on_text is not None:
                on_text(said)
            said = {"role": "assistant", "content": said}
        return Reply(message=said)


class Tools:
    """One tool; what it answers is a rule."""

    def __init__(self, rule: Callable[[Mapping[str, Any]], str] = lambda _: "a result") -> None:
        self._rule = rule
        parameters = {"type": "object", "properties": {"n": {"type": "integer"}}}
        function = {"name": "look", "description": "Look something up.", "parameters": parameters}
        self.definitions = ({"type": "function", "function": function},)

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        text = self._rule(arguments)
        return Answer(text=text, outcome="error" if text.startswith("error") else "ok")


def look(number: int) -> dict[str, Any]:
    """An answer that calls the tool."""
    function = {"name": "look", "arguments": f'{{"n": {number}}}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


TEMPLATE = """\
---
description: For tests.
---
Topic: {{ topic }}

Constraints:
{{ constraints }}

Said:
{{ ledger }}

Shortly before:
{{ recent_turns }}

Learned:
{{ reflections }}
"""


def folders_in(folder: Path, text: str = TEMPLATE, name: str = "plain") -> TemplateFolders:
    """A system folder with one template."""
    place = folder / "ContextTemplates"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.md").write_text(text, encoding="utf-8")
    return TemplateFolders(None, folder)


def endless_chat(
    folder: Path,
    model: Model,
    *,
    text: str = TEMPLATE,
    budget: int = 3_000,
    terms: Terms | None = None,
    writer: Model | None = None,
    tools: tuple[Tools, ...] = (),
    session: Session | None = None,
) -> Conversation:
    """A chat in endless mode."""
    session = session or Session(budget=budget)
    endless = Endless(session, folders_in(folder, text), "plain", terms=terms, writer=writer)
    return Conversation(session, model, system="You are kind.", endless=endless, tools=tools)


async def talk(chat: Conversation, turns: int, first: int = 0) -> None:
    """Talk for some turns, each of about a hundred tokens."""
    for turn in range(first, first + turns):
        await chat.say(f"Thing {turn}: I must never be called number {turn * 31}. {'And a few more words. ' * 12}")
