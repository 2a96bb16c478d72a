"""`foveate explain`: what is in, what is not, and why."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from foveate.cli.source import Budget, Model, PolicyName, Replay, Sample, Source, compiled, reported


def explain_command(
    source: Source = None,
    budget: Budget = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON, for machines.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Show every message, not only the first and last.")] = False,
    model: Model = None,
    policy: PolicyName = None,
    sample: Sample = False,
    replay: Replay = False,
) -> None:
    """Show what became of every message: verbatim, masked, folded, dropped; by which pass, and why.

    Example: foveate explain --sample --budget 4000
    """
    with reported():
        view = compiled(source, sample=sample, budget=budget, model=model, policy=policy, replay=replay)
        explanation = view.explain()
        if as_json:
            typer.echo(json.dumps(explanation.as_dict(), ensure_ascii=False, indent=2))
            return
        # Rich takes longer to import than most of the work, and only people need it.
        from rich.console import Console

        from foveate.compiler.table import renderables

        console = Console()
        if not console.is_terminal:
            # A file or a pipe has no width of its own; at 80 columns the table would lose its columns.
            console = Console(width=140)
        for part in renderables(explanation, full=full):
            console.print(part)
