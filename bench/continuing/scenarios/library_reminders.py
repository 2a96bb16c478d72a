"""A library whose staff writes German: reminders with fees, from a statute that only a page had."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_LOANS = '''"""Ausleihen."""


def overdue(loan, today):
    """Ob eine Ausleihe überfällig ist."""
    return loan["due"] < today
'''
_LOANS_NOW = '''"""Ausleihen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Loan:
    """Eine Ausleihe."""

    title: str
    kind: str
    due: date


def days_overdue(loan: Loan, today: date) -> int:
    """Tage über die Frist hinaus, 0 wenn die Frist noch läuft."""
    return max(0, (today - loan.due).days)
'''


def _tell(session: Recorder) -> None:
    session.user("""
        Guten Morgen. Wir sind eine kleine Stadtbücherei, die Programme liegen in buecherei/. Namen im Code bitte englisch,
        Texte für Leser deutsch, und zwar immer mit Sie und ohne Ausrufezeichen, das hat uns die Leiterin ausdrücklich
        aufgetragen. Lesen Sie bitte zuerst loans.py.
    """)
    session.read("buecherei/loans.py")
    session.answer("Gelesen. `overdue` vergleicht die Frist mit dem heutigen Tag.")
    session.fill(to=4_000)
    session.user("Ich brauche die Zahl der Tage, nicht ja oder nein. Und eine richtige Klasse statt des Wörterbuchs.")
    session.write("buecherei/loans.py", _LOANS_NOW)
    session.grep("overdue(")
    session.answer("`Loan` ist eine Datenklasse, `days_overdue` zählt die Tage.")
    session.fill(to=9_000)
    session.user("""
        Danke. Zum Mahnwesen, das später kommt, ein paar Dinge, die ich nicht zweimal sagen möchte. Wir nennen das Schreiben
        Erinnerung, niemals Mahnung, das Wort verschreckt die Leute (im Code: reminder). Kinderbücher (kind 'child') kosten
        nie etwas, ganz gleich wie lange sie fehlen. Herr Brandt hat gefragt, ob das Regal im Flur bleibt, ja. Die ersten
        sechs Tage sind frei, gezahlt wird ab dem siebten, und zwar nur für die Tage ab dem siebten. Gerechnet wird in
        ganzen Cent, also int; mit Kommazahlen hatten wir in der alten Kasse Differenzen und einen sehr unerfreulichen
        Nachmittag mit der Revision. Welche Gebühr gilt, steht in der Satzung auf der Seite der Stadt, schauen Sie dort bitte
        nach.
    """)
    session.run(
        "curl -s https://stadt.example/satzung/buecherei | html2text | sed -n '40,56p'",
        """
        § 7 Gebühren
        (1) Für die Überschreitung der Frist werden je Tag erhoben:
            Bücher            35 Cent
            Tonträger         50 Cent
            Filme             85 Cent
        (2) Die Gebühr beträgt je Medium höchstens 14,70 Euro.
        (3) Auslagen werden gesondert berechnet.
        § 8 Haftung
    """,
    )
    session.answer("Die Satzung nennt Gebühren je Tag und Art des Mediums und eine Obergrenze je Medium.")
    session.fill(to=15_000)
    session.user(
        "Ich wollte die Schreiben zuerst als PDF verschicken lassen. Versuchen Sie es mit einer Probe an das Postfach der Stadt."
    )
    session.run(
        "sendprobe --to archiv@stadt.example --attach probe.pdf",
        "550 5.7.1 attachments are not accepted from this sender (policy 12)\nhint: text/plain up to 76 columns, reference line 'Az. 41-7/R' first",
        1,
    )
    session.answer("Anhänge nimmt der Server von uns nicht an; er schreibt, was er stattdessen nimmt.")
    session.user("Dann eben reiner Text, wie der Server ihn haben will, keine PDFs.")
    session.answer("Gut: reiner Text in der Form, die der Server nennt.")
    session.fill(to=21_000)
    session.user(
        "Wenn die Erinnerungen fertig sind, tragen Sie bitte in DIENST.txt die Zeile 'Erinnerungen: freitags' ein. Erst dann, sonst schickt Frau Ott sie zu früh los."
    )
    session.answer("Ich trage sie ein, wenn die Erinnerungen fertig sind.")
    session.fill(to=44_000)


_MODULE = "buecherei/reminders.py"
_SOLUTION = '''"""Erinnerungen an überfällige Medien."""

from __future__ import annotations

from datetime import date
from textwrap import fill

from buecherei.loans import Loan, days_overdue

CENTS_A_DAY = {"book": 35, "audio": 50, "film": 85, "child": 0}
MOST_CENTS = 1470
FREE_DAYS = 6
WIDTH = 76


def fee(loan: Loan, today: date) -> int:
    """Die Gebühr in Cent."""
    days = max(0, days_overdue(loan, today) - FREE_DAYS)
    return min(MOST_CENTS, days * CENTS_A_DAY[loan.kind])


def reminder(loan: Loan, today: date) -> str:
    """Der Text der Erinnerung."""
    cents = fee(loan, today)
    text = (
        f"Erinnerung: Bitte bringen Sie uns {loan.title} zurück. Die Gebühr beträgt bis heute "
        f"{cents // 100},{cents % 100:02} Euro. Wir danken Ihnen."
    )
    return f"Az. 41-7/R\\n{fill(text, WIDTH)}"
'''
_TRY = (
    "from datetime import date, timedelta\nfrom buecherei.loans import Loan\nfrom buecherei.reminders import fee, reminder\n"
    "def loan(days, kind='book', title='Der Zug'):\n    return Loan(title, kind, date(2031, 5, 1) - timedelta(days))\ntoday = date(2031, 5, 1)\n"
)

SCENARIO = Scenario(
    name="library-reminders",
    about=__doc__ or "",
    style="plain",
    system="Sie helfen einer Stadtbücherei mit ihren Programmen.",
    vocabulary=Vocabulary(
        package="buecherei",
        things=("reader", "branch", "magazine", "box", "donation"),
        measures=("pages", "euros", "weeks", "copies", "visits"),
        labels=("town", "topic", "shelf", "publisher", "room"),
        names=("Brandt", "Ott", "Neustadt", "Altmarkt", "Fontane", "Keun", "Seghers", "Flur", "Domplatz", "Storm"),
    ),
    files={"buecherei/loans.py": _LOANS, "DIENST.txt": "Lesekreis: montags\n"},
    tell=_tell,
    follow_up="""
        Nun bitte das Mahnwesen selbst: buecherei/reminders.py mit `fee(loan, today)`, der Gebühr für eine Ausleihe nach der
        Satzung und unseren Regeln (kind ist 'book', 'audio', 'film' oder 'child'), und `reminder(loan, today)`, dem Text,
        der verschickt wird: die Zeilen so, wie der Server der Stadt sie annimmt, danach mit unserem Wort für das Schreiben
        am Anfang, dem Titel und der Gebühr in Euro mit Komma. Damit sind wir fertig.
    """,
    checks=(
        said(
            "rule",
            "readers are addressed with Sie and without exclamation",
            "immer mit Sie und ohne Ausrufezeichen",
            code=f"{_TRY}text = reminder(loan(10), today)\nassert re.search(r'\\b(Sie|Ihnen)\\b', text) and '!' not in text",
            mistake=(_MODULE, "Wir danken Ihnen.", "Vielen Dank!"),
        ),
        said(
            "name",
            "it is a reminder, never a dunning letter",
            "niemals Mahnung",
            code=f"{_TRY}assert 'Erinnerung' in reminder(loan(10), today).splitlines()[1] and 'Mahn' not in read('buecherei/reminders.py')",
            mistake=(_MODULE, 'f"Erinnerung: Bitte', 'f"Mahnung: Bitte'),
        ),
        said(
            "rule",
            "books for children cost nothing",
            "kosten nie etwas",
            code=f"{_TRY}assert fee(loan(300, 'child'), today) == 0 and fee(loan(300), today) > 0",
            mistake=(_MODULE, '"child": 0', '"child": 35'),
        ),
        said(
            "rule",
            "the first six days are free",
            "gezahlt wird ab dem siebten",
            code=f"{_TRY}assert fee(loan(6), today) == 0 and fee(loan(8), today) == 2 * fee(loan(7), today) > 0",
            mistake=(_MODULE, "FREE_DAYS = 6", "FREE_DAYS = 7"),
        ),
        said(
            "failed approach",
            "money is whole cents",
            "in ganzen Cent, also int",
            code=f"{_TRY}assert type(fee(loan(20), today)) is int and fee(loan(20), today) > 100",
            mistake=(
                _MODULE,
                "return min(MOST_CENTS, days * CENTS_A_DAY[loan.kind])",
                "return min(MOST_CENTS, days * CENTS_A_DAY[loan.kind]) / 1",
            ),
        ),
        said(
            "wish",
            "the day is entered when all is done",
            "die Zeile 'Erinnerungen: freitags'",
            code="assert 'Erinnerungen: freitags' in read('DIENST.txt').splitlines()",
            mistake=("DIENST.txt", "Erinnerungen: freitags\n", ""),
        ),
        shown(
            "value",
            "fees are those of the statute",
            "Bücher 35 Cent",
            "Filme 85 Cent",
            code=f"{_TRY}step = [fee(loan(8, k), today) - fee(loan(7, k), today) for k in ('book', 'audio', 'film')]\nassert step == [35, 50, 85]",
            mistake=(_MODULE, '"film": 85', '"film": 80'),
        ),
        shown(
            "value",
            "no fee exceeds the most",
            "höchstens 14,70 Euro",
            code=f"{_TRY}assert fee(loan(900, 'film'), today) == 1470",
            mistake=(_MODULE, "MOST_CENTS = 1470", "MOST_CENTS = 1500"),
        ),
        shown(
            "failed approach",
            "texts have the form that the server takes",
            "text/plain up to 76 columns",
            "Az. 41-7/R",
            code=f"{_TRY}lines = reminder(loan(10, title='Die ' + 'sehr ' * 30 + 'lange Reise'), today).splitlines()\n"
            "assert lines[0] == 'Az. 41-7/R' and max(map(len, lines)) <= 76",
            mistake=(_MODULE, "WIDTH = 76", "WIDTH = 80"),
        ),
        kept(
            "interface",
            "loans are counted in days",
            "def days_overdue(loan: Loan, today: date)",
            code=f"{_TRY}assert fee(loan(-5), today) == 0 and fee(loan(17), today) - fee(loan(10), today) in range(240, 250)",
            mistake=(_MODULE, "days_overdue(loan, today) - FREE_DAYS", "days_overdue(loan, today) > FREE_DAYS"),
        ),
    ),
    reference={_MODULE: _SOLUTION, "DIENST.txt": "Lesekreis: montags\nErinnerungen: freitags\n"},
)
