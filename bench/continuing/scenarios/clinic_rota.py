"""A clinic: a rota of nights, with limits that only the payroll system's refusals told."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_STAFF = '''"""Who can work nights."""

STAFF = ["amara", "bo", "chen", "dara", "eli"]


def can_work(person, day):
    """Whether somebody can work the night that begins on a day of the month."""
    return (person, day) not in AWAY


AWAY = {("bo", 3), ("chen", 1)}
'''
_STAFF_NOW = '''"""Who can work nights."""

from __future__ import annotations

STAFF = ("amara", "bo", "chen", "dara", "eli")
AWAY = {("bo", 3): "leave", ("chen", 1): "course"}


def absence(person: str, day: int) -> str | None:
    """Why somebody cannot work the night that begins on a day of the month, None if nothing stands against it."""
    return AWAY.get((person, day))
'''


def _tell(session: Recorder) -> None:
    session.user("You are working on the rota programs of a clinic, package rota. Read staff.py and shifts, then wait.")
    session.read("rota/staff.py")
    session.read("rota/ward_bands.py")
    session.answer("Read. `can_work` says whether somebody is away on a day.")
    session.fill(to=3_000)
    session.user("I need to see *why* somebody is away. Change the interface.")
    session.write("rota/staff.py", _STAFF_NOW)
    session.grep("can_work")
    session.answer("`absence` gives the reason, or None. `can_work` is gone; it had no callers.")
    session.fill(to=7_000)
    session.user("""
        Notes from the ward meeting, the relevant parts. (1) Coffee machine: not ours. (2) Everybody wants the rota two
        weeks ahead. (3) After a night, the next two nights are free for that person, no exceptions, also not 'just this
        once'; this is from the staff council and they will check it by program. (4) New badge readers in April.
        (5) Eli does not work nights that begin on the 13th, do not ask, just respect it. (6) A night that nobody can take
        is marked OPEN in capitals, and the head nurse phones around; never assign somebody twice instead. (7) Parking.
    """)
    session.answer(
        "Noted what concerns the rota: two nights free after each, Eli and the 13th, and OPEN for nights that nobody can take."
    )
    session.fill(to=12_000)
    session.user("Does payroll take our nights as they are? Send it a test.")
    session.run(
        "paysend --dry-run night.csv",
        """
        row 1: rejected, unit must be one of 7W2 (ward), 7A1 (admission), 7X9 (float)
        row 2: rejected, night allowance class missing, use NZ3 for 20:00-06:00
        row 3: rejected, personal number must have 6 digits
        accepted 0 of 3
    """,
        1,
    )
    session.answer(
        "Payroll rejects all three rows and says what it wants instead: a unit, an allowance class and longer personal numbers."
    )
    session.user("We are the ward. Personal numbers, where are they?")
    session.run(
        "ldapsearch -x -LLL '(ou=ward)' uid employeeNumber | paste - - -",
        """
        uid: amara   employeeNumber: 204411
        uid: bo      employeeNumber: 198032
        uid: chen    employeeNumber: 220907
        uid: dara    employeeNumber: 187765
        uid: eli     employeeNumber: 231150
    """,
    )
    session.answer("The directory has them, for all five.")
    session.fill(to=18_000)
    session.user("""
        I let the solver from the university run over it (the one with constraints), it took forty minutes and gave a
        different rota each time, so people could not see why. Forget solvers and randomness: the next night goes to the
        person who has had the fewest so far, at a tie to the one who comes first in STAFF. That is easily explained.
    """)
    session.answer("Fewest nights so far, ties by the order of STAFF; no solver, nothing random.")
    session.user(
        "When the rota runs, please set __version__ in rota/__init__.py to 2.0 and not a day earlier, the head nurse looks at that."
    )
    session.answer("I will do that when the rota runs.")
    session.fill(to=44_000)


_MODULE = "rota/nights.py"
_SOLUTION = '''"""Nights: who works which, and what payroll gets."""

from __future__ import annotations

from rota.staff import STAFF, absence

FREE_AFTER = 2
OPEN = "OPEN"
NUMBERS = {"amara": "204411", "bo": "198032", "chen": "220907", "dara": "187765", "eli": "231150"}


def nights(days: int) -> list[str]:
    """Who works each night, from that of the first day on."""
    rota: list[str] = []
    for day in range(1, days + 1):
        able = [person for person in STAFF if is_able(person, day, rota)]
        rota.append(min(able, key=rota.count) if able else OPEN)
    return rota


def is_able(person: str, day: int, rota: list[str]) -> bool:
    """Whether somebody can take the next night."""
    if person in rota[-FREE_AFTER:] or (person == "eli" and day == 13):
        return False
    return absence(person, day) is None


def payroll_rows(rota: list[str]) -> list[str]:
    """Rows for payroll: number, day, unit, class."""
    return [f"{NUMBERS[person]},{day},7W2,NZ3" for day, person in enumerate(rota, 1) if person != OPEN]
'''

SCENARIO = Scenario(
    name="clinic-rota",
    about=__doc__ or "",
    style="claude",
    system="You are an engineer at a clinic. Tools: Read, Edit, Write, Bash.",
    vocabulary=Vocabulary(
        package="rota",
        things=("ward", "shift", "badge", "bed", "locker"),
        measures=("hours", "beds", "age", "floor", "points"),
        labels=("team", "grade", "wing", "nurse", "key"),
        names=("Amara", "Bo", "Chen", "Dara", "Eli", "North", "Annex", "Float", "Imani", "Sasha"),
    ),
    files={"rota/staff.py": _STAFF, "rota/__init__.py": '"""The rota of a clinic."""\n\n__version__ = "1.4"\n'},
    tell=_tell,
    follow_up="""
        The rota itself, please: rota/nights.py with `nights(days)`, which returns for each night from day 1 on the name of
        who works it, by the principle we settled on and everything from the ward meeting; and `payroll_rows(rota)`, which
        returns for each night that somebody works a row of personal number, day, unit and allowance class, separated by
        commas, that payroll accepts. Then the rota runs.
    """,
    checks=(
        said(
            "rule",
            "two nights are free after each",
            "the next two nights are free",
            code="import rota.staff as s\ns.AWAY.clear()\ns.AWAY.update({(p, d): 'x' for p in s.STAFF[2:] for d in range(1, 9)})\n"
            "from rota.nights import nights\nrota = nights(4)\nassert rota[:2] == ['amara', 'bo'] and rota[2] not in s.STAFF and rota[3] == 'amara'",
            mistake=(_MODULE, "FREE_AFTER = 2", "FREE_AFTER = 1"),
        ),
        said(
            "rule",
            "Eli does not work on the 13th",
            "Eli does not work nights that begin on the 13th",
            code="import rota.staff as s\ns.AWAY.clear()\ns.AWAY.update({(p, 13): 'x' for p in s.STAFF if p != 'eli'})\nfrom rota.nights import nights\nassert nights(13)[12] != 'eli'",
            mistake=(_MODULE, ' or (person == "eli" and day == 13)', ""),
        ),
        said(
            "rule",
            "a night that nobody can take is open",
            "marked OPEN in capitals",
            code="import rota.staff as s\ns.AWAY.update({(p, 2): 'x' for p in s.STAFF})\nfrom rota.nights import nights\nassert nights(3)[1] == 'OPEN'",
            mistake=(_MODULE, 'OPEN = "OPEN"', 'OPEN = "open"'),
        ),
        said(
            "failed approach",
            "the fewest nights come first, the same at each run",
            "at a tie to the one who comes first in STAFF",
            code="import rota.staff as s\ns.AWAY.clear()\nfrom rota.nights import nights\nassert nights(7) == ['amara', 'bo', 'chen', 'dara', 'eli', 'amara', 'bo']",
            mistake=(_MODULE, "min(able, key=rota.count)", "able[0]"),
        ),
        said(
            "wish",
            "the version says that the rota runs",
            "set __version__ in rota/__init__.py to 2.0",
            code="import rota\nassert rota.__version__ == '2.0'",
            mistake=("rota/__init__.py", '"2.0"', '"1.5"'),
        ),
        shown(
            "value",
            "payroll gets its unit and class",
            "7W2 (ward)",
            "use NZ3",
            code="from rota.nights import payroll_rows\nassert payroll_rows(['bo', 'amara'])[1].split(',')[1:] == ['2', '7W2', 'NZ3']",
            mistake=(_MODULE, "7W2,NZ3", "7A1,NZ3"),
        ),
        shown(
            "value",
            "personal numbers are those of the directory",
            "uid: chen employeeNumber: 220907",
            code="from rota.nights import payroll_rows\nassert [row.split(',')[0] for row in payroll_rows(['chen', 'eli'])] == ['220907', '231150']",
            mistake=(_MODULE, '"chen": "220907"', '"chen": "220970"'),
        ),
        kept(
            "interface",
            "absences are asked for their reason",
            "def absence(person: str, day: int)",
            code="import rota.staff as s\ns.AWAY.clear()\ns.AWAY['amara', 1] = 'leave'\nfrom rota.nights import nights\nassert nights(1) == ['bo']",
            mistake=(_MODULE, "return absence(person, day) is None", "return bool(absence(person, day))"),
        ),
    ),
    reference={_MODULE: _SOLUTION, "rota/__init__.py": '"""The rota of a clinic."""\n\n__version__ = "2.0"\n'},
)
