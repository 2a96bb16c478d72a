"""A subtitler: cues for a broadcaster whose validator alone knows its limits."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_CUES = '''"""Cues of a film."""


class Cue:
    """One subtitle."""

    def __init__(self, start, end, text):
        self.start = start
        self.end = end
        self.text = text
'''
_CUES_NOW = '''"""Cues of a film."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cue:
    """One subtitle, shown from frame `begin` for `frames` frames."""

    begin: int
    frames: int
    text: str

    @property
    def end(self) -> int:
        """The first frame without it."""
        return self.begin + self.frames
'''


def _tell(session: Recorder) -> None:
    session.user(
        "I make subtitles for the deaf, and have some scripts in subs/. We count in frames, 25 a second, never in seconds or milliseconds: the editing room thinks in frames. Read cues.py please."
    )
    session.read("subs/cues.py")
    session.answer("A cue has a start, an end and a text.")
    session.user("Make it begin and number of frames.")
    session.write("subs/cues.py", _CUES_NOW)
    session.answer("Done: `begin` and `frames`; `end` is computed.")
    session.fill(to=6_000)
    session.user("""
        Who speaks is marked with a color in our country, not with a dash or a name. The first person who speaks is yellow,
        the second cyan, the third green, everybody else white, in the order in which they first speak. A sound (like a
        door) is in parentheses and always magenta. Got it?
    """)
    session.answer(
        "Yellow, cyan, green, then white for all others, by order of first speech; sounds in parentheses in magenta."
    )
    session.fill(to=11_000)
    session.user("Send the trailer to the broadcaster's validator so that we see what it wants.")
    session.run(
        "stlcheck --profile publisher7 trailer.stl",
        """
        stlcheck 5.0.2  profile publisher7 (rev 2031-02)
        cue 3   E21 line longer than 37 characters (41)
        cue 8   E30 shown for 18 frames, at least 22
        cue 9   E34 begins 1 frame after the one before, at least 4 must lie between
        cue 14  W02 no space after comma
        3 errors, 1 warning
    """,
        1,
    )
    session.answer(
        "It has three errors: a line that is too long, a cue that is too short, and two cues that are too close."
    )
    session.fill(to=16_000)
    session.user("""
        I fixed those by hand. About breaking lines: I tried textwrap on the first act. It breaks between an article and its
        noun, and after 'the' looks awful, the association of the deaf has complained. So do not use textwrap; break at the
        last space that fits, but never leave 'a', 'an' or 'the' at the end of a line, take it to the next one then.
    """)
    session.answer("No textwrap; an article goes with its noun to the next line.")
    session.user("And which number has the house in the file header? It was on the delivery sheet.")
    session.run(
        "pdftotext delivery_sheet.pdf - | head -20",
        """
        Delivery sheet                      2031/77
        Commissioned by   Channel Seven Drama
        Country code      0D2
        Publisher code    K-4471-S
        Code page         865
        Safe area         5 percent
        Contact           deliveries@seven.example
    """,
    )
    session.answer("The sheet has the codes for the header and the code page.")
    session.fill(to=22_000)
    session.user(
        "In the end, when files can be written, put 'subtitles: Noor Haddad' into CREDITS; it is my first film under my own name. Later!"
    )
    session.answer("I will, when files can be written.")
    session.fill(to=44_000)


_MODULE = "subs/delivery.py"
_SOLUTION = '''"""What is delivered to the broadcaster."""

from __future__ import annotations

from subs.cues import Cue

LONGEST = 37
SHORTEST = 22
GAP = 4
PUBLISHER = "K-4471-S"
COLORS = ("yellow", "cyan", "green")
ARTICLES = ("a", "an", "the")


def broken(text: str) -> list[str]:
    """The lines of a text."""
    lines: list[list[str]] = [[]]
    for word in text.split():
        if len(" ".join([*lines[-1], word])) > LONGEST:
            taken = [lines[-1].pop()] if lines[-1][-1].lower() in ARTICLES else []
            lines.append(taken)
        lines[-1].append(word)
    return [" ".join(line) for line in lines]


def spaced(cues: list[Cue]) -> list[Cue]:
    """Cues that are long enough and far enough apart; a later one makes way."""
    placed: list[Cue] = []
    for cue in cues:
        begin = max(cue.begin, placed[-1].end + GAP) if placed else cue.begin
        placed.append(Cue(begin, max(cue.frames, SHORTEST), cue.text))
    return placed


def colors(speakers: list[str]) -> list[str]:
    """The color of each line by who says it; an empty name is a sound."""
    order = list(dict.fromkeys(name for name in speakers if name))
    ranked = {name: COLORS[place] if place < len(COLORS) else "white" for place, name in enumerate(order)}
    return [ranked[name] if name else "magenta" for name in speakers]


def header(title: str) -> str:
    """The first line of a file."""
    return f"{PUBLISHER}|{title}|25"
'''

SCENARIO = Scenario(
    name="film-subtitles",
    about=__doc__ or "",
    style="plain",
    system="You help a subtitler with scripts.",
    vocabulary=Vocabulary(
        package="subs",
        things=("reel", "scene", "speaker", "glossary_entry", "invoice"),
        measures=("length", "words", "rate", "takes", "score"),
        labels=("act", "language", "studio", "editor", "channel"),
        names=("Noor", "Haddad", "Seven", "Lumen", "Pathway", "Greta", "Ilmari", "Vox", "Aalto", "Dune"),
    ),
    files={"subs/cues.py": _CUES, "CREDITS": "direction: Ilmari Aalto\n"},
    tell=_tell,
    follow_up="""
        Time to deliver. Write subs/delivery.py: `broken(text)` gives the lines of a text, as long as the broadcaster allows
        and broken as I like it; `spaced(cues)` gives cues that its validator would accept: one that is too short is made
        longer, one that begins too soon after the one before begins later (as little as needed, keeping its length);
        `colors(speakers)` gives the color of each line for a list of names, where '' stands for a sound; `header(title)`
        is the publisher code of the delivery sheet, a bar, the title, a bar, and what we count by. Then files can be
        written.
    """,
    checks=(
        said(
            "decision",
            "time is counted in frames",
            "25 a second, never in seconds",
            code="from subs.delivery import header\nassert header('T').split('|')[2] == '25'",
            mistake=(_MODULE, "{title}|25", "{title}|1000"),
        ),
        said(
            "rule",
            "speakers have their colors in order",
            "the second cyan, the third green",
            code="from subs.delivery import colors\nassert colors(['M', 'A', '', 'M', 'Z', 'B', 'C'])[:2] == ['yellow', 'cyan']\n"
            "assert colors(['M', 'A', 'M', 'Z', 'B', 'C']) == ['yellow', 'cyan', 'yellow', 'green', 'white', 'white']",
            mistake=(_MODULE, '"cyan", "green"', '"green", "cyan"'),
        ),
        said(
            "rule",
            "sounds are magenta",
            "always magenta",
            code="from subs.delivery import colors\nassert colors(['']) == ['magenta']",
            mistake=(_MODULE, '"magenta"', '"white"'),
        ),
        said(
            "failed approach",
            "no article ends a line",
            "So do not use textwrap",
            "never leave 'a', 'an' or 'the' at the end",
            code="from subs.delivery import broken\nlines = broken('He has never been seen walking in the garden of the old house by a single one')\n"
            "assert 'textwrap' not in read('subs/delivery.py') and len(lines) > 1\n"
            "assert not any(l.split()[-1] in ('a', 'an', 'the') for l in lines), lines",
            mistake=(_MODULE, "[lines[-1].pop()] if lines[-1][-1].lower() in ARTICLES else []", "[]"),
        ),
        said(
            "wish",
            "the subtitler has her credit",
            "subtitles: Noor Haddad",
            code="assert 'subtitles: Noor Haddad' in read('CREDITS')",
            mistake=("CREDITS", "subtitles: Noor Haddad\n", ""),
        ),
        shown(
            "value",
            "lines are as long as the profile allows",
            "longer than 37 characters",
            code="from subs.delivery import broken\nlines = broken('abc def gh ' * 30)\n"
            "assert max(map(len, lines)) <= 37 and broken('x' * 18 + ' ' + 'y' * 18) == ['x' * 18 + ' ' + 'y' * 18]",
            mistake=(_MODULE, "LONGEST = 37", "LONGEST = 42"),
        ),
        shown(
            "value",
            "cues are long enough and far enough apart",
            "18 frames, at least 22",
            "at least 4 must lie between",
            code="from subs.cues import Cue\nfrom subs.delivery import spaced\ngot = spaced([Cue(0, 10, 'a'), Cue(20, 50, 'b')])\n"
            "assert [(c.begin, c.frames) for c in got] == [(0, 22), (26, 50)]",
            mistake=(_MODULE, "SHORTEST = 22", "SHORTEST = 25"),
        ),
        shown(
            "value",
            "the header has the publisher code",
            "Publisher code K-4471-S",
            code="from subs.delivery import header\nassert header('Rain').split('|')[:2] == ['K-4471-S', 'Rain']",
            mistake=(_MODULE, "K-4471-S", "0D2"),
        ),
        kept(
            "interface",
            "cues have a number of frames",
            "for `frames` frames",
            code="from subs.cues import Cue\nfrom subs.delivery import spaced\nassert spaced([Cue(5, 100, 'a')])[0] == Cue(5, 100, 'a')",
            mistake=(
                _MODULE,
                "Cue(begin, max(cue.frames, SHORTEST), cue.text)",
                "Cue(begin, begin + max(cue.frames, SHORTEST), cue.text)",
            ),
        ),
    ),
    reference={_MODULE: _SOLUTION, "CREDITS": "direction: Ilmari Aalto\nsubtitles: Noor Haddad\n"},
)
