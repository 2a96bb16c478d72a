"""The policy lab on all recorded logs, beside the usage recorded with them: `python -m bench.lab`."""

import argparse
import sys
import time
from collections.abc import Sequence

from bench.logs import data_root
from foveate.lab.replay import DEFAULT_POLICIES, replay
from foveate.lab.sources import sources_in
from foveate.lab.table import Table, recorded_table, table


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    root = data_root()
    if root is None:
        print("no recorded logs: set `FOVEATE_DATA` to their folder", file=sys.stderr)
        return 1
    sources = sources_in([root], lenient=True)
    begun = time.perf_counter()
    result = replay(
        sources,
        policies=options.policies,
        model=options.model,
        budget=options.budget,
        jobs=options.jobs,
        progress=_said,
    )
    print(f"\n{len(sources)} logs, {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    print(f"{len(result.sessions)} sessions, {result.calls} calls, budget {result.budget}, prices of {result.model}")
    print(_text(table(result)))
    told = [session for session in result.sessions if session.calibration.error is not None]
    print(
        f"\n{len(told)} sessions report cached tokens; mean absolute error of the cached share {result.share_error:.3f}"
    )
    print(_text(recorded_table(result)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.lab", description=__doc__)
    parser.add_argument("--policies", nargs="+", default=DEFAULT_POLICIES)
    parser.add_argument("--model", default="anthropic:claude-sonnet-4-5")
    parser.add_argument("--budget", type=int, default=32_000)
    parser.add_argument("--jobs", type=int, default=2)
    return parser


def _said(done: int, total: int, name: str) -> None:
    print(f"\r{done}/{total} {name[-60:]:<60}", end="", file=sys.stderr, flush=True)


def _text(shown: Table) -> str:
    rows = [shown.columns, *shown.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )


if __name__ == "__main__":
    raise SystemExit(main())
