"""Phrases: numbers as people read them."""

from __future__ import annotations

from typing import Final

from foveate.log import text


def tokens(count: float) -> str:
    """A number of tokens, short: 812, 8.1k, 32k, 1.2M."""
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if count >= size * 0.9995:
            shown = f"{count / size:.1f}"
            return f"{shown.removesuffix('.0')}{sign}"
    return f"{count:,.0f}"


def money(amount: float, unit: str) -> str:
    """What something costs: $0.0123, $4.20, or as many input tokens."""
    if unit != "USD":
        return tokens(amount)
    return f"${amount:,.4f}" if amount < 1 else f"${amount:,.2f}"


def share(part: float, whole: float) -> str:
    """A part of a whole in percent, or a dash if there is no whole."""
    return f"{100 * part / whole:.0f} %" if whole else "–"


counted: Final = text.counted
