"""How long Python, `import foveate` and `foveate --help` take to start: `python -m bench.startup`."""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import NamedTuple

RUNS = 9
MODULES = 10


class Start(NamedTuple):
    """A command, and the seconds it may take beyond Python's own."""

    name: str
    command: tuple[str, ...]
    target: float | None = None


class Imported(NamedTuple):
    """One line of `-X importtime`."""

    module: str
    own_ms: float
    total_ms: float


def _children() -> float:
    """Seconds of processor time that finished child processes took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# A machine with other work to do shows it in the time on the wall, hardly in that of the processes.
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": _children}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    starts = tuple(_starts())
    seconds = _timed(starts, options.runs, CLOCKS[options.clock])
    imported = imports()
    if options.json:
        slowest = [module._asdict() for module in imported]
        print(json.dumps({"seconds": seconds, "runs": options.runs, "imports": slowest}, indent=2))
        return 0
    print("\n".join(_lines(starts, seconds, options.runs)), end="\n\n")
    print("\n".join(_import_lines(imported)))
    return 0


def imports() -> list[Imported]:
    """Every module that `import foveate` loads, the slowest by itself first."""
    # What Python loads for itself is in it too: `site` and what hangs on it come before the command.
    command = (sys.executable, "-X", "importtime", "-c", "import foveate")
    report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    # The first line names the columns; other lines without columns are not from this option.
    rows = [line.removeprefix("import time:").split("|") for line in report.splitlines()[1:] if " | " in line]
    found = [Imported(name.strip(), int(own) / 1000, int(total) / 1000) for own, total, name in rows]
    return sorted(found, key=lambda module: module.own_ms, reverse=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    parser.add_argument("--json", action="store_true")
    return parser


def _starts() -> Iterator[Start]:
    yield Start("python -c pass", (sys.executable, "-c", "pass"))
    yield Start("import foveate", (sys.executable, "-c", "import foveate"), 0.15)
    script = Path(sys.executable).with_name("foveate")
    # The script is made at installation, whether or not the module behind it exists.
    if script.exists() and find_spec("foveate.cli.main") is not None:
        yield Start("foveate --help", (str(script), "--help"), 0.4)
    elif find_spec("foveate.__main__") is not None:
        yield Start("python -m foveate --help", (sys.executable, "-m", "foveate", "--help"), 0.4)
    else:
        print("no command line found, `foveate --help` is left out", file=sys.stderr)


def _timed(starts: Sequence[Start], runs: int, clock: Callable[[], float]) -> dict[str, float]:
    """The median of each command, run by turns; the first round only fills the caches."""
    spent: dict[str, list[float]] = {start.name: [] for start in starts}
    for number in range(runs + 1):
        for start in starts:
            begun = clock()
            subprocess.run(start.command, check=True, stdout=subprocess.DEVNULL)
            seconds = clock() - begun
            if number:
                spent[start.name].append(seconds)
    return {name: median(times) for name, times in spent.items()}


def _lines(starts: Sequence[Start], seconds: dict[str, float], runs: int) -> Iterator[str]:
    python = seconds[starts[0].name]
    yield f"{f'median of {runs}':<26}{'seconds':>9}{'more':>9}  target"
    for start in starts:
        more = seconds[start.name] - python
        target = f"< {start.target} ({'met' if more < start.target else 'missed'})" if start.target else ""
        yield f"{start.name:<26}{seconds[start.name]:>9.3f}{more:>9.3f}  {target}".rstrip()


def _import_lines(imported: Sequence[Imported]) -> Iterator[str]:
    yield f"{'slowest imports, ms':<34}{'own':>8}{'total':>8}"
    for module in imported[:MODULES]:
        yield f"{module.module:<34}{module.own_ms:>8.1f}{module.total_ms:>8.1f}"
    yield f"{f'all {len(imported)}':<34}{sum(module.own_ms for module in imported):>8.1f}"


if __name__ == "__main__":
    sys.exit(main())
