"""Task 5: a refactoring in small steps, module by module, with a question about the past first."""

from __future__ import annotations

from foveate.sample.calls import (
    edit_file,
    git_commit,
    git_diff,
    git_status,
    grep,
    read_file,
    write_file,
)
from foveate.sample.recorder import Recorder
from foveate.sample.reports import Failure, pytest
from foveate.sample.tasks import events_texts as texts

SERVICE = "harbor/orders/service.py"
OUTBOX = "harbor/notifications/outbox.py"
MAIL_SUITE = "tests/test_notifications.py"

QUESTION = """\
Deployed, and the queue is empty again. Thank you! Two things I want to check myself: on which \
port was the development database again, and what was the payment reference of ORD-20931?"""

QUESTION_ANSWER = """\
Port 54329 (`psql "postgresql://harbor_ro@localhost:54329/harbor_dev"`), and the payment reference \
of ORD-20931 is `pay_7Hq2mXcv`."""

REQUEST = """\
Thanks. Now something calmer. Events are dicts made by hand in five modules, and \
`reservation.expired` does not even have a time. Please introduce `harbor/events.py` with a frozen \
Event, let the outbox take only those, and move the modules over one at a time with the tests \
after each, so that I can follow. What is stored must stay the same, apart from the missing time."""

ANSWER = """\
All events are made by `harbor.events.Event` now, and the outbox takes nothing else.

- `harbor/events.py`: kind, time, values. The kinds are listed in one place, so a typo fails where \
it is made; while moving the refunds over I was caught by that myself.
- `orders/service.py`, `billing/invoices.py`, `billing/refunds.py`, `inventory/reservations.py`, \
`inventory/alerts.py`: eight call sites, same keys as before.
- `reservation.expired` has its `at`. That is the only change in what is stored.
- The outbox accepted both forms while I was moving, and is strict since the last step.

The suite is green; it was green after every module."""


def run(session: Recorder) -> None:
    session.user(QUESTION)
    session.answer(QUESTION_ANSWER)
    session.user(REQUEST)
    _prepare(session)
    _move_orders(session)
    _move_billing(session)
    _move_inventory(session)
    _close_the_outbox(session)
    _finish(session)
    session.answer(ANSWER)


def _prepare(session: Recorder) -> None:
    session.step(
        "First, where events are made and who reads them.",
        grep(r"outbox\.add\(|\"type\"", "harbor"),
        grep(r"outbox\.add\(|\[\"type\"\]|pending\(\)", "tests"),
        read_file(OUTBOX),
    )
    session.step("", write_file("harbor/events.py", texts.EVENTS))
    session.step("", write_file("tests/test_events.py", texts.TEST_EVENTS))
    session.step(
        "While I move the modules over, the outbox takes both forms.",
        edit_file(OUTBOX, *texts.OUTBOX_IMPORT),
        edit_file(OUTBOX, *texts.OUTBOX_BOTH),
    )
    session.step("", pytest("-q"))


def _move_orders(session: Recorder) -> None:
    session.step("Nothing broke. Orders first.", read_file(SERVICE))
    session.step("", edit_file(SERVICE, *texts.SERVICE_IMPORT))
    session.step("", edit_file(SERVICE, *texts.SERVICE_GREEDY))
    session.step(
        "Too greedy, the four sites end alike. One by one, then.",
        edit_file(SERVICE, *texts.PLACED),
    )
    session.step("", edit_file(SERVICE, *texts.PAID))
    session.step("", edit_file(SERVICE, *texts.SHIPPED))
    session.step("", edit_file(SERVICE, *texts.CANCELLED))
    session.step("", pytest("tests/test_orders.py tests/test_routes.py -v"))


def _move_billing(session: Recorder) -> None:
    invoices, refunds = "harbor/billing/invoices.py", "harbor/billing/refunds.py"
    session.step("Billing next.", read_file(invoices, offset=46, limit=45))
    session.step("", edit_file(invoices, *texts.IMPORT), edit_file(invoices, *texts.INVOICED))
    session.step("", pytest("tests/test_invoices.py"))
    session.step("", read_file(refunds))
    session.step("", edit_file(refunds, *texts.IMPORT))
    session.step("", edit_file(refunds, *texts.REFUNDED))
    failure = Failure(
        test="test_part_of_an_order_is_refunded",
        frames=(
            ("tests/test_refunds.py", '500, "one cleat missing")'),
            (refunds, "Event.of("),
            ("harbor/events.py", "return cls(kind, clock.now(), values)"),
            ("harbor/events.py", "raise UnknownKind("),
        ),
        error=("harbor.events.UnknownKind: 'refund.created' is not in harbor.events.KINDS",),
    )
    node = "tests/test_refunds.py::test_part_of_an_order_is_refunded"
    session.step("", pytest(f"-q {node}", failure))
    session.step(
        "The list of kinds does its work: I forgot refunds.",
        edit_file("harbor/events.py", *texts.KIND),
    )
    session.step("", pytest("tests/test_refunds.py"))


def _move_inventory(session: Recorder) -> None:
    book, alerts = "harbor/inventory/reservations.py", "harbor/inventory/alerts.py"
    session.step("Inventory. The book has two edits of mine since the start.", read_file(book))
    session.step("", edit_file(book, *texts.IMPORT), edit_file(book, *texts.EXPIRED))
    session.step("", pytest("tests/test_reservations.py"))
    session.step("", read_file(alerts))
    session.step("", edit_file(alerts, *texts.IMPORT), edit_file(alerts, *texts.LOW))
    session.step("", pytest("tests/test_alerts.py"))


def _close_the_outbox(session: Recorder) -> None:
    session.step("All five are over. Now the outbox refuses dicts.", edit_file(OUTBOX, *texts.OUTBOX_STRICT))
    raised = (OUTBOX, "raise TypeError(")
    cases = (
        ("test_the_mailer_sends_what_is_pending", "outbox.add(PLACED)", _DICTS[0]),
        ("test_internal_events_are_not_mailed", '"type": "reservation.expired"', _DICTS[1]),
        ("test_the_warehouse_is_told_in_chinese", '{"type": "stock.low"', _DICTS[2]),
        ("test_events_need_a_type", 'Outbox().add({"order_id"', _DICTS[3]),
    )
    failures = tuple(
        Failure(
            test=test,
            frames=((MAIL_SUITE, needle), raised),
            error=(f"TypeError: not an event: {shown}",),
        )
        for test, needle, shown in cases
    )
    session.step("", pytest(MAIL_SUITE, *failures))
    session.step("Only the tests that add dicts themselves, as it should be.", read_file(MAIL_SUITE))
    session.step(
        "",
        edit_file(MAIL_SUITE, *texts.MAIL_TEST_IMPORT),
        edit_file(MAIL_SUITE, *texts.MAIL_TEST_PLACED),
        edit_file(MAIL_SUITE, *texts.MAIL_TEST_INTERNAL),
    )
    session.step("", edit_file(MAIL_SUITE, *texts.MAIL_TEST_LOW))
    session.step("", edit_file(MAIL_SUITE, *texts.MAIL_TEST_TYPE))


def _finish(session: Recorder) -> None:
    session.step("", pytest(""))
    session.step("Are there any dicts left?", grep(r"outbox\.add\(\{", "."))
    session.step("", read_file(SERVICE, offset=33, limit=80))
    session.step("", git_diff(OUTBOX, "harbor/inventory/reservations.py"))
    session.step("", git_status())
    session.step("", git_commit("Make events with one type"))


_DICTS = (
    "{'type': 'order.placed', 'order_id': 'ORD-1', 'at': '2025-03-03T09:00:00+00:00'}",
    "{'type': 'reservation.expired', 'order_id': 'ORD-1'}",
    "{'type': 'stock.low', 'sku': 'SZ-CLEAT-04', 'available': 3, 'safety_stock': 4}",
    "{'order_id': 'ORD-1'}",
)
