"""`foveate db`: the store itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import AsJson, print_json, say
from foveate.cli.phrases import count, shown
from foveate.cli.source import BAD_INPUT, reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import FoveateError, LogError
from foveate.log.events import Event

if TYPE_CHECKING:
    from foveate.store import SessionInfo, Store
    from foveate.store.check import Recompute
    from foveate.store.reader import Reader

db_app = typer.Typer(help="Look after the store: where it is, and whether it is whole.", no_args_is_help=True)


@db_app.command("check")
def check_command(
    calls: Annotated[
        bool, typer.Option("--calls", help="Compute every call again and compare its hash; takes longer.")
    ] = False,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Read everything in a store and list what is wrong with it; exit code 1 if anything is.

    Example: foveate db check --calls
    """
    with reported(), opened(store, system) as found:
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.knowledge.check import check_knowledge
        from foveate.store.check import check

        problems = [*check(found, recompute=_recompute(found) if calls else None), *check_knowledge(found)]
        if as_json:
            print_json([problem._asdict() for problem in problems])
        elif not problems:
            typer.echo(f"{found} is whole: {count(len(found.sessions()), 'session')}, all read, nothing wrong")
        else:
            for problem in problems:
                where = f"{shown(problem.session_id)}, " if problem.session_id is not None else ""
                typer.echo(f"{where}{problem.place}: {shown(problem.what)}")
                typer.echo(f"    {problem.remedy}")
            say(f"{count(len(problems), 'problem')} in {found}")
        if problems:
            raise typer.Exit(BAD_INPUT)


@db_app.command("path")
def path_command(store: StorePlace = None, system: SystemPlace = None) -> None:
    """Print where sessions are kept, and say which rule decided it.

    Example: foveate db path
    """
    with reported():
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.store.engine import url_of
        from foveate.store.location import located

        place = located(store, system=system)
        url = url_of(place.store)
        if url.get_backend_name() == "sqlite" and url.database:
            path = Path(url.database).absolute()
            typer.echo(str(path))
            say(f"decided by {place.rule}; {'the file is there' if path.exists() else 'there is no file yet'}")
        else:
            typer.echo(url.set(drivername="postgresql").render_as_string(hide_password=True))
            say(f"decided by {place.rule}")


def _recompute(store: Store) -> Recompute:
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.budget.tokens import counter_for
    from foveate.compiler.rebuild import rebuilt_calls
    from foveate.session.durable import StoreJournal

    def recompute(info: SessionInfo) -> Iterator[tuple[int, str]]:
        journal = StoreJournal(store, info, owns_store=False)
        counter = counter_for(journal.model)
        for record, found in rebuilt_calls(_until_damaged(store.reader(info), info.events), counter):
            if isinstance(found, FoveateError):
                yield record.number, str(found)
        if info.calls:
            # The newest one also as a program would: from a checkpoint, which must give the same.
            journal.rebuilt(info.calls, counter)

    return recompute


def _until_damaged(reader: Reader, last: int) -> Iterator[Event]:
    """The events before the first that cannot be read, and then its error."""
    done = 0
    try:
        for event in reader.events(0, last):
            yield event
            done += 1
    except LogError:
        # They are read by the thousand: those that came with the damaged one are fine.
        for number in range(done, last):
            yield from reader.events(number, number + 1)
