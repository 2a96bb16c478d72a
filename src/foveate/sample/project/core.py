"""The invented shop's wiring: HTTP, settings, clock, and the check of its API description."""

WEB = '''\
"""As much HTTP as an order service needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    json: dict = field(default_factory=dict)
    path: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Response:
    status: int
    json: dict


class HTTPError(Exception):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


Handler = Callable[[Request], Response]


class Router:
    def __init__(self) -> None:
        self._routes: list[tuple[str, re.Pattern[str], Handler]] = []

    def route(self, method: str, pattern: str) -> Callable[[Handler], Handler]:
        compiled = re.compile(re.sub(r"{(\\w+)}", r"(?P<\\1>[^/]+)", pattern) + "$")

        def register(handler: Handler) -> Handler:
            self._routes.append((method, compiled, handler))
            return handler

        return register

    def call(self, method: str, url: str, json: dict | None = None) -> Response:
        """Answer one request; errors become responses, so the server loop never dies."""
        known = False
        for wanted, pattern, handler in self._routes:
            match = pattern.match(url)
            if match is None:
                continue
            known = True
            if wanted != method:
                continue
            try:
                return handler(Request(method, url, json or {}, match.groupdict()))
            except HTTPError as error:
                return Response(error.status, {"detail": error.detail})
        return Response(405 if known else 404, {"detail": f"no route for {method} {url}"})
'''

APP = '''\
"""Puts the parts together."""

from __future__ import annotations

from dataclasses import dataclass

from harbor.billing.invoices import InvoiceService
from harbor.billing.worker import InvoiceWorker
from harbor.clock import Clock, SystemClock
from harbor.inventory.reservations import ReservationBook
from harbor.inventory.stock import Stock
from harbor.notifications.outbox import Outbox
from harbor.orders import routes as order_routes
from harbor.orders.repository import MemoryOrders
from harbor.orders.service import OrderService
from harbor.settings import Settings
from harbor.web import Router


@dataclass(frozen=True)
class App:
    router: Router
    orders: OrderService
    invoices: InvoiceService
    worker: InvoiceWorker
    reservations: ReservationBook
    stock: Stock
    outbox: Outbox


def build(settings: Settings, stock: Stock, clock: Clock | None = None) -> App:
    clock = clock or SystemClock()
    outbox = Outbox()
    repository = MemoryOrders()
    reservations = ReservationBook(
        stock, outbox, ttl_seconds=settings.get("inventory.reservation_ttl_seconds")
    )
    orders = OrderService(
        repository,
        reservations,
        outbox,
        clock,
        first_number=settings.get("shop.first_order_number"),
    )
    invoices = InvoiceService(outbox, clock, country=settings.get("shop.country"))
    worker = InvoiceWorker(repository, invoices, batch=settings.get("billing.invoice_batch"))
    router = Router()
    order_routes.add_routes(router, orders)
    return App(router, orders, invoices, worker, reservations, stock, outbox)
'''

SETTINGS = '''\
"""Settings from `config/settings.toml`, asked for by dotted key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

DEFAULT = Path(__file__).parent.parent / "config" / "settings.toml"


class MissingSetting(KeyError):
    def __str__(self) -> str:
        return f"`{self.args[0]}` is not in the settings"


class Settings:
    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    @classmethod
    def load(cls, path: Path = DEFAULT) -> Settings:
        return cls(tomllib.loads(path.read_text(encoding="utf-8")))

    def get(self, key: str) -> Any:
        """settings.get("billing.invoice_batch")"""
        value: Any = self._values
        for part in key.split("."):
            try:
                value = value[part]
            except (KeyError, TypeError):
                raise MissingSetting(key) from None
        return value
'''

CLOCK = '''\
"""Time as an argument."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(timezone.utc)


class FakeClock:
    """Stands still until a test moves it."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2025, 3, 3, 9, 0, tzinfo=timezone.utc)

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
'''

CHECK_OPENAPI = '''\
"""Complain about routes that `docs/openapi.yaml` does not know, and the other way round."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import yaml

ROUTE = re.compile(r'@router\\.route\\("(\\w+)", "([^"]+)"\\)')


def main(spec: str) -> int:
    paths = yaml.safe_load(Path(spec).read_text(encoding="utf-8"))["paths"]
    documented = {(verb.upper(), path) for path, verbs in paths.items() for verb in verbs}
    found = set()
    for source in Path("harbor").rglob("routes.py"):
        found |= set(ROUTE.findall(source.read_text(encoding="utf-8")))
    for verb, path in sorted(found - documented):
        print(f"not documented: {verb} {path}")
    for verb, path in sorted(documented - found):
        print(f"documented but gone: {verb} {path}")
    return 1 if found != documented else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
'''

FILES = {
    "harbor/__init__.py": '"""The order service of a web shop."""\n',
    "harbor/app.py": APP,
    "harbor/clock.py": CLOCK,
    "harbor/settings.py": SETTINGS,
    "harbor/web.py": WEB,
    "harbor/tools/check_openapi.py": CHECK_OPENAPI,
}
