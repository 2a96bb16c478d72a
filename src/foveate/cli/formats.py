"""`foveate formats`: what can be read, and what requests can be written as."""

from __future__ import annotations

import typer

from foveate.cli.output import AsJson, Kind, print_json, print_table
from foveate.cli.source import reported


def formats_command(as_json: AsJson = False) -> None:
    """List the log formats that are recognised, and the formats that requests can be printed in.

    Example: foveate formats
    """
    with reported():
        # Only who asks waits for all of them.
        from foveate.importers.detection import IMPORTERS
        from foveate.wire.formats import FORMATS

        if as_json:
            logs = [{"name": one.name, "title": one.title} for one in IMPORTERS.values()]
            print_json({"logs": logs, "requests": [*FORMATS, "text"]})
            return
        columns: dict[str, Kind] = {"log format": "name", "recorded by": "words"}
        print_table(columns, [(one.name, one.title) for one in IMPORTERS.values()])
        typer.echo("")
        typer.echo(f"requests, for `--to`: {', '.join([*FORMATS, 'text'])}")
