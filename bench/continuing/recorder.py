"""The recorder: plays a session, step by step, on files that are really read and changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.continuing.background import Background
from bench.continuing.styles import TOOLS, Style, ToolUse
from bench.continuing.vocabulary import Vocabulary
from bench.messages import Message, call
from bench.tokens import message_tokens

__all__ = ["Recorder", "Recording", "Style"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A session as messages, the repository as it left it, and the files that the agent read in it."""

    messages: tuple[Message, ...]
    files: Mapping[str, str]
    tools: tuple[dict[str, Any], ...]
    tokens: int
    read: frozenset[str]


class Recorder:
    """Collects what user, agent and tools say; edits that do not apply are defects of the scenario."""

    def __init__(self, name: str, style: Style, vocabulary: Vocabulary, files: Mapping[str, str]) -> None:
        self._tools = TOOLS[style]
        self._messages: list[Message] = []
        self._calls = 0
        self._said = ""
        self._read: set[str] = set()
        self.tokens = 0
        self.random = Random(f"continue {name}")
        self.background = Background(vocabulary, self.random)
        self.files = {**self.background.files(), **files}

    def user(self, text: str) -> None:
        """The user says something, and a turn begins."""
        self._add({"role": "user", "content": dedented(text)})

    def think(self, text: str) -> None:
        """What the agent says with its next call."""
        self._said = dedented(text)

    def answer(self, text: str) -> None:
        """The agent's words at the end of a turn."""
        self._add({"role": "assistant", "content": dedented(text)})

    def read(self, path: str, first: int = 1, last: int = 0) -> None:
        """The agent reads a file, or some of its lines."""
        self._read.add(path)
        lines = self.files[path].splitlines()
        self._use(self._tools.read(path, "\n".join(lines[first - 1 : last or None]), first, last))

    def edit(self, path: str, old: str, new: str) -> None:
        """The agent replaces a text that is there once."""
        if self.files[path].count(old) != 1:
            raise AssertionError(f"{path} has {self.files[path].count(old)} times {old!r}")
        self.files[path] = self.files[path].replace(old, new)
        self._use(self._tools.edit(path, old, new))

    def write(self, path: str, text: str) -> None:
        """The agent writes a file."""
        self.files[path] = text
        self._use(self._tools.write(path, text))

    def run(self, command: str, output: str, code: int = 0) -> None:
        """The agent runs a command that prints something."""
        self._use(self._tools.run(command, dedented(output), code))

    def grep(self, word: str) -> None:
        """The agent looks for a word in all files."""
        hits = [
            f"{path}:{number}:{line}"
            for path, text in sorted(self.files.items())
            for number, line in enumerate(text.splitlines(), 1)
            if word in line
        ]
        self._use(self._tools.run(f"grep -rn '{word}' .", "\n".join(hits), 0 if hits else 1))

    def fill(self, to: int) -> None:
        """Other work, until the session has so many tokens."""
        while self.tokens < to:
            self.background.turn(self)

    def recording(self) -> Recording:
        """All of it."""
        return Recording(
            messages=tuple(self._messages),
            files=dict(self.files),
            tools=self._tools.definitions,
            tokens=self.tokens,
            read=frozenset(self._read),
        )

    def _use(self, use: ToolUse) -> None:
        name, arguments, result = use
        self._calls += 1
        called = call(f"call_{self._calls:04}", name, json.dumps(arguments, ensure_ascii=False))
        self._add({"role": "assistant", "content": self._said, "tool_calls": [called]})
        self._said = ""
        self._add({"role": "tool", "tool_call_id": called["id"], "content": result})

    def _add(self, message: Message) -> None:
        self._messages.append(message)
        self.tokens += message_tokens(message)


def dedented(text: str) -> str:
    """A text without the indentation and the ends that it has as a literal."""
    lines = text.strip("\n").splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines).rstrip()
