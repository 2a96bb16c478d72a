"""`foveate explain`: what is in, what is not, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from foveate.cli.compile import Replay
from foveate.cli.output import AsJson, print_json
from foveate.cli.source import FormatName, Lenient, OfSource, Sample, Source, material, reported
from foveate.cli.store import StorePlace, SystemPlace
from foveate.cli.views import Budget, Config, How, Model, PolicyName, last_view, views_of_calls


def explain_command(
    source: Source = None,
    budget: Budget = None,
    call: Annotated[
        int | None,
        typer.Option("--call", "-c", metavar="N", min=1, help="This call; else the next one.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    full: Annotated[bool, typer.Option("--full", help="Show every message, not only the first and last.")] = False,
    model: Model = None,
    policy: PolicyName = None,
    replay: Replay = None,
    session: OfSource = None,
    format: FormatName = "auto",
    lenient: Lenient = False,
    sample: Sample = False,
    config: Config = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Show what became of every message: verbatim, masked, folded, dropped; by which pass, and why.

    With `--call`, a call that a session of the store recorded; of a log, the call that a replay makes.

    Example: foveate explain --sample --budget 4000
    """
    with (
        reported(),
        material(
            source, sample=sample, session=session, format=format, lenient=lenient, store=store, system=system
        ) as found,
    ):
        how = How(budget=budget, model=model, policy=policy, config=config)
        view = last_view(found, how, replay=replay is True) if call is None else views_of_calls(found, how, [call])[0]
        explanation = view.explain()
        if as_json:
            print_json(explanation.as_dict())
            return
        # Rich takes longer to import than most of the work, and only people need it.
        from rich.console import Console

        from foveate.compile.table import renderables

        console = Console()
        if not console.is_terminal:
            # A file or a pipe has no width of its own; at 80 columns the table would lose its columns.
            console = Console(width=140)
        for part in renderables(explanation, full=full):
            console.print(part)
