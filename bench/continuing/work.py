"""Work: a model goes on from an arm's request, in a loop of its own, with tools that act in the sandbox.

Every request of the loop is made by the arm, so that a policy keeps or loses facts on the way as it would in use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.continuing.requests import Begun
from bench.continuing.sandbox import run_command
from bench.messages import Message
from foveate.agents.driver import Driver
from foveate.agents.toolset import arguments_of
from foveate.errors import BudgetError, FoveateError
from foveate.lab.chat import Chat
from foveate.lab.contestants import Step
from foveate.log.messages import ToolCall
from foveate.session import Session
from foveate.wire.format import Request
from foveate.wire.formats import decode_any
from foveate.wire.openai_chat import decode, encode

MOST_STEPS: Final = 30
# What a tool says is not longer than this; a file that is must be read in parts.
_LONGEST: Final = 20_000


@dataclass(slots=True, kw_only=True)
class Worked:
    """How a run went: requests sent, files read that the session had read already, recalls, and how it ended."""

    steps: int = 0
    read_again: set[str] = field(default_factory=set)
    recalls: int = 0
    ended: str = ""


async def work(
    begun: Begun, driver: Driver, folder: Path, known: Iterable[str], most_steps: int = MOST_STEPS
) -> Worked:
    """Let a model do the follow-up; `known` are the files that the recorded session had read."""
    worked = Worked()
    desk = _Desk(begun, folder, frozenset(known), worked)
    chats: Sequence[Chat] = begun.chats
    while worked.steps < most_steps:
        request = Request(messages=tuple(map(decode, chats)), tools=begun.opening.tools)
        reply = await driver.generate(request, None)
        worked.steps += 1
        answer = desk.take(reply.message)
        results = [desk.result(call) for call in answer]
        if worked.ended or not results:
            worked.ended = worked.ended or "answered without a call"
            return worked
        try:
            chats = begun.feed(desk.step(results)).chats
        except BudgetError as error:
            worked.ended = f"no request: {error}"
            return worked
    worked.ended = f"stopped after {most_steps} steps"
    return worked


class _Desk:
    """Does what the model asks, and keeps what the arm has not seen yet."""

    def __init__(self, begun: Begun, folder: Path, known: frozenset[str], worked: Worked) -> None:
        self._folder = folder
        self._known = known
        self._worked = worked
        self._answer: Chat = {}
        # Has the same references as the arm's own session, and all of what they stand for.
        self._shadow = Session()
        self._shadow.extend(begun.history)

    def take(self, message: object) -> tuple[ToolCall, ...]:
        """Take in a model's answer; the calls that it makes."""
        (taken,) = decode_any([message])
        self._answer = encode(taken)
        return taken.calls

    def result(self, call: ToolCall) -> Message:
        """The result of a call; what is wrong with it is said to the model."""
        try:
            arguments = arguments_of(call)
            text = self._done(call.name, arguments)
        except (KeyError, TypeError, ValueError, OSError, FoveateError) as error:
            text = f"error: {type(error).__name__}: {error}"
        return {"role": "tool", "tool_call_id": call.id, "content": text[:_LONGEST]}

    def step(self, results: Sequence[Message]) -> Step:
        """What the arm gets: the answer with the results of its calls."""
        chats = [self._answer, *results]
        self._shadow.extend(chats)
        return Step(chats=chats, messages=tuple(map(decode, chats)))

    def _done(self, name: str, arguments: Mapping[str, Any]) -> str:
        match name:
            case "read_file":
                path = self._path(arguments["path"])
                self._note_read([str(path.relative_to(self._folder))])
                return path.read_text(encoding="utf-8")
            case "write_file":
                path = self._path(arguments["path"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(arguments["content"], encoding="utf-8")
                return f"wrote {arguments['path']}"
            case "run_command":
                command = str(arguments["command"])
                self._note_read(paths_in(command, self._known))
                ran = run_command(self._folder, ["bash", "-c", command])
                return f"{ran.output}\nexit code {ran.code}"
            case "recall":
                self._worked.recalls += 1
                return self._recalled(arguments)
            case "finish":
                self._worked.ended = "finished"
                return "done"
            case _:
                return f"error: there is no tool {name!r}"

    def _recalled(self, arguments: Mapping[str, Any]) -> str:
        lines = arguments.get("lines")
        span = (int(lines["start"]), int(lines["end"])) if lines else None
        return self._shadow.recall(str(arguments["reference"]), lines=span, query=arguments.get("query"))

    def _path(self, name: str) -> Path:
        # Sessions were recorded in /work, and models go on using that.
        path = (self._folder / str(name).removeprefix("/work/")).resolve()
        if not path.is_relative_to(self._folder):
            raise ValueError(f"{name} is outside the repository")
        return path

    def _note_read(self, paths: Iterable[str]) -> None:
        self._worked.read_again |= self._known.intersection(paths)


def paths_in(command: str, known: Iterable[str]) -> set[str]:
    """The known files that a shell command shows."""
    if not re.search(r"\b(cat|sed|head|tail|less|nl|grep|awk)\b|open\(|read_text", command):
        return set()
    return {path for path in known if path in command}
