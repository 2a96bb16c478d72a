"""The invented shop's tests, as text."""

TEST_ORDERS = '''\
"""The life of an order."""

import pytest

from harbor.clock import FakeClock
from harbor.inventory.reservations import ReservationBook
from harbor.inventory.stock import OutOfStock, Stock, StockLevel
from harbor.notifications.outbox import Outbox
from harbor.orders.models import IllegalTransition, OrderLine, OrderStatus
from harbor.orders.repository import MemoryOrders, UnknownOrder
from harbor.orders.service import OrderService

ROPE = OrderLine("HH-ROPE-08", 2, 1_016)


@pytest.fixture
def outbox():
    return Outbox()


@pytest.fixture
def stock():
    return Stock([StockLevel("HH-ROPE-08", on_hand=10), StockLevel("SZ-CLEAT-04", on_hand=3)])


@pytest.fixture
def orders(stock, outbox):
    clock = FakeClock()
    return OrderService(MemoryOrders(), ReservationBook(stock, outbox), outbox, clock)


def test_placing_holds_stock(orders, stock):
    orders.place("C-1", (ROPE,))
    assert stock.level("HH-ROPE-08").available == 8


def test_an_order_needs_lines(orders):
    with pytest.raises(ValueError, match="at least one line"):
        orders.place("C-1", ())


def test_out_of_stock_is_reported_with_numbers(orders):
    with pytest.raises(OutOfStock, match="wanted 4, available 3"):
        orders.place("C-1", (OrderLine("SZ-CLEAT-04", 4, 684),))


def test_charged_amount_is_rounded_half_up(orders):
    order = orders.place("C-1", (OrderLine("HH-ROPE-08", 1, 1_010),), discount_bp=250)
    assert order.charged_cents == 985


def test_paying_moves_the_order_on(orders):
    order = orders.place("C-1", (ROPE,))
    assert orders.pay(order.id, "pay_81").status is OrderStatus.PAID


def test_every_change_leaves_an_event(orders, outbox):
    order = orders.place("C-1", (ROPE,))
    orders.pay(order.id, "pay_81")
    orders.ship(order.id, "DHL-5512")
    assert [event["type"] for event in outbox.pending()] == [
        "order.placed",
        "order.paid",
        "order.shipped",
    ]


def test_shipping_takes_the_goods_out(orders, stock):
    order = orders.place("C-1", (ROPE,))
    orders.pay(order.id, "pay_81")
    orders.ship(order.id, "DHL-5512")
    level = stock.level("HH-ROPE-08")
    assert (level.on_hand, level.reserved) == (8, 0)


def test_cancelling_gives_stock_back(orders, stock):
    order = orders.place("C-1", (ROPE,))
    orders.cancel(order.id, "changed my mind")
    assert stock.level("HH-ROPE-08").available == 10


def test_a_shipped_order_cannot_be_cancelled(orders):
    order = orders.place("C-1", (ROPE,))
    orders.pay(order.id, "pay_81")
    orders.ship(order.id, "DHL-5512")
    with pytest.raises(IllegalTransition, match="shipped -> cancelled"):
        orders.cancel(order.id, "too late")


def test_unknown_orders_are_named(orders):
    with pytest.raises(UnknownOrder, match="ORD-404"):
        orders.get("ORD-404")
'''

TEST_RESERVATIONS = '''\
"""Stock is held, given back, and never forgotten."""

import time

import pytest

from harbor.inventory.reservations import ReservationBook
from harbor.inventory.stock import OutOfStock, Stock, StockLevel
from harbor.notifications.outbox import Outbox


@pytest.fixture
def stock():
    return Stock([StockLevel("SZ-CLEAT-04", on_hand=5)])


@pytest.fixture
def book(stock):
    return ReservationBook(stock, Outbox(), ttl_seconds=1)


def test_reserving_lowers_what_is_available(book, stock):
    book.reserve("ORD-1", "SZ-CLEAT-04", 2)
    assert stock.level("SZ-CLEAT-04").available == 3


def test_more_than_there_is_cannot_be_reserved(book):
    with pytest.raises(OutOfStock):
        book.reserve("ORD-1", "SZ-CLEAT-04", 6)


def test_release_gives_everything_back(book, stock):
    book.reserve("ORD-1", "SZ-CLEAT-04", 2)
    book.reserve("ORD-1", "SZ-CLEAT-04", 1)
    assert book.release("ORD-1") == 2
    assert stock.level("SZ-CLEAT-04").available == 5


def test_expired_reservation_is_released(book, stock):
    book.reserve("ORD-1", "SZ-CLEAT-04", 2)
    time.sleep(1.2)
    released = book.release_expired()
    assert [held.order_id for held in released] == ["ORD-1"]
    assert stock.level("SZ-CLEAT-04").available == 5


def test_fresh_reservation_stays(book, stock):
    book.reserve("ORD-1", "SZ-CLEAT-04", 2)
    assert book.release_expired() == []
    assert stock.level("SZ-CLEAT-04").available == 3


def test_consuming_ships_the_goods(book, stock):
    book.reserve("ORD-1", "SZ-CLEAT-04", 2)
    book.consume("ORD-1")
    level = stock.level("SZ-CLEAT-04")
    assert (level.on_hand, level.reserved) == (3, 0)
    assert book.open_for("ORD-1") == []
'''

TEST_INVOICES = '''\
"""What is billed is what was charged."""

from datetime import datetime, timezone

import pytest

from harbor.billing.invoices import InvoiceService
from harbor.billing.tax import UnknownCountry, included_vat
from harbor.billing.worker import InvoiceWorker
from harbor.clock import FakeClock
from harbor.notifications.outbox import Outbox
from harbor.orders.models import Order, OrderLine, OrderStatus
from harbor.orders.repository import MemoryOrders

PLACED = datetime(2025, 3, 3, 8, 0, tzinfo=timezone.utc)


def paid(order_id="ORD-1", *lines, discount_bp=0):
    return Order(
        id=order_id,
        customer_id="C-1",
        currency="EUR",
        lines=lines or (OrderLine("HH-ROPE-08", 2, 1_016),),
        placed_at=PLACED,
        status=OrderStatus.PAID,
        discount_bp=discount_bp,
    )


@pytest.fixture
def outbox():
    return Outbox()


@pytest.fixture
def invoices(outbox):
    return InvoiceService(outbox, FakeClock())


def test_total_is_what_was_charged(invoices):
    assert invoices.issue(paid()).total_cents == 2_032


def test_discount_is_taken_off(invoices):
    order = paid("ORD-1", OrderLine("HH-ROPE-08", 4, 1_000), discount_bp=250)
    assert invoices.issue(order).total_cents == 3_900


def test_an_order_is_billed_once(invoices):
    assert invoices.issue(paid()) is invoices.issue(paid())


def test_numbers_go_up(invoices):
    first, second = invoices.issue(paid("ORD-1")), invoices.issue(paid("ORD-2"))
    assert (first.id, second.id) == ("INV-7001", "INV-7002")


def test_issuing_leaves_an_event(invoices, outbox):
    invoices.issue(paid())
    assert outbox.pending()[0]["invoice_id"] == "INV-7001"


def test_included_vat_is_rounded_half_up():
    assert included_vat(11_900, "DE") == 1_900
    assert included_vat(100, "DE") == 16


def test_unknown_country_is_an_error():
    with pytest.raises(UnknownCountry):
        included_vat(100, "XX")


def test_the_worker_bills_paid_orders_once(invoices):
    orders = MemoryOrders()
    orders.save(paid("ORD-1"))
    orders.save(paid("ORD-2"))
    worker = InvoiceWorker(orders, invoices)
    assert [worker.run_once(), worker.run_once()] == [2, 0]
'''

TEST_MONEY = '''\
"""Cents stay cents."""

import pytest

from harbor.billing.money import MoneyError, format_cents, line_discounts, require_cents, share_bp


def test_format_shows_two_digits():
    assert format_cents(1_205) == "12.05 €"
    assert format_cents(-5, "GBP") == "-0.05 £"


def test_shares_round_half_up():
    assert share_bp(1_000, 250) == 25
    assert share_bp(1_010, 250) == 25
    assert share_bp(1_020, 250) == 26


def test_floats_are_refused():
    with pytest.raises(MoneyError, match="got 12.5"):
        require_cents(12.5, "amount")


def test_booleans_are_refused():
    with pytest.raises(MoneyError):
        require_cents(True, "amount")


def test_discount_of_each_line():
    assert line_discounts([4_000, 2_000], 250) == [100, 50]
'''

TEST_NOTIFICATIONS = '''\
"""What is sent, and what is not."""

import pytest

from harbor.notifications.mailer import Mailer, MemoryTransport
from harbor.notifications.outbox import Outbox
from harbor.notifications.templates import NoTemplate, render

PLACED = {"type": "order.placed", "order_id": "ORD-1", "at": "2025-03-03T09:00:00+00:00"}


def test_english_is_the_fallback():
    text = render("order.cancelled", "de", {"order_id": "ORD-1", "reason": ""})
    assert text.startswith("Your order ORD-1")


def test_a_missing_value_is_an_error():
    with pytest.raises(KeyError):
        render("order.shipped", "en", {"order_id": "ORD-1"})


def test_unknown_kinds_have_no_template():
    with pytest.raises(NoTemplate):
        render("order.eaten", "en", {})


def test_the_mailer_sends_what_is_pending():
    outbox, transport = Outbox(), MemoryTransport()
    outbox.add(PLACED)
    assert Mailer(outbox, transport, "Harbor").drain("anna@example.com") == 1
    assert "ORD-1" in transport.sent[0].body


def test_internal_events_are_not_mailed():
    outbox, transport = Outbox(), MemoryTransport()
    outbox.add({"type": "reservation.expired", "order_id": "ORD-1"})
    assert Mailer(outbox, transport, "Harbor").drain("anna@example.com") == 0


def test_events_need_a_type():
    with pytest.raises(ValueError, match="needs a type"):
        Outbox().add({"order_id": "ORD-1"})
'''

TEST_ROUTES = '''\
"""The HTTP face."""

import pytest

from harbor.app import build
from harbor.clock import FakeClock
from harbor.inventory.stock import Stock, StockLevel
from harbor.settings import Settings

LINES = [{"sku": "HH-ROPE-08", "quantity": 2, "unit_price_cents": 1_016}]


@pytest.fixture
def app():
    stock = Stock([StockLevel("HH-ROPE-08", on_hand=10)])
    return build(Settings.load(), stock, FakeClock())


def place(app):
    body = {"customer_id": "C-1", "lines": LINES}
    return app.router.call("POST", "/orders", body).json["id"]


def test_place_and_show(app):
    order_id = place(app)
    shown = app.router.call("GET", f"/orders/{order_id}")
    assert (shown.status, shown.json["charged"]) == (200, "20.32 €")


def test_prices_must_be_integers(app):
    lines = [{"sku": "HH-ROPE-08", "quantity": 2, "unit_price_cents": 10.16}]
    answer = app.router.call("POST", "/orders", {"customer_id": "C-1", "lines": lines})
    assert answer.status == 422


def test_unknown_order_is_404(app):
    assert app.router.call("GET", "/orders/ORD-404").status == 404


def test_wrong_method_is_405(app):
    assert app.router.call("DELETE", "/orders").status == 405


def test_cancel_twice_is_409(app):
    order_id = place(app)
    assert app.router.call("POST", f"/orders/{order_id}/cancel").status == 200
    assert app.router.call("POST", f"/orders/{order_id}/cancel").status == 409
'''

FILES = {
    "tests/test_invoices.py": TEST_INVOICES,
    "tests/test_money.py": TEST_MONEY,
    "tests/test_notifications.py": TEST_NOTIFICATIONS,
    "tests/test_orders.py": TEST_ORDERS,
    "tests/test_reservations.py": TEST_RESERVATIONS,
    "tests/test_routes.py": TEST_ROUTES,
}
