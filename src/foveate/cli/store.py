"""The store of a command: which one is meant, and how it is opened."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import say
from foveate.cli.phrases import count, shown
from foveate.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from foveate.store import Store

# The variables are read where the place is decided, so that an error can say which rule it was.
StorePlace = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE|ADDRESS",
        help="Where sessions are kept: a SQLite file, or postgresql://… (env FOVEATE_STORE)",
        show_default=False,
    ),
]
SystemPlace = Annotated[
    str | None,
    typer.Option(
        "--system",
        metavar="DIR",
        help="A system's folder, which has its sessions in context.db (env FOVEATE_SYSTEM)",
        show_default=False,
    ),
]
SessionId = Annotated[
    str, typer.Argument(metavar="SESSION", help="The id of a session; `foveate sessions` lists them.")
]


def say_held(store: Store, session_id: str | None = None) -> None:
    """Say which events of a session, or of all, wait beside the store and are no part of what is printed."""
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.store.waiting import waiting_events

    for held in store.held.waiting():
        waiting = waiting_events(held) if session_id in (None, held.session_id) else None
        if waiting is None:
            continue
        whose = "this session" if session_id is not None else f"session {shown(held.session_id)!r}"
        if waiting.events is None:
            say(f"events of {whose} wait and are not shown: {waiting.place}")
        else:
            wait, are, they = ("waits", "is", "it is") if waiting.events == 1 else ("wait", "are", "they are")
            say(
                f"{count(waiting.events, 'event')} of {whose} {wait} {waiting.place} and {are} not shown; "
                f"{they} written once the store can be written"
            )


@contextmanager
def opened(
    store: str | None, system: str | None, *, create: bool = False, is_interactive: bool = False
) -> Generator[Store, None, None]:
    """The store that a command is about; made only if `create` says so.

    A command that a person talks to does not wait for a locked store; the others say that they wait.
    """
    # SQLAlchemy takes longer to import than most commands take; `--help` must not wait for it.
    from foveate.store import Store
    from foveate.store.engine import INTERACTIVE_WAIT, WAIT_SECONDS, tell_waits
    from foveate.store.location import located

    place = located(store, system=system)
    try:
        with tell_waits(say):
            found = Store(place.store, create=create, wait=INTERACTIVE_WAIT if is_interactive else WAIT_SECONDS)
    except (StoreError, ConfigError) as error:
        # Who did not name the place wonders where it comes from.
        raise type(error)(str(error) if store is not None else f"{error} (place: {place.rule})") from error
    with found, tell_waits(say):
        yield found
