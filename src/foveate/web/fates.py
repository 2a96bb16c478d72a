"""Colors of fates and of the other parts of a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COLOURS: Final[Mapping[str, str]] = {
    "system": "#98a1aa",
    "sections": "#c0a079",
    "verbatim": "#5aaed6",
    "rewritten": "#3d7fb0",
    "repaired": "#44aa99",
    "superseded": "#d0707f",
    "masked": "#d9b84a",
    "trimmed": "#a3a33a",
    "folded": "#7565d2",
    "summarised": "#b95ca9",
    "recalled": "#35a05c",
    "dropped": "#a5627f",
    "other": "#777f87",
}
"""The colours of the stylesheet once more, for what is drawn on a canvas."""


def colour(fate: str) -> str:
    """The colour of a fate."""
    return COLOURS.get(fate, COLOURS["other"])
