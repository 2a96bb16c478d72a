"""Compares context policies on recorded sessions: `python -m bench.fidelity`."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from multiprocessing import Pool

from bench.arms import ARMS
from bench.cost import PRICES
from bench.logs import SOURCES, RecordedSession, data_root, load_sessions
from bench.replay import Key, Setup, Tally, replay
from foveate.lab.contestants import Contestant

Column = tuple[str, Callable[[Tally], str]]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    root = data_root()
    if root is None:
        print("no recorded logs: set `FOVEATE_DATA` to their folder", file=sys.stderr)
        return 1
    sessions = _selected(load_sessions(root), options)
    setup = Setup(
        arms=_arms(options.arms),
        budgets=tuple(options.budgets),
        prices=PRICES[options.prices],
        expires=options.ttl,
    )
    begun = time.perf_counter()
    tallies = _replay_all(setup, sessions, options.jobs)
    print(f"{len(sessions)} sessions, {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    for budget in setup.budgets:
        basis = _basis(tallies, budget)
        print(f"\nbudget {budget}, {options.prices} prices, split {options.split}: {basis}")
        rows = [(arm.name, tallies[arm.name, budget]) for arm in setup.arms]
        print(_table(rows, is_markdown=options.markdown))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.fidelity", description=__doc__)
    parser.add_argument("--budgets", type=int, nargs="+", default=[8000, 32000])
    parser.add_argument("--arms", nargs="+", choices=[arm.name for arm in ARMS])
    parser.add_argument("--sources", nargs="+", choices=sorted(set(SOURCES)), default=SOURCES)
    parser.add_argument("--limit", type=int, help="only so many sessions")
    parser.add_argument("--split", choices=["tune", "report", "all"], default="all")
    parser.add_argument("--prices", choices=sorted(PRICES), default="anthropic")
    parser.add_argument("--ttl", action="store_true", help="let the cache expire, by timestamps")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--markdown", action="store_true")
    return parser


def _arms(names: Sequence[str] | None) -> tuple[Contestant, ...]:
    return tuple(arm for arm in ARMS if names is None or arm.name in names)


def _selected(sessions: Iterable[RecordedSession], options: argparse.Namespace) -> list[RecordedSession]:
    chosen = [
        session for session in sessions if session.source in options.sources and options.split in ("all", session.split)
    ]
    if options.limit:
        # Spread over the sources, which follow one another.
        chosen = chosen[:: max(1, len(chosen) // options.limit)][: options.limit]
    # The longest first, or the last process would work on it alone.
    return sorted(chosen, key=lambda session: len(session.messages), reverse=True)


def _replay_all(setup: Setup, sessions: Sequence[RecordedSession], jobs: int) -> dict[Key, Tally]:
    total = {(arm.name, budget): Tally() for arm in setup.arms for budget in setup.budgets}
    with Pool(jobs) as pool:
        results = pool.imap_unordered(partial(replay, setup), sessions)
        for number, tallies in enumerate(results, 1):
            for key, tally in tallies.items():
                total[key].add(tally)
            print(f"\r{number}/{len(sessions)} sessions", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return total


def _basis(tallies: dict[Key, Tally], budget: int) -> str:
    widest = max((t for (_, b), t in tallies.items() if b == budget), key=lambda t: t.references)
    return (
        f"{widest.references} references at {widest.judged} calls, "
        f"{widest.far} far, {widest.observed} seen in tool output only"
    )


def _share(part: float, whole: float, digits: int = 2) -> str:
    return f"{part / whole:.{digits}f}" if whole else "-"


_COLUMNS: tuple[Column, ...] = (
    ("calls", lambda t: str(t.calls)),
    ("invalid", lambda t: str(t.invalid)),
    ("over", lambda t: str(t.over)),
    ("refused", lambda t: str(t.refused)),
    ("tokens", lambda t: _share(t.tokens, t.base_tokens)),
    ("prefix hit", lambda t: _share(t.hit, t.tokens)),
    ("cost", lambda t: _share(t.cost, t.base_cost)),
    ("refs kept", lambda t: _share(t.kept, t.references, 3)),
    ("far kept", lambda t: _share(t.far_kept, t.far, 3)),
    ("obs-only kept", lambda t: _share(t.observed_kept, t.observed, 3)),
    ("visible", lambda t: _share(t.visible, t.references, 3)),
    ("user msgs kept", lambda t: _share(t.user_share, t.judged)),
    ("first kept", lambda t: _share(t.first_kept, t.judged)),
    ("ms", lambda t: _share(1000 * t.seconds, t.calls)),
)


def _table(rows: Sequence[tuple[str, Tally]], *, is_markdown: bool) -> str:
    cells = [["arm", *(name for name, _ in _COLUMNS)]]
    cells += [[name, *(show(tally) for _, show in _COLUMNS)] for name, tally in rows]
    if is_markdown:
        cells.insert(1, ["---"] * len(cells[0]))
        return "\n".join(f"| {' | '.join(row)} |" for row in cells)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells)


if __name__ == "__main__":
    sys.exit(main())
