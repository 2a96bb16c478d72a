"""Arms that were measured later than the others, and when; a reader must not take them for one run."""

from __future__ import annotations

from collections.abc import Mapping

from bench.blocks import code, literal
from bench.outcome import Stamp


def added_later(stamp: Stamp, later: Mapping[str, Stamp]) -> str:
    """A sentence for each later measurement that differs from the first in date, commit or command, "" if none does."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for name, one in later.items():
        groups.setdefault(_identity(one), []).append(literal(name))
    groups.pop(_identity(stamp), None)
    said = [
        f"Measured apart from the others, on {literal(date)} (commit {literal(commit)}, {code(command)}): "
        f"{', '.join(names)}."
        for (date, commit, command), names in groups.items()
    ]
    return " ".join(said)


def _identity(stamp: Stamp) -> tuple[str, str, str]:
    return stamp.date, stamp.commit, stamp.command
