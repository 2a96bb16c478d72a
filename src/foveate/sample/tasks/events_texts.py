"""What the agent writes in task 5."""

from __future__ import annotations

EVENTS = '''\
"""Events: what happened, when, and to what."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from harbor.clock import Clock

KINDS = frozenset({
    "order.placed",
    "order.paid",
    "order.shipped",
    "order.cancelled",
    "invoice.issued",
    "reservation.expired",
    "stock.low",
})


class UnknownKind(ValueError):
    pass


@dataclass(frozen=True)
class Event:
    kind: str
    at: datetime
    values: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownKind(f"{self.kind!r} is not in harbor.events.KINDS")

    @classmethod
    def of(cls, kind: str, clock: Clock, **values: object) -> Event:
        """Event.of("order.paid", clock, order_id="ORD-1", amount_cents=500)"""
        return cls(kind, clock.now(), values)

    def as_dict(self) -> dict[str, object]:
        """The form in which events are stored and mailed."""
        return {"type": self.kind, **self.values, "at": self.at.isoformat()}
'''

TEST_EVENTS = '''\
"""Events say what, when, and to what."""

import pytest

from harbor.clock import FakeClock
from harbor.events import Event, UnknownKind


def test_time_comes_from_the_clock():
    clock = FakeClock()
    assert Event.of("order.paid", clock, order_id="ORD-1").at == clock.now()


def test_stored_form_has_type_values_and_time():
    event = Event.of("order.paid", FakeClock(), order_id="ORD-1", amount_cents=500)
    assert event.as_dict() == {
        "type": "order.paid",
        "order_id": "ORD-1",
        "amount_cents": 500,
        "at": "2025-03-03T09:00:00+00:00",
    }


def test_a_typo_is_an_error():
    with pytest.raises(UnknownKind, match="order.payed"):
        Event.of("order.payed", FakeClock())
'''

OUTBOX_IMPORT = (
    "from collections import deque\n\n",
    "from collections import deque\n\nfrom harbor.events import Event\n\n",
)
OUTBOX_BOTH = (
    """\
    def add(self, event: dict) -> None:
        if "type" not in event:
""",
    """\
    def add(self, event: Event | dict) -> None:
        if isinstance(event, Event):
            event = event.as_dict()
        if "type" not in event:
""",
)
OUTBOX_STRICT = (
    """\
    def add(self, event: Event | dict) -> None:
        if isinstance(event, Event):
            event = event.as_dict()
        if "type" not in event:
            raise ValueError(f"an event needs a type: {event!r}")
        self._events.append(event)
""",
    """\
    def add(self, event: Event) -> None:
        if not isinstance(event, Event):
            raise TypeError(f"not an event: {event!r}")
        self._events.append(event.as_dict())
""",
)

SERVICE_GREEDY = (
    '            "at": self._clock.now().isoformat(),\n        })\n        return order\n',
    "        )\n        return order\n",
)
SERVICE_IMPORT = (
    "from harbor.clock import Clock\nfrom harbor.inventory.reservations",
    ("from harbor.clock import Clock\nfrom harbor.events import Event\nfrom harbor.inventory.reservations"),
)


def _site(indent: int, kind: str, values: tuple[tuple[str, str], ...], *, dated: bool = True) -> str:
    pad = " " * indent
    rows = [f'{pad}    "type": {kind},', *(f'{pad}    "{key}": {code},' for key, code in values)]
    if dated:
        rows.append(f'{pad}    "at": self._clock.now().isoformat(),')
    return "\n".join([f"{pad}self._outbox.add({{", *rows, f"{pad}}})\n"])


def _event(indent: int, kind: str, values: tuple[tuple[str, str], ...]) -> str:
    pad = " " * indent
    rows = [f"{pad}        {key}={code}," for key, code in values]
    head = [f"{pad}self._outbox.add(", f"{pad}    Event.of(", f"{pad}        {kind},"]
    tail = [f"{pad}        self._clock,", *rows, f"{pad}    )", f"{pad})\n"]
    return "\n".join([*head, *tail])


def _replaced(kind: str, *values: tuple[str, str], indent: int = 8, dated: bool = True) -> tuple[str, str]:
    return _site(indent, kind, values, dated=dated), _event(indent, kind, values)


_ORDER_ID = ("order_id", "order.id")
PLACED = _replaced('"order.placed"', _ORDER_ID, ("customer_id", "customer_id"))
PAID = _replaced('"order.paid"', _ORDER_ID, ("amount_cents", "order.charged_cents"))
SHIPPED = _replaced('"order.shipped"', _ORDER_ID, ("tracking_code", "tracking_code"))
CANCELLED = _replaced('"order.cancelled"', _ORDER_ID, ("reason", "reason"))
INVOICED = _replaced(
    '"invoice.issued"',
    _ORDER_ID,
    ("invoice_id", "invoice.id"),
    ("amount_cents", "invoice.total_cents"),
)
REFUNDED = _replaced(
    '"refund.created"',
    ("order_id", "order_id"),
    ("refund_id", "refund.id"),
    ("amount_cents", "amount_cents"),
)
EXPIRED = _replaced(
    '"reservation.expired"',
    ("order_id", "held.order_id"),
    ("reservation_id", "held.id"),
    ("sku", "held.sku"),
    indent=12,
    dated=False,
)
LOW = _replaced(
    "STOCK_LOW",
    ("sku", "sku"),
    ("available", "level.available"),
    ("safety_stock", "level.safety_stock"),
)
# The same import in four modules: after the clock, where the alphabet wants it.
IMPORT = (
    "from harbor.clock import Clock\n",
    "from harbor.clock import Clock\nfrom harbor.events import Event\n",
)
KIND = (
    '    "invoice.issued",\n    "reservation.expired",\n',
    '    "invoice.issued",\n    "refund.created",\n    "reservation.expired",\n',
)

MAIL_TEST_IMPORT = (
    "from harbor.notifications.mailer import",
    ("from harbor.clock import FakeClock\nfrom harbor.events import Event\nfrom harbor.notifications.mailer import"),
)
MAIL_TEST_PLACED = (
    'PLACED = {"type": "order.placed", "order_id": "ORD-1", "at": "2025-03-03T09:00:00+00:00"}\n',
    'PLACED = Event.of("order.placed", FakeClock(), order_id="ORD-1")\n',
)
MAIL_TEST_INTERNAL = (
    '    outbox.add({"type": "reservation.expired", "order_id": "ORD-1"})\n',
    '    outbox.add(Event.of("reservation.expired", FakeClock(), order_id="ORD-1"))\n',
)
MAIL_TEST_LOW = (
    ('    outbox.add({"type": "stock.low", "sku": "SZ-CLEAT-04", "available": 3, "safety_stock": 4})\n'),
    (
        '    values = {"sku": "SZ-CLEAT-04", "available": 3, "safety_stock": 4}\n'
        '    outbox.add(Event.of("stock.low", FakeClock(), **values))\n'
    ),
)
MAIL_TEST_TYPE = (
    """\
def test_events_need_a_type():
    with pytest.raises(ValueError, match="needs a type"):
        Outbox().add({"order_id": "ORD-1"})
""",
    """\
def test_only_events_go_into_the_outbox():
    with pytest.raises(TypeError, match="not an event"):
        Outbox().add({"type": "order.placed", "order_id": "ORD-1"})
""",
)
