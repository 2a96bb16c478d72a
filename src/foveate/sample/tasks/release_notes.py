"""Task 6: release notes, which need facts from all over the session."""

from __future__ import annotations

from foveate.sample.calls import (
    bash,
    edit_file,
    git_commit,
    git_diff,
    git_log,
    git_status,
    grep,
    list_dir,
    read_file,
    write_file,
)
from foveate.sample.project import ROUNDING_COMMIT
from foveate.sample.recorder import Recorder
from foveate.sample.reports import pytest

INCIDENT = "docs/incidents/2025-03-11-invoices.md"

REQUEST = """\
Last thing for today: prepare 1.8.0. An entry in CHANGELOG.md in the words of our users (one line \
per change, ticket numbers where there are any), the version wherever it stands, and a short \
incident note under docs/incidents: what happened, which orders, which commit, what we changed. \
The date is 2025-03-12. No tag, no push, I do both."""

ANSWER = f"""\
1.8.0 is prepared and committed, not tagged.

- `CHANGELOG.md`: refunds, low stock mails, the invoice fix, exact reservation times, events.
- Version 1.8.0 in `pyproject.toml` and `docs/openapi.yaml`.
- `{INCIDENT}`: from 06:15 no invoices; ORD-20931 blocked the queue, ORD-20944 and ORD-20987 \
waited behind it; cause `{ROUNDING_COMMIT}` (harbor-412, in 1.7.3); fixed in 1.8.0.

`migrations/` has not changed since the release of 1.7.3 (`70d2a9e6`) except for ops' own 0003. \
The suite is green.

**Still open:** `make openapi` has never run on this machine because PyYAML is missing, so please \
let CI run it before you tag. And the mailer's start in the deployment repository needs \
`notifications.warehouse_alias`."""

CHANGELOG_ENTRY = (
    "# Changelog\n",
    """\
# Changelog

## 1.8.0 (2025-03-12)

- Support can refund part of an order: `POST /orders/{order_id}/refunds` (harbor-431).
- The warehouse in Shenzhen gets a mail when an article falls below its safety stock.
- Invoices with a discount always add up to the amount paid, and one bad order no longer keeps the
  others waiting. Since 1.7.3 some invoices could not be issued (harbor-412, ORD-20931).
- Reservations last exactly `inventory.reservation_ttl_seconds`; some lasted half a second longer.
- Every event has a time, `reservation.expired` included.
""",
)

INCIDENT_NOTE = f"""\
# 2025-03-11: no invoices for a morning

| | |
|---|---|
| began | 06:15 UTC, run 4330 of the invoice worker |
| noticed | by support, through customers |
| ended | with the deployment of the fix on the same day |
| orders | ORD-20931 (blocked the queue), ORD-20944, ORD-20987 |
| cause | `{ROUNDING_COMMIT}` Round every invoice line on its own (harbor-412), released in 1.7.3 |

## What happened

Since 1.7.3 the discount of each invoice line was rounded alone. For ORD-20931 (2.5 % off 12192
cents) the lines gave 306 cents, the subtotal 305. The invoice came to 11886 cents, the payment was
11887, and the check in `InvoiceService` refused. The exception ended the run; every later run began
with the same order.

## What we changed

- `line_discounts` hands out the cents that rounding down leaves, in integers. Each line stays
  within one cent of its own share, as finance asked.
- The worker logs an order it cannot bill as ERROR and goes on.
- ORD-20931 is a test.

## What we did not change

Nothing in the database. No invoice with a wrong amount was ever issued.
"""


def run(session: Recorder) -> None:
    session.user(REQUEST)
    _collect(session)
    _write(session)
    _check(session)
    session.answer(ANSWER)


def _collect(session: Recorder) -> None:
    session.step(
        "What has happened since 1.7.3, and where does the version stand?",
        git_log(9),
        read_file("CHANGELOG.md"),
        grep(r"1\.7\.3", "."),
    )
    session.step("", grep("harbor-4[0-9]{2}", "."))
    session.step("", list_dir("docs"))
    session.step(
        "For the note I need the first failing run from the log.",
        bash(
            "grep -n -m1 -B1 'run_once raised' logs/worker-2025-03-11.log",
            lambda ws: _first_failure(ws.files["logs/worker-2025-03-11.log"]),
        ),
    )


def _write(session: Recorder) -> None:
    session.step("", edit_file("CHANGELOG.md", *CHANGELOG_ENTRY))
    session.step(
        "The version, in both places:",
        edit_file("pyproject.toml", 'version = "1.7.3"', 'version = "1.8.0"'),
        edit_file("docs/openapi.yaml", "version: 1.7.3", "version: 1.8.0"),
    )
    session.step("The second one is written differently.", grep("version", "docs/openapi.yaml"))
    session.step("", edit_file("docs/openapi.yaml", 'version: "1.7.3"', 'version: "1.8.0"'))
    session.step("Now the incident note.", write_file(INCIDENT, INCIDENT_NOTE))
    session.step("", read_file("CHANGELOG.md"))


def _check(session: Recorder) -> None:
    session.step(
        "",
        bash(
            "python -c \"import tomllib; print(tomllib.load(open('pyproject.toml', 'rb'))['project']['version'])\"",
            "1.8.0",
        ),
    )
    session.step(
        "Your first rule, checked against the release commit of 1.7.3:",
        bash(
            "git diff --stat 70d2a9e6 -- migrations",
            " migrations/0003_refunds.sql | 10 ++++++++++\n 1 file changed, 10 insertions(+)",
        ),
    )
    session.step(
        "Only ops' own migration, which was there before I came.",
        bash("git log --oneline -2 -- migrations", _MIGRATION_LOG),
    )
    session.step("And your second, in everything that is new:", grep(r"float|\d\.\d\d", "harbor"))
    session.step("", pytest("-v"))
    session.step("", git_diff("CHANGELOG.md", "pyproject.toml", "docs/openapi.yaml"))
    session.step("", git_status())
    session.step("", git_commit("Prepare 1.8.0"))


_MIGRATION_LOG = """\
3be8d714 Add migration 0003 as applied by ops (OPS-1188)
2f90b7c4 Add migration 0002 as applied by ops (OPS-0957)"""


def _first_failure(log: str) -> str:
    lines = log.splitlines()
    found = next(number for number, line in enumerate(lines) if "run_once raised" in line)
    return f"{found}-{lines[found - 1]}\n{found + 1}:{lines[found]}"
