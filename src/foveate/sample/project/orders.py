"""The invented shop's `harbor/orders` package, as text."""

MODELS = '''\
"""Orders as the shop sees them. All amounts are integer cents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum


class OrderStatus(str, Enum):
    PLACED = "placed"
    PAID = "paid"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"


# What may follow what; everything else is an IllegalTransition.
TRANSITIONS = {
    OrderStatus.PLACED: {OrderStatus.PAID, OrderStatus.CANCELLED},
    OrderStatus.PAID: {OrderStatus.SHIPPED, OrderStatus.CANCELLED},
    OrderStatus.SHIPPED: set(),
    OrderStatus.CANCELLED: set(),
}


class IllegalTransition(Exception):
    def __init__(self, order_id: str, old: OrderStatus, new: OrderStatus) -> None:
        super().__init__(f"{order_id}: {old.value} -> {new.value} is not allowed")
        self.order_id = order_id


@dataclass(frozen=True)
class OrderLine:
    sku: str
    quantity: int
    unit_price_cents: int

    def __post_init__(self) -> None:
        if self.quantity < 1:
            raise ValueError(f"{self.sku}: quantity must be 1 or more, got {self.quantity}")
        if not isinstance(self.unit_price_cents, int):
            raise TypeError(f"{self.sku}: unit_price_cents must be int")

    @property
    def gross_cents(self) -> int:
        return self.quantity * self.unit_price_cents


@dataclass(frozen=True)
class Order:
    id: str
    customer_id: str
    currency: str
    lines: tuple[OrderLine, ...]
    placed_at: datetime
    status: OrderStatus = OrderStatus.PLACED
    discount_bp: int = 0  # basis points on the subtotal, 250 = 2.5 %
    payment_ref: str | None = None

    @property
    def subtotal_cents(self) -> int:
        return sum(line.gross_cents for line in self.lines)

    @property
    def charged_cents(self) -> int:
        """What the payment provider was told to take."""
        # Half up, in integers: (x * bp + 5000) // 10000.
        discount = (self.subtotal_cents * self.discount_bp + 5_000) // 10_000
        return self.subtotal_cents - discount

    def moved_to(self, status: OrderStatus) -> Order:
        if status not in TRANSITIONS[self.status]:
            raise IllegalTransition(self.id, self.status, status)
        return replace(self, status=status)
'''

SERVICE = '''\
"""What can be done with an order."""

from __future__ import annotations

import itertools
from dataclasses import replace

from harbor.clock import Clock
from harbor.inventory.reservations import ReservationBook
from harbor.notifications.outbox import Outbox
from harbor.orders.models import Order, OrderLine, OrderStatus
from harbor.orders.repository import OrderRepository


class OrderService:
    """Places, pays, ships and cancels orders; every change leaves an event in the outbox."""

    def __init__(
        self,
        orders: OrderRepository,
        reservations: ReservationBook,
        outbox: Outbox,
        clock: Clock,
        first_number: int = 20_001,
    ) -> None:
        self._orders = orders
        self._reservations = reservations
        self._outbox = outbox
        self._clock = clock
        self._numbers = itertools.count(first_number)

    def place(
        self,
        customer_id: str,
        lines: tuple[OrderLine, ...],
        currency: str = "EUR",
        discount_bp: int = 0,
    ) -> Order:
        if not lines:
            raise ValueError("an order needs at least one line")
        order = Order(
            id=f"ORD-{next(self._numbers)}",
            customer_id=customer_id,
            currency=currency,
            lines=lines,
            placed_at=self._clock.now(),
            discount_bp=discount_bp,
        )
        for line in lines:
            self._reservations.reserve(order.id, line.sku, line.quantity)
        self._orders.save(order)
        self._outbox.add({
            "type": "order.placed",
            "order_id": order.id,
            "customer_id": customer_id,
            "at": self._clock.now().isoformat(),
        })
        return order

    def pay(self, order_id: str, payment_ref: str) -> Order:
        order = self._orders.get(order_id).moved_to(OrderStatus.PAID)
        order = replace(order, payment_ref=payment_ref)
        self._orders.save(order)
        self._outbox.add({
            "type": "order.paid",
            "order_id": order.id,
            "amount_cents": order.charged_cents,
            "at": self._clock.now().isoformat(),
        })
        return order

    def ship(self, order_id: str, tracking_code: str) -> Order:
        order = self._orders.get(order_id).moved_to(OrderStatus.SHIPPED)
        self._reservations.consume(order_id)
        self._orders.save(order)
        self._outbox.add({
            "type": "order.shipped",
            "order_id": order.id,
            "tracking_code": tracking_code,
            "at": self._clock.now().isoformat(),
        })
        return order

    def cancel(self, order_id: str, reason: str) -> Order:
        order = self._orders.get(order_id).moved_to(OrderStatus.CANCELLED)
        self._reservations.release(order_id)
        self._orders.save(order)
        self._outbox.add({
            "type": "order.cancelled",
            "order_id": order.id,
            "reason": reason,
            "at": self._clock.now().isoformat(),
        })
        return order

    def get(self, order_id: str) -> Order:
        return self._orders.get(order_id)
'''

REPOSITORY = '''\
"""Where orders are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from harbor.orders.models import Order, OrderStatus


class UnknownOrder(KeyError):
    def __str__(self) -> str:
        return f"no such order: {self.args[0]}"


class OrderRepository(Protocol):
    def get(self, order_id: str) -> Order: ...

    def save(self, order: Order) -> None: ...

    def with_status(self, status: OrderStatus) -> Iterator[Order]: ...


class MemoryOrders:
    """Orders in a dict, for tests and for the demo shop."""

    def __init__(self) -> None:
        self._orders: dict[str, Order] = {}

    def get(self, order_id: str) -> Order:
        try:
            return self._orders[order_id]
        except KeyError:
            raise UnknownOrder(order_id) from None

    def save(self, order: Order) -> None:
        self._orders[order.id] = order

    def with_status(self, status: OrderStatus) -> Iterator[Order]:
        # A copy: callers move orders on while they iterate.
        yield from [order for order in self._orders.values() if order.status is status]
'''

ROUTES = '''\
"""HTTP routes for orders."""

from __future__ import annotations

from harbor.billing.money import format_cents
from harbor.orders.models import IllegalTransition, Order, OrderLine
from harbor.orders.repository import UnknownOrder
from harbor.orders.service import OrderService
from harbor.web import HTTPError, Request, Response, Router


def add_routes(router: Router, orders: OrderService) -> None:
    @router.route("POST", "/orders")
    def place(request: Request) -> Response:
        body = request.json
        lines = tuple(_line(item) for item in body.get("lines", []))
        if not lines:
            raise HTTPError(422, "`lines` must not be empty")
        order = orders.place(
            body["customer_id"],
            lines,
            currency=body.get("currency", "EUR"),
            discount_bp=int(body.get("discount_bp", 0)),
        )
        return Response(201, _shown(order))

    @router.route("GET", "/orders/{order_id}")
    def show(request: Request) -> Response:
        try:
            return Response(200, _shown(orders.get(request.path["order_id"])))
        except UnknownOrder as error:
            raise HTTPError(404, str(error)) from None

    @router.route("POST", "/orders/{order_id}/cancel")
    def cancel(request: Request) -> Response:
        try:
            order = orders.cancel(request.path["order_id"], request.json.get("reason", ""))
        except UnknownOrder as error:
            raise HTTPError(404, str(error)) from None
        except IllegalTransition as error:
            raise HTTPError(409, str(error)) from None
        return Response(200, _shown(order))


def _line(item: dict) -> OrderLine:
    price = item.get("unit_price_cents")
    if not isinstance(price, int):
        raise HTTPError(422, "`unit_price_cents` must be an integer number of cents")
    return OrderLine(sku=item["sku"], quantity=int(item["quantity"]), unit_price_cents=price)


def _shown(order: Order) -> dict:
    return {
        "id": order.id,
        "status": order.status.value,
        "charged_cents": order.charged_cents,
        "charged": format_cents(order.charged_cents, order.currency),
        "lines": [
            {"sku": line.sku, "quantity": line.quantity, "gross_cents": line.gross_cents}
            for line in order.lines
        ],
    }
'''

FILES = {
    "harbor/orders/__init__.py": '"""Orders: placing, paying, shipping, cancelling."""\n',
    "harbor/orders/models.py": MODELS,
    "harbor/orders/service.py": SERVICE,
    "harbor/orders/repository.py": REPOSITORY,
    "harbor/orders/routes.py": ROUTES,
}
