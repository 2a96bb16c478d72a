"""Task 1: a test that fails now and then. Also where the user states the house rules."""

from __future__ import annotations

from foveate.sample.calls import (
    Call,
    bash,
    edit_file,
    git_commit,
    git_diff,
    git_log,
    git_status,
    grep,
    list_dir,
    read_file,
)
from foveate.sample.recorder import Recorder
from foveate.sample.reports import Failure, pytest, repeated

BOOK = "harbor/inventory/reservations.py"
SUITE = "tests/test_reservations.py"
EXPIRY = f"{SUITE}::test_expired_reservation_is_released"

REQUEST = """\
Hi! tests/test_reservations.py::test_expired_reservation_is_released fails in about one CI run out \
of three and people have started to press "re-run" without reading. Please find out why and fix \
the cause. No longer sleeps, no retries.

Two house rules before you start, they hold for everything we do here:

1. Never touch the migrations folder. Ops own it; if you think you need a schema change, stop and \
tell me.
2. Amounts are integer cents, never floats. Not in code, not in tests, not in JSON.

One commit per task when the suite is green. Don't push, I do that myself."""

ANSWER = """\
The test was right to fail: the code had a rounding error, and the sleep only made it visible.

**Cause.** `ReservationBook.reserve` stored `round(time.time()) + ttl`. Between .5 and 1 of a \
second that rounds *up*, so a reservation lived up to half a second too long. The test slept 1.2 s \
for a TTL of 1 s; whenever the clock stood between .5 and .8 at the start, the reservation was \
still alive. That is 30 % of all runs, which fits your "one out of three".

**Fix.** `ReservationBook` takes a `Clock`, as the order service already does, and `expires_at` is \
a `datetime` without rounding. `harbor/app.py` passes the application's clock. The tests use \
`FakeClock` and advance it; the sleep is gone. The test for fresh reservations now looks one \
millisecond before the end, so the boundary is covered from both sides.

20 of 20 runs pass, the whole suite is green. I did not touch migrations. The production TTL is \
unchanged: `inventory.reservation_ttl_seconds = 900`."""


def run(session: Recorder) -> None:
    session.user(REQUEST)
    _look_around(session)
    _reproduce(session)
    _find_callers(session)
    _change_the_book(session)
    _repair_callers(session)
    _rewrite_the_test(session)
    _finish(session)
    session.answer(ANSWER)


def _look_around(session: Recorder) -> None:
    session.step(
        "I'll get an overview of the repository first.",
        list_dir("."),
        read_file("README.md"),
        git_log(12),
    )
    session.step("", list_dir("harbor/inventory"), list_dir("tests"))
    session.step("Now the test in question.", read_file(SUITE))
    session.step(
        "It sleeps for 1.2 s with a TTL of 1 s, which should be enough. So what does the code do?",
        read_file(BOOK),
    )
    session.step(
        "`expires_at` is `round(time.time()) + ttl`, while the sweep compares with an unrounded "
        "`time.time()`. That smells. Let me see whether the project has a clock I should use.",
        read_file("harbor/clock.py"),
    )


def _reproduce(session: Recorder) -> None:
    session.step("Before I believe my theory, I want to see it fail here.", repeated(EXPIRY, 10, failing=3))
    failure = Failure(
        test="test_expired_reservation_is_released",
        frames=((SUITE, 'released] == ["ORD-1"]'),),
        error=(
            "AssertionError: assert [] == ['ORD-1']",
            "",
            "  Right contains one more item: 'ORD-1'",
            "  Use -v to get more diff",
        ),
    )
    session.step("Three out of ten. One failure in full:", pytest(SUITE, failure))
    session.step(
        "Nothing was released. A small calculation for the fractions of a second at which the "
        "reservation would outlive the sleep:",
        bash(
            'python -c "\nfor f in range(0, 10):\n    t = 1000 + f / 10\n'
            "    print(f, round(t) + 1, round(t + 1.2, 1), 'released' if round(t) + 1 < t + 1.2 "
            "else 'STILL HELD')\"",
            "\n".join(
                f"{f} {round(1000 + f / 10) + 1} {1000 + f / 10 + 1.2:.1f} "
                + ("released" if round(1000 + f / 10) + 1 < 1000 + f / 10 + 1.2 else "STILL HELD")
                for f in range(10)
            ),
        ),
    )


def _find_callers(session: Recorder) -> None:
    session.step(
        "Confirmed: a start between .5 and .8 keeps the reservation alive. The fix is a clock, so "
        "I need to know who else reads the time directly and who builds a `ReservationBook`.",
        grep(r"time\.time|datetime\.now|sleep\(", "."),
        grep(r"ReservationBook\(", "."),
        grep("expires_at", "."),
    )
    session.step("", read_file("harbor/app.py"))
    session.step("", read_file("harbor/orders/service.py"))
    session.step(
        "The order service already takes a clock. Where does the TTL come from?",
        read_file("config/settings.toml"),
    )
    session.step("", read_file("harbor/settings.py"))
    session.step("", read_file("harbor/inventory/stock.py"))


def _change_the_book(session: Recorder) -> None:
    session.step(
        "Clear. I'll change `ReservationBook` now, imports first.",
        edit_file(
            BOOK,
            "import time\nimport itertools\nfrom dataclasses import dataclass\n",
            "import itertools\nfrom dataclasses import dataclass\n",
        ),
    )
    session.step(
        "I had the order of the imports wrong. Reading the top again.",
        read_file(BOOK, offset=1, limit=22),
    )
    session.step("", edit_file(BOOK, *_BOOK_IMPORTS))
    session.step(
        "",
        edit_file(
            BOOK,
            "    expires_at: int  # seconds since the epoch\n",
            "    expires_at: datetime\n",
        ),
    )
    session.step("", edit_file(BOOK, *_CONSTRUCTOR))
    session.step(
        "",
        edit_file(
            BOOK,
            "            expires_at=round(time.time()) + self._ttl_seconds,\n",
            "            expires_at=self._clock.now() + self._ttl,\n",
        ),
    )
    session.step("And the sweep:", edit_file(BOOK, *_SWEEP))


def _repair_callers(session: Recorder) -> None:
    missing = "TypeError: ReservationBook.__init__() missing 1 required positional argument: "
    failures = tuple(
        Failure(
            test=test,
            frames=((SUITE, "return ReservationBook(stock, Outbox(), ttl_seconds=1)"),),
            error=(missing + "'clock'",),
            in_setup=True,
        )
        for test in ("test_reserving_lowers_what_is_available", "test_fresh_reservation_stays")
    )
    session.step(
        "The constructor changed, so the callers must break now. Two tests to see how:",
        pytest(
            f"-q {SUITE}::test_reserving_lowers_what_is_available {SUITE}::test_fresh_reservation_stays",
            *failures,
        ),
    )
    session.step(
        "As expected. The application first:",
        edit_file(
            "harbor/app.py",
            "    reservations = ReservationBook(\n        stock, outbox, ttl_seconds=",
            "    reservations = ReservationBook(\n        stock, outbox, clock, ttl_seconds=",
        ),
    )
    session.step("", read_file("tests/test_orders.py", offset=1, limit=36))
    session.step(
        "",
        edit_file(
            "tests/test_orders.py",
            "return OrderService(MemoryOrders(), ReservationBook(stock, outbox), outbox, clock)",
            "book = ReservationBook(stock, outbox, clock)\n"
            "    return OrderService(MemoryOrders(), book, outbox, clock)",
        ),
    )


def _rewrite_the_test(session: Recorder) -> None:
    session.step("Now the flaky test itself. The fixture gets a fake clock:", _edit(_IMPORTS))
    session.step("", _edit(_FIXTURE))
    session.step("", _edit(_EXPIRED))
    session.step("", _edit(_FRESH))
    session.step("", pytest(f"{SUITE} -v"))
    session.step("Green, and without a sleep. The whole suite:", pytest(""))


def _finish(session: Recorder) -> None:
    session.step("And the one that used to be flaky, twenty times:", repeated(EXPIRY, 20, 0))
    session.step("I'll read the changed module once more from top to bottom.", read_file(BOOK))
    session.step("Does anything still read the time behind the clock's back?", _leftovers())
    session.step("", git_diff())
    session.step("", git_status())
    session.step("", git_commit("Let reservations take time from the clock"))


def _leftovers() -> Call:
    return grep(r"time\.time|sleep\(|import time\b", ".")


def _edit(change: tuple[str, str]) -> Call:
    return edit_file(SUITE, *change)


_BOOK_IMPORTS = (
    ("import itertools\nimport time\nfrom dataclasses import dataclass\n\nfrom harbor.inventory.stock import Stock\n"),
    (
        "import itertools\nfrom dataclasses import dataclass\n"
        "from datetime import datetime, timedelta\n\n"
        "from harbor.clock import Clock\nfrom harbor.inventory.stock import Stock\n"
    ),
)
_CONSTRUCTOR = (
    """\
    def __init__(self, stock: Stock, outbox: Outbox, ttl_seconds: int = 900) -> None:
        self._stock = stock
        self._outbox = outbox
        self._ttl_seconds = ttl_seconds
""",
    """\
    def __init__(
        self, stock: Stock, outbox: Outbox, clock: Clock, ttl_seconds: int = 900
    ) -> None:
        self._stock = stock
        self._outbox = outbox
        self._clock = clock
        self._ttl = timedelta(seconds=ttl_seconds)
""",
)
_SWEEP = (
    "        expired = [held for held in self._open.values() if held.expires_at < time.time()]\n",
    (
        "        now = self._clock.now()\n"
        "        expired = [held for held in self._open.values() if held.expires_at <= now]\n"
    ),
)
_IMPORTS = (
    "import time\n\nimport pytest\n\nfrom harbor.inventory.reservations",
    "import pytest\n\nfrom harbor.clock import FakeClock\nfrom harbor.inventory.reservations",
)
_FIXTURE = (
    ("@pytest.fixture\ndef book(stock):\n    return ReservationBook(stock, Outbox(), ttl_seconds=1)\n"),
    (
        "@pytest.fixture\ndef clock():\n    return FakeClock()\n\n\n"
        "@pytest.fixture\ndef book(stock, clock):\n"
        "    return ReservationBook(stock, Outbox(), clock, ttl_seconds=900)\n"
    ),
)
_EXPIRED = (
    (
        "def test_expired_reservation_is_released(book, stock):\n"
        '    book.reserve("ORD-1", "SZ-CLEAT-04", 2)\n    time.sleep(1.2)\n'
    ),
    (
        "def test_expired_reservation_is_released(book, stock, clock):\n"
        '    book.reserve("ORD-1", "SZ-CLEAT-04", 2)\n    clock.advance(seconds=900)\n'
    ),
)
_FRESH = (
    ('def test_fresh_reservation_stays(book, stock):\n    book.reserve("ORD-1", "SZ-CLEAT-04", 2)\n'),
    (
        "def test_fresh_reservation_stays(book, stock, clock):\n"
        '    book.reserve("ORD-1", "SZ-CLEAT-04", 2)\n    clock.advance(seconds=899.999)\n'
    ),
)
