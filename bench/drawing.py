"""Drawing: one look for all plots, and SVG that is the same bytes for the same numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.placement import Box, beside, line_to, spread

RAISED: Final = "#ffffff"
INK: Final = "#1d2329"
SOFT: Final = "#5a646e"
RULE: Final = "#dcdfe2"
# Told apart with any kind of colour blindness, and by shape or place as well.
COLOURS: Final = {"foveate": "#0072b2", "own": "#b35300", "peer": SOFT}
WARNINGS: Final = {"invalid": "#a3195b", "over": "#e69f00", "failed": "#44537a", "refused": "#9aa5b1"}
LABEL: Final = 11.0
SMALL: Final = 9.5
# Metrics are those of matplotlib's own font; what a browser takes instead is not wider.
FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

_LOOK: Final[Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": RULE,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": SOFT,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": LABEL + 1,
    "figure.facecolor": RAISED,
    "font.family": "DejaVu Sans",
    "font.size": LABEL,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": RULE,
    "xtick.labelcolor": SOFT,
    "ytick.color": RULE,
    "ytick.labelcolor": SOFT,
}


class Sheet:
    """A drawing of so many pixels."""

    def __init__(self, name: str, width: float, height: float) -> None:
        self._name = name
        self.width = width
        self.height = height
        self.figure = Figure(figsize=(width / 72, height / 72), dpi=72)

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes at a place measured in pixels from the upper left."""
        bottom = self.height - top - height
        return self.figure.add_axes((left / self.width, bottom / self.height, width / self.width, height / self.height))

    def size(self, text: str, *, size: float = LABEL) -> tuple[float, float]:
        """Width and height of a text."""
        drawn = self.figure.text(0, 0, text, fontsize=size)
        box = drawn.get_window_extent()
        drawn.remove()
        return box.width + 2, size + 3

    def svg(self) -> str:
        """The drawing as text."""
        kept = StringIO()
        with mpl.rc_context({"svg.hashsalt": self._name}):
            self.figure.savefig(
                kept, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
            )
        return _tidied(kept.getvalue())


@dataclass(frozen=True, slots=True)
class Label:
    """What stands beside a point; a quiet one is smaller."""

    text: str
    colour: str
    is_quiet: bool = False

    @property
    def size(self) -> float:
        return SMALL if self.is_quiet else LABEL


@contextmanager
def look() -> Iterator[None]:
    """Whatever is drawn within looks the same, whatever a user has set for plots."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_LOOK)
        yield


def note_at(sheet: Sheet, x: float, top: float, text: str, *, colour: str = SOFT, align: str = "left") -> None:
    """Text at a place measured in pixels from the upper left."""
    sheet.figure.text(
        x / sheet.width, 1 - top / sheet.height, text, color=colour, ha=align, va="center", fontsize=LABEL
    )


def label_points(
    sheet: Sheet,
    axes: Axes,
    points: Sequence[tuple[float, float]],
    labels: Sequence[Label],
    *,
    path: Sequence[tuple[float, float]] = (),
) -> None:
    """A label beside each point and off a path, with a thin line to it where it stands off."""
    spots = _pixels(axes, points)
    frame = axes.get_window_extent()
    bounds = Box((frame.x0 + frame.x1) / 2, (frame.y0 + frame.y1) / 2, frame.width, frame.height)
    back = axes.transData.inverted()
    sizes = [sheet.size(label.text, size=label.size) for label in labels]
    boxes = beside(spots, sizes, bounds, obstacles=_along(_pixels(axes, path)))
    for spot, box, label in zip(spots, boxes, labels, strict=True):
        line = line_to(box, spot)
        if line is not None:
            (x, y), (near_x, near_y) = back.transform(line)
            axes.plot([x, near_x], [y, near_y], color=label.colour, linewidth=0.5, alpha=0.7, zorder=2)
        x, y = back.transform((box.x - box.width / 2, box.y))
        axes.text(x, y, label.text, color=label.colour, ha="left", va="center_baseline", fontsize=label.size, zorder=5)


def label_ends(
    axes: Axes, ends: Sequence[tuple[float, float]], texts: Sequence[str], colours: Sequence[str], *, right: float
) -> None:
    """The names of lines in a column to the right of their ends, one below the other."""
    frame = axes.get_window_extent()
    spots = [axes.transData.transform(end) for end in ends]
    places = spread([float(spot[1]) for spot in spots], LABEL + 3, frame.y0, frame.y1)
    column = frame.x1 + right
    back = axes.transData.inverted()
    for spot, place, text, colour in zip(spots, places, texts, colours, strict=True):
        corners = back.transform(
            [(spot[0] + 4, spot[1]), (frame.x1 + 4, spot[1]), (column - 4, place), (column, place)]
        )
        # Dotted, or the way from a line that ends early would look like more of it.
        axes.plot(
            *zip(*corners, strict=True), color=colour, linewidth=0.7, alpha=0.6, linestyle=(0, (1, 3)), clip_on=False
        )
        x, y = back.transform((column + 3, place))
        axes.text(x, y, text, color=colour, ha="left", va="center_baseline", fontsize=LABEL, clip_on=False)


def _pixels(axes: Axes, points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in axes.transData.transform(points)] if points else []


def _along(path: Sequence[tuple[float, float]]) -> list[Box]:
    """A thin box around each straight piece of a path whose pieces are level or upright."""
    return [Box((a + c) / 2, (b + d) / 2, abs(a - c) + 4, abs(b - d) + 4) for (a, b), (c, d) in pairwise(path)]


def _tidied(svg: str) -> str:
    """Without what names the program or repeats itself, and with fonts that a browser has.

    The ids that stay are hashes of the drawing's name, so that drawings can stand side by side on one page.
    """
    root, _, rest = svg[svg.index("<svg") :].partition(">")
    size = re.search(r'viewBox="0 0 (\S+) (\S+)"', root)
    assert size is not None, root
    rest = re.sub(r"\s*<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    rest = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", rest, count=1, flags=re.DOTALL)
    rest = re.sub(r'<g id="[^"]*"', "<g", rest)
    rest = re.sub(r' font-family: [^;"]*;', "", rest)
    rest = re.sub(r' transform="rotate\(-0 [^"]*"', "", rest)
    rest = rest.replace("xlink:href", "href").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    width, height = size.groups()
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONT}" stroke-linejoin="round">'
    )
    return re.sub(r"[ \t]+$", "", begin + rest, flags=re.MULTILINE)
