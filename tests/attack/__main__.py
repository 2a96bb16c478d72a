"""Carry out attacks and print what came of them: `python -m tests.attack --only kill-sqlite fork --scale 0.1`."""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.attack.attack import Attack, Outcome, Scene, carry_out
from tests.attack.catalog import ATTACKS

_MINUTES = 75


def main() -> int:
    """Carry out what the command line says; the status is 1 if a promise is broken, or not all was tried unasked."""
    arguments = _parse_arguments()
    chosen = [attack for attack in ATTACKS if not arguments.only or attack.name in arguments.only]
    if arguments.list:
        for attack in chosen:
            print(f"{attack.name:18} {attack.full:>6,}  {attack.promise}")
        return 0
    outcomes = [_carry_out(attack, arguments) for attack in chosen]
    print(conclusion(outcomes))
    is_whole = arguments.minutes is not None or not any(outcome.missed for outcome in outcomes)
    return 0 if is_whole and not any(outcome.broken for outcome in outcomes) else 1


def conclusion(outcomes: Sequence[Outcome]) -> str:
    """What can be said of all attacks; of attempts that were not made, nothing."""
    broken = sum(len(outcome.broken) for outcome in outcomes)
    missed = sum(outcome.missed for outcome in outcomes)
    found = f"{broken} promises broken" if broken else "every promise held"
    return f"{found}, but {missed:,} attempts were not made: the time was up" if missed else found


def _carry_out(attack: Attack, arguments: argparse.Namespace) -> Outcome:
    count = max(1, round(attack.full * arguments.scale))
    minutes = _MINUTES if arguments.minutes is None else arguments.minutes
    # The last resort, if an attempt hangs where no signal is heard: where it does is printed, and the exit is 1.
    faulthandler.dump_traceback_later(60 * minutes + 2 * attack.patience, exit=True, file=2)
    with tempfile.TemporaryDirectory(prefix=f"foveate-{attack.name}-") as folder:
        scene = Scene(count, random.Random(f"{arguments.seed} {attack.name}"), Path(folder))
        outcome = carry_out(attack, scene, seconds=60 * minutes, on_attempt=_show_progress(attack, count))
    faulthandler.cancel_dump_traceback_later()
    note = f" ({outcome.missed:,} not made)" if outcome.missed else ""
    print(f"{attack.name:18} {outcome.attempts:>6,} attempts{note}, {outcome.seconds:>5,.0f} s: {outcome.describe()}")
    sys.stdout.flush()
    return outcome


def _show_progress(attack: Attack, count: int) -> Callable[[Outcome], None]:
    def show(outcome: Outcome) -> None:
        if sys.stderr.isatty():
            print(f"\r{attack.name}: {outcome.attempts:,} of {count:,}\033[K", end="", file=sys.stderr, flush=True)
            if outcome.attempts >= count:
                print("\r\033[K", end="", file=sys.stderr, flush=True)

    return show


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    names = [attack.name for attack in ATTACKS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", default=[], help="attacks to carry out")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full number of attempts (default: 1)")
    parser.add_argument("--minutes", type=float, help=f"most minutes for each attack (default: {_MINUTES})")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same attempts (default: 0)")
    parser.add_argument("--list", action="store_true", help="print the attacks, their sizes and promises")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
