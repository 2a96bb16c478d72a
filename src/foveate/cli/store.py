"""The store of a command: which one is meant, and how it is opened."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

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


@contextmanager
def opened(store: str | None, system: str | None, *, create: bool = False) -> Generator[Store, None, None]:
    """The store that a command is about; made only if `create` says so."""
    # SQLAlchemy takes longer to import than most commands take; `--help` must not wait for it.
    from foveate.store import Store
    from foveate.store.location import located

    place = located(store, system=system)
    try:
        found = Store(place.store, create=create)
    except (StoreError, ConfigError) as error:
        # Who did not name the place wonders where it comes from.
        raise type(error)(str(error) if store is not None else f"{error} (place: {place.rule})") from error
    with found:
        yield found
