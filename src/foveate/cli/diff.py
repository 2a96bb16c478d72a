"""`foveate diff`: what one call shows that another does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import AsJson, Kind, print_json, print_table
from foveate.cli.phrases import count
from foveate.cli.source import FormatName, Lenient, OfSource, Sample, Source, material, reported
from foveate.cli.store import StorePlace, SystemPlace
from foveate.cli.views import Budget, Config, How, Model, PolicyName, views_of_calls
from foveate.errors import ConfigError
from foveate.log.text import printable

if TYPE_CHECKING:
    from foveate.compile.difference import Change, Difference

_FIRST = 20


def diff_command(
    source: Source = None,
    call: Annotated[
        list[int] | None,
        typer.Option("--call", "-c", metavar="N", min=1, help="Two calls: `--call 3 --call 7`.", show_default=False),
    ] = None,
    budget: Budget = None,
    as_json: AsJson = False,
    full: Annotated[bool, typer.Option("--full", help="List every message, not only the first of each kind.")] = False,
    model: Model = None,
    policy: PolicyName = None,
    session: OfSource = None,
    format: FormatName = "auto",
    lenient: Lenient = False,
    sample: Sample = False,
    config: Config = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Show what differs between two calls: what entered, what left, what changed its form, where the cache broke.

    The calls are those that a session of the store recorded; of a log, those that a replay makes.

    Example: foveate diff --sample --budget 8000 --call 40 --call 41
    """
    with reported():
        if call is None or len(call) != 2 or call[0] == call[1]:
            raise ConfigError("give two different calls, such as `--call 3 --call 7`")
        with material(
            source, sample=sample, session=session, format=format, lenient=lenient, store=store, system=system
        ) as found:
            # Not on top: `--help` and other commands need not wait for it.
            from foveate.compile.difference import difference

            how = How(budget=budget, model=model, policy=policy, config=config)
            first, second = views_of_calls(found, how, sorted(call))
            made = difference(first, second)
        if as_json:
            print_json(made.as_dict())
        else:
            _print(made, full=full)


def _print(made: Difference, *, full: bool) -> None:
    typer.secho(f"call {made.first} → call {made.second}", bold=True)
    typer.echo(f"tokens: {made.tokens_before:,} → {made.tokens_after:,}")
    same = f"{count(made.shared, 'message')} and {made.shared_tokens:,} tokens at the beginning are the same"
    if made.broke_at is None:
        typer.echo(f"cached prefix: whole; {same}")
    else:
        typer.echo(f"cached prefix: broke at {printable(made.broke_at)}; {same}")
        typer.echo(f"    {printable(made.why)}")
    for title, changes in (("entered", made.entered), ("left", made.left), ("changed form", made.changed)):
        _print_changes(title, changes, full=full)


def _print_changes(title: str, changes: Sequence[Change], *, full: bool) -> None:
    typer.echo("")
    before, after = sum(one.tokens_before for one in changes), sum(one.tokens_after for one in changes)
    typer.secho(f"{title}: {count(len(changes), 'message')}, {before:,} → {after:,} tokens", bold=True)
    listed = changes if full else changes[:_FIRST]
    columns: dict[str, Kind] = {
        "id": "name",
        "role": "name",
        "form": "name",
        "tokens": "number",
        "text": "words",
        "why": "words",
    }
    if listed:
        print_table(columns, [_row(one) for one in listed])
    if len(listed) < len(changes):
        typer.echo(f"… and {len(changes) - len(listed):,} more; `--full` lists all")


def _row(change: Change) -> tuple[str, ...]:
    form = " → ".join(fate for fate in (change.before, change.after) if fate is not None)
    tokens = " → ".join(
        f"{tokens:,}"
        for fate, tokens in ((change.before, change.tokens_before), (change.after, change.tokens_after))
        if fate is not None
    )
    return printable(change.id), change.role, form, tokens, printable(change.preview), printable(change.why)
