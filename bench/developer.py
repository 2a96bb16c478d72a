"""A developer that is made up: an agent at work on a project whose files stay as they are until it edits them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from bench.agent import ERRORS, PACKAGES, VERBS, Agent
from bench.messages import Message, call

Action = tuple[str, dict[str, Any], str]
"""A tool, its arguments and its result."""

_COMMANDS: Final = ("git log --stat", "git diff main", "make build", "ls -R src", "docker compose logs")
_PROSE: Final = (
    *("the", "a", "of", "and", "to", "in", "it", "is", "that", "this", "for", "with", "as", "on", "by", "from", "not"),
    *("when", "then", "only", "also", "still", "here", "there", "before", "after", "first", "next", "value", "list"),
    *("call", "test", "file", "line", "case", "order", "state", "result", "change", "check", "path", "name", "more"),
    *("could", "should", "must", "keeps", "gives", "takes", "reads", "writes", "fails", "holds", "ends", "begins"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a developer works: pairs are the least and the most of something, numbers the share of times it happens.

    Set so that sessions come out roughly as recorded ones: `python -m bench.likeness`.
    """

    # A turn: files it is about, and rounds of looking, changing and testing.
    focus: tuple[int, int] = (2, 4)
    rounds: tuple[int, int] = (3, 10)
    on_task: float = 0.75
    known_file: float = 0.5
    # A round.
    search: float = 0.5
    read_again: float = 0.35
    read_two: float = 0.15
    edits: tuple[int, int] = (1, 3)
    aside: float = 0.35
    breaks: float = 0.35
    fails_near: float = 0.5
    repairs_at_once: float = 0.7
    repairs_later: float = 0.4
    attempts: tuple[int, int] = (1, 3)
    # Sizes, in lines; what commands print in characters, what is said in words.
    longest_read: int = 400
    partly: float = 0.4
    part: tuple[int, int] = (40, 200)
    replaced: tuple[int, int] = (1, 14)
    added: tuple[int, int] = (0, 8)
    left_alone: float = 0.5
    shows_edit: float = 0.4
    passed: tuple[int, int] = (0, 12)
    output: tuple[int, int] = (200, 2_000)
    long_output: tuple[int, int] = (15_000, 60_000)
    is_long: float = 0.15
    thought: tuple[int, int] = (4, 40)
    # Files: median length in lines, how widely it spreads, and the names in them; a statement names one of its own file
    # or one of a file that was worked on lately or ever.
    length: tuple[float, float] = (150.0, 0.7)
    longest_file: int = 900
    names: tuple[int, int] = (15, 60)
    shared_names: float = 0.3
    own_names: float = 0.6
    lately: int = 8
    lately_named: float = 0.6


class Developer(Agent):
    """Comes back to old files and to errors that it put off; what it reads and finds is what the files hold."""

    def __init__(self, random: Random, habits: Habits | None = None) -> None:
        super().__init__(random)
        self._habits = habits or Habits()
        self._project: list[_File] = []
        self._visited: list[_File] = []
        self._focus: list[_File] = []
        self._put_off: list[_Failing] = []

    def request(self) -> str:
        choice = self.random.choice
        self._focus = [self._next_file() for _ in range(self._between(self._habits.focus))]
        first, last = self._focus[0], self._focus[-1]
        return (
            f"Please let `{choice(first.names)}` in {first.path} {choice(VERBS)} what `{choice(last.names)}` gives, "
            f"ticket SHOP-{self.random.randint(1000, 99999)}. Keep the signatures, add no dependency, and see that no "
            f"more than {self.random.randint(2, 90)} are open at once. {self._prose(20)}"
        )

    def answer(self) -> str:
        told = ", ".join(f"`{self.random.choice(file.names)}` in {file.path}" for file in self._focus)
        return f"Done: {told}. {self._prose(30)}"

    def turn(self) -> Iterator[list[Message]]:
        """The exchanges that it takes to serve a request."""
        for _ in range(self._between(self._habits.rounds)):
            yield from self._round()

    def _round(self) -> Iterator[list[Message]]:
        """Look, change, test; go after what fails, now or later."""
        habits = self._habits
        file = self._chosen()
        if self._happens(habits.search):
            yield self._exchange(self._search(file))
        if file not in self._visited or self._happens(habits.read_again):
            both = [file, self._next_file()] if self._happens(habits.read_two) else [file]
            yield self._exchange(*map(self._read, both))
        self._visited.append(file)
        for _ in range(self._between(habits.edits)):
            yield self._exchange(self._edit(file))
        if self._happens(habits.aside):
            yield self._exchange(self._aside())
        failing = self._failing(file) if self._happens(habits.breaks) else None
        yield self._exchange(self._run(failing.command if failing else self._test(file), file, failing))
        if failing is not None:
            self._put_off.append(failing)
            if self._happens(habits.repairs_at_once):
                yield from self._repair(failing)
        elif self._put_off and self._happens(habits.repairs_later):
            yield from self._repair(self._put_off[0])

    def _repair(self, failing: _Failing) -> Iterator[list[Message]]:
        for attempt in range(self._between(self._habits.attempts), 0, -1):
            yield self._exchange(self._read(failing.cause))
            yield self._exchange(self._edit(failing.cause))
            yield self._exchange(self._run(failing.command, failing.cause, failing if attempt > 1 else None))
        self._put_off.remove(failing)

    def _exchange(self, *actions: Action) -> list[Message]:
        called: list[Message] = []
        results: list[Message] = []
        for tool, arguments, result in actions:
            self._calls += 1
            called.append(call(f"call_{self._calls:06d}", tool, json.dumps(arguments)))
            results.append({"role": "tool", "tool_call_id": called[-1]["id"], "content": result})
        thought = self._prose(self._between(self._habits.thought))
        return [{"role": "assistant", "content": thought, "tool_calls": called}, *results]

    def _search(self, file: _File) -> Action:
        name = self.random.choice(file.names)
        hits = [
            f"{one.path}:{number}:{line}"
            for one in self._project
            for number, line in enumerate(one.lines, 1)
            if name in line
        ]
        return "grep", {"pattern": name, "path": "src"}, "\n".join(hits) or "no matches"

    def _read(self, file: _File) -> Action:
        arguments: dict[str, Any] = {"path": file.path}
        start, end = 1, len(file.lines)
        if end > self._habits.longest_read or self._happens(self._habits.partly):
            start = self.random.randint(1, end)
            end = min(end, start + self._between(self._habits.part))
            arguments |= {"start_line": start, "end_line": end}
        numbered = (f"{number:>4} {file.lines[number - 1]}" for number in range(start, end + 1))
        return "read_file", arguments, "\n".join(numbered)

    def _edit(self, file: _File) -> Action:
        habits = self._habits
        size = min(len(file.lines), self._between(habits.replaced))
        start = self.random.randint(0, len(file.lines) - size)
        old = file.lines[start : start + size]
        new = [line if self._happens(habits.left_alone) else self._statement(file.names) for line in old]
        new += [self._statement(file.names) for _ in range(self._between(habits.added))]
        file.lines[start : start + size] = new
        around = file.lines[max(0, start - 3) : start + len(new) + 3] if self._happens(habits.shows_edit) else []
        arguments = {"path": file.path, "old": "\n".join(old), "new": "\n".join(new)}
        return "edit_file", arguments, "\n".join([f"{file.path} was changed", *around])

    def _aside(self) -> Action:
        """A command that is run for its output, now and then a very long one."""
        size = self._habits.long_output if self._happens(self._habits.is_long) else self._habits.output
        output = self._lines(self._between(size), self._logged)
        return "run_command", {"command": self.random.choice(_COMMANDS)}, f"{output}\nexit code 0"

    def _logged(self, number: int) -> str:
        file = self.random.choice(self._project)
        return f"[{number:>5}] {file.path} | {self.random.randint(1, 900)} {self._prose(3)}"

    def _failing(self, file: _File) -> _Failing:
        cause = self.random.choice(self._focus) if self._happens(self._habits.fails_near) else self._next_file()
        error = f"{self.random.choice(ERRORS)}: {self.random.choice(cause.names)} got {self.random.randint(0, 10**6)}"
        return _Failing(command=self._test(file), cause=cause, error=error)

    def _test(self, file: _File) -> str:
        return f"pytest -q tests/test_{Path(file.path).stem}.py -k {self.random.choice(file.names)}"

    def _run(self, command: str, file: _File, failing: _Failing | None) -> Action:
        random = self.random
        printed = [
            f"{file.path}::test_{random.choice(file.names)} PASSED" for _ in range(self._between(self._habits.passed))
        ]
        if failing is None:
            printed += [f"{random.randint(1, 90)} passed in {random.random() * 20:.2f}s", "exit code 0"]
        else:
            line = random.randint(1, len(failing.cause.lines))
            place = f'  File "{failing.cause.path}", line {line}'
            quoted = f"    {failing.cause.lines[line - 1].strip()}"
            printed += ["Traceback (most recent call last):", place, quoted, failing.error, "exit code 1"]
        return "run_command", {"command": command}, "\n".join(printed)

    def _chosen(self) -> _File:
        """Mostly a file of the task, else one of long ago or a new one."""
        return self.random.choice(self._focus) if self._happens(self._habits.on_task) else self._next_file()

    def _next_file(self) -> _File:
        if not self._project or not self._happens(self._habits.known_file):
            self._project.append(self._new_file())
            return self._project[-1]
        return self.random.choice(self._project)

    def _new_file(self) -> _File:
        habits = self._habits
        path = f"src/{self.random.choice(PACKAGES)}/{self._word()}_{self.random.randint(1, 999)}.py"
        names = [
            self._name() if self._happens(habits.shared_names) else f"{self.random.choice(VERBS)}_{self._word()}"
            for _ in range(self._between(habits.names))
        ]
        median, spread = habits.length
        length = min(habits.longest_file, max(8, int(self.random.lognormvariate(math.log(median), spread))))
        return _File(path=path, lines=[self._statement(names) for _ in range(length)], names=names)

    def _statement(self, names: Sequence[str]) -> str:
        random = self.random
        name = random.choice(names if self._happens(self._habits.own_names) else self._foreign_names())
        match random.choices(("assign", "branch", "return", "comment", "count", "define"), (4, 2, 2, 2, 3, 1))[0]:
            case "assign":
                return f"    {self._word()} = {name}({self._word()}, {random.randint(1, 5000)})"
            case "branch":
                return f"    if {name}({self._word()}) > {random.randint(1, 90)}:"
            case "return":
                return f"        return {name}({random.choice(names)})"
            case "comment":
                return f"    # {self._prose(8)}"
            case "count":
                return f"    {self._word()} += {random.randint(1, 90)}"
            case _:
                return f"def {name}({self._word()}, {self._word()}):"

    def _foreign_names(self) -> Sequence[str]:
        """Those of another file, worked on lately or long ago."""
        visited = self._visited[-self._habits.lately :] if self._happens(self._habits.lately_named) else self._visited
        return self.random.choice(visited).names if visited else [self._name()]

    def _prose(self, words: int) -> str:
        return " ".join(self.random.choice(_PROSE) for _ in range(words))

    def _between(self, limits: tuple[int, int]) -> int:
        return self.random.randint(*limits)

    def _happens(self, share: float) -> bool:
        return self.random.random() < share


@dataclass(slots=True, eq=False, kw_only=True)
class _File:
    """A file of the project: its lines, and the names that they are about."""

    path: str
    lines: list[str]
    names: list[str]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Failing:
    """A test that fails, what it says, and the file in which the cause is."""

    command: str
    cause: _File
    error: str
