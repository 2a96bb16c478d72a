"""A museum: letters for loans, by a user who writes long messages with rules in the middle of them."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_VALUES = '''"""Insured values."""


def insured_value(inventory_number):
    """Value in thousands of francs."""
    return VALUES[inventory_number]


VALUES = {"1904.17": 380, "1911.2": 95, "1932.88": 1240, "1958.5": 60}
'''
_VALUES_NOW = '''"""Insured values."""

from __future__ import annotations

from decimal import Decimal

VALUES = {"1904.17": 380, "1911.2": 95, "1932.88": 1240, "1958.5": 60}


def insured_value(inventory_number: str, *, abroad: bool) -> Decimal:
    """Value in francs; what travels abroad is insured for a quarter more."""
    value = Decimal(1000 * VALUES[inventory_number])
    return value * Decimal("1.25") if abroad else value
'''


def _tell(session: Recorder) -> None:
    session.user("""
        Good morning! I am the registrar of a museum of applied arts, and the programs in museum/ were written by my
        predecessor, whom I never met. I would like you to take them over step by step. I am not a programmer, so forgive
        me if I explain too much. Our loans go to some forty houses a year; each has a contract, a courier, a condition
        report and a letter. The letter is what people see of us, and the director reads every single one. Two of them
        went out last year with a salutation in the wrong form, which is why she now insists that a letter never names a
        person, only the institution, however well we know them there; please remember that whenever you write
        something that ends up in a letter. The frames are stored in the annex since the flood, and climate data come
        from there too. Could you begin by having a look at values.py and telling me whether it is in good order?
    """)
    session.read("museum/values.py")
    session.answer(
        "It has a table of insured values in thousands of francs and a function that reads it. It is in order, if terse."
    )
    session.fill(to=5_000)
    session.user("""
        Thank you, that is clear. The insurer has just called: what travels abroad must be insured for a quarter more. Can
        the function know that? And in francs, please, exact ones, since the cents of our last list did not add up.
    """)
    session.write("museum/values.py", _VALUES_NOW)
    session.grep("insured_value")
    session.answer(
        "`insured_value` wants to be told whether the loan goes abroad, and gives exact francs as a Decimal."
    )
    session.fill(to=10_000)
    session.user("""
        I have had a meeting with the couriers this morning and write down what matters before I forget it. They want the
        crates listed by their weight, heaviest first, which is something for the crate lists later on. Mr. Aebi says the
        van to Basel is booked. They also told me why loans of textiles are always late: the textiles need forty-two days
        of rest in the dark between two loans, and nobody had ever told the office, so from now on a textile whose last loan
        ended less than 42 days before the new one begins must not get a letter at all. For other objects no such rest
        exists. Lunch was good. And we agreed on the reference at the top of each letter, which had been chaos: it is the
        letters LV, a slash, the year of the beginning, a slash, and the inventory number, as in LV/2031/1904.17. Could you
        look up for me which policy covers loans at the moment? The insurer has a page for it.
    """)
    session.run(
        "curl -s https://portal.insurer.example/museum/policies",
        """
        policy         covers        valid until   deductible
        FA-77120-09    building      2033-12-31    20000
        FA-77123-02    collection    2032-06-30    10000
        FA-77124-11    loans out     2032-06-30    7500
        FA-77125-01    loans in      2031-12-31    5000
    """,
    )
    session.answer(
        "The portal lists four policies with what each covers and its deductible; one of them is for loans that go out."
    )
    session.fill(to=16_000)
    session.user("""
        Could you find out which form of date the ministry wants? They returned a letter. I think its answer is in the mail
        folder.
    """)
    session.run(
        "grep -h -A12 'Returned' mail/2031-02-11-ministry.eml",
        """
        Subject: Returned: export letter 31/118

        Your letter cannot be processed.
        Reason code 14: dates must be written as day, Roman month, year,
        for example 7.IV.2031 for the seventh of April 2031.
        Two other remarks concern the paper size.
    """,
    )
    session.answer("The ministry returned it for the form of its dates, and says there how they must be written.")
    session.user("""
        How old-fashioned! Then we write all dates in letters that way. One more thing for the end: when the letters are
        done, there should be a file museum/README.txt with the one sentence 'Letters are signed by the director alone.',
        for whoever comes after me. Not before they are done, please.
    """)
    session.answer("I will write all dates in letters that way, and that file when the letters are done.")
    session.fill(to=44_000)


_MODULE = "museum/letters.py"
_SOLUTION = '''"""Letters for loans."""

from __future__ import annotations

from datetime import date

from museum.values import insured_value

POLICY = "FA-77124-11"
REST_DAYS = 42
MONTHS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")


def written_date(day: date) -> str:
    """A date as the ministry wants it."""
    return f"{day.day}.{MONTHS[day.month - 1]}.{day.year}"


def loan_letter(loan: dict) -> "str | None":
    """The letter of a loan; None if there must be none."""
    begins, last = loan["begins"], loan["last_loan_ended"]
    if loan["material"] == "textile" and last is not None and (begins - last).days < REST_DAYS:
        return None
    value = insured_value(loan["number"], abroad=loan["abroad"])
    return "\\n".join(
        (
            f"LV/{begins.year}/{loan['number']}",
            f"To: {loan['institution']}",
            f"Loan from {written_date(begins)} to {written_date(loan['ends'])}",
            f"Insured for {value:.2f} under {POLICY}",
        )
    )
'''
_TRY = (
    "from datetime import date\nfrom museum.letters import loan_letter\n"
    "def letter(**more):\n    loan = dict(number='1904.17', institution='Kunsthalle Bern', contact='Dr. Ruth Keller', material='wood', "
    "abroad=False, begins=date(2031, 4, 7), ends=date(2031, 9, 30), last_loan_ended=None)\n    return loan_letter({**loan, **more})\n"
)

SCENARIO = Scenario(
    name="museum-loans",
    about=__doc__ or "",
    style="claude",
    system="You help the registrar of a museum with its programs.",
    vocabulary=Vocabulary(
        package="museum",
        things=("crate", "courier", "frame", "visit", "annex_room"),
        measures=("height", "weight", "lux", "cost", "visitors"),
        labels=("house", "curator", "city", "material", "carrier"),
        names=("Bern", "Basel", "Aebi", "Genf", "Winterthur", "Solothurn", "Vitra", "Chur", "Lugano", "Thun"),
    ),
    files={"museum/values.py": _VALUES},
    tell=_tell,
    follow_up="""
        Now I would be so glad to have the letters! Would you write museum/letters.py with a function `loan_letter(loan)`?
        The loan is a dict with number, institution, contact, material ('textile', 'wood' and so on), abroad (true or
        false), begins, ends and last_loan_ended (dates; the last may be None). It returns the letter, or None if the object
        must not get one. The first line is the reference we agreed on, the second 'To: ' and the addressee, the third 'Loan
        from ' the beginning ' to ' the end, the fourth 'Insured for ' the value with two decimals ' under ' the number of
        the policy that covers it. Please keep to all that the director, the couriers and the ministry want. Then the
        letters are done.
    """,
    checks=(
        said(
            "rule",
            "a letter names no person",
            "a letter never names a person",
            code=f"{_TRY}text = letter()\nassert 'Kunsthalle Bern' in text.splitlines()[1] and 'Keller' not in text",
            mistake=(_MODULE, "To: {loan['institution']}", "To: {loan['institution']}, {loan['contact']}"),
        ),
        said(
            "rule",
            "textiles rest between loans",
            "less than 42 days",
            code=f"{_TRY}assert letter(material='textile', last_loan_ended=date(2031, 2, 25)) is None\n"
            "assert letter(material='textile', last_loan_ended=date(2031, 2, 24)) and letter(last_loan_ended=date(2031, 4, 1))",
            mistake=(_MODULE, "REST_DAYS = 42", "REST_DAYS = 30"),
        ),
        said(
            "decision",
            "the reference is in the agreed form",
            "LV/2031/1904.17",
            code=f"{_TRY}assert letter().splitlines()[0] == 'LV/2031/1904.17'",
            mistake=(_MODULE, 'f"LV/{begins.year}/', 'f"LN/{begins.year}/'),
        ),
        said(
            "wish",
            "the file for the successor is written",
            "Letters are signed by the director alone.",
            code="assert 'Letters are signed by the director alone.' in read('museum/README.txt')",
            mistake=("museum/README.txt", "alone", "only"),
        ),
        shown(
            "value",
            "the policy is that for loans out",
            "FA-77124-11 loans out",
            code=f"{_TRY}assert letter().splitlines()[3].endswith(' under FA-77124-11')",
            mistake=(_MODULE, "FA-77124-11", "FA-77123-02"),
        ),
        shown(
            "value",
            "dates have Roman months",
            "day, Roman month, year",
            code=f"{_TRY}assert letter().splitlines()[2] == 'Loan from 7.IV.2031 to 30.IX.2031'",
            mistake=(_MODULE, '"IX"', '"VIIII"'),
        ),
        kept(
            "interface",
            "what goes abroad is insured for more",
            "abroad: bool",
            code=f"{_TRY}assert '475000.00' in letter(abroad=True) and '380000.00' in letter(abroad=False)",
            mistake=(_MODULE, 'abroad=loan["abroad"]', "abroad=False"),
        ),
    ),
    reference={_MODULE: _SOLUTION, "museum/README.txt": "Letters are signed by the director alone.\n"},
)
