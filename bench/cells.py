"""Cells that several tables show: a share with its interval over sessions."""

from __future__ import annotations

from bench.blocks import number
from bench.standings import Standing


def cell_cost(one: Standing) -> str:
    """Cost at the first provider, with the interval over sessions."""
    return _with_interval(number(one.cost(0)), one.cost_interval) if one.cost(0) is not None else number(None)


def cell_kept(one: Standing) -> str:
    """References kept, with the interval over sessions."""
    return _with_interval(number(one.kept, 3), one.kept_interval) if one.kept is not None else number(None)


def _with_interval(value: str, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{value} ({number(low)}–{number(high)})"
