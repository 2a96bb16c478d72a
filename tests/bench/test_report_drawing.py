"""Text and labels of the page: shown as they are, and beside what they belong to."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise

from bench.blocks import Heading, Items, code, literal, markdown, milliseconds, number
from bench.placement import Box, beside, line_to, spread
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

places = st.floats(-1_000, 1_000)


def shown(rendered: str) -> str:
    """What a reader sees."""
    return unescape(re.sub(r"<[^>]+>", "", rendered)).strip()


def flat(text: str) -> str:
    """Without control characters, and with single spaces."""
    return " ".join(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "", text).split())


@given(st.text() | st.text("`*_[]<>&~#-+=.)1|\\! a:/"))
def test_any_text_is_shown_as_it_is(text: str) -> None:
    """As text and as code, wherever it stands in a list."""
    viewer = MarkdownIt("commonmark").enable("strikethrough")

    page = viewer.render(markdown("A", [Heading("B"), Items((literal(text),))]))
    assert shown(page.rpartition("<li>")[2]) == flat(text)
    assert shown(viewer.renderInline(code(text))) == flat(text)


def test_numbers_have_the_digits_that_mean_something() -> None:
    """And what is not known is a dash."""
    assert [milliseconds(value) for value in (0.012, 0.5, 4.12, 99.94, 1234.5, None)] == [
        "0.01", "0.50", "4.1", "99.9", "1,234", "–"
    ]  # fmt: skip
    assert [number(value, 2) for value in (0, 1234.567, float("nan"), None)] == ["0.00", "1,234.57", "–", "–"]


@given(st.lists(places, max_size=40), st.floats(1, 50), places, st.floats(1, 2_000))
def test_names_at_line_ends_stand_one_below_the_other(wanted: list[float], gap: float, low: float, room: float) -> None:
    """In the order of the lines, within the column, and apart as far as there is room."""
    found = spread(wanted, gap, low, low + room)

    assert len(found) == len(wanted)
    assert all(low - 1e-6 <= spot <= low + room + 1e-6 for spot in found)
    apart = min(gap, room / max(1, len(wanted) - 1))
    assert all(b - a >= apart - 1e-6 for a, b in pairwise(sorted(found)))
    order = sorted(range(len(wanted)), key=lambda place: (wanted[place], place))
    assert [found[place] for place in order] == sorted(found)


def test_names_that_do_not_clash_stay_where_they_belong() -> None:
    """Only neighbours make room for each other."""
    assert spread([100, 10, 50], 14, 0, 200) == [100, 10, 50]
    assert spread([100, 101, 10], 14, 0, 200) == [93.5, 107.5, 10]
    assert spread([], 14, 0, 200) == []


@given(st.lists(st.tuples(st.floats(60, 840), st.floats(20, 480)), min_size=1, max_size=14))
def test_labels_lie_inside_and_apart(points: list[tuple[float, float]]) -> None:
    """As many as a plot has, wherever their points lie, even on one spot."""
    bounds = Box(450, 250, 900, 500)

    boxes = beside(points, [(110, 14)] * len(points), bounds)

    assert all(box.is_inside(bounds) for box in boxes)
    assert all(one.overlap(other) == 0 for place, one in enumerate(boxes) for other in boxes[place + 1 :])


def test_a_line_to_a_label_goes_round_other_labels() -> None:
    """A label whose near places are taken stands off, with a line that crosses no other."""
    bounds = Box(450, 250, 900, 500)
    points = [(450.0 + 3 * step, 250.0) for step in range(8)]

    boxes = beside(points, [(110, 14)] * len(points), bounds)
    lines = [(place, line) for place, point in enumerate(points) if (line := line_to(boxes[place], point))]

    assert lines
    assert not [
        place for place, line in lines for other in range(8) if other != place and boxes[other].is_crossed(line)
    ]


def test_a_line_crosses_a_box_only_where_it_goes_through_it() -> None:
    """Level, upright, aslant, or past it."""
    box = Box(10, 10, 4, 4)

    assert box.is_crossed(((0, 10), (20, 10)))
    assert box.is_crossed(((10, 0), (10, 20)))
    assert box.is_crossed(((0, 0), (20, 20)))
    assert not box.is_crossed(((0, 10), (7, 10)))
    assert not box.is_crossed(((0, 13), (20, 13)))
    assert not box.is_crossed(((0, 0), (20, 5)))
