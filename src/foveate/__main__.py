"""Run the command line with `python -m foveate`."""

from foveate.cli.main import app

app()
