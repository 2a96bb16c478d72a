"""The invented shop's `harbor/notifications` package and its command line tools, as text."""

TEMPLATES = '''\
"""The texts we send. One entry per event type and locale; English is the fallback."""

from __future__ import annotations

from string import Template

TEMPLATES: dict[tuple[str, str], str] = {
    ("order.placed", "en"): "Thank you! We have received your order $order_id.",
    ("order.placed", "de"): "Vielen Dank! Ihre Bestellung $order_id ist eingegangen.",
    ("order.paid", "en"): "We have received your payment for $order_id.",
    ("order.paid", "de"): "Ihre Zahlung für $order_id ist eingegangen.",
    ("order.shipped", "en"): "Your order $order_id is on its way, tracking code $tracking_code.",
    ("order.shipped", "de"): "Ihre Bestellung $order_id ist unterwegs, Sendung $tracking_code.",
    ("order.cancelled", "en"): "Your order $order_id was cancelled. $reason",
    ("invoice.issued", "en"): "Invoice $invoice_id for order $order_id is attached.",
    ("invoice.issued", "de"): "Die Rechnung $invoice_id zu $order_id liegt bei.",
}


class NoTemplate(LookupError):
    pass


class MissingValue(KeyError):
    def __str__(self) -> str:
        return "{} needs a value for `{}`".format(*self.args)


def render(kind: str, locale: str, values: dict[str, str]) -> str:
    """Fill a template; a placeholder without a value is an error, not an empty string."""
    text = TEMPLATES.get((kind, locale)) or TEMPLATES.get((kind, "en"))
    if text is None:
        raise NoTemplate(f"no template for {kind} ({locale})")
    try:
        return Template(text).substitute(values)
    except KeyError as error:
        raise MissingValue(kind, error.args[0]) from None


def locales(kind: str) -> list[str]:
    return sorted(locale for known, locale in TEMPLATES if known == kind)
'''

OUTBOX = '''\
"""Events waiting to be sent. Written in the same transaction as the change they report."""

from __future__ import annotations

from collections import deque


class Outbox:
    def __init__(self) -> None:
        self._events: deque[dict] = deque()

    def add(self, event: dict) -> None:
        if "type" not in event:
            raise ValueError(f"an event needs a type: {event!r}")
        self._events.append(event)

    def pending(self) -> list[dict]:
        return list(self._events)

    def take(self) -> dict | None:
        """Remove and return the oldest event."""
        return self._events.popleft() if self._events else None

    def put_back(self, event: dict) -> None:
        self._events.appendleft(event)
'''

MAILER = '''\
"""Sends what is in the outbox."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from harbor.notifications.outbox import Outbox
from harbor.notifications.templates import NoTemplate, render

log = logging.getLogger("harbor.notifications.mailer")


@dataclass(frozen=True)
class Mail:
    to: str
    subject: str
    body: str


class Transport(Protocol):
    def send(self, mail: Mail) -> None: ...


class MemoryTransport:
    def __init__(self) -> None:
        self.sent: list[Mail] = []

    def send(self, mail: Mail) -> None:
        self.sent.append(mail)


class Mailer:
    def __init__(
        self, outbox: Outbox, transport: Transport, sender_name: str, locale: str = "en"
    ) -> None:
        self._outbox = outbox
        self._transport = transport
        self._sender_name = sender_name
        self._locale = locale

    def drain(self, to: str) -> int:
        """Send everything pending to one address and say how many mails that was."""
        sent = 0
        while (event := self._outbox.take()) is not None:
            values = {key: str(value) for key, value in event.items()}
            try:
                body = render(event["type"], self._locale, values)
            except NoTemplate:
                # Internal events have no mail.
                log.debug("no mail for %s", event["type"])
                continue
            self._transport.send(Mail(to, f"{self._sender_name}: {event['type']}", body))
            sent += 1
        return sent
'''

RENDER_TOOL = '''\
"""Show a notification as a customer would see it.

    python -m harbor.tools.render_template --locale de order.paid order_id=ORD-1
"""

from __future__ import annotations

import argparse
import sys

from harbor.notifications.templates import locales, render


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="render_template")
    parser.add_argument("kind")
    parser.add_argument("--locale", default="en")
    parser.add_argument("values", nargs="*", help="name=value")
    args = parser.parse_args(argv)
    if args.locale not in locales(args.kind):
        print(f"no {args.locale} text for {args.kind}, has {locales(args.kind)}", file=sys.stderr)
        return 2
    values = dict(item.split("=", 1) for item in args.values)
    print(render(args.kind, args.locale, values))
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''

FILES = {
    "harbor/notifications/__init__.py": '"""Notifications: outbox, templates, mail."""\n',
    "harbor/notifications/templates.py": TEMPLATES,
    "harbor/notifications/outbox.py": OUTBOX,
    "harbor/notifications/mailer.py": MAILER,
    "harbor/tools/__init__.py": "",
    "harbor/tools/render_template.py": RENDER_TOOL,
}
