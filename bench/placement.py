"""Placement of labels beside points, so that they cover neither each other nor a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, hypot, inf, pi, sin
from typing import Final

_DISTANCES: Final = (9, 16, 26, 38, 52, 68, 86, 108, 134)
_DIRECTIONS: Final = 16
_SWEEPS: Final = 5
# A label this near needs no line to its point.
NEAR: Final = 13
_CROSSED: Final = 70

Point = tuple[float, float]
Line = tuple[Point, Point]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle around a centre."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: Box) -> float:
        """The area that both cover."""
        down = (self.height + other.height) / 2 - abs(self.y - other.y)
        if down <= 0:
            return 0.0
        across = (self.width + other.width) / 2 - abs(self.x - other.x)
        return across * down if across > 0 else 0.0

    def is_inside(self, other: Box) -> bool:
        """Whether it lies within another."""
        return (
            abs(self.x - other.x) + self.width / 2 <= other.width / 2
            and abs(self.y - other.y) + self.height / 2 <= other.height / 2
        )

    def is_crossed(self, line: Line) -> bool:
        """Whether a straight line goes through it."""
        (x, y), (to_x, to_y) = line
        first, last = 0.0, 1.0
        for begin, end, middle, size in ((x, to_x, self.x, self.width), (y, to_y, self.y, self.height)):
            low, high, step = middle - size / 2 - begin, middle + size / 2 - begin, end - begin
            if step == 0:
                if low > 0 or high < 0:
                    return False
                continue
            first = max(first, min(low / step, high / step))
            last = min(last, max(low / step, high / step))
        return first < last

    def nearest(self, x: float, y: float) -> Point:
        """The place on it, or in it, that is nearest to a point."""
        return (
            min(max(x, self.x - self.width / 2), self.x + self.width / 2),
            min(max(y, self.y - self.height / 2), self.y + self.height / 2),
        )


def beside(
    points: Sequence[Point],
    sizes: Sequence[tuple[float, float]],
    bounds: Box,
    *,
    obstacles: Sequence[Box] = (),
    radius: float = 6,
) -> list[Box]:
    """For each point a box of its size near it: the first choose first, then all look again for a better place."""
    dots = [*(Box(x, y, 2 * radius, 2 * radius) for x, y in points), *obstacles]
    placed: list[Box | None] = [None] * len(points)
    for _ in range(_SWEEPS):
        before = list(placed)
        for place, (point, size) in enumerate(zip(points, sizes, strict=True)):
            others = [(box, points[other]) for other, box in enumerate(placed) if box is not None and other != place]
            placed[place] = _best(_candidates(point, size, bounds), point, others, dots)
        if placed == before:
            break
    return [box for box in placed if box is not None]


def line_to(box: Box, point: Point) -> Line | None:
    """The line from a point to its label; None if the label is near enough without one."""
    x, y = box.nearest(*point)
    return (point, (x, y)) if abs(x - point[0]) + abs(y - point[1]) > NEAR else None


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places on a line near those wanted and in their order, at least `gap` apart (less if there is no room)."""
    if not wanted:
        return []
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda place: (wanted[place], place))
    # Neighbours that are too near form a group, which is centred on what its members want.
    groups: list[list[float]] = []
    for place in order:
        groups.append([min(max(wanted[place], low), high)])
        while len(groups) > 1 and _begin(groups[-1], gap, low, high) - _end(groups[-2], gap, low, high) < gap:
            last = groups.pop()
            groups[-1] += last
    spots = [_begin(group, gap, low, high) + gap * step for group in groups for step in range(len(group))]
    found = [0.0] * len(wanted)
    for place, spot in zip(order, spots, strict=True):
        found[place] = spot
    return found


def _candidates(point: Point, size: tuple[float, float], bounds: Box) -> list[Box]:
    x, y = point
    width, height = size
    found = []
    for distance in _DISTANCES:
        for step in range(_DIRECTIONS):
            across, down = cos(2 * pi * step / _DIRECTIONS), sin(2 * pi * step / _DIRECTIONS)
            box = Box(x + across * (distance + width / 2), y + down * (distance + height / 2), width, height)
            found.append(box)
    inside = [box for box in found if box.is_inside(bounds)]
    return inside or found[:1]


def _best(candidates: Sequence[Box], point: Point, others: Sequence[tuple[Box, Point]], dots: Sequence[Box]) -> Box:
    """The candidate that covers least, lies nearest, and whose line crosses no other label."""
    boxes = [box for box, _ in others]
    lines = [line for box, owner in others if (line := line_to(box, owner)) is not None]
    best, least = candidates[0], inf
    for box in candidates:
        found = _badness(box, point, boxes, dots)
        # Crossings make it only worse, and take the longest to find.
        if found >= least:
            continue
        found += _CROSSED * sum(map(box.is_crossed, lines))
        own = line_to(box, point)
        if own is not None:
            found += _CROSSED * sum(other.is_crossed(own) for other in boxes)
        if found < least:
            best, least = box, found
    return best


def _badness(box: Box, point: Point, others: Sequence[Box], dots: Sequence[Box]) -> float:
    x, y = box.nearest(*point)
    covered = sum(map(box.overlap, others)) * 20 + sum(map(box.overlap, dots)) * 12
    # To the right is where readers look first.
    return covered + hypot(x - point[0], y - point[1]) - 3 * (box.x > point[0])


def _begin(group: Sequence[float], gap: float, low: float, high: float) -> float:
    span = gap * (len(group) - 1)
    middle = sum(group) / len(group)
    return min(max(middle - span / 2, low), high - span)


def _end(group: Sequence[float], gap: float, low: float, high: float) -> float:
    return _begin(group, gap, low, high) + gap * (len(group) - 1)
