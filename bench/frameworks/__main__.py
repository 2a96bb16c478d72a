"""Every trial of every framework: `python -m bench.frameworks`; names choose some."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.peering import environment_command

FOLDER = Path(__file__).parent


def main(names: list[str]) -> int:
    """Run the adapters, each in its own environment; how many of them failed."""
    failed = 0
    for adapter in sorted(FOLDER.glob("with_*.py")):
        if names and adapter.stem.removeprefix("with_").replace("_", "-") not in names:
            continue
        # No setting of this environment is one of theirs.
        env = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
        done = subprocess.run(environment_command(adapter), env=env, check=False)
        failed += done.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
