"""The work that every framework does here: forty calls of tools, at a budget that what they say exceeds tenfold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from bench.provider import Call, Received, Refusal, Request, ScriptedProvider, Step, serve
from bench.provider.rules import valid, within

BUDGET: Final = 8_000
CALLS: Final = 40
SYSTEM: Final = "You read a project, one file after the other, and say in the end what is wrong with it."
ASKED: Final = "Read all files of the project and tell me which of them has the bug."
READ_SCHEMA: Final = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ_ABOUT: Final = "Read a file of the project."


def read(path: str) -> str:
    """Read a file of the project."""
    number = sum(map(ord, path))
    lines = (
        f"    total_{(number * 7 + line) % 97} = compute_{line % 13}(total_{line % 97}, limit={number * line % 1009})"
        for line in range(150)
    )
    return f"def {path.removesuffix('.py').replace('/', '_')}(values):\n" + "\n".join(lines)


def steps(calls: int = CALLS, *, name: str = "read") -> list[Step]:
    """Every fifth answer calls two tools at once."""
    made = []
    for number in range(calls):
        paths = [f"src/part_{number}.py", *([f"src/also_{number}.py"] if number % 5 == 4 else [])]
        called = tuple(Call(name, {"path": path}) for path in paths)
        made.append(Step(f"Now {' and '.join(paths)}.", called, thinking=f"File {number} is next."))
    return made


class Sequence:
    """The steps in their order, for each of several threads; `which` tells by a request whose it is."""

    def __init__(self, lists: Mapping[str, list[Step]], which: Callable[[Request], str]) -> None:
        self._lists = {name: list(made) for name, made in lists.items()}
        self._which = which

    def __call__(self, request: Request) -> Step | Refusal:
        left = self._lists[self._which(request)]
        return left.pop(0) if left else Step("src/part_7.py has the bug.")


@contextmanager
def provider(
    *, calls: int = CALLS, name: str = "read", budget: int | None = BUDGET, answer: Any = None
) -> Iterator[ScriptedProvider]:
    """A provider that enforces its rules, and the budget, as it counts and reports it."""
    given = answer or Sequence({"": steps(calls, name=name)}, lambda _: "")
    rules = [valid, *([within(budget)] if budget is not None else [])]
    with serve(given, rules=rules) as running:
        yield running
    assert running.complaints == []
    assert running.errors == []


def bodies(running: ScriptedProvider) -> list[dict[str, Any]]:
    """The requests that wanted an answer."""
    return [json.loads(one.body) for one in running.requests]


def tokens(one: Received) -> int:
    return len(one.body) // 4


OPENED: Final[list[Any]] = []


def opened(client: Any) -> Any:
    """A client that is closed when the test ends."""
    OPENED.append(client)
    return client
