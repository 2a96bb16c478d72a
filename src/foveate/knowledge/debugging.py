"""Debugging: `DEBUG_CONTEXT=true` has every run say how each computed context came about."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Final

VARIABLE: Final = "DEBUG_CONTEXT"
_ON: Final = frozenset({"1", "true", "t", "yes", "y", "on"})
_OFF: Final = frozenset({"", "0", "false", "f", "no", "n", "off"})


def debug_printer(environ: Mapping[str, str]) -> Callable[[str], None] | None:
    """What prints reports to standard error, if the environment asks for them.

    A value that says neither yes nor no is named there and ignored: no run fails for want of a report.
    """
    return _print if is_asked_for(environ.get(VARIABLE, "")) else None


def is_asked_for(value: str) -> bool:
    """Whether a value of the variable asks for reports."""
    said = value.strip().lower()
    if said not in _ON | _OFF:
        sys.stderr.write(f"{VARIABLE} is {value!r:.80}, which is ignored; set it to true or false\n")
        sys.stderr.flush()
    return said in _ON


def _print(report: str) -> None:
    sys.stderr.write(f"{report.rstrip()}\n\n")
    sys.stderr.flush()
