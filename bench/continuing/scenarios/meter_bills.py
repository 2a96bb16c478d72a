"""A utility: estimating readings for bills, by an agent that has nothing but a shell."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_READINGS = '''"""Readings of meters."""


def last_reading(meter):
    """The last reading, as (day, value)."""
    return READINGS[meter][-1]


READINGS = {"G-1": [(0, 100), (90, 460)], "G-2": [(0, 9990), (30, 15)], "E-1": [(0, 50), (60, 350)]}
'''
_READINGS_NOW = '''"""Readings of meters."""

from __future__ import annotations

from typing import NamedTuple


class Reading(NamedTuple):
    """What a meter showed on a day; `estimated` if nobody looked."""

    value: int
    day: int
    estimated: bool = False


READINGS = {
    "G-1": [Reading(100, 0), Reading(460, 90)],
    "G-2": [Reading(9990, 0), Reading(15, 30)],
    "E-1": [Reading(50, 0), Reading(350, 60)],
}


def readings_of(meter: str) -> list[Reading]:
    """All readings of a meter, oldest first."""
    return READINGS[meter]
'''


def _tell(session: Recorder) -> None:
    session.user("""
        You maintain the billing tools of a small utility (grid/). Rule one: estimates are in favor of the customer. If
        you divide, the fraction of a unit is dropped, and an estimate must never exceed the customer's highest reading
        so far by more than 900 units, whatever the arithmetic says. The regulator fined us for both. Look at readings.py.
    """)
    session.think("THOUGHT: I look at the file.")
    session.read("grid/readings.py")
    session.answer("READINGS has (day, value) pairs for each meter, and last_reading gives the last.")
    session.fill(to=4_000)
    session.user(
        "Turn the pairs into a named tuple, value first, with a flag for estimates, and give all readings of a meter."
    )
    session.write("grid/readings.py", _READINGS_NOW)
    session.run("grep -rn last_reading .", "", 1)
    session.answer("`readings_of` gives `Reading(value, day, estimated)`. Nothing used the old function.")
    session.fill(to=9_000)
    session.user("G-2 went from 9990 to 15, is that a defect? Ask the device database how the gas meters count.")
    session.run(
        "psql -h devices -c \"select kind, maker, digits, unit, seal from model join meter using (model) where meter = 'G-2'\"",
        """
         kind | maker  | digits | unit | seal
        ------+--------+--------+------+---------
         gas  | Elster |      4 | m3   | 2029-06
        (1 row)
    """,
    )
    session.answer(
        "Not a defect. The counter ran over and began again at zero; how many digits it has stands in the database."
    )
    session.user("""
        So a reading below the one before means that the counter ran over, once. Differences must allow for it. I first
        wanted to clean such data by hand: do not, in March we 'corrected' forty meters that were fine, that was worse than
        the bug.
    """)
    session.answer("Understood: differences allow for one overrun, and recorded readings are never changed.")
    session.fill(to=14_000)
    session.user("Which factor turns cubic meters into kWh this quarter? The gas network publishes it.")
    session.run(
        "curl -s https://network.example/quality/2031Q2.csv",
        """
        area,calorific_kwh_m3,state_number,valid_from
        north,11.402,0.9612,2031-04-01
        south,11.157,0.9587,2031-04-01
        islands,10.904,0.9611,2031-04-01
    """,
    )
    session.user(
        "We are 'south'. kWh are cubic meters times both numbers; keep the product exact, with Decimal, and no float anywhere."
    )
    session.answer("South it is, with both factors, in Decimal.")
    session.fill(to=19_000)
    session.user("""
        Naming: the person who pays is the 'account holder', in code `holder`. Never 'customer' or 'client' in code or
        in what it prints, since a landlord can be the holder and a tenant the customer. For later, when estimates work:
        add 'grid/estimates.py' as a line to AUDIT.txt, auditors want to know each file that makes numbers up.
    """)
    session.answer("`holder` in code and texts; the line in AUDIT.txt when the estimates work.")
    session.fill(to=44_000)


_MODULE = "grid/estimates.py"
_SOLUTION = '''"""Estimates for an account holder whose meter nobody read."""

from __future__ import annotations

from decimal import Decimal

from grid.readings import Reading, readings_of

DIGITS = 4
MOST_ABOVE = 900
CALORIFIC = Decimal("11.157")
STATE_NUMBER = Decimal("0.9587")


def used(first: Reading, second: Reading) -> int:
    """Units between two readings; the counter may have run over once."""
    return (second.value - first.value) % 10**DIGITS


def estimate(meter: str, day: int) -> Reading:
    """The reading of a later day, at the pace between the last two."""
    readings = readings_of(meter)
    first, second = readings[-2:]
    more = used(first, second) * (day - second.day) // (second.day - first.day)
    most = max(reading.value for reading in readings) + MOST_ABOVE
    return Reading(min(second.value + more, most), day, estimated=True)


def kwh(cubic_meters: int) -> Decimal:
    """The energy of some gas."""
    return cubic_meters * CALORIFIC * STATE_NUMBER


def line(holder: str, meter: str, day: int) -> str:
    """A line for the bill."""
    return f"holder {holder}: {meter} estimated {estimate(meter, day).value}"
'''
_TRY = (
    "import grid.readings as r, grid.estimates as e\n"
    "def at(day, *pairs):\n    r.READINGS['X'] = [r.Reading(v, d) for d, v in pairs]\n    return e.estimate('X', day)\n"
)

SCENARIO = Scenario(
    name="meter-bills",
    about=__doc__ or "",
    style="bash",
    system="You can run shell commands in the folder of the project. One command at a time.",
    vocabulary=Vocabulary(
        package="grid",
        things=("cable", "substation", "tariff", "outage", "fitter"),
        measures=("load", "volts", "length", "price", "minutes"),
        labels=("street", "feeder", "crew", "village", "phase"),
        names=("Elster", "Moorweg", "Deich", "Siel", "Norden", "Ahlers", "Warft", "Krummhörn", "Pewsum", "Leer"),
    ),
    files={"grid/readings.py": _READINGS, "AUDIT.txt": "grid/tariffs.py\n"},
    tell=_tell,
    follow_up="""
        Now write grid/estimates.py for gas meters like G-2. `used(first, second)`: units between two readings.
        `estimate(meter, day)`: a Reading for a day after the last one, at the pace between the last two readings (the
        estimate itself does not run over). `kwh(cubic_meters)`: energy at this quarter's factors for our area.
        `line(PERSON, meter, day)`: a line for the bill, beginning with the word we use for the person who pays, then
        a space, the name, and whatever else is useful; call the parameter by that word, too. Rules as discussed; with
        that the estimates work.
    """,
    checks=(
        said(
            "rule",
            "fractions of a unit are dropped",
            "the fraction of a unit is dropped",
            code=f"{_TRY}got = at(38, (0, 0), (20, 15)).value\nassert got == 28 and type(got) is int",
            mistake=(
                _MODULE,
                "more = used(first, second) * (day - second.day) // (second.day - first.day)",
                "more = round(used(first, second) * (day - second.day) / (second.day - first.day))",
            ),
        ),
        said(
            "rule",
            "an estimate stays near the highest reading",
            "by more than 900 units",
            code=f"{_TRY}assert at(9000, (0, 1000), (10, 1100)).value == 2000",
            mistake=(_MODULE, "MOST_ABOVE = 900", "MOST_ABOVE = 9000"),
        ),
        said(
            "failed approach",
            "recorded readings are never changed",
            "means that the counter ran over, once",
            code=f"{_TRY}before = [list(v) for v in r.READINGS.values()]\ne.estimate('G-2', 60)\n"
            "assert before == [list(v) for v in r.READINGS.values()] and r.READINGS['G-2'][1].value == 15 and e.used(*r.READINGS['G-2']) > 0",
            mistake=(
                _MODULE,
                "    first, second = readings[-2:]\n",
                "    readings[-1] = readings[-1]._replace(value=max(readings[-1].value, readings[-2].value))\n    first, second = readings[-2:]\n",
            ),
        ),
        said(
            "decision",
            "energy is exact",
            "with Decimal, and no float anywhere",
            code="from decimal import Decimal\nimport grid.estimates as e\nassert isinstance(e.kwh(1000), Decimal) and 'float(' not in read('grid/estimates.py')",
            mistake=(
                _MODULE,
                "return cubic_meters * CALORIFIC * STATE_NUMBER",
                "return float(cubic_meters * CALORIFIC * STATE_NUMBER)",
            ),
        ),
        said(
            "name",
            "the person who pays is the holder",
            "is the 'account holder', in code `holder`",
            code="import inspect, grid.estimates as e\nassert 'holder' in inspect.signature(e.line).parameters\n"
            "assert e.line('Ahlers', 'G-1', 100).startswith('holder Ahlers')\n"
            "assert not re.search('customer|client', read('grid/estimates.py').lower())",
            mistake=(_MODULE, "def line(holder: str", "def line(holder: str, *_customer"),
        ),
        said(
            "wish",
            "auditors are told of the file",
            "add 'grid/estimates.py' as a line to AUDIT.txt",
            code="assert 'grid/estimates.py' in read('AUDIT.txt').splitlines()",
            mistake=("AUDIT.txt", "grid/estimates.py\n", ""),
        ),
        shown(
            "value",
            "the counter runs over at its digits",
            "gas | Elster | 4 | m3",
            code=f"{_TRY}assert e.used(r.Reading(9990, 0), r.Reading(15, 30)) == 25",
            mistake=(_MODULE, "DIGITS = 4", "DIGITS = 5"),
        ),
        shown(
            "value",
            "the factors are those of the area",
            "south,11.157,0.9587",
            code="import grid.estimates as e\nassert abs(float(e.kwh(1000)) - 10696.2159) < 0.001",
            mistake=(_MODULE, "11.157", "11.402"),
        ),
        kept(
            "interface",
            "readings have their value first",
            "Reading(100, 0)",
            code=f"{_TRY}got = at(30, (0, 0), (10, 100))\nassert (got.value, got.day, got.estimated) == (300, 30, True)",
            mistake=(_MODULE, "most), day, estimated=True)", "most), day)"),
        ),
    ),
    reference={_MODULE: _SOLUTION, "AUDIT.txt": "grid/tariffs.py\ngrid/estimates.py\n"},
)
