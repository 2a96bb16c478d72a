"""Fuzz the compiler: `python -m tests.properties.fuzz --compiles 100000`."""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from os import cpu_count

from .check import Outcome, check_session


def play_seed(seed: int) -> tuple[int, Outcome | None, str]:
    """One random session; its seed, what it showed, and what went wrong."""
    rng = random.Random(seed)
    try:
        return seed, check_session(rng, rng.choice((40, 120, 400))), ""
    except Exception:  # noqa: BLE001  every failure is what the fuzzer looks for
        return seed, None, traceback.format_exc(limit=-4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiles", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=cpu_count() or 1)
    arguments = parser.parse_args()
    started, seed = time.monotonic(), arguments.seed
    total, failures = Outcome(), []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        while total.compiles < arguments.compiles and len(failures) < 5:
            batch = [pool.submit(play_seed, seed + offset) for offset in range(64)]
            seed += 64
            for future in as_completed(batch):
                number, outcome, problem = future.result()
                if outcome is None:
                    failures.append((number, problem))
                else:
                    total.compiles += outcome.compiles
                    total.refused += outcome.refused
                    total.reductions += outcome.reductions
            print(f"\r{total.compiles:,} compiles, {len(failures)} violations", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for number, problem in failures:
        print(f"seed {number}:\n{problem}")
    print(
        f"{total.compiles:,} compiles, {total.reductions:,} reductions, {total.refused:,} refused for their budget, "
        f"{len(failures)} violations, {time.monotonic() - started:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
