"""`foveate import`: brings sessions into a store, from logs that any known program recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foveate.cli.output import AsJson, Kind, Tell, print_json, print_table, say, shown_progress
from foveate.cli.phrases import count, shown
from foveate.cli.source import BAD_INPUT, FormatName, Lenient, Sample, on_disk, reported, standard_input
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.cli.transfer import said
from foveate.errors import ConfigError, FoveateError, LogError

if TYPE_CHECKING:
    from foveate.importers.reading import Recorded, Skipped
    from foveate.store import Store
    from foveate.store.arrivals import Arrival

_LONG = 2_000_000
_SHOWN = 5


@dataclass(slots=True)
class _Outcome:
    """What became of one log."""

    name: str
    format: str = ""
    arrivals: list[Arrival] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str | None = None


def import_command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Logs, or folders with logs; - reads standard input.", show_default=False),
    ] = None,
    format: FormatName = "auto",
    new_id: Annotated[
        str | None,
        typer.Option("--as", metavar="ID", help="The name of the session, instead of its own.", show_default=False),
    ] = None,
    lenient: Lenient = False,
    sample: Sample = False,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Bring recorded sessions into a store: logs of coding agents, of frameworks and providers, or own exports.

    The format is recognised; `foveate formats` lists those that are. Each file comes in whole, or not at all; one that
    has grown since is taken in where it was left.

    Example: foveate import ~/.claude/projects
    """
    with reported():
        if bool(paths) == sample:
            raise ConfigError("give the PATH of a log or a folder, - for standard input, or `--sample`")
        with opened(store, system, create=True) as found:
            outcomes = [_sample(found, new_id)] if sample else _all(found, paths or [], format, new_id, lenient=lenient)
            if as_json:
                print_json([_facts(outcome) for outcome in outcomes])
            else:
                _print(outcomes, str(found))
        if any(outcome.error is not None for outcome in outcomes):
            raise typer.Exit(BAD_INPUT)


def _all(store: Store, paths: Sequence[str], format: str, new_id: str | None, *, lenient: bool) -> list[_Outcome]:
    # Only who imports waits for all the formats.
    from foveate.importers.finding import logs_in

    # What is not there is refused by name, with the others still coming in.
    files = [on_disk(path) or Path(path) for path in paths if path != "-"]
    with shown_progress(None, worth=any(path.is_dir() for path in files)) as tell:
        found = logs_in(files, format, looked_at=lambda path: tell(f"looking at {path.name}", None))
    outcomes = [_Outcome(name, error=reason) for name, reason in found.refused]
    if new_id is not None and len(found.logs) + ("-" in paths) > 1:
        raise ConfigError(f"`--as` names one session, and these are {len(found.logs) + ('-' in paths)} logs")
    if "-" in paths:
        outcomes.append(_tried(store, standard_input(lenient=lenient), "standard input", format, new_id, _unheard))
    total = sum(log.size for log in found.logs)
    with shown_progress(total, worth=total > _LONG) as tell:
        done = 0
        for one in found.logs:

            def told(what: str, read: int | None, before: int = done, name: str = one.name) -> None:
                tell(f"{what} {Path(name).name}", before + (read or 0))

            outcomes.append(_tried(store, one.open(lenient=lenient), one.name, one.importer.name, new_id, told))
            done += one.size
    if found.others:
        named = ", ".join(path.name for path in found.others[:_SHOWN]) + (", …" if found.others[_SHOWN:] else "")
        say(f"left out {count(len(found.others), 'file')} of no known format: {named}")
    if not outcomes:
        raise LogError(f"no logs in {', '.join(map(repr, paths))}; `foveate formats` lists what is recognised")
    return outcomes


def _unheard(_what: str, _done: int | None) -> None:
    """Tell nobody: how much comes through a pipe is not known."""


def _tried(
    store: Store, opening: AbstractContextManager[Recorded], name: str, format: str, new_id: str | None, tell: Tell
) -> _Outcome:
    """Import one log; whatever is wrong with it, the others go on."""
    outcome = _Outcome(name, "" if format == "auto" else format)
    try:
        with opening as log:
            outcome.skipped, outcome.notes = log.skipped, log.notes
            _bring(store, log, format, new_id, outcome, tell)
    except FoveateError as error:
        outcome.error = str(error) if name in str(error) else f"{name}: {error}"
    return outcome


def _bring(store: Store, log: Recorded, format: str, new_id: str | None, outcome: _Outcome, tell: Tell) -> None:
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.importers.detection import importer_for
    from foveate.store.bringing import brought

    importer = importer_for(log, format)
    outcome.format = importer.name
    outcome.arrivals = brought(store, importer, log, as_session=new_id, tell=tell)


def _sample(store: Store, new_id: str | None) -> _Outcome:
    # Only who asks for the sample pays for making it.
    from foveate.sample import coding_session, tools
    from foveate.session import Session
    from foveate.store.arrivals import import_lines

    session = Session(budget=8_000, tools=tools(), session_id=new_id or "sample")
    for index, message in enumerate(coding_session()):
        if index and message["role"] == "assistant":
            session.compile()
        session.extend([message])
    return _Outcome("sample", "foveate", [import_lines(store, session.dump().splitlines())])


def _facts(outcome: _Outcome) -> dict[str, Any]:
    return {
        "log": outcome.name,
        "format": outcome.format,
        "sessions": [
            {
                "session_id": arrival.info.session_id,
                "messages": arrival.info.messages,
                "calls": arrival.info.calls,
                "added_events": arrival.added,
                "was_there": arrival.was_there,
            }
            for arrival in outcome.arrivals
        ],
        "skipped": [{"line": one.line, "reason": one.reason} for one in outcome.skipped],
        "notes": outcome.notes,
        "error": outcome.error,
    }


def _print(outcomes: list[_Outcome], store: str) -> None:
    for outcome in outcomes:
        if outcome.skipped:
            _print_skipped(outcome)
        if outcome.error is not None:
            typer.secho(f"foveate: {outcome.error}; nothing of it was imported", err=True, fg=typer.colors.RED)
    if len(outcomes) == 1:
        for note in outcomes[0].notes:
            say(f"{outcomes[0].name}: {note}")
    if len(outcomes) == 1 and len(outcomes[0].arrivals) == 1:
        _print_one(outcomes[0].arrivals[0], store)
        return
    rows = [row for outcome in outcomes for row in _rows(outcome)]
    if rows:
        columns: dict[str, Kind] = {"session": "name", "messages": "number", "": "name", "format": "name"}
        print_table(columns, rows)
    arrivals = [arrival for outcome in outcomes for arrival in outcome.arrivals]
    failed = sum(outcome.error is not None for outcome in outcomes)
    refused = f"; {count(failed, 'file')} refused" if failed else ""
    typer.echo(f"imported {count(len(arrivals), 'session')} into {store}{refused}")


def _print_one(arrival: Arrival, store: str) -> None:
    if not arrival.was_there:
        typer.echo(f"imported {said(arrival.info)} into {store}")
    elif arrival.added:
        typer.echo(f"{said(arrival.info)} has grown by {count(arrival.added, 'event')} in {store}")
    else:
        typer.echo(f"{said(arrival.info)} is in {store} already, nothing is new")


def _print_skipped(outcome: _Outcome) -> None:
    say(f"{outcome.name}: left out {count(len(outcome.skipped), 'broken place')}")
    for one in outcome.skipped[:_SHOWN]:
        say(f"    line {one.line}: {one.reason}")
    if len(outcome.skipped) > _SHOWN:
        say(f"    … and {len(outcome.skipped) - _SHOWN:,} more; `--json` lists all")


def _rows(outcome: _Outcome) -> Iterable[tuple[str, ...]]:
    for arrival in outcome.arrivals:
        info = arrival.info
        state = "new" if not arrival.was_there else "grown" if arrival.added else "unchanged"
        yield shown(info.session_id), f"{info.messages:,}", state, outcome.format
