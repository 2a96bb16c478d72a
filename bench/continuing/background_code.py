"""Background code: modules of a made-up project that have nothing to do with what is checked, and really run."""

from __future__ import annotations

from string import Template
from typing import Final

RECORDS: Final = Template('''"""${Things}: what is known of each $thing, read from rows and written back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

SEPARATOR = ";"
COLUMNS = ("code", "$l1", "$l2", "$m1", "$m2")
LONGEST_CODE = $longest


class ${Thing}Error(ValueError):
    """A row that is not a $thing."""


@dataclass(frozen=True)
class $Thing:
    """One $thing, as the office writes it down."""

    code: str
    $l1: str
    $l2: str
    $m1: int
    $m2: int = 0

    @property
    def label(self) -> str:
        """How lists name it."""
        return f"{self.code} ({self.$l1})"

    def with_$m1(self, $m1: int) -> "$Thing":
        """The same $thing after a new measurement."""
        return replace(self, $m1=$m1)

    def is_like(self, other: "$Thing") -> bool:
        """Whether two of them differ in numbers only."""
        return (self.$l1, self.$l2) == (other.$l1, other.$l2)


def ${thing}_from_row(row: str) -> $Thing:
    """Read one row; raises ${Thing}Error."""
    cells = [cell.strip() for cell in row.split(SEPARATOR)]
    if len(cells) != len(COLUMNS):
        raise ${Thing}Error(f"{len(cells)} cells instead of {len(COLUMNS)}: {row!r}")
    code, $l1, $l2, $m1, $m2 = cells
    if not code or len(code) > LONGEST_CODE:
        raise ${Thing}Error(f"a code has 1 to {LONGEST_CODE} characters: {code!r}")
    try:
        return $Thing(code=code, $l1=$l1, $l2=$l2, $m1=int($m1), $m2=int($m2 or 0))
    except ValueError as error:
        raise ${Thing}Error(f"{row!r}: {error}") from error


def ${thing}_to_row(one: $Thing) -> str:
    """The row that a $thing was read from."""
    values = asdict(one)
    return SEPARATOR.join(str(values[column]) for column in COLUMNS)


def parse_${thing}s(text: str) -> list[$Thing]:
    """All rows of a text; empty lines and remarks are skipped."""
    rows = (line.strip() for line in text.splitlines())
    return [${thing}_from_row(row) for row in rows if row and not row.startswith("#")]


def changed_${thing}s(before: list[$Thing], after: list[$Thing]) -> list[str]:
    """Codes of those that came, went or changed."""
    old = {one.code: one for one in before}
    new = {one.code: one for one in after}
    return sorted(code for code in old.keys() | new.keys() if old.get(code) != new.get(code))
''')

BANDS: Final = Template('''"""Bands: where the $m1 of a $thing stands, in the words that reports use."""

from __future__ import annotations

from bisect import bisect_right

# Lower ends of the bands, from the meeting of $month.
LIMITS = ($a, $b, $c, $d)
NAMES = ("$n1", "$n2", "$n3", "$n4", "$n5")
TOLERANCE = $tolerance


def band_of_${thing}($m1: int) -> str:
    """The band that a value falls into."""
    return NAMES[bisect_right(LIMITS, $m1)]


def is_near_limit($m1: int) -> bool:
    """Whether a value could fall into the next band after the next measurement."""
    return any(abs($m1 - limit) <= TOLERANCE for limit in LIMITS)


def explain_band($m1: int) -> str:
    """A sentence for the report."""
    band = band_of_${thing}($m1)
    place = NAMES.index(band)
    low = LIMITS[place - 1] if place else None
    high = LIMITS[place] if place < len(LIMITS) else None
    if low is None:
        return f"{$m1} is {band}: below {high}"
    if high is None:
        return f"{$m1} is {band}: from {low} on"
    return f"{$m1} is {band}: from {low} to below {high}"


def count_bands(values: list[int]) -> dict[str, int]:
    """How many values fall into each band, bands without any left out."""
    counts = dict.fromkeys(NAMES, 0)
    for value in values:
        counts[band_of_${thing}(value)] += 1
    return {name: count for name, count in counts.items() if count}
''')

SHELF: Final = Template('''"""The shelf: all ${thing}s at hand, found by code and by $l1."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from $package.${thing}s import $Thing

CAPACITY = $capacity


class ShelfFull(RuntimeError):
    """No room is left."""


class ${Thing}Shelf:
    """Keeps ${thing}s in the order in which they came."""

    def __init__(self) -> None:
        self._by_code: dict[str, $Thing] = {}
        self._by_$l1: dict[str, set[str]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._by_code)

    def __iter__(self) -> Iterator[$Thing]:
        return iter(self._by_code.values())

    def put(self, one: $Thing) -> None:
        """Put a $thing on the shelf; one with the same code makes way."""
        if one.code not in self._by_code and len(self) >= CAPACITY:
            raise ShelfFull(f"{CAPACITY} are here already; take one away before {one.code!r}")
        self.take(one.code)
        self._by_code[one.code] = one
        self._by_$l1[one.$l1].add(one.code)

    def take(self, code: str) -> "$Thing | None":
        """Take a $thing away, if it is there."""
        one = self._by_code.pop(code, None)
        if one is not None:
            self._by_$l1[one.$l1].discard(code)
        return one

    def at_$l1(self, $l1: str) -> list[$Thing]:
        """All of one $l1, by code."""
        return [self._by_code[code] for code in sorted(self._by_$l1[$l1])]

    def heaviest(self, count: int) -> list[$Thing]:
        """Those with the most $m1."""
        return sorted(self, key=lambda one: (-one.$m1, one.code))[:count]
''')

SUMMARY: Final = Template('''"""Summaries: ${thing}s by $l2, as a table of plain text."""

from __future__ import annotations

from collections import defaultdict

from $package.${thing}s import $Thing

WIDTH = $width
EMPTY = "-"


def totals_by_$l2(found: list[$Thing]) -> dict[str, tuple[int, int]]:
    """For each $l2 the number of ${thing}s and their $m1."""
    totals: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for one in found:
        count, total = totals[one.$l2]
        totals[one.$l2] = count + 1, total + one.$m1
    return dict(sorted(totals.items()))


def summary_lines(found: list[$Thing]) -> list[str]:
    """The table, its head first."""
    head = f"{'$l2':<{WIDTH}}{'count':>8}{'$m1':>12}"
    rows = [f"{name or EMPTY:<{WIDTH}}{count:>8}{total:>12}" for name, (count, total) in totals_by_$l2(found).items()]
    whole = f"{'all':<{WIDTH}}{len(found):>8}{sum(one.$m1 for one in found):>12}"
    return [head, *rows, whole]


def mean_$m1(found: list[$Thing]) -> float:
    """The mean, 0 for none."""
    return sum(one.$m1 for one in found) / len(found) if found else 0.0


def without_$m2(found: list[$Thing]) -> list[str]:
    """Codes of those that were never measured."""
    return sorted(one.code for one in found if not one.$m2)
''')

TESTS: Final = Template('''from $package.${thing}_bands import LIMITS, NAMES, band_of_${thing}, count_bands
from $package.${thing}_shelf import ${Thing}Shelf
from $package.${thing}_summary import summary_lines, totals_by_$l2
from $package.${thing}s import $Thing, ${thing}_from_row, ${thing}_to_row, parse_${thing}s

ROWS = """# $thing rows of $month
$rows
"""


def test_rows_come_back_as_they_were():
    assert [${thing}_to_row(one) for one in parse_${thing}s(ROWS)] == ROWS.splitlines()[1:]


def test_a_value_at_a_limit_is_in_the_upper_band():
    assert [band_of_${thing}(limit) for limit in LIMITS] == list(NAMES[1:])
    assert sum(count_bands([one.$m1 for one in parse_${thing}s(ROWS)]).values()) == len(parse_${thing}s(ROWS))


def test_the_shelf_finds_by_$l1():
    shelf = ${Thing}Shelf()
    for one in parse_${thing}s(ROWS):
        shelf.put(one)
    first = next(iter(shelf))
    assert first in shelf.at_$l1(first.$l1)
    assert shelf.take(first.code) == first
    assert first not in shelf.at_$l1(first.$l1)


def test_the_summary_has_a_row_for_each_$l2():
    found = parse_${thing}s(ROWS)
    assert len(summary_lines(found)) == len(totals_by_$l2(found)) + 2


def test_one_row():
    assert isinstance(${thing}_from_row(ROWS.splitlines()[1]), $Thing)
''')
