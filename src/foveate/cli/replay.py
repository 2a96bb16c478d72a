"""`foveate replay`: what recorded sessions would have cost and kept under other policies."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from foveate.cli.output import AsJson, Kind, print_json, print_table, say, shown_progress, write_bytes
from foveate.cli.phrases import count, shown
from foveate.cli.source import BAD_INPUT, FormatName, Lenient, Sample, material, on_disk, reported, standard_input
from foveate.cli.store import StorePlace, SystemPlace
from foveate.cli.views import Config
from foveate.errors import ConfigError, LogError

if TYPE_CHECKING:
    from foveate.lab.result import Result
    from foveate.lab.sources import Source
    from foveate.lab.table import Table

_LISTED = 12


Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Logs, folders with logs, sessions of the store, or - for standard input.",
        show_default=False,
    ),
]
PolicyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        metavar="NAME",
        help="A policy to compare, may be repeated; `foveate policies` lists them. "
        "[default: foveate, raw, recorded, mask-10, drop-steps]",
        show_default=False,
    ),
]
BudgetOfLogs = Annotated[
    int | None,
    typer.Option(
        "--budget",
        "-b",
        min=1,
        help="The most input tokens of what a log shows; what it does not show comes on top. [default: the window]",
        show_default=False,
    ),
]
PricesOf = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help="Whose prices, window and cache rules. [default: the recorded model]", show_default=False
    ),
]


def replay_command(
    sources: Sources = None,
    policy: PolicyNames = None,
    model: PricesOf = None,
    budget: BudgetOfLogs = None,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="Write a page with plots, too.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    full: Annotated[bool, typer.Option("--full", help="List every session with its recorded usage.")] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="How many processes. [default: one per core]")
    ] = None,
    format: FormatName = "auto",
    lenient: Lenient = False,
    sample: Sample = False,
    config: Config = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Replay recorded sessions under several policies: tokens, cache hits, dollars, and what each would have lost.

    Every recorded model call is made again under every policy, without calling a model: nothing leaves this machine.
    Where a log has the provider's own numbers, they correct ours and are printed beside them.

    Example: foveate replay ~/.claude/projects --policy foveate --policy raw --html report.html
    """
    with reported():
        # Only who replays waits for the lab.
        from foveate.lab.config import config_at
        from foveate.lab.replay import replay
        from foveate.lab.result import as_dict

        options = config_at(Path(config) if config is not None else None)
        with ExitStack() as stack:
            found = _found(stack, sources or [], _Reading(format, lenient, store, system), sample=sample)
            with shown_progress(len(found), worth=True) as tell:
                result = replay(
                    found,
                    policies=policy or (),
                    model=model,
                    budget=budget,
                    config=options,
                    jobs=jobs,
                    progress=lambda done, _total, name: tell(f"replayed {shown(Path(name).name)}", done),
                )
        if as_json:
            print_json(as_dict(result))
        else:
            _print(result, full=full)
        if html is not None:
            # Last: if it cannot be written, what took so long is on the screen already.
            _write_page(result, html)
        if not result.sessions:
            raise typer.Exit(BAD_INPUT)


class _Reading(NamedTuple):
    """How sources are to be read."""

    format: str
    lenient: bool
    store: str | None
    system: str | None


def _found(stack: ExitStack, names: list[str], reading: _Reading, *, sample: bool) -> list[Source]:
    """The logs to be replayed; files are read where they are replayed, the rest now."""
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.lab.sources import given, sources_in

    if bool(names) == sample:
        raise ConfigError("give a SOURCE: a log, a folder with logs, a session, - for standard input, or `--sample`")
    if sample:
        found = stack.enter_context(material(None, sample=True))
        return [given(found.recording)]
    there = {name: path for name in names if name != "-" and (path := on_disk(name)) is not None}
    paths = list(there.values())
    with shown_progress(None, worth=any(path.is_dir() for path in paths)) as tell:
        tell("looking for logs", None)
        logs = sources_in(paths, reading.format, lenient=reading.lenient)
    if paths and not logs and len(paths) == len(names):
        raise LogError(f"no logs in {', '.join(map(repr, names))}; `foveate formats` lists what is recognised")
    if "-" in names:
        logs += _piped(stack, reading)
    for name in names:
        if name != "-" and name not in there:
            session = stack.enter_context(material(name, store=reading.store, system=reading.system))
            logs.append(given(session.recording))
    return logs


def _piped(stack: ExitStack, reading: _Reading) -> list[Source]:
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.importers.detection import read_sessions
    from foveate.lab.sources import given

    log = stack.enter_context(standard_input(lenient=reading.lenient))
    return [given(recording) for recording in read_sessions(log, reading.format)]


def _write_page(result: Result, html: str) -> None:
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.lab.page import page

    write_bytes([page(result).encode()], html)
    say(f"wrote {html}")


def _print(result: Result, *, full: bool) -> None:
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.lab.table import recorded_table, table

    limit = (
        f"at most {result.budget:,} tokens of what a log shows"
        if result.budget is not None
        else "up to the model's window"
    )
    prices = f"at the prices of {result.model or 'each recorded model'}"
    said = f"{count(len(result.sessions), 'session')}, {count(result.calls, 'call')}, {limit}, {prices}"
    typer.secho(f"{said} ({result.prices_from})", bold=True)
    if result.sessions:
        _print_table(table(result))
    recorded = recorded_table(result)
    if recorded.rows:
        typer.echo("")
        _print_recorded(result, recorded, full=full)
    _print_problems(result)
    if result.left_out:
        say(f"{count(len(result.left_out), 'session or file')} left out:")
        for one in result.left_out if full else result.left_out[:_LISTED]:
            said = one.reason if one.name in one.reason else f"{one.name}: {one.reason}"
            say(f"    {shown(said)}")
        if len(result.left_out) > _LISTED and not full:
            say(f"    … and {len(result.left_out) - _LISTED:,} more; `--full` lists all")


def _print_recorded(result: Result, recorded: Table, *, full: bool) -> None:
    """What the provider counted, beside what was simulated."""
    error = result.share_error
    share = f"; the simulated cached share is off by {error:.3f} on average" if error is not None else ""
    typer.secho(f"{count(len(recorded.rows), 'session')} with recorded usage{share}", bold=True)
    rows = recorded.rows if full else recorded.rows[:_LISTED]
    _print_table(recorded._replace(rows=rows))
    if len(rows) < len(recorded.rows):
        typer.echo(f"… and {len(recorded.rows) - len(rows):,} more; `--full` lists all")


def _print_table(made: Table) -> None:
    words = ("cause", "session")
    kinds: list[Kind] = [
        "name" if index == 0 else "words" if name in words else "number" for index, name in enumerate(made.columns)
    ]
    rows = [tuple(shown(cell) for cell in row) for row in made.rows]
    print_table(dict(zip(made.columns, kinds, strict=True)), rows)


def _print_problems(result: Result) -> None:
    """Where a policy failed, the first time in each session: its author wants to know."""
    for session in result.sessions:
        for name, lane in session.lanes.items():
            failed = next((one for one in lane.series.problems if one.kind == "failed"), None)
            if failed is not None:
                say(f"{shown(name)} failed in {shown(session.name)} at call {failed.call + 1}: {shown(failed.text)}")
