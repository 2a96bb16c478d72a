"""Played logs: messages as they would be recorded, fed one by one to what follows them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Protocol

from foveate.log.events import MessageAppended
from foveate.log.messages import Message, MessageMeta, Role, Text, ToolCall, ToolResult
from foveate.log.router import Routing


class Follower(Protocol):
    """Anything that takes messages in their order."""

    def feed(self, message: Message, order: int) -> None:
        """Take one recorded message."""


class Played:
    """A log that grows; `last` is the id of its last message."""

    def __init__(self, *followers: Follower) -> None:
        self.followers, self.order, self.routing = followers, 0, Routing("s")
        self.last = ""

    def say(self, message: Message) -> None:
        """Append a message."""
        for body in self.routing.bodies(message):
            if isinstance(body, MessageAppended):
                for follower in self.followers:
                    follower.feed(body.message, self.order)
                self.order += 1
                self.last = body.message.id

    def user(self, *texts: str, program: bool = False) -> None:
        """The user says something, or a program in the user's name."""
        self._text("user", texts, MessageMeta(extra={"program": True}) if program else MessageMeta())

    def agent(self, *texts: str) -> None:
        """The agent says something."""
        self._text("assistant", texts, MessageMeta())

    def call(
        self, name: str, result: str | None, words: str = "", *, denied: bool = False, **arguments: object
    ) -> None:
        """The agent calls a tool; without a result it has not answered yet."""
        call = ToolCall(id=f"c{self.order}", name=name, arguments=json.dumps(arguments))
        parts = (Text(text=words), call) if words else (call,)
        self.say(Message(id="", role="assistant", parts=parts))
        if result is not None:
            meta = MessageMeta(outcome="denied") if denied else MessageMeta()
            self.say(Message(id="", role="tool", parts=(ToolResult(call_id=call.id, text=result),), meta=meta))

    def run(self, command: str, output: str, code: int = 0, folder: str = "/repo") -> None:
        """The agent runs a command."""
        head = f"Wall time: 0 seconds\nProcess exited with code {code}\nOutput:\n"
        self.call("exec_command", head + output, cmd=command, workdir=folder)

    def shell(self, command: str, folder: Path) -> None:
        """The agent runs a command, and it really runs."""
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S602
        self.run(command, done.stdout, done.returncode, str(folder))

    def _text(self, role: Role, texts: tuple[str, ...], meta: MessageMeta) -> None:
        self.say(Message(id="", role=role, parts=tuple(Text(text=text) for text in texts), meta=meta))
