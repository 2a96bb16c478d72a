"""`foveate db`: the store itself."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import AsJson, print_json, say
from foveate.cli.phrases import count, shown
from foveate.cli.source import BAD_INPUT, BUSY, reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import FoveateError, LogError, StoreError
from foveate.log.events import Event
from foveate.private_files import is_open_to_others

if TYPE_CHECKING:
    from foveate.store import SessionInfo, Store
    from foveate.store.check import Problem, Recompute
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
    """Read everything in a store and list what is wrong with it; exit code 1 if anything is, 5 if it is locked.

    Example: foveate db check --calls
    """
    with reported():
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.store.check import held_problems
        from foveate.store.engine import is_busy, is_damage

        waiting: list[Problem] = []
        try:
            with opened(store, system) as found:
                # They wait beside the store, so that no lock of it hides them.
                waiting += held_problems(found)
                _check(found, calls=calls, as_json=as_json)
        except StoreError as error:
            if is_busy(error):
                for one in waiting:
                    say(f"session {one.session_id!r}, {one.place}: {one.what}" if one.session_id else one.what)
                say("not checked: the store is busy (locked by another process); run it again when it is free")
                raise typer.Exit(BUSY) from None
            if not is_damage(error):
                raise
            _check_wreck(error, store, system, as_json=as_json)


def _check(store: Store, *, calls: bool, as_json: bool) -> None:
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.knowledge.check import check_knowledge
    from foveate.store.check import check

    problems = [*check(store, recompute=_recompute(store) if calls else None), *check_knowledge(store)]
    if not problems and not as_json:
        typer.echo(f"{store} is whole: {count(len(store.sessions()), 'session')}, all read, nothing wrong")
    else:
        _print(problems, str(store), as_json=as_json)
    _say_notes(store)
    if problems:
        raise typer.Exit(BAD_INPUT)


def _check_wreck(error: StoreError, store: str | None, system: str | None, *, as_json: bool) -> None:
    """Say what is left of a store that is too damaged to be opened."""
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.store.engine import shown as shown_url
    from foveate.store.engine import url_of
    from foveate.store.location import located
    from foveate.store.wreck import check_wreck

    url = url_of(located(store, system=system).store)
    if url.get_backend_name() != "sqlite" or not url.database or "not a database" in str(error):
        raise error
    # What is said behind that names this command.
    _, _, reason = str(error).partition(f"{shown_url(url)}: ")
    _print(check_wreck(Path(url.database), reason.partition(";")[0]), shown_url(url), as_json=as_json)
    raise typer.Exit(BAD_INPUT)


def _print(problems: Sequence[Problem], place: str, *, as_json: bool) -> None:
    if as_json:
        print_json([problem._asdict() for problem in problems])
        return
    for problem in problems:
        where = f"{shown(problem.session_id)}, " if problem.session_id is not None else ""
        typer.echo(f"{where}{problem.place}: {shown(problem.what)}")
        typer.echo(f"    {problem.remedy}")
    say(f"{count(len(problems), 'problem')} in {place}")


@db_app.command("seal")
def seal_command(store: StorePlace = None, system: SystemPlace = None) -> None:
    """Give checksums to the events that Foveate 0.1 wrote, in every session that has no problem.

    Run `foveate db check --calls` first: it compares the texts with the hashes of recorded requests, and from then on
    the checksums show whether anything changes.

    Example: foveate db seal
    """
    with reported(), opened(store, system) as found:
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.store.check import check
        from foveate.store.sealing import count_unsealed, seal_session

        unsealed = count_unsealed(found)
        damaged = {problem.session_id for problem in check(found)} if unsealed else set()
        left = 0
        for info in found.sessions():
            if info.key not in unsealed:
                continue
            if info.session_id in damaged:
                left += 1
                say(f"{shown(info.session_id)} was left as it is: `foveate db check` lists what is wrong with it")
            else:
                typer.echo(f"{shown(info.session_id)}: {count(seal_session(found, info), 'event')} sealed")
        if not unsealed:
            typer.echo(f"every event in {found} has a checksum")
        if left:
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


def _say_notes(store: Store) -> None:
    """Say what is no damage, but good to know."""
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.store.sealing import count_unsealed

    try:
        unsealed = sum(count_unsealed(store).values())
    except StoreError:
        # The list of problems has it.
        unsealed = 0
    if unsealed:
        say(f"{count(unsealed, 'event')} were written by Foveate 0.1 and have no checksum; `foveate db seal` adds them")
    if store.file is not None and store.file.exists() and is_open_to_others(store.file):
        mode = f"{stat.S_IMODE(store.file.stat().st_mode):o}"
        say(f"other users may read {store} (mode {mode}); `chmod 600` it and its -wal and -shm to keep it to yourself")


def _recompute(store: Store) -> Recompute:
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.budget.tokens import counter_for
    from foveate.compile.rebuild import rebuilt_calls
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
