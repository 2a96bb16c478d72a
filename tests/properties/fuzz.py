"""Fuzz the compiler: `python -m tests.properties.fuzz --compiles 100000`.

Every session is made from its seed alone: `--only SEED` plays that one again and shows the whole error.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from os import cpu_count

from .check import Outcome, check_session, check_wild_session

_BATCH = 32
_MOST_FAILURES = 5


def play_seed(seed: int) -> Outcome:
    """One random session: three of four with every format, the fourth of plain chat messages."""
    rng = random.Random(seed)
    count = rng.choice((40, 120, 400))
    return check_session(rng, count) if seed % 4 == 3 else check_wild_session(rng, count)


def try_seed(seed: int) -> tuple[int, Outcome | None, str]:
    """One random session; its seed, what it showed, and what went wrong."""
    try:
        return seed, play_seed(seed), ""
    except Exception:  # noqa: BLE001  every failure is what the fuzzer looks for
        return seed, None, traceback.format_exc(limit=-4)


def main() -> int:
    arguments = _arguments()
    if arguments.only is not None:
        print(_line(play_seed(arguments.only)))
        return 0
    started, total = time.monotonic(), Outcome()
    failures: list[tuple[int, str]] = []
    for seed, outcome, problem in _played(arguments.seed, arguments.jobs):
        if outcome is None:
            failures.append((seed, problem))
            print(f"\nseed {seed}, again with `python -m tests.properties.fuzz --only {seed}`:\n{problem}", flush=True)
        else:
            total.add(outcome)
        seconds = time.monotonic() - started
        shown = f"{total.compiles:,} of {arguments.compiles:,} compiles, {len(failures)} violations, {seconds:.0f} s"
        print(f"\r{shown}", end="", file=sys.stderr, flush=True)
        late = arguments.minutes is not None and seconds > 60 * arguments.minutes
        if late or total.compiles >= arguments.compiles or len(failures) >= _MOST_FAILURES:
            break
    print(file=sys.stderr)
    for key, times in sorted(total.by.items()):
        print(f"{key:>40} {times:>9,}")
    for seed, problem in failures:
        print(f"seed {seed}: {problem.strip().splitlines()[-1]}")
    print(f"{_line(total)}, {len(failures)} violations, {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiles", type=int, default=100_000, help="stop after so many compiles")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first session; the others follow")
    parser.add_argument("--minutes", type=float, help="stop after so much time, whatever was done by then")
    parser.add_argument("--jobs", type=int, default=cpu_count() or 1, help="processes")
    parser.add_argument("--only", type=int, metavar="SEED", help="play one session again, by its seed")
    return parser.parse_args()


def _played(seed: int, jobs: int) -> Iterator[tuple[int, Outcome | None, str]]:
    """Sessions without end, as they are done."""
    with ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext() as pool:
        while True:
            seeds = range(seed, seed + _BATCH)
            seed += _BATCH
            if pool is None:
                yield from map(try_seed, seeds)
                continue
            batch: list[Future[tuple[int, Outcome | None, str]]] = [pool.submit(try_seed, one) for one in seeds]
            for future in as_completed(batch):
                yield future.result()


def _line(outcome: Outcome) -> str:
    return (
        f"{outcome.compiles:,} compiles, {outcome.reductions:,} reductions, "
        f"{outcome.refused:,} refused for their budget, {outcome.empty:,} with nothing to send"
    )


if __name__ == "__main__":
    sys.exit(main())
