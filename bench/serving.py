"""A server as people start it, for what looks at its pages."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(store: Path, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a server over a store, as `foveate serve` gives it."""
    command = [sys.executable, "-m", "foveate", "serve", "--store", str(store), "--port", "0", "--no-open", *options]
    variables = {**os.environ, "COLUMNS": "200", **(environment or {})}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None, "the first line of a server is its address"
            yield found[0].rstrip("/")
        finally:
            process.terminate()
            process.wait(20)
