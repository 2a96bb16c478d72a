"""`foveate import`: brings sessions into a store, from logs that any known program recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from foveate.cli.output import AsJson, Kind, print_json, print_table, say, say_error, shown_progress
from foveate.cli.phrases import count, shown
from foveate.cli.source import BAD_INPUT, FormatName, Lenient, Sample, on_disk, reported, standard_input
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.cli.transfer import said
from foveate.errors import ConfigError, LogError

if TYPE_CHECKING:
    from foveate.importers.reading import SizeLimits
    from foveate.store import Store
    from foveate.store.arrivals import Arrival
    from foveate.store.importing import ImportReport

_LONG = 2_000_000
_SHOWN = 5
_NAMED = 20
_UNITS = {"K": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000}


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
    max_size: Annotated[
        str, typer.Option("--max-size", metavar="SIZE", help="The most bytes of one log, such as 500M or 10G.")
    ] = "2G",
    redact: Annotated[
        bool, typer.Option("--redact", help="Take keys, tokens and passwords out before anything is stored.")
    ] = False,
    sample: Sample = False,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Bring recorded sessions into a store: logs of coding agents, of frameworks and providers, or own exports.

    The format is recognised; `foveate formats` lists those that are. Of a folder only regular files inside of it are
    read, no links that lead elsewhere. Each file comes in whole, or not at all; one that
    has grown since is taken in where it was left.

    Example: foveate import ~/.claude/projects
    """
    with reported():
        if bool(paths) == sample:
            raise ConfigError("give the PATH of a log or a folder, - for standard input, or `--sample`")
        if sample and redact:
            raise ConfigError("`--redact` has no effect on `--sample`, which has no secrets; leave one out")
        reading = _Reading(format, lenient, _limits_of(max_size), redact)
        with opened(store, system, create=True) as found:
            outcomes = [_sample(found, new_id)] if sample else _all(found, paths or [], new_id, reading)
            if as_json:
                print_json([{**outcome.facts, "error": outcome.error} for outcome in outcomes])
            else:
                _print(outcomes, str(found))
        if any(outcome.error is not None for outcome in outcomes):
            raise typer.Exit(BAD_INPUT)


class _Reading(NamedTuple):
    """How logs are to be read."""

    format: str
    lenient: bool
    limits: SizeLimits
    redact: bool


def _limits_of(max_size: str) -> SizeLimits:
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.importers.reading import SizeLimits

    given = max_size.strip().upper().removesuffix("B")
    number, unit = (given[:-1], _UNITS[given[-1]]) if given[-1:] in _UNITS else (given, 1)
    if not (number.isdecimal() and number.isascii() and int(number[:12]) > 0 and len(number) <= 12):
        raise ConfigError(f"`--max-size` is {max_size!r}; give bytes, or a number with K, M, G or T, such as 500M")
    return SizeLimits(size=int(number) * unit, remedy="raise `--max-size`, or split it")


def _all(store: Store, paths: Sequence[str], new_id: str | None, reading: _Reading) -> list[ImportReport]:
    # Only who imports waits for all the formats.
    from foveate.importers.finding import logs_in
    from foveate.store.importing import ImportReport, try_import

    # What is not there is refused by name, with the others still coming in.
    files = [on_disk(path) or Path(path) for path in paths if path != "-"]
    with shown_progress(None, worth=any(path.is_dir() for path in files)) as tell:
        found = logs_in(
            files,
            reading.format,
            lenient=reading.lenient,
            limits=reading.limits,
            looked_at=lambda path: tell(f"looking at {path.name}", None),
        )
    outcomes = [ImportReport(log=name, error=reason) for name, reason in found.refused]
    if new_id is not None and len(found.logs) + ("-" in paths) > 1:
        raise ConfigError(f"`--as` names one session, and these are {len(found.logs) + ('-' in paths)} logs")
    if "-" in paths:
        piped = standard_input(lenient=reading.lenient, limits=reading.limits)
        outcomes.append(
            try_import(store, piped, "standard input", reading.format, as_session=new_id, redact=reading.redact)
        )
    total = sum(log.size for log in found.logs)
    with shown_progress(total, worth=total > _LONG) as tell:
        done = 0
        for one in found.logs:

            def told(what: str, read: int, before: int = done, name: str = one.name) -> None:
                tell(f"{Path(name).name}: {what}", before + read)

            opening = one.open(lenient=reading.lenient)
            outcomes.append(
                try_import(
                    *(store, opening, one.name, one.importer.name),
                    as_session=new_id,
                    redact=reading.redact,
                    tell=told,
                )
            )
            done += one.size
    _print_left_out(found.left_out)
    if found.others:
        named = ", ".join(shown(path.name) for path in found.others[:_SHOWN]) + (", …" if found.others[_SHOWN:] else "")
        say(f"left out {count(len(found.others), 'file')} of no known format: {named}")
    if not outcomes:
        raise LogError(f"no logs in {', '.join(map(repr, paths))}; `foveate formats` lists what is recognised")
    return outcomes


def _print_left_out(left_out: Sequence[tuple[str, str]]) -> None:
    for name, reason in left_out[:_NAMED]:
        say(f"left out {shown(name)}: {reason}")
    if len(left_out) > _NAMED:
        say(f"left out {count(len(left_out) - _NAMED, 'more file')} for such reasons")


def _sample(store: Store, new_id: str | None) -> ImportReport:
    # Only who asks for the sample pays for making it.
    from foveate.importers.reading import Recorded
    from foveate.sample import coding_session, tools
    from foveate.session import Session
    from foveate.store.importing import import_log

    session = Session(budget=8_000, tools=tools(), session_id=new_id or "sample")
    for index, message in enumerate(coding_session()):
        if index and message["role"] == "assistant":
            session.compile()
        session.extend([message])
    return import_log(store, Recorded(name="sample", file=BytesIO(session.dump())))


def _print(outcomes: list[ImportReport], store: str) -> None:
    for outcome in outcomes:
        if outcome.skipped:
            _print_skipped(outcome)
        if outcome.error is not None:
            say_error(f"{outcome.error}; nothing of it was imported")
    if len(outcomes) == 1:
        for note in outcomes[0].notes:
            say(f"{shown(outcomes[0].log)}: {note}")
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


def _print_skipped(outcome: ImportReport) -> None:
    say(f"{shown(outcome.log)}: left out {count(len(outcome.skipped), 'broken place')}")
    for one in outcome.skipped[:_SHOWN]:
        say(f"    line {one.line}: {one.reason}")
    if len(outcome.skipped) > _SHOWN:
        say(f"    … and {len(outcome.skipped) - _SHOWN:,} more; `--json` lists all")


def _rows(outcome: ImportReport) -> Iterable[tuple[str, ...]]:
    for arrival in outcome.arrivals:
        info = arrival.info
        state = "new" if not arrival.was_there else "grown" if arrival.added else "unchanged"
        yield shown(info.session_id), f"{info.messages:,}", state, outcome.format
