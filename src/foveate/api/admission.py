"""Admission: who has the token, how often it may be guessed, and the cookie of a browser that has given it."""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from typing import Final, TypeVar

_T = TypeVar("_T")
Clock = Callable[[], float]

COOKIE_SECONDS: Final = 7 * 24 * 3600
# Wrong tokens from one address, and from all together, after which nobody there may try for a while.
MOST_GUESSES: Final = 10
MOST_GUESSES_OF_ALL: Final = 100
GUESS_SECONDS: Final = 60
_MOST_ADDRESSES: Final = 10_000
_MOST_REVOKED: Final = 10_000


class Tokens:
    """Compares tokens with the right one, and counts wrong ones by where they come from."""

    def __init__(self, token: str, *, clock: Clock = time.monotonic) -> None:
        self._digest = _digest(token)
        self._clock = clock
        self._of_all = _Allowance(MOST_GUESSES_OF_ALL)
        self._of_each: OrderedDict[str, _Allowance] = OrderedDict()
        # Addresses that have given the right one: guesses of others do not lock them out.
        self._trusted: OrderedDict[str, None] = OrderedDict()

    def wait_for(self, address: str | None) -> int:
        """Seconds until an address may give a token again; 0 if it may."""
        place, now = _network(address), self._clock()
        wait = self._of_each[place].wait(now) if place in self._of_each else 0.0
        if place not in self._trusted:
            wait = max(wait, self._of_all.wait(now))
        return int(wait) + 1 if wait > 0 else 0

    def is_right(self, given: str, address: str | None) -> bool:
        """Whether this is the token; a wrong one counts as a guess."""
        place = _network(address)
        # In the same time for every wrong one: how long it takes must not tell how much of it was right.
        if hmac.compare_digest(_digest(given), self._digest):
            _remember(self._trusted, place, None)
            return True
        now = self._clock()
        allowance = self._of_each.get(place) or _Allowance(MOST_GUESSES)
        _remember(self._of_each, place, allowance)
        allowance.spend(now)
        self._of_all.spend(now)
        return False


class Cookies:
    """Cookies that stand for the token, for some days and until somebody logs out.

    They are signed with a key of this process: other servers on this machine get the same cookies, and must not learn
    the token from them. A server that is started again wants the token again.
    """

    def __init__(self, *, clock: Clock = time.time) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock
        self._revoked: OrderedDict[str, None] = OrderedDict()

    def issue(self) -> str:
        """A new cookie."""
        content = f"{int(self._clock()) + COOKIE_SECONDS}.{secrets.token_hex(16)}"
        return f"{content}.{self._sign(content)}"

    def is_valid(self, cookie: str) -> bool:
        """Whether a cookie is one of ours that has neither expired nor been revoked."""
        return self.seconds_left(cookie) > 0

    def seconds_left(self, cookie: str) -> float:
        """For how long a cookie will be valid; 0 or less if it is not."""
        content, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), self._sign(content).encode()):
            return 0.0
        return 0.0 if content in self._revoked else int(content.partition(".")[0]) - self._clock()

    def revoke(self, cookie: str) -> None:
        """Let a cookie be none from now on; only one that is valid is taken note of."""
        if self.is_valid(cookie):
            _remember(self._revoked, cookie.rpartition(".")[0], None, most=_MOST_REVOKED)

    def _sign(self, content: str) -> str:
        return hmac.new(self._key, content.encode("utf-8", "surrogateescape"), sha256).hexdigest()


class _Allowance:
    """How many guesses are left; they come back evenly over time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._spent = 0.0
        self._since = 0.0

    def wait(self, now: float) -> float:
        """Seconds until there is one left."""
        return max(0.0, (self._spent_by(now) - self._most + 1) * GUESS_SECONDS / self._most)

    def spend(self, now: float) -> None:
        """Take one."""
        self._spent, self._since = self._spent_by(now) + 1, now

    def _spent_by(self, now: float) -> float:
        return max(0.0, self._spent - (now - self._since) * self._most / GUESS_SECONDS)


def _remember(known: OrderedDict[str, _T], key: str, value: _T, *, most: int = _MOST_ADDRESSES) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)


def _network(address: str | None) -> str:
    """What is one guesser: an address, of version 6 the network that one customer has."""
    try:
        found = ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))
    return str(found)


def _digest(token: str) -> bytes:
    return sha256(b"foveate " + token.encode("utf-8", "surrogateescape")).digest()
