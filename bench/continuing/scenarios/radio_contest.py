"""A radio club: scoring a contest, with a table of points that a tool printed."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_LOG = '''"""The log of contacts."""


def contact(line):
    """A contact as a dict."""
    time, band, call = line.split()
    return {"time": time, "band": band, "call": call}
'''
_LOG_NOW = '''"""The log of contacts."""

from __future__ import annotations

from typing import NamedTuple


class Contact(NamedTuple):
    """One contact; `minute` counts from the start of the contest."""

    minute: int
    meters: int
    station: str


def contact(line: str) -> Contact:
    """Read a line such as `0135 40m DL0XX`, hours and minutes since the start."""
    time, band, station = line.split()
    return Contact(60 * int(time[:2]) + int(time[2:]), int(band.rstrip("m")), station)
'''


def _tell(session: Recorder) -> None:
    session.user(
        "club log tools in hamlog/. python 3.11, keep every line below 88 columns, and no classes with methods: plain functions and named tuples only (our trainees). read log.py"
    )
    session.read("hamlog/log.py")
    session.answer("`contact` makes a dict of a line.")
    session.user("named tuple please, minutes instead of the time text, meters as int")
    session.write("hamlog/log.py", _LOG_NOW)
    session.answer("`contact` gives a `Contact(minute, meters, station)`.")
    session.fill(to=5_500)
    session.user(
        "what points do the bands have this year? the contest robot answers by mail, but there is also the cli"
    )
    session.run(
        "contestctl rules --year 2031 --table points",
        """
        band   own continent   other continent
        160m   2               5
        80m    1               4
        40m    1               3
        20m    1               3
        15m    2               6
        10m    3               7
    """,
    )
    session.answer("The points depend on the band and on whether the station is on our continent.")
    session.fill(to=10_000)
    session.user("""
        a few club rules for the scoring. a station that we worked twice on the same band within 90 minutes counts once, after
        that again. mobile stations (call ends in /M) count double, after everything else. and we NEVER list a station whose
        owner is silent key, i.e. died, in anything that we print: that is hamlog/silent.txt, out of respect. our word for
        the final number is 'tally', score is what football has.
    """)
    session.answer("Noted: 90 minutes, /M counts double, silent keys are not printed, and the number is the tally.")
    session.fill(to=15_000)
    session.user("how do we find the continent? i thought of the first letter of the call")
    session.think("I check that idea against the log of last year.")
    session.run(
        "python scratch/first_letter.py last_year.log",
        "412 contacts, 97 on the wrong continent by first letter\nworst prefixes: KH6 (41), 9A (22), EA8 (19), C3 (15)",
        1,
    )
    session.answer(
        "The first letter is wrong for a quarter of the contacts: EA8 is in Africa, KH6 in Oceania. A table by the longest matching prefix would do."
    )
    session.user(
        "then by longest prefix, and what has no entry is another continent. which prefixes are on ours, as the robot sees it?"
    )
    session.run(
        "contestctl prefixes --continent own",
        """
        own continent of DL0CLUB: EU
        DL DK F G EA 9A C3 OH SM LA
        not own although it begins like one: EA8 EA9
    """,
    )
    session.answer("The robot lists ten prefixes of our continent and two exceptions.")
    session.fill(to=20_000)
    session.user(
        "when scoring is done please append '2031: scored by program' to HISTORY. only when done, or the chairman prints it"
    )
    session.answer("It goes into HISTORY when the scoring is done.")
    session.fill(to=44_000)


_MODULE = "hamlog/tally.py"
_SOLUTION = '''"""The tally of a contest."""

from __future__ import annotations

from pathlib import Path

from hamlog.log import Contact

POINTS = {
    160: (2, 5), 80: (1, 4), 40: (1, 3), 20: (1, 3), 15: (2, 6), 10: (3, 7),
}
OWN = ("DL", "DK", "F", "G", "EA", "9A", "C3", "OH", "SM", "LA")
OTHER = ("EA8", "EA9")
AGAIN_AFTER = 90


def is_own(station: str) -> bool:
    """Whether a station is on our continent, by the longest prefix."""
    fitting = [one for one in (*OWN, *OTHER) if station.startswith(one)]
    return bool(fitting) and max(fitting, key=len) in OWN


def tally(contacts: list[Contact]) -> int:
    """The points of all contacts, in the order in which they were made."""
    last: dict[tuple[str, int], int] = {}
    total = 0
    for one in contacts:
        before = last.get((one.station, one.meters))
        if before is not None and one.minute - before <= AGAIN_AFTER:
            continue
        last[one.station, one.meters] = one.minute
        own, other = POINTS[one.meters]
        points = own if is_own(one.station) else other
        total += 2 * points if one.station.endswith("/M") else points
    return total


def listing(contacts: list[Contact]) -> list[str]:
    """A line for each station that may be printed, in order of first contact."""
    silent = Path("hamlog/silent.txt").read_text().split()
    worked = dict.fromkeys(one.station for one in contacts)
    return [name for name in worked if name not in silent]
'''
_TRY = "from hamlog.log import Contact\nfrom hamlog.tally import tally, listing\n"

SCENARIO = Scenario(
    name="radio-contest",
    about=__doc__ or "",
    style="codex",
    system="You are a coding agent in /work.",
    vocabulary=Vocabulary(
        package="hamlog",
        things=("antenna", "operator", "rig", "beacon", "card"),
        measures=("watts", "meters_high", "gain", "noise", "years"),
        labels=("locator", "mode", "club", "mast", "band"),
        names=("DL0CLUB", "OH2AB", "SM5XY", "Kreuzberg", "Taunus", "Vega", "Yagi", "Dipole", "Marconi", "Hertz"),
    ),
    files={"hamlog/log.py": _LOG, "hamlog/silent.txt": "DK1OLD\n", "HISTORY": "2030: scored by hand\n"},
    tell=_tell,
    follow_up="""
        now the scoring. a module in hamlog/ and in it a function, both named by our word for the final number: gets a list
        of Contact in the order they were made, returns the points, by this year's table and the club's rules. beside it
        `listing(contacts)`: the calls we worked, in order of first contact, each once, as we print it. that's the scoring
        done then.
    """,
    checks=(
        said(
            "name",
            "the number is the tally",
            "our word for the final number is 'tally'",
            code=f"{_TRY}assert isinstance(tally([Contact(0, 80, 'DL1A')]), int) and 'score' not in read('hamlog/tally.py').replace('scored', '')",
            mistake=(_MODULE, "The tally of a contest", "The score of a contest"),
        ),
        said(
            "rule",
            "the same station counts again after a while",
            "on the same band within 90 minutes counts once",
            code=f"{_TRY}c = lambda *minutes: [Contact(m, 80, 'DL1A') for m in minutes]\n"
            "assert tally(c(0, 60)) == tally(c(0)) and tally(c(0, 100)) == 2 * tally(c(0)) > 0",
            mistake=(_MODULE, "AGAIN_AFTER = 90", "AGAIN_AFTER = 120"),
        ),
        said(
            "rule",
            "mobile stations count double",
            "count double",
            code=f"{_TRY}assert tally([Contact(0, 80, 'DL1A/M')]) == 2 * tally([Contact(0, 80, 'DL1A')]) > 0",
            mistake=(_MODULE, 'one.station.endswith("/M")', "False"),
        ),
        said(
            "rule",
            "silent keys are not printed",
            "NEVER list a station whose owner is silent key",
            code=f"{_TRY}assert listing([Contact(0, 80, 'DK1OLD'), Contact(1, 80, 'G4A'), Contact(9, 40, 'G4A')]) == ['G4A']",
            mistake=(_MODULE, " if name not in silent", ""),
        ),
        said(
            "rule",
            "no classes with methods, and short lines",
            "every line below 88 columns",
            "no classes with methods",
            code="text = read('hamlog/tally.py')\nassert 'def tally' in text and max(map(len, text.splitlines())) < 88\n"
            "assert not re.search(r'^\\s+def .*\\(self', text, re.M)",
            mistake=(
                _MODULE,
                '    """Whether a station is on our continent, by the longest prefix."""',
                '    """Whether a station is on our continent, which is found out by the longest prefix that fits."""',
            ),
        ),
        said(
            "wish",
            "the history is told",
            "append '2031: scored by program' to HISTORY",
            code="assert read('HISTORY').splitlines()[-1] == '2031: scored by program'",
            mistake=("HISTORY", "2031: scored by program\n", ""),
        ),
        shown(
            "value",
            "bands have their points",
            "160m 2 5",
            "15m 2 6",
            "10m 3 7",
            code=f"{_TRY}assert [tally([Contact(0, m, s)]) for m in (160, 15, 10) for s in ('DL1A', 'W1A')] == [2, 5, 2, 6, 3, 7]",
            mistake=(_MODULE, "15: (2, 6)", "15: (2, 5)"),
        ),
        shown(
            "failed approach",
            "prefixes decide on the continent, the longest first",
            "DL DK F G EA 9A C3 OH SM LA",
            "EA8 EA9",
            code=f"{_TRY}assert [tally([Contact(0, 80, s)]) for s in ('9A1A', 'EA3B', 'EA8B', 'C31A', 'KH6X')] == [1, 1, 4, 1, 4]",
            mistake=(_MODULE, 'OTHER = ("EA8", "EA9")', "OTHER = ()"),
        ),
        kept(
            "interface",
            "contacts are named tuples",
            "class Contact(NamedTuple)",
            code="from hamlog.log import contact\nfrom hamlog.tally import tally\nassert tally([contact('0135 40m DL0XX'), contact('0140 80m DL0XX')]) == 2",
            mistake=(_MODULE, "POINTS[one.meters]", 'POINTS[int(one.meters.rstrip("m"))]'),
        ),
    ),
    reference={_MODULE: _SOLUTION, "HISTORY": "2030: scored by hand\n2031: scored by program\n"},
)
