"""Output: to a terminal, a pipe or a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from foveate.cli.phrases import with_options
from foveate.errors import FoveateError
from foveate.log.text import printable_lines
from foveate.private_files import create_private_file, keep_mode

Kind = Literal["name", "number", "words"]
# Told what is being done, and how much of it is; None leaves a bar where it is.
Tell = Callable[[str, int | None], None]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to a file instead.", show_default=False),
]


def print_json(value: Any) -> None:
    """Print a value as JSON, other scripts than Latin as they are."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_text(text: str) -> None:
    """Print a text of others: as it is into a file or pipe, without what would move the cursor on a terminal."""
    typer.echo(printable_lines(text) if sys.stdout.isatty() else text)


def say(line: str) -> None:
    """Tell people something that is no part of the output; names of others in it cannot move the cursor."""
    typer.echo(printable_lines(with_options(line)), err=True)


def say_error(problem: str) -> None:
    """Tell people what went wrong, in red; names of others in it cannot move the cursor or pass for another line."""
    first, *more = printable_lines(with_options(problem)).split("\n")
    typer.secho("\n".join([f"foveate: {first}", *(f"  {line}" for line in more)]), err=True, fg=typer.colors.RED)


def print_table(columns: Mapping[str, Kind], rows: Sequence[Sequence[str]]) -> None:
    """Print a table for people: names and numbers are always whole, words are cut to the room that is left."""
    # Rich takes longer to import than most of the work, and only people need it.
    from rich.cells import cell_len
    from rich.console import Console, JustifyMethod
    from rich.table import Table
    from rich.text import Text

    console = Console()
    # A file or a pipe has no width of its own; at 80 columns there would be no room for words.
    room = console.width if console.is_terminal else 140
    cells = dict(zip(columns, zip(*rows, strict=True), strict=True))
    # A column nobody has anything in, such as tags, would only take room.
    widths = {name: max(cell_len(cell) for cell in (name, *cells[name])) for name in columns if any(cells[name])}
    room -= sum(width + 2 for name, width in widths.items() if columns[name] != "words")
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    total = 0
    for name, width in widths.items():
        if columns[name] == "words":
            width = max(min(width, room - 2), 8)
            room -= width + 2
        justify: JustifyMethod = "right" if columns[name] == "number" else "left"
        made.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", width=width)
        total += width + 2
    for place in range(len(rows)):
        made.add_row(*(Text(cells[name][place]) for name in widths))
    # A screen too narrow for the names breaks lines, which is better than cutting the names.
    Console(width=total).print(made, soft_wrap=True)


def write_bytes(chunks: Iterable[bytes], output: str | None) -> None:
    """Write to standard output, or to a file that is there only once it is whole; a new one is for its owner alone."""
    if output is None or output == "-":
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        return
    path = Path(output)
    if path.is_dir() or not path.name:
        raise FoveateError(f"cannot write {output!r}: it is a folder; name a file in it")
    # A name of our own in the same folder: renaming works only within one file system.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with create_private_file(unfinished) as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        keep_mode(unfinished, path)
        unfinished.replace(path)
    except OSError as error:
        raise FoveateError(f"cannot write {output!r}: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def shown_progress(total: int | None, *, worth: bool) -> Generator[Tell, None, None]:
    """A function to tell what is done and how far it is, and a bar on standard error if somebody watches."""
    if not worth or not sys.stderr.isatty():
        yield lambda _what, _done: None
        return
    # Only long work for people needs it.
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("…", total=total)
        yield lambda what, done: bars.update(task, description=what, completed=done)
