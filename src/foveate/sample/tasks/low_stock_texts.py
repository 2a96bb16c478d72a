"""What the agent writes in task 3."""

ALERT_LINE = "【库存预警】$sku 可用库存 $available 件，低于安全库存 $safety_stock 件，请尽快补货。"

ALERTS = '''\
"""Tells the warehouse when stock runs low. The rules are in docs/warehouse-zh.md."""

from __future__ import annotations

from harbor.clock import Clock
from harbor.inventory.stock import Stock
from harbor.notifications.outbox import Outbox

# The warehouse's sorting script filters by this name.
STOCK_LOW = "stock.low"


class LowStockAlerts:
    """One `stock.low` event when a SKU falls below its safety stock, none until it recovers."""

    def __init__(self, stock: Stock, outbox: Outbox, clock: Clock, prefix: str = "SZ-") -> None:
        self._stock = stock
        self._outbox = outbox
        self._clock = clock
        self._prefix = prefix
        self._alerted: set[str] = set()

    def check(self, sku: str) -> bool:
        """Look at a SKU after its availability changed and say whether an alert was added."""
        if not sku.startswith(self._prefix):
            return False
        level = self._stock.level(sku)
        if level.available >= level.safety_stock:
            self._alerted.discard(sku)
            return False
        if sku in self._alerted:
            return False
        self._alerted.add(sku)
        self._outbox.add({
            "type": STOCK_LOW,
            "sku": sku,
            "available": level.available,
            "safety_stock": level.safety_stock,
            "at": self._clock.now().isoformat(),
        })
        return True
'''

TEST_ALERTS = '''\
"""The warehouse hears of low stock, once, and only of its own goods."""

import pytest

from harbor.clock import FakeClock
from harbor.inventory.alerts import LowStockAlerts
from harbor.inventory.reservations import ReservationBook
from harbor.inventory.stock import Stock, StockLevel
from harbor.notifications.outbox import Outbox


@pytest.fixture
def outbox():
    return Outbox()


@pytest.fixture
def book(outbox):
    clock = FakeClock()
    stock = Stock([
        StockLevel("SZ-CLEAT-04", on_hand=6, safety_stock=4, warehouse="SZX"),
        StockLevel("HH-ROPE-08", on_hand=6, safety_stock=4),
    ])
    return ReservationBook(stock, outbox, clock, alerts=LowStockAlerts(stock, outbox, clock))


def low(outbox):
    return [event for event in outbox.pending() if event["type"] == "stock.low"]


def test_at_the_safety_stock_there_is_no_alert(book, outbox):
    book.reserve("ORD-1", "SZ-CLEAT-04", 2)
    assert low(outbox) == []


def test_below_it_there_is_one(book, outbox):
    book.reserve("ORD-1", "SZ-CLEAT-04", 3)
    assert [(event["sku"], event["available"]) for event in low(outbox)] == [("SZ-CLEAT-04", 3)]


def test_it_is_not_repeated_while_stock_stays_low(book, outbox):
    book.reserve("ORD-1", "SZ-CLEAT-04", 3)
    book.reserve("ORD-2", "SZ-CLEAT-04", 1)
    assert len(low(outbox)) == 1


def test_it_comes_again_after_stock_recovered(book, outbox):
    book.reserve("ORD-1", "SZ-CLEAT-04", 3)
    book.release("ORD-1")
    book.reserve("ORD-2", "SZ-CLEAT-04", 3)
    assert len(low(outbox)) == 2


def test_goods_in_hamburg_are_not_reported(book, outbox):
    book.reserve("ORD-1", "HH-ROPE-08", 5)
    assert low(outbox) == []
'''

BOOK_IMPORT = (
    "from harbor.clock import Clock\nfrom harbor.inventory.stock import Stock\n",
    (
        "from harbor.clock import Clock\nfrom harbor.inventory.alerts import LowStockAlerts\n"
        "from harbor.inventory.stock import Stock\n"
    ),
)
BOOK_CONSTRUCTOR = (
    """\
    def __init__(
        self, stock: Stock, outbox: Outbox, clock: Clock, ttl_seconds: int = 900
    ) -> None:
        self._stock = stock
""",
    """\
    def __init__(
        self,
        stock: Stock,
        outbox: Outbox,
        clock: Clock,
        ttl_seconds: int = 900,
        alerts: LowStockAlerts | None = None,
    ) -> None:
        self._alerts = alerts or LowStockAlerts(stock, outbox, clock)
        self._stock = stock
""",
)
BOOK_RESERVE = (
    """\
        self._open[reservation.id] = reservation
        return reservation
""",
    """\
        self._open[reservation.id] = reservation
        self._alerts.check(sku)
        return reservation
""",
)
BOOK_GIVE_BACK = (
    """\
        self._stock.release(held.sku, held.quantity)
        del self._open[held.id]
""",
    """\
        self._stock.release(held.sku, held.quantity)
        self._alerts.check(held.sku)
        del self._open[held.id]
""",
)

TEMPLATE = (
    """\
    ("invoice.issued", "de"): "Die Rechnung $invoice_id zu $order_id liegt bei.",
}
""",
    f"""\
    ("invoice.issued", "de"): "Die Rechnung $invoice_id zu $order_id liegt bei.",
    # Agreed with the warehouse word for word, see docs/warehouse-zh.md.
    ("stock.low", "zh"): "{ALERT_LINE}",
}}
""",
)

MAILER_CONSTRUCTOR = (
    """\
    def __init__(
        self, outbox: Outbox, transport: Transport, sender_name: str, locale: str = "en"
    ) -> None:
        self._outbox = outbox
        self._transport = transport
        self._sender_name = sender_name
        self._locale = locale
""",
    """\
    def __init__(
        self,
        outbox: Outbox,
        transport: Transport,
        sender_name: str,
        locale: str = "en",
        internal: dict[str, Recipient] | None = None,
    ) -> None:
        self._outbox = outbox
        self._transport = transport
        self._sender_name = sender_name
        self._locale = locale
        self._internal = internal or {}
""",
)
MAILER_RECIPIENT = (
    """\
class Transport(Protocol):
""",
    """\
@dataclass(frozen=True)
class Recipient:
    address: str
    locale: str


class Transport(Protocol):
""",
)
MAILER_DRAIN = (
    """\
            values = {key: str(value) for key, value in event.items()}
            try:
                body = render(event["type"], self._locale, values)
""",
    """\
            values = {key: str(value) for key, value in event.items()}
            recipient = self._internal.get(event["type"], Recipient(to, self._locale))
            try:
                body = render(event["type"], recipient.locale, values)
""",
)
MAILER_SEND = (
    """\
            self._transport.send(Mail(to, f"{self._sender_name}: {event['type']}", body))
""",
    """\
            subject = f"{self._sender_name}: {event['type']}"
            self._transport.send(Mail(recipient.address, subject, body))
""",
)
MAILER_TEST = (
    """\
def test_events_need_a_type():
""",
    """\
def test_the_warehouse_is_told_in_chinese():
    outbox, transport = Outbox(), MemoryTransport()
    outbox.add({"type": "stock.low", "sku": "SZ-CLEAT-04", "available": 3, "safety_stock": 4})
    internal = {"stock.low": Recipient("lager-sz@harbor-daughters.example", "zh")}
    assert Mailer(outbox, transport, "Harbor", internal=internal).drain("anna@example.com") == 1
    (mail,) = transport.sent
    assert mail.to == "lager-sz@harbor-daughters.example"
    assert mail.body == "【库存预警】SZ-CLEAT-04 可用库存 3 件，低于安全库存 4 件，请尽快补货。"


def test_events_need_a_type():
""",
)
MAILER_TEST_IMPORT = (
    "from harbor.notifications.mailer import Mailer, MemoryTransport\n",
    "from harbor.notifications.mailer import Mailer, MemoryTransport, Recipient\n",
)
