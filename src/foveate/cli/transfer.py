"""`foveate export`, `import`, `fork` and `delete`: sessions come, go and are copied."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import Output, counted, say, shown_progress, write_bytes
from foveate.cli.phrases import count, shown
from foveate.cli.source import BAD_INPUT, Sample, reported
from foveate.cli.store import SessionId, StorePlace, SystemPlace, opened
from foveate.errors import ConfigError, FoveateError, LogError

if TYPE_CHECKING:
    from foveate.store import SessionInfo, Store

_LONG = 2_000_000

NewId = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="ID", help="The name of the new session, instead of its own or one made up.", show_default=False
    ),
]


def export_command(
    session: SessionId, output: Output = None, store: StorePlace = None, system: SystemPlace = None
) -> None:
    """Print the log of a session, one event of JSON per line; `foveate import` reads it.

    Example: foveate export my-session -o my-session.jsonl
    """
    with reported(), opened(store, system) as found:
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.store.housekeeping import export_lines

        info = found.session(session)
        write_bytes(export_lines(found, info), output)
        if output is not None:
            say(f"wrote {count(info.events, 'event')} to {output}")


def import_command(
    source: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="What `foveate export` wrote; - reads standard input."),
    ] = None,
    new_id: NewId = None,
    sample: Sample = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Bring a session into a store: all of it, or nothing if one line is wrong.

    Example: foveate import my-session.jsonl --as copy
    """
    with reported():
        if (source is not None) == sample:
            raise ConfigError("give a FILE that `foveate export` wrote, - for standard input, or `--sample`")
        with opened(store, system, create=True) as found:
            info = _imported_sample(found, new_id) if source is None else _imported(found, source, new_id)
            typer.echo(f"imported {_said(info)} into {found}")


def fork_command(
    session: SessionId,
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="N", help="The last message that the copy has; else all.", show_default=False),
    ] = None,
    new_id: NewId = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Copy a session up to a message, to go on from there in another way.

    Example: foveate fork my-session --at 12
    """
    with reported(), opened(store, system) as found:
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.store.housekeeping import fork

        info = found.session(session)
        name = new_id if new_id is not None else _free_name(found, session, at)
        typer.echo(f"forked {shown(session)!r} as {_said(fork(found, info, name, at=at))}")


def delete_command(
    session: SessionId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Delete a session for good: its log, its calls, and what only it used.

    Example: foveate delete my-session
    """
    with reported(), opened(store, system) as found:
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.store.housekeeping import delete

        info = found.session(session)
        if not yes:
            _confirm(info, found)
        delete(found, info)
        typer.echo(f"deleted {_said(info)}")


def _confirm(info: SessionInfo, store: Store) -> None:
    if not sys.stdin.isatty():
        raise ConfigError(
            f"deleting {info.session_id!r} cannot be undone and there is nobody to ask; give `--yes` if it is meant"
        )
    if not typer.confirm(f"Delete {_said(info)} from {store}? It cannot be undone", default=False, err=True):
        say("Nothing was deleted.")
        raise typer.Exit(BAD_INPUT)


def _said(info: SessionInfo) -> str:
    return f"{shown(info.session_id)!r} ({count(info.messages, 'message')}, {count(info.calls, 'call')})"


def _imported(store: Store, source: str, new_id: str | None) -> SessionInfo:
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.store.housekeeping import import_lines

    with _lines(source) as (lines, size), shown_progress(size, worth=size is None or size > _LONG) as tell:

        def indexing(what: str, done: int) -> None:
            if what != "events":
                tell(f"{done:,} {what}", None)

        try:
            return import_lines(store, counted(lines, tell), as_session=new_id, progress=indexing)
        except LogError as error:
            name = "standard input" if source == "-" else source
            raise LogError(f"{name}: {error}; nothing was imported") from error


def _imported_sample(store: Store, new_id: str | None) -> SessionInfo:
    # Only who asks for the sample pays for making it.
    from foveate.sample import coding_session, tools
    from foveate.session import Session
    from foveate.store.housekeeping import import_lines

    session = Session(budget=8_000, tools=tools(), session_id=new_id or "sample")
    for index, message in enumerate(coding_session()):
        if index and message["role"] == "assistant":
            session.compile()
        session.extend([message])
    return import_lines(store, session.dump().splitlines())


@contextmanager
def _lines(source: str) -> Generator[tuple[Iterable[bytes], int | None], None, None]:
    """The lines of a file and how many bytes they are, if that is known."""
    if source == "-":
        yield sys.stdin.buffer, None
        return
    try:
        file = Path(source).open("rb")  # noqa: SIM115  closed below; only opening it is our error to explain
    except OSError as error:
        raise FoveateError(f"cannot read {source!r}: {error}") from error
    with file:
        yield file, Path(source).stat().st_size


def _free_name(store: Store, session: str, at: int | None) -> str:
    """A name for a copy that no session has yet."""
    name = f"{session}-copy" if at is None else f"{session}-at-{at}"
    number = 1
    while store.find(name if number == 1 else f"{name}-{number}") is not None:
        number += 1
    return name if number == 1 else f"{name}-{number}"
