"""An agent that is made up: what it asks of its tools, and what these answer; the same for the same `Random`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from bench.messages import Message, call

VERBS = ("parse", "load", "merge", "render", "resolve", "flush", "retry", "validate", "encode", "schedule", "split")
_SYLLABLES = ("ba", "cor", "den", "fi", "gul", "hem", "ist", "jo", "kra", "lum", "mer", "nov", "or", "pal", "qui")
PACKAGES = ("billing", "gateway", "storage", "workers", "search", "reports", "identity", "shipping")
ERRORS = ("ValueError", "KeyError", "TimeoutError", "AssertionError", "TypeError")
_FAILING = 0.3
_RECURRING = 0.8
_RECENT = 0.85
_KNOWN = 4_000


class Agent:
    """Makes up texts; names recur, as they do in work, while new ones keep coming."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._calls = 0
        self._names: list[str] = []
        self._paths: list[str] = []
        self._files: list[str] = []

    def request(self) -> str:
        random = self.random
        self._files = [self._path() for _ in range(random.randint(3, 7))]
        return (
            f"Please make `{self._name()}` in {self._files[0]} handle {random.randint(2, 900)} of them at once, ticket "
            f"SHOP-{random.randint(1000, 99999)}. We looked at {random.choice(self._paths)} before; do not change what "
            f"`{self._name()}` returns, and keep {self._files[-1]} under {random.randint(100, 600)} lines."
        )

    def answer(self) -> str:
        return f"Done: `{self._name()}` in {self._files[0]} is changed, {self.random.randint(3, 240)} tests pass."

    def exchange(self) -> list[Message]:
        self._calls += 1
        tool, arguments, result = self._action()
        called = call(f"call_{self._calls:06d}", tool, json.dumps(arguments))
        thought = f"Next, {self._name()} in {arguments.get('path', 'the tests')}."
        return [
            {"role": "assistant", "content": thought, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": called["id"], "content": result},
        ]

    def _action(self) -> tuple[str, dict[str, Any], str]:
        random = self.random
        path, name = random.choice(self._files), self._name()
        size = random.randint(130, 1_620)
        match random.choices(("read", "test", "grep", "edit"), (4, 3, 2, 2))[0]:
            case "read":
                return "read_file", {"path": path}, self._lines(size, self._code)
            case "test":
                command = f"pytest -q tests/test_{Path(path).stem}.py -k {name}"
                return "run_command", {"command": command}, self._tested(size, path)
            case "grep":
                return "grep", {"pattern": name, "path": path.rpartition("/")[0]}, self._lines(size, self._hit)
            case _:
                new = self._lines(random.randint(40, 800), self._code)
                arguments = {"path": path, "old": self._code(random.randint(1, 400)), "new": new}
                return "edit_file", arguments, f"{path} was changed\n{new}"

    def _tested(self, size: int, path: str) -> str:
        random = self.random
        output = self._lines(size, lambda number: f"{path}::test_{self._name()} PASSED [{number:>3}%]")
        if random.random() < _FAILING:
            line = random.randint(1, 900)
            output += f'\nTraceback (most recent call last):\n  File "{path}", line {line}, in {self._name()}\n'
            return f"{output}{random.choice(ERRORS)}: {self._name()} got {random.randint(0, 10**6)}\nexit code 1"
        return f"{output}\n{random.randint(1, 90)} passed in {random.random() * 20:.2f}s\nexit code 0"

    def _lines(self, size: int, make: Callable[[int], str]) -> str:
        lines: list[str] = []
        while size > 0:
            lines.append(make(len(lines) + 1))
            size -= len(lines[-1])
        return "\n".join(lines)

    def _code(self, number: int) -> str:
        called = f"{self._name()}({self._word()}, {self.random.randint(1, 5000)})  # {self._word()} {self._word()}"
        return f"{number:>4} {' ' * self.random.choice((4, 8))}{self._name()} = {called}"

    def _hit(self, _: int) -> str:
        return f"{self._path()}:{self.random.randint(1, 900)}: return {self._name()}[{self.random.randint(0, 99)}]"

    def _name(self) -> str:
        return self._recurring(self._names, f"{self.random.choice(VERBS)}_{self._word()}")

    def _path(self) -> str:
        new = f"src/{self.random.choice(PACKAGES)}/{self._word()}_{self.random.randint(1, 999)}.py"
        return self._recurring(self._paths, new)

    def _word(self) -> str:
        """A word that no vocabulary has whole, nor the tokenizer's memory of words: there are a million of them."""
        return "".join(self.random.choices(_SYLLABLES, k=self.random.randint(2, 5)))

    def _recurring(self, known: list[str], new: str) -> str:
        """Mostly something said before, near or far; else something new."""
        if known and self.random.random() < _RECURRING:
            return self.random.choice(known[-60:] if self.random.random() < _RECENT else known)
        known.append(new)
        del known[:-_KNOWN]
        return new
