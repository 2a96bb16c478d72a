"""A seed bank: taking seeds for germination tests, within a quota that only the vault's refusal showed."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_LOTS = '''"""Lots of seeds in the vault."""


class Lot:
    """One lot."""

    def __init__(self, accession, year, seeds, viability):
        self.accession = accession
        self.year = year
        self.seeds = seeds
        self.viability = viability
'''
_LOTS_NOW = '''"""Lots of seeds in the vault."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lot:
    """One lot; `grains` are the seeds in it, `viability` is in permille."""

    accession: str
    year: int
    grains: int
    viability: int
'''


def _tell(session: Recorder) -> None:
    session.user("""
        I run the data side of a small seed bank and need help with its programs in seedbank/. Please start by reading
        lots.py.
    """)
    session.read("seedbank/lots.py")
    session.answer("A lot has an accession, a year, a number of seeds and a viability.")
    session.fill(to=4_000)
    session.user("""
        Some background, so that you see how the place works. We keep around nine thousand lots, most of them from our
        own collectors, some in trust for other countries. Every few years a lot is tested: some of its seeds are put on
        wet paper and somebody counts what germinates. Tested seeds are dead afterwards, which is why the curators are
        strict: a lot with fewer than 60 grains is never touched, whatever the year, and if a program ever proposes one
        of those I will hear about it for months. The word they use for taking seeds out is a withdrawal; 'sample' means
        something else here, a leaf in alcohol, so keep it out of names. The cold room is at minus twenty. Lots come
        with paper envelopes which we scan, but the scans are not our business now. Viability is always permille as a
        whole number: percent with decimals went wrong twice when files came back from a spreadsheet. For today: make
        Lot a frozen dataclass, call the number of seeds grains, and say permille in its docstring.
    """)
    session.write("seedbank/lots.py", _LOTS_NOW)
    session.grep("Lot(")
    session.answer("Lot is a frozen dataclass now, with `grains` in the place of `seeds`.")
    session.fill(to=10_000)
    session.user("Find out how the vault writes its export, I have no paper about that.")
    session.think("vaultctl can describe its own format.")
    session.run(
        "vaultctl describe-format export --version 4",
        """
        export v4, one lot a line, no separators
        field        columns   notes
        accession    1-9       padded right with dots
        year         10-13
        grains       14-19     padded left with zeros
        viability    20-23     permille, 9999 = never tested
        check        24-24     ignored
    """,
    )
    session.answer("The export has lines of fixed columns; the tool describes them.")
    session.fill(to=15_000)
    session.user("Try a withdrawal of 40 grains from KEW-00187 on the test vault, to see whether our key works.")
    session.run(
        "vaultctl --test withdraw KEW-00187 --grains 40", "refused: over quota, a lot gives at most 25 grains a year", 1
    )
    session.run("vaultctl --test withdraw KEW-00187 --grains 5", "ok: 5 grains, ticket 88213")
    session.answer("The key works. The first attempt was refused for the vault's quota, the second went through.")
    session.fill(to=20_000)
    session.user("""
        When everything about withdrawals is done, and not before, set REVIEWED in seedbank/__init__.py to "Tomasz", he
        signs for it. And for the order in which lots are proposed: oldest year first, then accession. I had thought of
        lowest viability first, the curators have decided against it, as tests of dying lots tell nothing new.
    """)
    session.answer("Oldest first, then accession; and REVIEWED at the very end.")
    session.fill(to=44_000)


_MODULE = "seedbank/withdrawals.py"
_SOLUTION = '''"""Withdrawals: which lots give seeds for a test."""

from seedbank.lots import Lot

LEAST_GRAINS = 60
QUOTA = 25


def read_export(text: str) -> list[Lot]:
    """The lots of an export of the vault."""
    return [
        Lot(
            accession=line[:9].rstrip("."),
            year=int(line[9:13]),
            grains=int(line[13:19]),
            viability=int(line[19:23]),
        )
        for line in text.splitlines()
        if line
    ]


def propose_withdrawals(lots: list[Lot], wanted: int) -> list[tuple[str, int]]:
    """Lots in the order in which they are asked, with the grains that each gives."""
    proposed = []
    for lot in sorted(lots, key=lambda one: (one.year, one.accession)):
        if lot.grains >= LEAST_GRAINS:
            proposed.append((lot.accession, min(wanted, QUOTA)))
    return proposed
'''
_LINES = '"KEW-00187199100012009001\\nOSL-7....198400006008503\\nBRN-22...198400005999999\\n"'
_TRY = f"from seedbank.withdrawals import *\nlots = read_export({_LINES})\n"

SCENARIO = Scenario(
    name="seed-withdrawals",
    about=__doc__ or "",
    style="plain",
    system="You help with the programs of a seed bank. Use the tools you have.",
    vocabulary=Vocabulary(
        package="seedbank",
        things=("envelope", "shelf", "collector", "tray", "courier"),
        measures=("weight", "humidity", "count_kept", "age", "distance"),
        labels=("region", "genus", "donor", "room", "station"),
        names=("Kew", "Oslo", "Brno", "Tomasz", "Leontopodium", "Triticum", "Secale", "Valdres", "Ysanne", "Polder"),
    ),
    files={"seedbank/lots.py": _LOTS, "seedbank/__init__.py": '"""Programs of the seed bank."""\n\nREVIEWED = ""\n'},
    tell=_tell,
    follow_up="""
        Please write seedbank/withdrawals.py now, which ends this work. `read_export(text)` gives the lots of an export
        of the vault, in the format that the vault itself described; accessions without their padding.
        `propose_withdrawals(lots, wanted)` returns pairs of accession and grains in the order we decided: from each lot
        that may be asked at all, as many grains as wanted, or as many as the vault gives in a year if that is less.
        Keep to what the curators told us.
    """,
    checks=(
        said(
            "rule",
            "small lots are never touched",
            "fewer than 60 grains",
            code=f"{_TRY}got = dict(propose_withdrawals([Lot('A', 1990, 60, 1), Lot('B', 1990, 59, 1)], 3))\nassert list(got) == ['A']",
            mistake=(_MODULE, "LEAST_GRAINS = 60", "LEAST_GRAINS = 50"),
        ),
        said(
            "name",
            "the word for leaves in alcohol is not used",
            "'sample' means something else here",
            code="text = read('seedbank/withdrawals.py')\nassert 'def propose_withdrawals' in text and 'sample' not in text.lower()",
            mistake=(_MODULE, "which lots give seeds for a test", "samples for a test"),
        ),
        said(
            "decision",
            "oldest lots come first",
            "oldest year first, then accession",
            code=f"{_TRY}got = propose_withdrawals([Lot('B', 1990, 90, 1), Lot('C', 1980, 90, 900), Lot('A', 1990, 90, 500)], 3)\n"
            "assert [name for name, _ in got] == ['C', 'A', 'B']",
            mistake=(_MODULE, "(one.year, one.accession)", "(one.viability, one.accession)"),
        ),
        said(
            "wish",
            "the reviewer is entered at the end",
            'set REVIEWED in seedbank/__init__.py to "Tomasz"',
            code="import seedbank\nassert seedbank.REVIEWED == 'Tomasz'",
            mistake=("seedbank/__init__.py", '"Tomasz"', '""'),
        ),
        said(
            "decision",
            "viability stays a whole number of permille",
            "permille as a whole number",
            code=f"{_TRY}assert [lot.viability for lot in lots][:2] == [900, 850] and all(type(lot.viability) is int for lot in lots)",
            mistake=(_MODULE, "int(line[19:23])", "int(line[19:23]) / 10"),
        ),
        shown(
            "value",
            "the columns are those of the export",
            "grains 14-19",
            "padded right with dots",
            code=f"{_TRY}assert [(lot.accession, lot.year, lot.grains) for lot in lots] == "
            "[('KEW-00187', 1991, 120), ('OSL-7', 1984, 60), ('BRN-22', 1984, 59)]",
            mistake=(_MODULE, 'rstrip(".")', "rstrip()"),
        ),
        shown(
            "value",
            "no lot gives more than the quota",
            "at most 25 grains a year",
            code=f"{_TRY}assert propose_withdrawals([Lot('A', 1990, 900, 1)], 100) == [('A', 25)]",
            mistake=(_MODULE, "QUOTA = 25", "QUOTA = 40"),
        ),
        kept(
            "interface",
            "lots have grains",
            "grains: int",
            code=f"{_TRY}assert all(isinstance(lot, Lot) and lot.grains for lot in lots)",
            mistake=(_MODULE, "            grains=int(", "            seeds=int("),
        ),
    ),
    reference={_MODULE: _SOLUTION, "seedbank/__init__.py": '"""Programs of the seed bank."""\n\nREVIEWED = "Tomasz"\n'},
)
