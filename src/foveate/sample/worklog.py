"""The invoice worker's log of the bad morning: long, repetitive, with one needle in it."""

from __future__ import annotations

import random
from collections.abc import Iterator

PATH = "logs/worker-2025-03-11.log"
BLOCKING_ORDER = "ORD-20931"

_FIRST_ORDER = 20_872
_FIRST_INVOICE = 7_652
_QUIET_RUNS = 20
_FAILING_RUNS = 14
_HOSTS = ("worker-a", "worker-b")
_CUSTOMERS = ("C-3381", "C-4107", "C-2290", "C-5518", "C-1046", "C-4873")
_SKUS = ("HH-ROPE-08", "HH-BOLLARD-12", "SZ-CLEAT-04", "SZ-LAMP-02", "HH-FENDER-30")


def write(rng: random.Random, trace: str) -> str:
    """Runs that bill some orders each, then runs that all die of the same traceback."""
    lines: list[str] = []
    orders = iter(range(_FIRST_ORDER, _FIRST_ORDER + 900))
    invoices = iter(range(_FIRST_INVOICE, _FIRST_INVOICE + 900))
    for run in range(_QUIET_RUNS):
        lines += _quiet_run(rng, run, orders, invoices)
    for run in range(_QUIET_RUNS, _QUIET_RUNS + _FAILING_RUNS):
        lines += _failing_run(rng, run, trace)
    return "\n".join(lines) + "\n"


def _quiet_run(rng: random.Random, run: int, orders: Iterator[int], invoices: Iterator[int]) -> list[str]:
    lines = [_line(rng, run, 0, "INFO billing.worker", f"run {4_310 + run} started, batch 50")]
    issued = 2 + run % 3
    for number in range(issued):
        order, invoice = f"ORD-{next(orders)}", f"INV-{next(invoices)}"
        lines.append(_line(rng, run, 1 + number, "INFO billing.worker", f"issued {invoice} for {order}"))
        if rng.random() < 0.4:
            to = rng.choice(_CUSTOMERS)
            text = f"sent invoice.issued to customer {to} ({invoice})"
            lines.append(_line(rng, run, 1.5 + number, "DEBUG notifications.mailer", text))
    lines.append(_line(rng, run, 9, "INFO billing.worker", f"run done, {issued} issued"))
    lines += _noise(rng, run)
    return lines


def _failing_run(rng: random.Random, run: int, trace: str) -> list[str]:
    waiting = 3 + 4 * (run - _QUIET_RUNS) + rng.randrange(3)
    start = f"run {4_310 + run} started, batch 50"
    return [
        _line(rng, run, 0, "INFO billing.worker", start),
        _line(rng, run, 1, "ERROR supervisor", "run_once raised, 0 issued"),
        *trace.splitlines(),
        _line(rng, run, 2, "WARNING supervisor", f"retry in 60 s, {waiting} orders waiting"),
        *_noise(rng, run),
    ]


def _noise(rng: random.Random, run: int) -> list[str]:
    lines = []
    if rng.random() < 0.7:
        reservation, sku = f"RSV-{rng.randrange(31_000, 32_000)}", rng.choice(_SKUS)
        text = f"released {reservation} ({sku} x{rng.randint(1, 6)}), expired after 900 s"
        lines.append(_line(rng, run, 20, "INFO inventory.sweeper", text))
    if rng.random() < 0.25:
        millis = rng.randint(210, 980)
        text = f"smtp relay slow, {millis} ms for message {rng.getrandbits(40):010x}"
        lines.append(_line(rng, run, 35, "WARNING notifications.mailer", text))
    return lines


def _line(rng: random.Random, minute: int, second: float, source: str, text: str) -> str:
    level, logger = source.split()
    # Less than half a second of jitter, so that lines half a second apart keep their order.
    millis = int(1000 * second) + rng.randrange(500)
    clock = f"05:{55 + minute:02d}" if minute < 5 else f"06:{minute - 5:02d}"
    host = _HOSTS[minute % len(_HOSTS)]
    stamp = f"2025-03-11 {clock}:{millis // 1000:02d},{millis % 1000:03d}"
    return f"{stamp} {level:<7} {host} harbor.{logger} {text}"
