"""A bakery: the plan for the night, with an oven whose limits only its controller told."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_DOUGHS = '''"""Doughs: how long they rest and bake."""

REST = {"rye": 95, "wheat": 60, "spelt": 75, "brioche": 140}
BAKE = {"rye": 55, "wheat": 28, "spelt": 34, "brioche": 22}


def minutes(dough):
    """Minutes from kneading to cooling."""
    return REST[dough] + BAKE[dough]
'''
_DOUGHS_NOW = '''"""Doughs: how long they rest and bake."""

from typing import NamedTuple

REST = {"rye": 95, "wheat": 60, "spelt": 75, "brioche": 140}
BAKE = {"rye": 55, "wheat": 28, "spelt": 34, "brioche": 22}


class Times(NamedTuple):
    """Minutes that a dough rests, and minutes that it bakes."""

    rest: int
    bake: int


def times_of(dough: str) -> Times:
    """The times of a dough; raises KeyError for one that we do not make."""
    return Times(REST[dough], BAKE[dough])
'''


def _tell(session: Recorder) -> None:
    session.user("hi. bakery software, see bakery/. start with doughs.py and the trays, tell me what minutes() is for")
    session.read("bakery/doughs.py")
    session.read("bakery/trays.py", 1, 30)
    session.answer("minutes() adds rest and baking time of a dough.")
    session.fill(to=3_500)
    session.user(
        "split that up, rest and bake are different people's work. and use type hints from now on, on every function, my sister insists"
    )
    session.write("bakery/doughs.py", _DOUGHS_NOW)
    session.grep("minutes(")
    session.answer(
        "`times_of` gives both as a named tuple; `minutes` is gone. From now on every function has type hints."
    )
    session.fill(to=8_000)
    session.user("""
        ok so about the night plan. we count minutes from 22:00, that's zero, nobody here thinks in clock times at
        night. an entry of the plan is called a charge (it's the German word, the oven people all use it). and rye always
        goes first, because the oven is hottest then, even if somebody orders a hundred brioche. you don't need to write
        it yet. what does the oven say it can do? the controller has a telnet thing on port 2300
    """)
    session.run(
        "printf 'show limits\\n' | nc oven.local 2300",
        """
        BACKMEISTER C4 fw 2.18
        deck.count           3
        deck.loaves.max      34
        deck.gap.minutes     9
        steam.seconds        45
        temp.max             285
        door.cycles          18822
        ready
    """,
    )
    session.answer("The controller answers with its decks, the limits of each and the pause it needs in between.")
    session.fill(to=13_000)
    session.user("can we store the plan with pickle so the tablet can load it? would be simplest")
    session.think("I try it with a small plan on the tablet's Python.")
    session.run(
        'ssh tablet python3 -c \'import pickle; print(pickle.load(open("plan.pkl", "rb")))\'',
        "ModuleNotFoundError: No module named 'bakery'",
        1,
    )
    session.answer("That does not work: the tablet has no bakery package, and pickle wants it. Text would do.")
    session.user(
        "then tab-separated text, one charge a line, no header. no pickle and no json, the tablet's reader splits at tabs"
    )
    session.answer("Agreed: a line for each charge, cells separated by tabs, no header.")
    session.fill(to=18_000)
    session.user("""
        what does the shop's ledger call the products? the plan must have those numbers, the shop people don't know our
        dough names
    """)
    session.run(
        "sqlite3 -header -column /srv/shop/ledger.db 'select plu, name, vat from product order by plu'",
        """
        plu   name              vat
        ----  ----------------  ---
        2104  Roggenlaib        7
        2111  Weizenbrot        7
        2119  Dinkelbrot        7
        2140  Brioche           7
        3302  Kaffee            19
        3310  Limonade          19
    """,
    )
    session.answer("The ledger has a number for each of our four breads (rye, wheat, spelt, brioche), and some drinks.")
    session.user(
        "good. oh and when the plan is finished put my sister's name, Annelie, in the AUTHORS file. only then, she is superstitious"
    )
    session.answer("I will add her when the plan is finished.")
    session.fill(to=44_000)


_MODULE = "bakery/night.py"
_SOLUTION = '''"""The plan of a night: what goes into the oven when."""

from __future__ import annotations

from dataclasses import dataclass

from bakery.doughs import times_of

LOAVES_A_DECK = 34
GAP = 9
PLU = {"rye": 2104, "wheat": 2111, "spelt": 2119, "brioche": 2140}


@dataclass(frozen=True)
class Charge:
    """What one deck bakes at once; `start` in minutes from 22:00."""

    dough: str
    loaves: int
    start: int


def plan(orders: dict[str, int]) -> list[Charge]:
    """The charges of one deck, one after the other, rye first, then as ordered."""
    charges: list[Charge] = []
    start = 0
    for dough in sorted(orders, key=lambda name: name != "rye"):
        left = orders[dough]
        while left > 0:
            loaves = min(left, LOAVES_A_DECK)
            charges.append(Charge(dough, loaves, start))
            start += times_of(dough).bake + GAP
            left -= loaves
    return charges


def to_text(charges: list[Charge]) -> str:
    """The plan for the tablet."""
    return "".join(f"{charge.start}\\t{PLU[charge.dough]}\\t{charge.loaves}\\n" for charge in charges)
'''
_TRY = "import bakery.night as night\ngot = night.plan({'wheat': 40, 'rye': 5})\n"

SCENARIO = Scenario(
    name="bakery-plan",
    about=__doc__ or "",
    style="openhands",
    system="You are a helpful programmer in the back room of a bakery.",
    vocabulary=Vocabulary(
        package="bakery",
        things=("tray", "mixer", "flour", "customer", "van"),
        measures=("kilos", "price", "minutes_late", "seats", "degrees"),
        labels=("branch", "mill", "street", "shift", "driver"),
        names=("Annelie", "Markt", "Bahnhof", "Mühle", "Kirchweg", "Otto", "Friedel", "Seeweg", "Lindenhof", "Hafen"),
    ),
    files={"bakery/doughs.py": _DOUGHS, "AUTHORS": "Friedel\n"},
    tell=_tell,
    follow_up="""
        now write bakery/night.py: `plan(orders)` gets loaves by dough (a dict) and returns the entries of the plan for
        ONE deck, objects of a class named as we call them, with attributes dough, loaves, start. never more loaves than a
        deck takes, the next one starts when the one before is baked and the pause that the oven needs is over. order as I
        said, the rest as in the orders. `to_text(entries)` is what the tablet reads: start, number of the product in the
        shop's ledger, loaves. that's all then, plan finished.
    """,
    checks=(
        said(
            "name",
            "an entry is a charge",
            "an entry of the plan is called a charge",
            code=f"{_TRY}assert type(got[0]).__name__ == 'Charge'",
            mistake=(_MODULE, "class Charge:\n", "class Entry:\n"),
        ),
        said(
            "rule",
            "rye goes first",
            "rye always goes first",
            code=f"{_TRY}assert got[0].dough == 'rye' and got[0].start == 0",
            mistake=(_MODULE, 'sorted(orders, key=lambda name: name != "rye")', "orders"),
        ),
        said(
            "rule",
            "every function has type hints",
            "use type hints from now on, on every function",
            code="import ast\ntree = ast.parse(read('bakery/night.py'))\nfound = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]\n"
            "assert found and all(f.returns and all(a.annotation or a.arg == 'self' for a in f.args.args) for f in found)",
            mistake=(_MODULE, "-> str:", ":"),
        ),
        said(
            "failed approach",
            "the tablet gets tabs, without a header",
            "tab-separated text, one charge a line, no header",
            code=f"{_TRY}lines = night.to_text(got).splitlines()\nassert len(lines) == len(got) and all(l.count('\\t') == 2 for l in lines)\n"
            "assert [int(l.split('\\t')[0]) for l in lines] == [g.start for g in got]",
            mistake=(_MODULE, "\\t{charge.loaves}", ";{charge.loaves}"),
        ),
        said(
            "wish",
            "the sister is among the authors",
            "put my sister's name, Annelie, in the AUTHORS file",
            code="assert 'Annelie' in read('AUTHORS').split()",
            mistake=("AUTHORS", "Annelie\n", ""),
        ),
        shown(
            "value",
            "a deck takes so many loaves",
            "deck.loaves.max 34",
            code=f"{_TRY}assert [g.loaves for g in got if g.dough == 'wheat'] == [34, 6]",
            mistake=(_MODULE, "LOAVES_A_DECK = 34", "LOAVES_A_DECK = 30"),
        ),
        shown(
            "value",
            "the oven gets its pause",
            "deck.gap.minutes 9",
            code="import bakery.night as night\ngot = night.plan({'spelt': 1, 'rye': 1})\n"
            "starts = sorted(g.start for g in got)\nassert starts[1] - starts[0] in (43, 64)",
            mistake=(_MODULE, "GAP = 9", "GAP = 5"),
        ),
        shown(
            "value",
            "products have the ledger's numbers",
            "2104 Roggenlaib",
            "2119 Dinkelbrot",
            code="import bakery.night as night, re\ntext = night.to_text(night.plan({'rye': 1, 'spelt': 1, 'brioche': 1}))\n"
            "assert {'2104', '2119', '2140'} <= set(re.findall(r'\\d+', text))",
            mistake=(_MODULE, '"spelt": 2119', '"spelt": 2118'),
        ),
        kept(
            "interface",
            "baking times come from the split function",
            "times_of",
            code="import bakery.doughs as d\nd.BAKE['wheat'] = 100\nimport bakery.night as night\n"
            "starts = [g.start for g in night.plan({'wheat': 200})]\nassert starts[1] - starts[0] >= 100",
            mistake=(_MODULE, "times_of(dough).bake", "28"),
        ),
    ),
    reference={_MODULE: _SOLUTION, "AUTHORS": "Friedel\nAnnelie\n"},
)
