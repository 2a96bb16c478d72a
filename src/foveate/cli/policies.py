"""`foveate policies`: how the past can be reduced."""

from __future__ import annotations

from pathlib import Path

import typer

from foveate.cli.output import AsJson, Kind, print_json, print_table, say
from foveate.cli.phrases import shown
from foveate.cli.source import reported
from foveate.cli.views import Config


def policies_command(config: Config = None, as_json: AsJson = False) -> None:
    """List the policies that `--policy` knows: ours, baselines to compare with, and your own.

    Your own come from a foveate.toml, from installed packages, or as `module:object`.

    Example: foveate policies
    """
    with reported():
        # Only who asks waits for all of them.
        from foveate.lab.config import config_at
        from foveate.lab.policies import described

        known = config_at(Path(config) if config is not None else None)
        listed = described(known)
        if as_json:
            print_json([{"name": one.name, "kind": one.kind, "description": one.description} for one in listed])
            return
        columns: dict[str, Kind] = {"policy": "name", "kind": "name", "what it does": "words"}
        print_table(columns, [(shown(one.name), one.kind, shown(one.description)) for one in listed])
        typer.echo("A baseline can only be replayed; the others also compile, unless your own is a function.")
        if known.path is not None:
            say(f"with {known.path}")
