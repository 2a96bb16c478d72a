"""A harbor office: notices about low water, for a station whose datum only its configuration shows."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_HEIGHTS = '''"""Heights of the tide."""

from __future__ import annotations

CURVE = (12, 30, 75, 140, 196, 221, 208, 160, 101, 52, 20, 8)


def height_at(hour):
    """Centimeters above the zero of the gauge, as an int."""
    return CURVE[hour % 12]
'''
_NEW = '''from dataclasses import dataclass

CURVE = (12, 30, 75, 140, 196, 221, 208, 160, 101, 52, 20, 8)


@dataclass(frozen=True)
class Level:
    """A height over the zero of the gauge, and whether somebody measured it."""

    millimeters: int
    measured: bool = False


def level_at(hour: int) -> Level:
    """The level at an hour of the day."""
    return Level(millimeters=10 * CURVE[hour % 12])
'''


def _tell(session: Recorder) -> None:
    session.user("""
        We take over the tide programs of the harbor office. Look around first. One thing before anything else, because
        it has cost us a keel: depths that we print are whole centimeters and are always cut off downwards, never
        rounded, not even by a millimeter. Apart from that write as you like, but keep the functions small.
    """)
    session.read("harbor/heights.py")
    session.read("harbor/berths.py", 1, 40)
    session.answer("I have seen it. Depths will always be cut off downwards to whole centimeters.")
    session.fill(to=5_000)
    session.user("""
        The pilots complained about our wording. A 'warning' is something that only the coast guard may issue, so that
        word must appear nowhere in what we make, neither in texts nor in names. What we send is called an advisory. By
        the way, Ingrid is back from leave and will read your code on Thursday; she likes short modules, and she asked
        whether the summary could be sorted by quay. Leave that for now. Also the harbor master wants a line in
        NOTES.md, 'Advisories checked against the gauge of 2019', but only when the advisories are finished, please do
        not forget it then. Now please find out what the configuration of Vesthavn station says, we will need it.
    """)
    session.think("The stations are configured on the gauge computer; I print the file there.")
    session.run(
        "ssh gauge cat /etc/gauge/vesthavn.conf",
        """
        # written by gaugectl 3.1, do not edit
        station = Vesthavn
        owner = Harbor Office II
        interval_minutes = 6
        sensor = radar
        sensor_serial = VG-20931
        zero_below_chart_datum_mm = 1874
        filter = median5
        upload = sftp://tides.example/in
        retry_seconds = 90
    """,
    )
    session.answer(
        "The configuration of Vesthavn is readable and complete; it has the zero, the sensor and the upload."
    )
    session.fill(to=11_000)
    session.user("height_at gives centimeters, but the gauge has millimeters. Change it to what the gauge has.")
    session.read("harbor/heights.py")
    session.think("I replace the function: a level has millimeters, and says whether it was measured.")
    session.write("harbor/heights.py", '"""Heights of the tide."""\n\nfrom __future__ import annotations\n\n' + _NEW)
    session.grep("height_at")
    session.answer("`level_at` takes the place of `height_at`. Nothing else called the old function.")
    session.fill(to=16_000)
    session.user("""
        About hours: use plain ints 0 to 23 in UTC everywhere, as the almanac does. We tried datetimes with zones in
        spring and had every advisory twice on the day the clocks changed; do not go there again.
    """)
    session.answer("Hours stay ints from 0 to 23 in UTC; no datetimes.")
    session.user("Ask the exchange which code an advisory for low water has, the list must be somewhere.")
    session.think("The exchange answers a query for its list of codes.")
    session.run(
        "curl -s https://exchange.example/codes?group=port",
        """
        code;group;text
        P301;port;berth closed
        P304;port;crane out of order
        P317;port;low water at berth
        P318;port;low water in fairway
        P322;port;swell at pier
        P340;port;ice
    """,
    )
    session.answer("The exchange has codes for low water at a berth and in the fairway; we need the one for berths.")
    session.fill(to=44_000)


_SOLUTION = '''"""Advisories about low water at berths."""

from __future__ import annotations

from harbor.heights import level_at

CODE = "P317"
ZERO_BELOW_DATUM = 1874


def depth_at(hour: int, bottom_cm: int) -> int:
    """Centimeters of water over the bottom, which lies so far below chart datum; cut off downwards."""
    return (level_at(hour).millimeters - ZERO_BELOW_DATUM + 10 * bottom_cm) // 10


def advisories(bottom_cm: int, draft_cm: int) -> list[str]:
    """A line for each hour at which a ship would touch the bottom."""
    return [
        f"{CODE} advisory {hour:02} UTC depth {depth_at(hour, bottom_cm)}"
        for hour in range(24)
        if depth_at(hour, bottom_cm) < draft_cm
    ]
'''
_MODULE = "harbor/advisories.py"

SCENARIO = Scenario(
    name="tide-notices",
    about=__doc__ or "",
    style="claude",
    system="You are the programmer of a harbor office. You have tools to read, change and run.",
    vocabulary=Vocabulary(
        package="harbor",
        things=("berth", "pilot", "tug", "buoy", "cargo"),
        measures=("length", "draft", "tonnage", "fee", "hours"),
        labels=("quay", "flag", "owner", "agent", "basin"),
        names=(
            "Vesthavn",
            "Nordkai",
            "Sundbrygga",
            "Ingrid",
            "Halvard",
            "Maren",
            "Fjordline",
            "Odin",
            "Skagen",
            "Tora",
        ),
    ),
    files={"harbor/heights.py": _HEIGHTS, "NOTES.md": "# Notes\n\n- Gauges are calibrated in March.\n"},
    tell=_tell,
    follow_up="""
        Now the last step, the messages about low water at berths at Vesthavn. Make a module in harbor/ named after what
        we call these messages (in the plural, lower case, .py) with two functions. `depth_at(hour, bottom_cm)` gives
        the depth in centimeters: the level of the hour, less how far the zero of Vesthavn's gauge lies below chart
        datum, plus the bottom, which is so many centimeters below chart datum. A function named as the module gets
        `(bottom_cm, draft_cm)` and returns a list of lines, one for each hour of the day at which the depth is less
        than the draft: the code of the exchange for it, our word for such a message, the hour with two digits, `UTC`,
        the word `depth` and the depth, with single spaces between. Mind everything we agreed on. With this the work is
        finished.
    """,
    checks=(
        said(
            "name",
            "the messages are called advisories",
            "is called an advisory",
            code="from harbor.advisories import advisories\nassert ' advisory ' in advisories(200, 900)[0]",
            mistake=(_MODULE, "{CODE} advisory", "{CODE} notice"),
        ),
        said(
            "rule",
            "the word of the coast guard appears nowhere",
            "only the coast guard may issue",
            "appear nowhere",
            code="text = read('harbor/advisories.py')\nassert 'def ' in text and 'warn' not in text.lower()",
            mistake=(_MODULE, "Advisories about", "Warnings about"),
        ),
        said(
            "rule",
            "depths are cut off downwards",
            "cut off downwards",
            "never rounded",
            # Whatever zero was used: the depth of a level that ends in half a centimeter, against its neighbors.
            code="import harbor.advisories as a, harbor.heights as h\n"
            "def depth(mm):\n    a.level_at = h.level_at = lambda hour: h.Level(millimeters=mm)\n    return a.depth_at(3, 100)\n"
            "runs = [depth(mm) for mm in range(5000, 5020)]\nassert all(isinstance(d, int) for d in runs)\n"
            "zero = next(mm for mm in range(20000) if depth(mm) == 0 and depth(mm - 1) == -1)\n"
            "assert depth(zero + 9) == 0 and depth(zero + 10) == 1",
            mistake=(
                _MODULE,
                "(level_at(hour).millimeters - ZERO_BELOW_DATUM + 10 * bottom_cm) // 10",
                "round((level_at(hour).millimeters - ZERO_BELOW_DATUM + 10 * bottom_cm) / 10)",
            ),
        ),
        said(
            "failed approach",
            "hours are ints in UTC, without datetimes",
            "plain ints 0 to 23 in UTC",
            "do not go there again",
            code="text = read('harbor/advisories.py')\nassert 'def depth_at' in text and 'datetime' not in text and 'zoneinfo' not in text",
            mistake=(_MODULE, "from harbor.heights", "from datetime import UTC, datetime\n\nfrom harbor.heights"),
        ),
        said(
            "wish",
            "the note that was put off is written",
            "Advisories checked against the gauge of 2019",
            code="assert 'Advisories checked against the gauge of 2019' in read('NOTES.md')",
            mistake=("NOTES.md", "- Advisories checked against the gauge of 2019\n", ""),
        ),
        shown(
            "value",
            "the zero of Vesthavn is taken off",
            "zero_below_chart_datum_mm = 1874",
            code="from harbor.advisories import depth_at\nassert depth_at(0, 300) in (124, 125) and depth_at(5, 10) in (43, 44)",
            mistake=(_MODULE, "ZERO_BELOW_DATUM = 1874", "ZERO_BELOW_DATUM = 1900"),
        ),
        shown(
            "value",
            "the code is that of low water at a berth",
            "P317;port;low water at berth",
            code="from harbor.advisories import advisories\nassert advisories(200, 900)[0].split()[0] == 'P317'",
            mistake=(_MODULE, 'CODE = "P317"', 'CODE = "P318"'),
        ),
        kept(
            "interface",
            "levels are those of the new function",
            "level_at",
            code="import harbor.heights as h, harbor.advisories as a\nassert not hasattr(h, 'height_at')\n"
            "assert a.depth_at(5, 400) - a.depth_at(0, 400) in (208, 209, 210)",
            mistake=(_MODULE, "level_at(hour).millimeters", "level_at(hour).millimeters // 10"),
        ),
    ),
    reference={
        _MODULE: _SOLUTION,
        "NOTES.md": "# Notes\n\n- Gauges are calibrated in March.\n- Advisories checked against the gauge of 2019\n",
    },
)
