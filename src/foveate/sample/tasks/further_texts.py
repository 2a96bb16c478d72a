"""Source texts for the tasks after the sixth; `$` names are filled in per invented feature."""

MODULE = '''\
"""$Plural: granted once, used in parts, never overdrawn. Amounts are integer cents."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from datetime import datetime

from harbor.billing.money import MoneyError, format_cents, require_cents
from harbor.clock import Clock
from harbor.events import Event
from harbor.notifications.outbox import Outbox


class ${Class}Refused(Exception):
    """Too much was asked for, or the $words is closed."""


@dataclass(frozen=True)
class $Class:
    id: str
    customer_id: str
    amount_cents: int
    account: str
    granted_at: datetime
    used_cents: int = 0
    closed: bool = False

    @property
    def left_cents(self) -> int:
        return 0 if self.closed else self.amount_cents - self.used_cents

    def shown(self, currency: str = "EUR") -> str:
        return f"{self.id}: {format_cents(self.left_cents, currency)} left"


class ${Class}Book:
    def __init__(self, outbox: Outbox, clock: Clock, account: str, limit_cents: int) -> None:
        self._outbox = outbox
        self._clock = clock
        self._account = account
        self._limit_cents = limit_cents
        self._numbers = itertools.count(1)
        self._all: dict[str, $Class] = {}

    def grant(self, customer_id: str, amount_cents: int) -> $Class:
        if require_cents(amount_cents, "amount_cents") < 1:
            raise MoneyError(f"`amount_cents` must be positive, got {amount_cents}")
        if amount_cents >= self._limit_cents:
            raise ${Class}Refused(f"{amount_cents} is above the limit of {self._limit_cents}")
        made = $Class(
            id=f"$code-{next(self._numbers):05d}",
            customer_id=customer_id,
            amount_cents=amount_cents,
            account=self._account,
            granted_at=self._clock.now(),
        )
        self._all[made.id] = made
        self._publish("$kind.granted", made)
        return made

    def use(self, ${var}_id: str, amount_cents: int) -> $Class:
        """Take a part of what is left."""
        found = self._all[${var}_id]
        if require_cents(amount_cents, "amount_cents") > found.left_cents:
            raise ${Class}Refused(
                f"{found.id}: {amount_cents} is more than {found.left_cents} left"
            )
        used = replace(found, used_cents=found.used_cents + amount_cents)
        self._all[used.id] = used
        self._publish("$kind.used", used)
        return used

    def close(self, ${var}_id: str) -> $Class:
        closed = replace(self._all[${var}_id], closed=True)
        self._all[closed.id] = closed
        return closed

    def left_for(self, customer_id: str) -> int:
        mine = [one for one in self._all.values() if one.customer_id == customer_id]
        return sum(one.left_cents for one in mine)

    def _publish(self, kind: str, one: $Class) -> None:
        self._outbox.add(
            Event.of(
                kind,
                self._clock,
                ${var}_id=one.id,
                customer_id=one.customer_id,
                left_cents=one.left_cents,
            )
        )
'''

SUITE = '''\
"""$Plural are granted once, used in parts, and never overdrawn."""

import pytest

from harbor.billing.money import MoneyError
from harbor.clock import FakeClock
from harbor.notifications.outbox import Outbox
from harbor.$module import ${Class}Book, ${Class}Refused


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def outbox():
    return Outbox()


@pytest.fixture
def book(outbox, clock):
    return ${Class}Book(outbox, clock, account="$account", limit_cents=$limit)


def test_${var}_is_granted(book):
    made = book.grant("C-1", 2_500)
    assert (made.id, made.left_cents, made.account) == ("$code-00001", 2_500, "$account")


def test_${var}_of_exactly_the_limit_is_allowed(book):
    assert book.grant("C-1", $limit).left_cents == $limit


def test_${var}_above_the_limit_is_refused(book):
    with pytest.raises(${Class}Refused, match="above the limit"):
        book.grant("C-1", $limit + 1)


def test_${var}_is_used_in_parts(book):
    made = book.grant("C-1", 2_500)
    book.use(made.id, 1_000)
    assert book.use(made.id, 1_499).shown() == "$code-00001: 0.01 € left"


def test_${var}_is_never_overdrawn(book):
    made = book.grant("C-1", 2_500)
    with pytest.raises(${Class}Refused, match="2501 is more than 2500 left"):
        book.use(made.id, 2_501)


def test_closed_${var}_is_worth_nothing(book):
    made = book.grant("C-1", 2_500)
    book.close(made.id)
    assert book.left_for("C-1") == 0


def test_${var}_amounts_are_cents(book):
    for amount in (25.0, 0, -5):
        with pytest.raises(MoneyError):
            book.grant("C-1", amount)


def test_${var}_leaves_events(book, outbox):
    book.use(book.grant("C-1", 2_500).id, 500)
    assert [event["type"] for event in outbox.pending()] == ["$kind.granted", "$kind.used"]
'''

SETTINGS = (
    "\n[notifications]\n",
    '\n[$module]\nlimit_cents = $limit\naccount = "$account"\n\n[notifications]\n',
)
KINDS = (
    "\n})\n\n\nclass UnknownKind",
    '\n    "$kind.granted",\n    "$kind.used",\n})\n\n\nclass UnknownKind',
)
LIMIT = (
    "        if amount_cents >= self._limit_cents:\n",
    "        if amount_cents > self._limit_cents:\n",
)

README_ROW = (
    "| `migrations` |",
    "| `harbor/$module.py` | ${words}s, see `docs/$module.md` | shop team |\n| `migrations` |",
)
NOTES = """\
# $Plural

Ticket harbor-$ticket. A $words is granted to one customer with an amount, used in parts, and closed
when it is used up or taken back. It is never overdrawn, and it is worth nothing once it is closed.

| setting | value | meaning |
|---|---|---|
| `$module.limit_cents` | $amount | the most that one $words may be worth |
| `$module.account` | $account | where finance books them |

Ids begin with `$code-` and count from 00001.

Events: `$kind.granted`, `$kind.used`.
"""
NOTES_IDS = (
    "Ids begin with `$code-` and count from 00001.\n",
    (
        "Ids begin with `$code-` and count from 00001. Small letters and spaces around them do no\n"
        "harm; an id that does not exist is answered with its name.\n"
    ),
)
NOTES_EXPIRY = (
    "| `$module.account` | $account | where finance books them |\n",
    (
        "| `$module.account` | $account | where finance books them |\n"
        "| `$module.valid_days` | $days | the last day on which it is good |\n"
    ),
)
NOTES_EVENTS = (
    "Events: `$kind.granted`, `$kind.used`.\n",
    "Events: `$kind.granted`, `$kind.used`, `$kind.expired`.\n",
)

UNKNOWN_CLASS = (
    "class ${Class}Refused(Exception):\n",
    """\
class Unknown$Class(KeyError):
    def __str__(self) -> str:
        return f"no such $words: {self.args[0]}"


class ${Class}Refused(Exception):
""",
)
UNKNOWN_USE = (
    "        found = self._all[${var}_id]\n",
    "        found = self._get(${var}_id)\n",
)
UNKNOWN_CLOSE = (
    "        closed = replace(self._all[${var}_id], closed=True)\n",
    "        closed = replace(self._get(${var}_id), closed=True)\n",
)
UNKNOWN_GET = (
    "    def _publish(self, kind: str",
    """\
    def _get(self, ${var}_id: str) -> $Class:
        try:
            return self._all[${var}_id.strip().upper()]
        except KeyError:
            raise Unknown$Class(${var}_id) from None

    def _publish(self, kind: str""",
)
UNKNOWN_IMPORT = (
    "import ${Class}Book, ${Class}Refused\n",
    "import ${Class}Book, ${Class}Refused, Unknown$Class\n",
)
UNKNOWN_TEST = (
    "def test_closed_${var}_is_worth_nothing(book):\n",
    """\
def test_${var}_id_may_be_typed_carelessly(book):
    made = book.grant("C-1", 2_500)
    assert book.use(f" {made.id.lower()} ", 500).left_cents == 2_000


def test_unknown_${var}_is_named(book):
    with pytest.raises(Unknown$Class, match="no such $words: $code-404"):
        book.close("$code-404")


def test_closed_${var}_is_worth_nothing(book):
""",
)

EXPIRY_IMPORT = (
    "from datetime import datetime\n",
    "from datetime import datetime, timedelta\n",
)
EXPIRY_INIT = (
    """\
    def __init__(self, outbox: Outbox, clock: Clock, account: str, limit_cents: int) -> None:
        self._outbox = outbox
""",
    """\
    def __init__(
        self, outbox: Outbox, clock: Clock, account: str, limit_cents: int, valid_days: int = $days
    ) -> None:
        self._valid = timedelta(days=valid_days)
        self._outbox = outbox
""",
)
EXPIRY_METHOD = (
    "    def left_for(self, customer_id: str) -> int:\n",
    """\
    def close_expired(self) -> list[$Class]:
        \"""Close what is older than `valid_days`; called by the sweeper.\"""
        oldest = self._clock.now() - self._valid
        old = [one for one in self._all.values() if not one.closed and one.granted_at < oldest]
        closed = [self.close(one.id) for one in old]
        for one in closed:
            self._publish("$kind.expired", one)
        return closed

    def left_for(self, customer_id: str) -> int:
""",
)
EXPIRY_TEST = (
    "def test_${var}_leaves_events(book, outbox):\n",
    """\
def test_old_${var}_expires(book, clock, outbox):
    made = book.grant("C-1", 2_500)
    clock.advance($days * 86_400)
    assert book.close_expired() == []
    clock.advance(1)
    assert [one.id for one in book.close_expired()] == [made.id]
    assert outbox.pending()[-1]["type"] == "$kind.expired"
    assert book.close_expired() == []


def test_${var}_leaves_events(book, outbox):
""",
)
EXPIRY_KIND = (
    '    "$kind.used",\n',
    '    "$kind.used",\n    "$kind.expired",\n',
)
EXPIRY_SETTING = (
    '[$module]\nlimit_cents = $limit\naccount = "$account"\n',
    '[$module]\nlimit_cents = $limit\naccount = "$account"\nvalid_days = $days\n',
)
