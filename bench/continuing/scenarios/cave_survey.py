"""A caving club: reducing a survey, with a declination that an almanac printed."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_LEGS = '''"""Legs of a survey."""


def leg(line):
    """From, to, length, compass, slope."""
    a, b, length, compass, slope = line.split()
    return a, b, float(length), float(compass), float(slope)
'''
_LEGS_NOW = '''"""Legs of a survey."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Leg:
    """One leg: centimeters of tape, tenths of a degree of compass and slope, all as ints."""

    start: str
    end: str
    tape: int
    compass: int
    slope: int


def read_leg(line: str) -> Leg:
    """Read a line such as `A1 A2 12.40 271.5 -3.0`."""
    start, end, tape, compass, slope = line.split()
    return Leg(start, end, round(100 * float(tape)), round(10 * float(compass)), round(10 * float(slope)))
'''


def _tell(session: Recorder) -> None:
    session.user(
        "Survey programs of our caving club, folder cave/. Everything is in ints, centimeters and tenths of degrees, so that two people get the same map. Look at legs.py."
    )
    session.read("cave/legs.py")
    session.answer("Legs are tuples of floats now.")
    session.user("Then change that.")
    session.write("cave/legs.py", _LEGS_NOW)
    session.answer("`read_leg` gives a `Leg` with ints: centimeters and tenths of degrees.")
    session.fill(to=5_000)
    session.user("""
        We had the protection people here. Some entrances must not be found by tourists, so in anything that leaves the club
        a station whose name begins with Z is never written, nor a leg that touches one; positions are still computed with
        them, of course, or the rest would hang in the air. A station is called a 'point' in this country, and the code should
        say so, too, since 'station' is a railway to everybody under fifty. Marta has the ropes.
    """)
    session.answer(
        "Points whose names begin with Z are used in the computation and never written out; and they are points, not stations."
    )
    session.fill(to=10_000)
    session.user(
        "Compasses point to magnetic north. What is the declination at the cave, for this year? The almanac program knows."
    )
    session.run(
        "declination --lat 46.81 --lon 9.73 --year 2031 --model wmm",
        """
        model        WMM-2030
        inclination  +62.71
        declination  +3.4   (east, add to compass)
        change       +0.19 per year
        uncertainty  0.38
    """,
    )
    session.answer("The almanac has it, with the direction in which to apply it.")
    session.fill(to=15_000)
    session.user("And the red instrument box, does it have its own error? The calibration sheet is in the archive.")
    session.run(
        "cat archive/calibration/red_box_2031.txt",
        """
        tape      first 20 cm worn off: add 20 to each reading
        compass   sticks above 35 degrees of slope, read twice
        clino     reads 0.6 too high: subtract
        checked by Urs, at the wall of the club house
    """,
    )
    session.answer("The sheet has corrections for tape and clinometer, and a remark on the compass.")
    session.fill(to=20_000)
    session.user("""
        Loops that do not close: I distributed the error evenly over all legs once, which bent the main gallery through solid
        rock, we dug two weekends for nothing. So no distribution of errors. A point that is reached twice keeps the position
        that it was given first, and the second is reported as a gap. When the survey program is done add 'cave/survey.py' to
        the file PROGRAMS, at the end, Marta makes the backup by that list.
    """)
    session.answer(
        "First position wins, later ones are reported as gaps, nothing is distributed. And PROGRAMS at the end."
    )
    session.fill(to=44_000)


_MODULE = "cave/survey.py"
_SOLUTION = '''"""The survey: positions of points, in whole centimeters."""

from __future__ import annotations

from math import cos, radians, sin

from cave.legs import Leg

DECLINATION = 34
TAPE_ADDED = 20
CLINO_ADDED = -6
HIDDEN = "Z"

Position = tuple[int, int, int]


def offset(leg: Leg) -> Position:
    """East, north and up of a leg, corrected for the red box and for true north."""
    length = leg.tape + TAPE_ADDED
    azimuth = radians((leg.compass + DECLINATION) / 10)
    slope = radians((leg.slope + CLINO_ADDED) / 10)
    flat = length * cos(slope)
    return round(flat * sin(azimuth)), round(flat * cos(azimuth)), round(length * sin(slope))


def positions(legs: list[Leg], first: str) -> tuple[dict[str, Position], list[str]]:
    """Where each point is, and the points that were reached twice at different places."""
    found = {first: (0, 0, 0)}
    gaps = []
    for leg in legs:
        x, y, z = found[leg.start]
        dx, dy, dz = offset(leg)
        place = (x + dx, y + dy, z + dz)
        if found.setdefault(leg.end, place) != place:
            gaps.append(leg.end)
    return found, gaps


def published(legs: list[Leg], first: str) -> list[str]:
    """A line for each point that may leave the club."""
    found, _ = positions(legs, first)
    return [f"{point} {x} {y} {z}" for point, (x, y, z) in found.items() if not point.startswith(HIDDEN)]
'''
_TRY = "from cave.legs import Leg\nfrom cave.survey import positions, published\n"

SCENARIO = Scenario(
    name="cave-survey",
    about=__doc__ or "",
    style="bash",
    system="You run one shell command at a time in the folder of a caving club's programs.",
    vocabulary=Vocabulary(
        package="cave",
        things=("rope", "lamp", "camp", "member", "entrance"),
        measures=("length", "depth", "lumens", "nights", "weight"),
        labels=("gallery", "valley", "color", "maker", "hut"),
        names=("Marta", "Urs", "Sulzfluh", "Gallery", "Partnun", "Reto", "Lidernen", "Schacht", "Silberen", "Flurina"),
    ),
    files={"cave/legs.py": _LEGS, "PROGRAMS": "cave/ropes.py\n"},
    tell=_tell,
    follow_up="""
        Now cave/survey.py, the last program. `positions(legs, first)` returns a dict from names to (east, north, up) in whole
        centimeters, where `first` is at (0, 0, 0) and each leg starts at a place that is known already, and a list of the
        names that were reached again at another position. Legs are measured with the red box, this year, at our cave:
        correct tape, slope and compass (east is the sine of the azimuth, up the sine of the slope, round at the end of each
        leg). `published(legs, first)` returns what may leave the club: lines with name and three numbers, separated by
        spaces. Done after that.
    """,
    checks=(
        said(
            "rule",
            "hidden entrances do not leave the club",
            "begins with Z is never written",
            code=f"{_TRY}legs = [Leg('A', 'Z1', 1000, 0, 0), Leg('Z1', 'B', 1000, 900, 0)]\nlines = published(legs, 'A')\n"
            "assert [l.split()[0] for l in lines] == ['A', 'B'] and 'Z1' in positions(legs, 'A')[0]",
            mistake=(_MODULE, " if not point.startswith(HIDDEN)", ""),
        ),
        said(
            "name",
            "points are not stations",
            "A station is called a 'point' in this country",
            code="text = read('cave/survey.py').lower()\nassert 'point' in text and 'station' not in text",
            mistake=(_MODULE, "positions of points", "positions of stations"),
        ),
        said(
            "failed approach",
            "the first position wins and gaps are reported",
            "So no distribution of errors",
            "keeps the position that it was given first",
            code=f"{_TRY}legs = [Leg('A', 'B', 1000, 0, 0), Leg('A', 'C', 1000, 900, 0), Leg('C', 'B', 1000, 900, 0)]\n"
            "found, gaps = positions(legs, 'A')\nassert gaps == ['B'] and found['B'] == positions(legs[:1], 'A')[0]['B']",
            mistake=(
                _MODULE,
                "if found.setdefault(leg.end, place) != place:\n            gaps.append(leg.end)",
                "found[leg.end] = place",
            ),
        ),
        said(
            "decision",
            "all numbers are ints",
            "Everything is in ints",
            code=f"{_TRY}found, _ = positions([Leg('A', 'B', 1234, 567, 89)], 'A')\nassert all(type(n) is int for p in found.values() for n in p) and found['B'][0] != 0",
            mistake=(_MODULE, "round(flat * sin(azimuth)), ", "flat * sin(azimuth), "),
        ),
        said(
            "wish",
            "the program is on the list for the backup",
            "add 'cave/survey.py' to the file PROGRAMS",
            code="assert 'cave/survey.py' in read('PROGRAMS').splitlines()",
            mistake=("PROGRAMS", "cave/survey.py\n", ""),
        ),
        shown(
            "value",
            "the declination is added",
            "declination +3.4",
            code=f"{_TRY}from math import atan2, degrees\nx, y, _ = positions([Leg('A', 'B', 100000, 0, 0)], 'A')[0]['B']\nassert abs(degrees(atan2(x, y)) - 3.4) < 0.01",
            mistake=(_MODULE, "DECLINATION = 34", "DECLINATION = -34"),
        ),
        shown(
            "value",
            "the tape is corrected",
            "add 20 to each reading",
            code=f"{_TRY}x, y, z = positions([Leg('A', 'B', 1000, 0, 0)], 'A')[0]['B']\nassert abs((x * x + y * y + z * z) ** 0.5 - 1020) < 1.5",
            mistake=(_MODULE, "TAPE_ADDED = 20", "TAPE_ADDED = -20"),
        ),
        shown(
            "value",
            "the slope is corrected",
            "reads 0.6 too high",
            code=f"{_TRY}from math import asin, degrees\nx, y, z = positions([Leg('A', 'B', 100000, 0, 100)], 'A')[0]['B']\n"
            "assert abs(degrees(asin(z / (x * x + y * y + z * z) ** 0.5)) - 9.4) < 0.01",
            mistake=(_MODULE, "CLINO_ADDED = -6", "CLINO_ADDED = 6"),
        ),
        kept(
            "interface",
            "legs have centimeters and tenths",
            "tenths of a degree of compass and slope",
            code=f"{_TRY}from cave.legs import read_leg\nx, y, z = positions([read_leg('A B 50.00 90.0 0.0')], 'A')[0]['B']\nassert 4900 < x < 5100 and -600 < y < 100",
            mistake=(_MODULE, "radians((leg.compass + DECLINATION) / 10)", "radians(leg.compass + DECLINATION)"),
        ),
    ),
    reference={_MODULE: _SOLUTION, "PROGRAMS": "cave/ropes.py\ncave/survey.py\n"},
)
