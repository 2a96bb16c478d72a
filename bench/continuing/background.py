"""Background: the other work of a session, between the turns that matter; it reads, changes and runs things."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

from bench.continuing.background_code import BANDS, RECORDS, SHELF, SUMMARY, TESTS
from bench.continuing.vocabulary import Vocabulary

if TYPE_CHECKING:
    from bench.continuing.recorder import Recorder

_MONTHS: Final = ("January", "March", "April", "June", "August", "October", "November")
_BANDS: Final = (
    ("idle", "low", "usual", "high", "extreme"),
    ("tiny", "small", "middling", "large", "huge"),
    ("poor", "fair", "good", "fine", "superb"),
)
_KINDS: Final = ("s", "_bands", "_shelf", "_summary")


class Background:
    """Modules of a project and the turns in which they are worked on; all that is random comes from `random`."""

    def __init__(self, vocabulary: Vocabulary, random: Random) -> None:
        self._words = vocabulary
        self._random = random
        self._turns: list[Callable[[Recorder, str], None]] = []
        self._fields = {thing: self._draw(thing) for thing in vocabulary.things}

    def files(self) -> dict[str, str]:
        """The modules and their tests."""
        package = self._words.package
        made = {f"{package}/__init__.py": f'"""{package}."""\n'}
        for thing, fields in self._fields.items():
            for kind, template in zip(_KINDS, (RECORDS, BANDS, SHELF, SUMMARY), strict=True):
                made[f"{package}/{thing}{kind}.py"] = template.substitute(fields)
            made[f"tests/test_{thing}s.py"] = TESTS.substitute(fields)
        return made

    def turn(self, session: Recorder) -> None:
        """One turn of other work, each kind before any comes again."""
        if not self._turns:
            self._turns = [_raise_limit, _look_up, _inspect_data, _add_property, _fix_failure]
            self._random.shuffle(self._turns)
        self._turns.pop()(session, self._random.choice(self._words.things))

    def path(self, thing: str, kind: str) -> str:
        """The module of a thing."""
        return f"{self._words.package}/{thing}{kind}.py"

    def fields(self, thing: str) -> dict[str, str]:
        """What the templates were filled with."""
        return self._fields[thing]

    def rows(self, thing: str, count: int) -> str:
        """Rows of data."""
        drawn = (self._row(thing, number) for number in range(count))
        return "\n".join(drawn)

    def passed(self, thing: str, failed: str = "") -> str:
        """The output of the tests of a thing, and of its neighbors."""
        names = (
            "rows_come_back_as_they_were",
            "a_value_at_a_limit_is_in_the_upper_band",
            f"the_shelf_finds_by_{self._fields[thing]['l1']}",
            f"the_summary_has_a_row_for_each_{self._fields[thing]['l2']}",
            "one_row",
        )
        things = [thing, *(one for one in self._words.things if one != thing)][: 1 if failed else 3]
        listed = [
            f"tests/test_{one}s.py::test_{name} {'FAILED' if name == failed and one == thing else 'PASSED'}"
            for one in things
            for name in names
        ]
        seconds = self._random.randint(11, 98) / 100
        ended = f"1 failed, {len(listed) - 1} passed" if failed else f"{len(listed)} passed"
        return "\n".join([*listed, "", f"{'=' * 20} {ended} in {seconds}s {'=' * 20}"])

    def _draw(self, thing: str) -> dict[str, str]:
        random, words = self._random, self._words
        l1, l2 = random.sample(words.labels, 2)
        m1, m2 = random.sample(words.measures, 2)
        limits = sorted(random.sample(range(20, 900, 5), 4))
        bands = random.choice(_BANDS)
        fields = {
            "package": words.package,
            "thing": thing,
            "Thing": thing.title().replace("_", ""),
            "Things": thing.title(),
            "l1": l1,
            "l2": l2,
            "m1": m1,
            "m2": m2,
            "longest": str(random.randint(6, 12)),
            "month": random.choice(_MONTHS),
            "tolerance": str(random.randint(2, 9)),
            "capacity": str(random.randint(40, 400)),
            "width": str(random.randint(14, 24)),
            **dict(zip("abcd", map(str, limits), strict=True)),
            **{f"n{number}": name for number, name in enumerate(bands, 1)},
        }
        fields["rows"] = "\n".join(self._row(thing, number) for number in range(8))
        return fields

    def _row(self, thing: str, number: int) -> str:
        random, names = self._random, self._words.names
        code = f"{thing[:2].upper()}{number + 1:03}"
        return f"{code};{random.choice(names)};{random.choice(names)};{random.randint(1, 990)};{random.randint(0, 99)}"


def _raise_limit(session: Recorder, thing: str) -> None:
    """The user wants a number changed."""
    work, random = session.background, session.random
    fields, path = work.fields(thing), work.path(thing, "_bands")
    old = next(line for line in session.files[path].splitlines() if line.startswith("TOLERANCE"))
    value = random.randint(10, 19) if int(old.split()[-1]) < 10 else random.randint(2, 9)
    reason = random.choice(("the new gauges are worse than we thought", "two reports flagged half of the rows"))
    session.user(
        f"The tolerance for {thing} bands should be {value} now, {reason}. Please check where it is used before you "
        "change it, and run the tests."
    )
    session.think(f"I look at the bands of {thing}s and at their uses.")
    session.read(path)
    session.grep("is_near_limit")
    session.read(work.path(thing, "_summary"))
    session.edit(path, old, f"TOLERANCE = {value}")
    session.run("python -m pytest -v tests", work.passed(thing))
    session.answer(
        f"`TOLERANCE` in {path} is {value}. Only `is_near_limit` uses it, and nothing calls that yet besides reports "
        f"of {fields['m1']}. Tests pass."
    )


def _look_up(session: Recorder, thing: str) -> None:
    """The user asks how something works."""
    work = session.background
    fields = work.fields(thing)
    session.user(
        f"How does the {thing} shelf decide what it lists first, and what happens when it is full? I have to explain "
        "it to somebody."
    )
    session.think(f"The shelf is in {work.path(thing, '_shelf')}; I read it and the records it keeps.")
    session.read(work.path(thing, "_shelf"))
    session.read(work.path(thing, "s"))
    session.grep(f"{fields['Thing']}Shelf")
    session.answer(
        f"It keeps the order in which {thing}s came; `heaviest` sorts by {fields['m1']}, then by code, and "
        f"`at_{fields['l1']}` by code. At {fields['capacity']} a new code is refused with `ShelfFull`; a code that is "
        "there already makes way for its newer version, so that a full shelf can still be updated."
    )


def _inspect_data(session: Recorder, thing: str) -> None:
    """The user wants to know something of the data, and the agent prints it."""
    work, random = session.background, session.random
    fields = work.fields(thing)
    rows = work.rows(thing, random.randint(45, 70))
    counted = len(rows.splitlines())
    session.user(f"Do the {thing}s of {random.choice(_MONTHS)} look plausible? They are in data/{thing}s.csv.")
    session.think(f"I print them, then their {fields['m1']} by {fields['l2']}.")
    session.run(f"cat data/{thing}s.csv", rows)
    totals: dict[str, int] = {}
    for row in rows.splitlines():
        cells = row.split(";")
        totals[cells[2]] = totals.get(cells[2], 0) + int(cells[3])
    table = "\n".join(f"{name:<20}{total:>8}" for name, total in sorted(totals.items()))
    session.run(f"python -m {fields['package']}.{thing}_summary data/{thing}s.csv", table)
    most = max(totals, key=lambda name: totals[name])
    session.answer(
        f"{counted} rows, all of them readable. Most {fields['m1']} is at {most} with {totals[most]}; nothing odd."
    )


def _add_property(session: Recorder, thing: str) -> None:
    """The user wants something small added."""
    work, random = session.background, session.random
    fields, path = work.fields(thing), work.path(thing, "s")
    limit = random.randint(100, 800)
    name = f"is_over_{limit}"
    if name in session.files[path]:
        return
    session.user(f"Reports need to know which {thing}s have more than {limit} {fields['m1']}. Add a property for it.")
    session.read(path, 15, 50)
    anchor = f"    def with_{fields['m1']}("
    session.edit(
        path,
        anchor,
        f'    @property\n    def {name}(self) -> bool:\n        """Whether its {fields["m1"]} needs a remark."""\n'
        f"        return self.{fields['m1']} > {limit}\n\n{anchor}",
    )
    session.read(f"tests/test_{thing}s.py")
    session.run(f"python -m pytest -v tests/test_{thing}s.py", work.passed(thing))
    session.answer(
        f"`{fields['Thing']}.{name}` is there, in {path}. I did not touch the summary; say so if it should show it."
    )


def _fix_failure(session: Recorder, thing: str) -> None:
    """A slip, found by its test and put right."""
    work = session.background
    fields, path = work.fields(thing), work.path(thing, "_summary")
    right = "    return [head, *rows, whole]"
    wrong = "    return [head, *rows]"
    session.user(
        f"The {thing} summary prints its table without a blank line at the end, is that on purpose? Have a look."
    )
    session.read(path)
    session.think("I try the table without its last row, to see what depends on it.")
    session.edit(path, right, wrong)
    failed = f"the_summary_has_a_row_for_each_{fields['l2']}"
    trace = (
        f"tests/test_{thing}s.py:38: in test_{failed}\n    assert len(summary_lines(found)) == "
        f"len(totals_by_{fields['l2']}(found)) + 2\nE   AssertionError: assert 6 == 7"
    )
    session.run(f"python -m pytest -v tests/test_{thing}s.py", f"{work.passed(thing, failed)}\n{trace}", 1)
    session.think("The last row is the total, and a test holds it. I put it back.")
    session.edit(path, wrong, right)
    session.run(f"python -m pytest -v tests/test_{thing}s.py", work.passed(thing))
    session.answer("It is on purpose: the total is the last line, and a test says so. The file is as it was.")
