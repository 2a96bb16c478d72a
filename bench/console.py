"""What the commands of the benchmark have in common: their console, their logs, and how they refuse."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, Never

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from typer.core import TyperGroup

from bench.logs import data_root
from bench.material import Collected, collected
from foveate.errors import FoveateError

console = Console(stderr=True)

# Where results go that are not those of the page: of one's own logs, or of a part of the benchmark.
OWN_FOLDER: Final = Path("foveate-bench-results")

Logs = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Logs, or folders of logs; by default `FOVEATE_DATA`, else ../shared/data.", show_default=False
    ),
]


class Refusing(TyperGroup):
    """What a command refuses is said without a traceback."""

    # The class of the context is no public name of typer's.
    def invoke(self, ctx: Any) -> object:
        try:
            return super().invoke(ctx)
        except FoveateError as error:
            refuse(str(error))


def refuse(text: str) -> Never:
    """End the command with an error message."""
    console.print(text, style="red", markup=False)
    raise typer.Exit(1)


def command_line() -> str:
    """What was typed, as one would type it again in the repository."""
    return shlex.join(["foveate-bench", *sys.argv[1:]])


def log_paths(logs: Sequence[Path] | None) -> list[Path]:
    """The logs that were named, else the recorded ones; refuses what is not there."""
    root = data_root()
    paths = list(logs) if logs else [root] if root is not None else []
    if not paths:
        refuse("no recorded logs: name a folder of them, or set `FOVEATE_DATA`")
    missing = [path for path in paths if not path.exists()]
    if missing:
        refuse(f"{missing[0]} does not exist; name a log or a folder of logs")
    return paths


def collect_sessions(paths: Sequence[Path]) -> Collected:
    """The sessions of some logs; refuses if there are none."""
    material = collected(paths)
    if not material.sessions:
        refuse(f"no sessions with model calls in {', '.join(map(str, paths))}; `foveate formats` lists what is read")
    for text in material.left_out:
        console.print(f"left out: {text}", style="yellow", markup=False)
    console.print(f"{len(material.sessions)} sessions of {material.files} logs, {material.duplicates} duplicates")
    return material


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar for long work."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(what, total=None)

        def told(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{what} {name}"[:60])

        yield told
