"""A bus company: transfers between lines, with stop numbers of a registry and a parser that was given up."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_TIMES = '''"""Departures as the timetable has them."""


def departures(line, stop):
    """Departures of a line at a stop, as texts such as "07:15"."""
    return TABLE.get((line, stop), [])


TABLE = {
    ("12", "Mill Road"): ["07:15", "07:45", "23:50", "24:20"],
    ("31", "Mill Road"): ["07:19", "07:40", "07:52", "24:26"],
}
'''
_TIMES_NOW = '''"""Departures as the timetable has them."""

from __future__ import annotations

TABLE = {
    ("12", "Mill Road"): ["07:15", "07:45", "23:50", "24:20"],
    ("31", "Mill Road"): ["07:19", "07:40", "07:52", "24:26"],
}


def departures(line: str, stop: str) -> list[int]:
    """Departures of a line at a stop, in minutes of its service day, which may go beyond 24 hours."""
    return [60 * int(text[:2]) + int(text[3:]) for text in TABLE.get((line, stop), [])]
'''


def _tell(session: Recorder) -> None:
    session.user("""
        Timetable tools of a bus company, in transit/. House rules: no package from outside the standard library, ever
        (we deploy by copying files to depots that have no network), and no module above 60 lines, the depot's editor is
        what it is. Read times.py.
    """)
    session.read("transit/times.py")
    session.answer("Departures are texts; late buses have hours beyond 24.")
    session.fill(to=4_500)
    session.user("Make departures() return minutes. Use time.strptime so that we do not write a parser.")
    session.think("I try strptime on what the table has.")
    session.run(
        'python -c \'import time; print(time.strptime("24:20", "%H:%M"))\'',
        """
        Traceback (most recent call last):
          File "<string>", line 1, in <module>
        ValueError: time data '24:20' does not match format '%H:%M'
    """,
        1,
    )
    session.think("strptime refuses hours beyond 23, and the service day has them. I split the text.")
    session.write("transit/times.py", _TIMES_NOW)
    session.run("python -m pytest -q tests", "25 passed in 0.31s")
    session.answer(
        "departures() gives minutes. strptime cannot be used: our service day goes beyond 24 hours, and it refuses 24:20."
    )
    session.fill(to=9_000)
    session.user("""
        Fine, so no time or datetime parsing anywhere, as the service day must go beyond 24. Next week we do transfers.
        Dispatch calls a transfer a 'meet' when the second bus waits and a 'hop' when it does not, and those are the
        two words that screens may show. A hop needs at least four minutes on foot and one that takes longer than
        eighteen is not offered, since people walk off. Which lines wait? Depot has a list on its server.
    """)
    session.run(
        "cat /mnt/depot/waiting_lines.txt",
        """
        # lines that wait for a late feeder, with the minutes they may wait
        # agreed with the union 2024-11
        7    2
        31   6
        44   3
        58   5
        N1   12
    """,
    )
    session.answer("The depot's list has five lines that wait, each with its minutes.")
    session.fill(to=14_000)
    session.user("The screens want the number of a stop, not its name. Look up Mill Road in the registry.")
    session.run(
        "curl -s 'https://stops.example/api/find?q=Mill+Road'",
        """
        {"query": "Mill Road", "hits": [
          {"name": "Mill Road (Upper)", "atco": "0500CCITY418", "state": "closed 2022"},
          {"name": "Mill Road", "atco": "0500CCITY423", "state": "active"},
          {"name": "Mill Road School", "atco": "0500CCITY431", "state": "active"}]}
    """,
    )
    session.answer("There are three; the one without an addition is active.")
    session.user(
        "That one. At the end of the transfers work, delete transit/legacy.py, but not earlier, the night team still imports it."
    )
    session.answer("I leave transit/legacy.py until transfers are finished, then it goes.")
    session.fill(to=44_000)


_MODULE = "transit/transfers.py"
_SOLUTION = '''"""Transfers between two lines at a stop."""

from __future__ import annotations

from transit.times import departures

WAITING = {"7": 2, "31": 6, "44": 3, "58": 5, "N1": 12}
STOPS = {"Mill Road": "0500CCITY423"}
LEAST, MOST = 4, 18


def transfers(first: str, second: str, stop: str) -> list[str]:
    """A line for each departure of the first line that has a transfer."""
    found = []
    for arrival in departures(first, stop):
        for leaving in departures(second, stop):
            gap = leaving - arrival
            if LEAST <= gap <= MOST:
                found.append(f"{STOPS[stop]} {arrival} {leaving} hop")
                break
            if LEAST - WAITING.get(second, 0) <= gap < LEAST:
                found.append(f"{STOPS[stop]} {arrival} {leaving} meet")
                break
    return found
'''
_TRY = (
    "import transit.times as t\n"
    "def at(a, b, second='99'):\n    t.TABLE.clear()\n    t.TABLE['5', 'Mill Road'] = [f'{x // 60:02}:{x % 60:02}' for x in a]\n"
    "    t.TABLE[second, 'Mill Road'] = [f'{x // 60:02}:{x % 60:02}' for x in b]\n"
    "    from transit.transfers import transfers\n    return [line.split() for line in transfers('5', second, 'Mill Road')]\n"
)

SCENARIO = Scenario(
    name="bus-transfers",
    about=__doc__ or "",
    style="codex",
    system="You are a coding agent. Work in /work, which holds the tools of a bus company.",
    vocabulary=Vocabulary(
        package="transit",
        things=("vehicle", "depot", "roster", "fare", "shelter"),
        measures=("seats", "mileage", "delay", "riders", "fuel"),
        labels=("line", "garage", "operator", "zone", "crew"),
        names=("Cherry Hinton", "Parkside", "Addenbrooke", "Newmarket", "Trumpington", "Arbury", "Kings", "Romsey"),
    ),
    files={"transit/times.py": _TIMES, "transit/legacy.py": '"""What the night team still uses."""\n\nMAGIC = 41\n'},
    tell=_tell,
    follow_up="""
        Now the transfers. In transit/transfers.py write `transfers(first, second, stop)`: for each departure of the
        first line (its buses arrive when they depart) the earliest departure of the second that can be reached, if there
        is one, as a line of text: the number of the stop, both times in minutes, and the word that dispatch uses. If the
        gap is within what we said for walking, the bus does not wait. If it is shorter than that, the second bus may make
        up for it by waiting, if its line waits at all and for no longer than agreed; a bus that has left already (by more
        than it could have waited) cannot be reached. This completes the transfers.
    """,
    checks=(
        said(
            "name",
            "the screens show the words of dispatch",
            "'meet' when the second bus waits",
            "'hop' when it does not",
            code=f"{_TRY}assert at([600], [610])[0][3] == 'hop' and at([600], [602], '31')[0][3] == 'meet'",
            mistake=(_MODULE, "{leaving} meet", "{leaving} wait"),
        ),
        said(
            "rule",
            "walking takes four to eighteen minutes",
            "at least four minutes on foot",
            "eighteen is not offered",
            code=f"{_TRY}assert [len(at([600], [600 + gap])) for gap in (3, 4, 18, 19)] == [0, 1, 1, 0]",
            mistake=(_MODULE, "LEAST, MOST = 4, 18", "LEAST, MOST = 4, 20"),
        ),
        said(
            "rule",
            "nothing but the standard library, and a short module",
            "no package from outside the standard library",
            "no module above 60 lines",
            code="import ast\ntext = read('transit/transfers.py')\nassert 'def transfers' in text and len(text.splitlines()) <= 60\n"
            "names = [n.module.split('.')[0] if isinstance(n, ast.ImportFrom) else n.names[0].name.split('.')[0] "
            "for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.ImportFrom))]\n"
            "assert all(n == 'transit' or n in sys.stdlib_module_names for n in names)",
            mistake=(_MODULE, "LEAST, MOST", "\n" * 40 + "LEAST, MOST"),
        ),
        said(
            "failed approach",
            "times go beyond midnight without parsing dates",
            "no time or datetime parsing anywhere",
            code=f"{_TRY}text = read('transit/transfers.py')\nassert 'strptime' not in text and 'datetime' not in text\n"
            "assert at([1460], [1466])[0][1:3] == ['1460', '1466']",
            mistake=(_MODULE, "{arrival} {leaving} hop", "{arrival % 1440} {leaving % 1440} hop"),
        ),
        said(
            "wish",
            "the module of the night team is deleted at the end",
            "delete transit/legacy.py",
            code="assert not Path('transit/legacy.py').exists() or not read('transit/legacy.py').strip()",
            mistake=("transit/legacy.py", "\n", "MAGIC = 41\n"),
        ),
        shown(
            "value",
            "lines wait as long as the depot agreed",
            "31 6",
            "N1 12",
            code=f"{_TRY}assert [len(at([600], [604 - wait], '31')) for wait in (6, 7)] == [1, 0]\n"
            "assert [len(at([600], [604 - wait], 'N1')) for wait in (12, 13)] == [1, 0]",
            mistake=(_MODULE, '"N1": 12', '"N1": 10'),
        ),
        shown(
            "value",
            "the stop has its number in the registry",
            "0500CCITY423",
            code=f"{_TRY}assert at([600], [610])[0][0] == '0500CCITY423'",
            mistake=(_MODULE, "0500CCITY423", "0500CCITY418"),
        ),
        kept(
            "interface",
            "departures are minutes",
            "def departures(line: str, stop: str) -> list[int]",
            code=f"{_TRY}assert at([600, 700], [606, 710])[1][1:3] == ['700', '710']",
            mistake=(_MODULE, "gap = leaving - arrival", "gap = int(leaving[:2]) - int(arrival[:2])"),
        ),
    ),
    reference={_MODULE: _SOLUTION, "transit/legacy.py": "\n"},
)
