"""The invented shop's `harbor/inventory` package, as text."""

STOCK = '''\
"""How much of each SKU there is, and how much of it is spoken for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class UnknownSku(KeyError):
    def __str__(self) -> str:
        return f"no such SKU: {self.args[0]}"


class OutOfStock(Exception):
    def __init__(self, sku: str, wanted: int, available: int) -> None:
        super().__init__(f"{sku}: wanted {wanted}, available {available}")
        self.sku = sku


@dataclass
class StockLevel:
    sku: str
    on_hand: int
    reserved: int = 0
    safety_stock: int = 0
    warehouse: str = "HAM"

    @property
    def available(self) -> int:
        return self.on_hand - self.reserved


class Stock:
    """Stock levels by SKU. Holding is not shipping: `on_hand` changes only in `ship`."""

    def __init__(self, levels: Iterable[StockLevel] = ()) -> None:
        self._levels = {level.sku: level for level in levels}

    def level(self, sku: str) -> StockLevel:
        try:
            return self._levels[sku]
        except KeyError:
            raise UnknownSku(sku) from None

    def hold(self, sku: str, quantity: int) -> None:
        level = self.level(sku)
        if quantity > level.available:
            raise OutOfStock(sku, quantity, level.available)
        level.reserved += quantity

    def release(self, sku: str, quantity: int) -> None:
        level = self.level(sku)
        level.reserved = max(0, level.reserved - quantity)

    def ship(self, sku: str, quantity: int) -> None:
        level = self.level(sku)
        level.reserved -= quantity
        level.on_hand -= quantity

    def restock(self, sku: str, quantity: int) -> None:
        self.level(sku).on_hand += quantity
'''

RESERVATIONS = '''\
"""Stock that is held for an order until it ships, is cancelled, or time runs out."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

from harbor.inventory.stock import Stock
from harbor.notifications.outbox import Outbox


@dataclass(frozen=True)
class Reservation:
    id: str
    order_id: str
    sku: str
    quantity: int
    expires_at: int  # seconds since the epoch


class ReservationBook:
    """Open reservations. `release_expired` is called by the sweeper once a minute."""

    def __init__(self, stock: Stock, outbox: Outbox, ttl_seconds: int = 900) -> None:
        self._stock = stock
        self._outbox = outbox
        self._ttl_seconds = ttl_seconds
        self._numbers = itertools.count(1)
        self._open: dict[str, Reservation] = {}

    def reserve(self, order_id: str, sku: str, quantity: int) -> Reservation:
        self._stock.hold(sku, quantity)
        reservation = Reservation(
            id=f"RSV-{next(self._numbers):05d}",
            order_id=order_id,
            sku=sku,
            quantity=quantity,
            expires_at=round(time.time()) + self._ttl_seconds,
        )
        self._open[reservation.id] = reservation
        return reservation

    def release(self, order_id: str) -> int:
        """Give back everything held for an order and say how many reservations that was."""
        mine = [held for held in self._open.values() if held.order_id == order_id]
        for held in mine:
            self._give_back(held)
        return len(mine)

    def consume(self, order_id: str) -> None:
        for held in [held for held in self._open.values() if held.order_id == order_id]:
            self._stock.ship(held.sku, held.quantity)
            del self._open[held.id]

    def release_expired(self) -> list[Reservation]:
        expired = [held for held in self._open.values() if held.expires_at < time.time()]
        for held in expired:
            self._give_back(held)
            self._outbox.add({
                "type": "reservation.expired",
                "order_id": held.order_id,
                "reservation_id": held.id,
                "sku": held.sku,
            })
        return expired

    def open_for(self, order_id: str) -> list[Reservation]:
        return [held for held in self._open.values() if held.order_id == order_id]

    def _give_back(self, held: Reservation) -> None:
        self._stock.release(held.sku, held.quantity)
        del self._open[held.id]
'''

FILES = {
    "harbor/inventory/__init__.py": '"""Inventory: stock and reservations."""\n',
    "harbor/inventory/stock.py": STOCK,
    "harbor/inventory/reservations.py": RESERVATIONS,
}
