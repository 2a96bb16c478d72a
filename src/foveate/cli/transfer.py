"""`foveate export`, `fork` and `delete`: sessions are written out, copied, and go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import Output, say, write_bytes
from foveate.cli.phrases import count, shown
from foveate.cli.source import BAD_INPUT, reported
from foveate.cli.store import SessionId, StorePlace, SystemPlace, opened, say_held
from foveate.errors import ConfigError

if TYPE_CHECKING:
    from foveate.store import SessionInfo, Store

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
        say_held(found, session)
        if output is not None:
            say(f"wrote {count(info.events, 'event')} to {output}")


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
        say_held(found, session)
        name = new_id if new_id is not None else _free_name(found, session, at)
        typer.echo(f"forked {shown(session)!r} as {said(fork(found, info, name, at=at))}")


def delete_command(
    session: SessionId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Delete a session and its branches for good: log, calls, search index, and what only they used.

    Example: foveate delete my-session
    """
    with reported(), opened(store, system) as found:
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.store.housekeeping import branches_of, delete

        infos = [found.session(session), *branches_of(found, session)]
        if not yes:
            _confirm(infos, found)
        # The same may be left of each of them.
        left = dict.fromkeys(note for info in infos for note in delete(found, info))
        typer.echo(f"deleted {', '.join(map(said, infos))}")
        for note in left:
            say(note)


def _confirm(infos: list[SessionInfo], store: Store) -> None:
    names = ", ".join(map(said, infos))
    if not sys.stdin.isatty():
        raise ConfigError(f"deleting {names} cannot be undone and there is nobody to ask; give `--yes` if it is meant")
    if not typer.confirm(f"Delete {names} from {store}? It cannot be undone", default=False, err=True):
        say("Nothing was deleted.")
        raise typer.Exit(BAD_INPUT)


def said(info: SessionInfo) -> str:
    """A session in a few words."""
    return f"{shown(info.session_id)!r} ({count(info.messages, 'message')}, {count(info.calls, 'call')})"


def _free_name(store: Store, session: str, at: int | None) -> str:
    """A name for a copy that no session has yet."""
    name = f"{session}-copy" if at is None else f"{session}-at-{at}"
    number = 1
    while store.find(name if number == 1 else f"{name}-{number}") is not None:
        number += 1
    return name if number == 1 else f"{name}-{number}"
