"""What the agent writes in task 2."""

REFUNDS = '''\
"""Partial refunds of paid orders."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import datetime, timedelta

from harbor.billing.money import MoneyError, require_cents
from harbor.clock import Clock
from harbor.notifications.outbox import Outbox
from harbor.orders.models import Order, OrderStatus
from harbor.orders.repository import OrderRepository

REFUNDABLE = {OrderStatus.PAID, OrderStatus.SHIPPED}


class RefundRefused(Exception):
    """The order is in the wrong state, too old, or has been refunded too far already."""


@dataclass(frozen=True)
class Refund:
    id: str
    order_id: str
    amount_cents: int
    reason: str
    account: str
    created_at: datetime


class RefundService:
    def __init__(
        self,
        orders: OrderRepository,
        outbox: Outbox,
        clock: Clock,
        account: str,
        window_days: int,
    ) -> None:
        self._orders = orders
        self._outbox = outbox
        self._clock = clock
        self._account = account
        self._window = timedelta(days=window_days)
        self._numbers = itertools.count(1)
        self._refunds: dict[str, list[Refund]] = {}

    def refund(self, order_id: str, amount_cents: int, reason: str) -> Refund:
        if require_cents(amount_cents, "amount_cents") < 1:
            raise MoneyError(f"`amount_cents` must be positive, got {amount_cents}")
        order = self._orders.get(order_id)
        self._check(order, amount_cents)
        refund = Refund(
            id=f"RFD-{next(self._numbers):05d}",
            order_id=order_id,
            amount_cents=amount_cents,
            reason=reason,
            account=self._account,
            created_at=self._clock.now(),
        )
        self._refunds.setdefault(order_id, []).append(refund)
        self._outbox.add({
            "type": "refund.created",
            "order_id": order_id,
            "refund_id": refund.id,
            "amount_cents": amount_cents,
            "at": self._clock.now().isoformat(),
        })
        return refund

    def refunded_cents(self, order_id: str) -> int:
        return sum(refund.amount_cents for refund in self._refunds.get(order_id, []))

    def _check(self, order: Order, amount_cents: int) -> None:
        if order.status not in REFUNDABLE:
            raise RefundRefused(f"{order.id}: a {order.status.value} order cannot be refunded")
        if self._clock.now() - order.placed_at > self._window:
            raise RefundRefused(f"{order.id}: placed more than {self._window.days} days ago")
        if amount_cents > order.charged_cents:
            raise RefundRefused(
                f"{order.id}: {amount_cents} is more than the {order.charged_cents} charged"
            )
'''

TEST_REFUNDS = '''\
"""Money goes back once, in part or in full, and never more than was paid."""

from dataclasses import replace

import pytest

from harbor.billing.money import MoneyError
from harbor.billing.refunds import RefundRefused, RefundService
from harbor.clock import FakeClock
from harbor.notifications.outbox import Outbox
from harbor.orders.models import Order, OrderLine, OrderStatus
from harbor.orders.repository import MemoryOrders, UnknownOrder

DAY = 24 * 60 * 60


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def outbox():
    return Outbox()


@pytest.fixture
def orders(clock):
    orders = MemoryOrders()
    line = OrderLine("HH-ROPE-08", 2, 1_016)
    order = Order("ORD-1", "C-1", "EUR", (line,), clock.now(), status=OrderStatus.PAID)
    orders.save(order)
    orders.save(replace(order, id="ORD-2", status=OrderStatus.PLACED))
    return orders


@pytest.fixture
def refunds(orders, outbox, clock):
    return RefundService(orders, outbox, clock, account="8725-03", window_days=30)


def test_part_of_an_order_is_refunded(refunds):
    refund = refunds.refund("ORD-1", 500, "one cleat missing")
    assert (refund.id, refund.amount_cents, refund.account) == ("RFD-00001", 500, "8725-03")


def test_everything_can_be_refunded_in_parts(refunds):
    refunds.refund("ORD-1", 2_000, "rope too short")
    refunds.refund("ORD-1", 32, "and the rest")
    assert refunds.refunded_cents("ORD-1") == 2_032


def test_never_more_than_was_charged(refunds):
    refunds.refund("ORD-1", 2_000, "rope too short")
    with pytest.raises(RefundRefused, match="33 is more than the 32 left"):
        refunds.refund("ORD-1", 33, "greedy")


def test_an_unpaid_order_has_nothing_to_refund(refunds):
    with pytest.raises(RefundRefused, match="placed order"):
        refunds.refund("ORD-2", 1, "")


def test_the_window_closes(refunds, clock):
    clock.advance(30 * DAY)
    refunds.refund("ORD-1", 1, "last moment")
    clock.advance(1)
    with pytest.raises(RefundRefused, match="30 days"):
        refunds.refund("ORD-1", 1, "too late")


def test_floats_and_zero_are_refused(refunds):
    for amount in (5.0, 0, -1, True):
        with pytest.raises(MoneyError):
            refunds.refund("ORD-1", amount, "")


def test_unknown_orders_are_named(refunds):
    with pytest.raises(UnknownOrder, match="ORD-404"):
        refunds.refund("ORD-404", 1, "")


def test_a_refund_leaves_an_event(refunds, outbox):
    refunds.refund("ORD-1", 500, "one cleat missing")
    assert outbox.pending()[0]["refund_id"] == "RFD-00001"
'''

LIMIT = (
    """\
        if amount_cents > order.charged_cents:
            raise RefundRefused(
                f"{order.id}: {amount_cents} is more than the {order.charged_cents} charged"
            )
""",
    """\
        left = order.charged_cents - self.refunded_cents(order.id)
        if amount_cents > left:
            raise RefundRefused(f"{order.id}: {amount_cents} is more than the {left} left")
""",
)

ROUTE_IMPORTS = (
    "from harbor.billing.money import format_cents\n",
    (
        "from harbor.billing.money import MoneyError, format_cents\n"
        "from harbor.billing.refunds import RefundRefused, RefundService\n"
    ),
)
ROUTE_SIGNATURE = (
    "def add_routes(router: Router, orders: OrderService) -> None:\n",
    "def add_routes(router: Router, orders: OrderService, refunds: RefundService) -> None:\n",
)
ROUTE_HANDLER = (
    """\
        return Response(200, _shown(order))


def _line(""",
    """\
        return Response(200, _shown(order))

    @router.route("POST", "/orders/{order_id}/refunds")
    def refund(request: Request) -> Response:
        body = request.json
        try:
            made = refunds.refund(
                request.path["order_id"], body.get("amount_cents"), body.get("reason", "")
            )
        except UnknownOrder as error:
            raise HTTPError(404, str(error)) from None
        except RefundRefused as error:
            raise HTTPError(409, str(error)) from None
        return Response(201, {"id": made.id, "amount_cents": made.amount_cents})


def _line(""",
)
ROUTE_MONEY_ERROR = (
    """\
        except RefundRefused as error:
            raise HTTPError(409, str(error)) from None
""",
    """\
        except RefundRefused as error:
            raise HTTPError(409, str(error)) from None
        except MoneyError as error:
            raise HTTPError(422, str(error)) from None
""",
)

APP_IMPORT = (
    "from harbor.billing.invoices import InvoiceService\n",
    ("from harbor.billing.invoices import InvoiceService\nfrom harbor.billing.refunds import RefundService\n"),
)
APP_FIELD = (
    "    worker: InvoiceWorker\n    reservations: ReservationBook\n",
    "    worker: InvoiceWorker\n    refunds: RefundService\n    reservations: ReservationBook\n",
)
APP_WIRING = (
    """\
    router = Router()
    order_routes.add_routes(router, orders)
    return App(router, orders, invoices, worker, reservations, stock, outbox)
""",
    """\
    refunds = RefundService(
        repository,
        outbox,
        clock,
        account=settings.get("billing.refund_account"),
        window_days=settings.get("refunds.window_days"),
    )
    router = Router()
    order_routes.add_routes(router, orders, refunds)
    return App(router, orders, invoices, worker, refunds, reservations, stock, outbox)
""",
)
APP_KEY = (
    'window_days=settings.get("refunds.window_days")',
    'window_days=settings.get("billing.refund_window_days")',
)

ROUTE_TESTS = (
    """\
def test_cancel_twice_is_409(app):
""",
    """\
def test_refund_a_paid_order(app):
    order_id = place(app)
    app.orders.pay(order_id, "pay_81")
    url = f"/orders/{order_id}/refunds"
    answer = app.router.call("POST", url, {"amount_cents": 500, "reason": "missing"})
    assert (answer.status, answer.json) == (201, {"id": "RFD-00001", "amount_cents": 500})
    assert app.router.call("POST", url, {"amount_cents": 1_533}).status == 409


def test_refund_amount_must_be_cents(app):
    order_id = place(app)
    app.orders.pay(order_id, "pay_81")
    url = f"/orders/{order_id}/refunds"
    assert app.router.call("POST", url, {"amount_cents": 5.0}).status == 422


def test_refund_of_unknown_order_is_404(app):
    url = "/orders/ORD-404/refunds"
    assert app.router.call("POST", url, {"amount_cents": 1}).status == 404


def test_cancel_twice_is_409(app):
""",
)

OPENAPI_AMBIGUOUS = (
    "    post:\n",
    "    post:\n      operationId: refund\n",
)
OPENAPI_PATH = (
    """\
      responses: {"200": {description: cancelled}, "409": {description: too late}}
""",
    """\
      responses: {"200": {description: cancelled}, "409": {description: too late}}
  /orders/{order_id}/refunds:
    post:
      summary: Refund part of a paid order, in integer cents
      responses:
        "201": {description: refunded}
        "404": {description: unknown}
        "409": {description: "not paid, too old, or more than is left"}
        "422": {description: amount is not a positive integer}
""",
)
