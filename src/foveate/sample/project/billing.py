"""The invented shop's `harbor/billing` package, as text."""

MONEY = '''\
"""Arithmetic on integer cents. Floats are not welcome here."""

from __future__ import annotations

from collections.abc import Sequence

SYMBOLS = {"EUR": "€", "GBP": "£", "USD": "$", "CNY": "¥"}


class MoneyError(ValueError):
    pass


def require_cents(value: object, name: str) -> int:
    """Accept an int, refuse everything else (bool included)."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise MoneyError(f"`{name}` must be an integer number of cents, got {value!r}")
    return value


def format_cents(cents: int, currency: str = "EUR") -> str:
    """1234 -> '12.34 €'."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole}.{rest:02d} {SYMBOLS.get(currency, currency)}"


def share_bp(cents: int, basis_points: int) -> int:
    """The given share of an amount, half up: share_bp(1000, 250) == 25."""
    return (cents * basis_points + 5_000) // 10_000


def line_discounts(gross: Sequence[int], discount_bp: int) -> list[int]:
    """The discount of each invoice line."""
    return [share_bp(cents, discount_bp) for cents in gross]
'''

# What `line_discounts` looked like before the commit that broke it; `git show` is computed from it.
LINE_DISCOUNTS_BROKEN = '''\
def line_discounts(gross: Sequence[int], discount_bp: int) -> list[int]:
    """The discount of each invoice line."""
    return [share_bp(cents, discount_bp) for cents in gross]
'''
LINE_DISCOUNTS_ORIGINAL = '''\
def line_discounts(gross: Sequence[int], discount_bp: int) -> list[int]:
    """The discount of each invoice line."""
    total = share_bp(sum(gross), discount_bp)
    shares = [cents * discount_bp // 10_000 for cents in gross]
    shares[-1] += total - sum(shares)
    return shares
'''

INVOICES = '''\
"""Invoices: one per paid order, and their sum is what was charged."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import datetime

from harbor.billing.money import line_discounts
from harbor.billing.tax import included_vat
from harbor.clock import Clock
from harbor.notifications.outbox import Outbox
from harbor.orders.models import Order


class InvoiceMismatch(Exception):
    """The lines of an invoice do not add up to what the customer paid."""


@dataclass(frozen=True)
class InvoiceLine:
    sku: str
    quantity: int
    gross_cents: int
    discount_cents: int

    @property
    def net_cents(self) -> int:
        return self.gross_cents - self.discount_cents


@dataclass(frozen=True)
class Invoice:
    id: str
    order_id: str
    currency: str
    lines: tuple[InvoiceLine, ...]
    issued_at: datetime
    vat_cents: int

    @property
    def total_cents(self) -> int:
        return sum(line.net_cents for line in self.lines)


class InvoiceService:
    def __init__(
        self, outbox: Outbox, clock: Clock, country: str = "DE", first_number: int = 7_001
    ) -> None:
        self._outbox = outbox
        self._clock = clock
        self._country = country
        self._numbers = itertools.count(first_number)
        self._issued: dict[str, Invoice] = {}

    def issue(self, order: Order) -> Invoice:
        """Issue the invoice of a paid order; a second call gives the first invoice again."""
        if order.id in self._issued:
            return self._issued[order.id]
        discounts = line_discounts([line.gross_cents for line in order.lines], order.discount_bp)
        lines = tuple(
            InvoiceLine(line.sku, line.quantity, line.gross_cents, discount)
            for line, discount in zip(order.lines, discounts, strict=True)
        )
        self._verify(order, lines)
        invoice = Invoice(
            id=f"INV-{next(self._numbers)}",
            order_id=order.id,
            currency=order.currency,
            lines=lines,
            issued_at=self._clock.now(),
            vat_cents=included_vat(order.charged_cents, self._country),
        )
        self._issued[order.id] = invoice
        self._outbox.add({
            "type": "invoice.issued",
            "order_id": order.id,
            "invoice_id": invoice.id,
            "amount_cents": invoice.total_cents,
            "at": self._clock.now().isoformat(),
        })
        return invoice

    def for_order(self, order_id: str) -> Invoice | None:
        return self._issued.get(order_id)

    def _verify(self, order: Order, lines: tuple[InvoiceLine, ...]) -> None:
        total = sum(line.net_cents for line in lines)
        if total != order.charged_cents:
            raise InvoiceMismatch(
                f"{order.id}: lines sum to {total}, charged {order.charged_cents}"
            )
'''

TAX = '''\
"""VAT that is included in a price."""

from __future__ import annotations

# Rates in basis points, so that nothing here needs a float.
VAT_BP = {"DE": 1_900, "AT": 2_000, "FR": 2_000, "NL": 2_100, "DK": 2_500}


class UnknownCountry(KeyError):
    pass


def included_vat(total_cents: int, country: str) -> int:
    """The VAT inside a gross total, half up: included_vat(11900, 'DE') == 1900."""
    try:
        rate = VAT_BP[country]
    except KeyError:
        raise UnknownCountry(country) from None
    base = 10_000 + rate
    return (2 * total_cents * rate + base) // (2 * base)
'''

WORKER = '''\
"""Turns paid orders into invoices, in the background."""

from __future__ import annotations

import logging

from harbor.billing.invoices import InvoiceService
from harbor.orders.models import OrderStatus
from harbor.orders.repository import OrderRepository

log = logging.getLogger("harbor.billing.worker")


class InvoiceWorker:
    def __init__(self, orders: OrderRepository, invoices: InvoiceService, batch: int = 50) -> None:
        self._orders = orders
        self._invoices = invoices
        self._batch = batch

    def run_once(self) -> int:
        """Issue what is missing and say how many invoices that was."""
        issued = 0
        for order in self._orders.with_status(OrderStatus.PAID):
            if issued >= self._batch:
                log.info("batch full, %s issued, rest next time", issued)
                break
            if self._invoices.for_order(order.id) is not None:
                continue
            invoice = self._invoices.issue(order)
            log.info("issued %s for %s", invoice.id, order.id)
            issued += 1
        return issued
'''

FILES = {
    "harbor/billing/__init__.py": '"""Billing: money, tax, invoices."""\n',
    "harbor/billing/money.py": MONEY,
    "harbor/billing/invoices.py": INVOICES,
    "harbor/billing/tax.py": TAX,
    "harbor/billing/worker.py": WORKER,
}
