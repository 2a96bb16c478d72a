"""Task 4: a bug report with a traceback, a long log, and the commit that is asked for later."""

from __future__ import annotations

import re
from collections import Counter

from foveate.sample import worklog
from foveate.sample.calls import (
    Call,
    bash,
    edit_file,
    git_commit,
    git_diff,
    git_show,
    grep,
    read_file,
)
from foveate.sample.project import ROUNDING_COMMIT
from foveate.sample.recorder import Recorder
from foveate.sample.reports import Failure, pytest, traceback
from foveate.sample.tasks import rounding_texts as texts
from foveate.sample.workspace import Workspace

MONEY = "harbor/billing/money.py"
WORKER = "harbor/billing/worker.py"
INVOICES = "harbor/billing/invoices.py"
DATABASE = "postgresql://harbor_ro@localhost:54329/harbor_dev"
MISMATCH = "harbor.billing.invoices.InvoiceMismatch: ORD-20931: lines sum to 11886, charged 11887"
FRAMES = (
    (WORKER, "invoice = self._invoices.issue(order)"),
    (INVOICES, "self._verify(order, lines)"),
    (INVOICES, "raise InvoiceMismatch("),
)

REQUEST = """\
Drop everything please. Support says no invoices have gone out since this morning. The pager has \
this:

```
{trace}
```

I put the worker's log into {log} (not in git). Find out what broke it and since when, I need the \
commit for the incident report. Then fix it. The development database has a copy of the orders if \
you need one; you have the read-only user."""

ANSWER = f"""\
Invoices go out again once this is deployed. For the incident report:

**What broke it:** commit `{ROUNDING_COMMIT}`, "Round every invoice line on its own (harbor-412)", \
Tobias Rehm, 21 February, released with 1.7.3 on 24 February. Before it, the last line took the \
remainder. Since then every line is rounded alone, and the sum can differ from what was charged.

**Why only today:** it needs a discount and unlucky fractions. ORD-20931 was the first: 2.5 % off \
40.24, 40.64 and 41.04 € is 101 + 102 + 103 = 306 cents by line, but 305 on the subtotal. The \
invoice would have been 118.86 € for a payment of 118.87 €, and `_verify` refused.

**Why it stopped everything:** the exception ended the run at 06:15, the next run started with the \
same order, and so on. Nothing after ORD-20931 was billed. ORD-20944 and ORD-20987 were waiting \
with the same problem.

**Fix:** `line_discounts` rounds down and gives the missing cents to the lines that lost most \
(integers only; my first draft had a float in it, I replaced it before it went anywhere). Each \
line is still within one cent of its own share, which is what finance asked for in harbor-412. The \
worker now logs a bad order as ERROR and goes on with the next.

50,000 random orders add up, the suite is green, ORD-20931 is a test."""


def run(session: Recorder) -> None:
    ws = session.workspace
    trace = traceback(ws, FRAMES, MISMATCH)
    ws.files[worklog.PATH] = worklog.write(session.rng, trace)
    session.user(REQUEST.format(trace=trace, log=worklog.PATH))
    _read_the_log(session)
    _find_the_commit(session)
    _write_a_failing_test(session)
    _fix_the_rounding(session)
    _keep_the_worker_alive(session)
    _finish(session)
    session.answer(ANSWER)


def _read_the_log(session: Recorder) -> None:
    session.step(
        "I'll read the worker and the place that raises, and look for the order in the log.",
        read_file(WORKER),
        read_file(INVOICES),
        grep(rf"for {worklog.BLOCKING_ORDER}|issued INV-77", worklog.PATH),
    )
    session.step(
        "No invoice for it, and the last ones come just before. I want the whole log.",
        bash(f"cat {worklog.PATH}", lambda ws: ws.files[worklog.PATH].rstrip()),
    )
    session.step(
        "From 06:15 on every run dies, and always on the same order. Is it really only one?",
        bash(
            f"grep -o 'ORD-[0-9]*: lines sum to.*' {worklog.PATH} | sort | uniq -c",
            _count_mismatches,
        ),
    )
    session.step(
        "One order blocks the queue. The README says where the development database is; I look at the order there.",
        _sql(
            "select id, status, discount_bp, payment_ref, placed_at from orders where id = 'ORD-20931'",
            texts.ORDER_ROW,
        ),
    )
    session.step(
        "",
        _sql(
            "select position, sku, quantity, unit_price_cents from order_lines "
            "where order_id = 'ORD-20931' order by position",
            texts.LINE_ROWS,
        ),
    )


def _find_the_commit(session: Recorder) -> None:
    session.step("", bash(texts.REPRODUCTION, texts.REPRODUCED.rstrip()))
    session.step(
        "There is the cent: rounded line by line the discount is 306, on the subtotal it is 305.",
        read_file(MONEY),
    )
    session.step(
        "Since when is that so?",
        bash(
            f"git log --oneline -3 -- {MONEY}",
            f"{ROUNDING_COMMIT} Round every invoice line on its own (harbor-412)\n"
            "5a9e64cd Round included VAT half up everywhere (harbor-398)\n"
            "0c77d1e9 Refuse booleans as amounts",
        ),
    )
    session.step("I saw that one in the log on the first day.", git_show(ROUNDING_COMMIT))
    session.step(
        "That is it. It made every line round alone and dropped the remainder. Are other orders "
        "affected since the release?",
        _sql(texts.OTHERS_SQL, texts.OTHERS_ROWS),
    )


def _write_a_failing_test(session: Recorder) -> None:
    session.step("Three in all. Now a test that fails.", read_file("tests/test_invoices.py"))
    session.step("", edit_file("tests/test_invoices.py", *texts.REGRESSION_TEST))
    failure = Failure(
        test="test_lines_of_order_20931_add_up",
        frames=(("tests/test_invoices.py", 'paid("ORD-20931"'), *FRAMES[1:]),
        error=(MISMATCH,),
    )
    session.step("", pytest("tests/test_invoices.py", failure))


def _fix_the_rounding(session: Recorder) -> None:
    session.step(
        "The same numbers as in production. I'll round down and hand out the missing cents.",
        edit_file(MONEY, *texts.FIRST_FIX),
    )
    session.step(
        "Wait, `cents * discount_bp / 10_000` is a float, and you ruled those out. Integers only:",
        edit_file(MONEY, *texts.SECOND_FIX),
    )
    session.step("", read_file("tests/test_money.py"))
    session.step("", edit_file("tests/test_money.py", *texts.REMAINDER_TEST))
    failure = Failure(
        test="test_missing_cents_go_to_the_lines_that_lost_most",
        frames=(("tests/test_money.py", "[404, 836, 1_228]"),),
        error=(
            "assert [11, 20, 31] == [10, 21, 31]",
            "",
            "  At index 0 diff: 11 != 10",
            "  Use -v to get more diff",
        ),
    )
    session.step("", pytest("tests/test_money.py tests/test_invoices.py", failure))
    session.step(
        "The sums are right but the wrong lines get the cents: I sorted by the smallest loss.",
        edit_file(MONEY, *texts.THIRD_FIX),
    )
    session.step("", pytest("tests/test_money.py tests/test_invoices.py -v"))
    session.step(
        "And without trusting my choice of examples:",
        bash(texts.BRUTE_FORCE, "50000 orders, 0 do not add up"),
    )


def _keep_the_worker_alive(session: Recorder) -> None:
    session.step(
        "The second half of the incident: one order stopped all others.",
        edit_file(WORKER, *texts.WORKER_LOOP),
    )
    session.step("", edit_file(WORKER, *texts.WORKER_IMPORT))
    session.step("", edit_file("tests/test_invoices.py", *texts.WORKER_TEST))
    session.step("", edit_file("tests/test_invoices.py", *texts.WORKER_TEST_IMPORT))
    session.step("", pytest("tests/test_invoices.py"))


def _finish(session: Recorder) -> None:
    session.step("", pytest(""))
    session.step("", read_file(MONEY))
    session.step("", grep(r"\d/ ?\d|float\(|\d\.\d", "harbor/billing"))
    session.step("No float is left. The change as a whole:", git_diff(MONEY, WORKER))
    session.step("", git_commit("Make invoice lines add up to what was charged"))


def _sql(query: str, rows: str) -> Call:
    return bash(f'psql "{DATABASE}" -c "{query}"', rows.rstrip())


def _count_mismatches(ws: Workspace) -> str:
    found = Counter(re.findall(r"ORD-\d+: lines sum to.*", ws.files[worklog.PATH]))
    return "\n".join(f"{times:>7} {text}" for text, times in sorted(found.items()))
