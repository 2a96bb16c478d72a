"""What `git log` knows when the session begins."""

from dataclasses import dataclass

from foveate.sample.project.billing import LINE_DISCOUNTS_BROKEN, LINE_DISCOUNTS_ORIGINAL

# The commit behind the bug of the fourth task; questions later in the session ask for it.
ROUNDING_COMMIT = "a41f9c27"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One replacement in one file, enough to show a commit as a diff."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit as `git log` and `git show` print it."""

    sha: str
    subject: str
    author: str
    date: str
    body: str = ""
    changes: tuple[Change, ...] = ()


_MIRA = "Mira Voss <mira@harbor-daughters.example>"
_TOBIAS = "Tobias Rehm <tobias@harbor-daughters.example>"
_LIN = "Lin Jing <lin.jing@harbor-daughters.example>"

HISTORY = (
    Commit(
        sha="e07b3d95",
        subject="Describe safety stock in the warehouse notes",
        author=_LIN,
        date="Tue Mar 4 03:12:40 2025 +0000",
    ),
    Commit(
        sha="91c6f0ae",
        subject="Configure the refund account and window (harbor-431)",
        author=_TOBIAS,
        date="Thu Feb 27 15:02:11 2025 +0000",
    ),
    Commit(
        sha="3be8d714",
        subject="Add migration 0003 as applied by ops (OPS-1188)",
        author=_TOBIAS,
        date="Tue Feb 25 09:48:03 2025 +0000",
    ),
    Commit(
        sha="70d2a9e6",
        subject="Release 1.7.3",
        author=_MIRA,
        date="Mon Feb 24 16:30:57 2025 +0000",
    ),
    Commit(
        sha=ROUNDING_COMMIT,
        subject="Round every invoice line on its own (harbor-412)",
        author=_TOBIAS,
        date="Fri Feb 21 11:17:26 2025 +0000",
        body=(
            "Finance wants to recompute each line of an invoice from its gross amount and\n"
            "the discount rate alone. The last line no longer takes the remainder."
        ),
        changes=(
            Change(
                path="harbor/billing/money.py",
                old=LINE_DISCOUNTS_ORIGINAL,
                new=LINE_DISCOUNTS_BROKEN,
            ),
        ),
    ),
    Commit(
        sha="c85f1b02",
        subject="Do not mail internal events",
        author=_MIRA,
        date="Wed Feb 19 10:05:44 2025 +0000",
    ),
    Commit(
        sha="5a9e64cd",
        subject="Round included VAT half up everywhere (harbor-398)",
        author=_TOBIAS,
        date="Fri Feb 7 14:21:19 2025 +0000",
    ),
    Commit(
        sha="d3107e8b",
        subject="Say which SKU is out of stock, and by how much",
        author=_MIRA,
        date="Mon Feb 3 08:55:30 2025 +0000",
    ),
    Commit(
        sha="8f42c6b1",
        subject="Answer 409 when a shipped order is cancelled (harbor-377)",
        author=_MIRA,
        date="Mon Jan 27 13:40:02 2025 +0000",
    ),
    Commit(
        sha="1d6ba573",
        subject="Add a tool that shows a notification as customers see it",
        author=_LIN,
        date="Tue Jan 21 06:33:51 2025 +0000",
    ),
    Commit(
        sha="b96e02f4",
        subject="Let reservations expire (harbor-361)",
        author=_TOBIAS,
        date="Mon Jan 13 17:08:09 2025 +0000",
    ),
    Commit(
        sha="47ac8e30",
        subject="Take time from a clock in the order service",
        author=_MIRA,
        date="Thu Jan 9 09:26:35 2025 +0000",
    ),
)
