"""Notations: secrets that are known by where they stand: key blocks, addresses, headers, commands, prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from foveate.privacy.named import is_placeholder, is_random, lower
from foveate.privacy.tokens import Span

_LONGEST_BLOCK: Final = 20_000


class Notation(NamedTuple):
    """A kind of secret: a literal that is looked for, in lower case, and the pattern that begins with it.

    The first group of the pattern is the secret; with `must_be_random`, only if it looks like one.
    """

    kind: str
    literal: str
    pattern: re.Pattern[str]
    must_be_random: bool = False


def notation_spans(text: str) -> Iterator[Span]:
    """The secrets in a text that are known by where they stand."""
    yield from _key_blocks(text)
    lowered = lower(text)
    for one in _NOTATIONS:
        at = lowered.find(one.literal)
        while at >= 0:
            span = _span_of(one, text, at)
            if span is not None:
                yield span
            at = lowered.find(one.literal, at + len(one.literal))
    yield from _in_addresses(text)
    yield from _in_cookies(text, lowered)


def _span_of(one: Notation, text: str, at: int) -> Span | None:
    found = one.pattern.match(text, at)
    if found is None or is_placeholder(found[1]):
        return None
    return Span(*found.span(1), one.kind) if not one.must_be_random or is_random(found[1]) else None


def _notation(kind: str, literal: str, pattern: str, *, must_be_random: bool = False) -> Notation:
    return Notation(kind, literal, re.compile(f"(?i){pattern}"), must_be_random=must_be_random)


_VALUE: Final = r"""[^\s"'`<>\[\\]"""
_FOR: Final = r"(?: (?:for|of|to) [\w@./-]{1,40}){0,2}"
# A few words between the name and the value, as in a sentence.
_SAID: Final = rf"""(?![A-Za-z_])[A-Za-z ,.:=_-]{{0,30}}?[ :=]["'`]?({_VALUE}{{20,200}}+)"""
_NOTATIONS: Final = (
    _notation("bearer-token", "bearer", r"bearer[ +]{1,4}((?=[^\s]{0,60}\d)[A-Za-z0-9._~+/-]{16,4000}+={0,2})"),
    _notation("basic-credentials", "basic ", r"basic {1,4}([A-Za-z0-9+/]{12,500}+={0,2})", must_be_random=True),
    _notation("basic-credentials", '"auth"', r'"auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{12,500}+={0,2})"'),
    _notation("token", "authorization", r"authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?:token|apikey|key)[ =]{1,4})?"
              rf"({_VALUE}{{20,2000}}+)", must_be_random=True),
    _notation("npm-token", "_authtoken", rf"_authtoken\s{{0,4}}=\s{{0,4}}[\"']?({_VALUE}{{16,200}}+)"),
    # curl -u name:password, and what else takes it so.
    _notation("password", " -u", rf" -u[ =]{{0,2}}[\"']?[\w.@+-]{{1,64}}:({_VALUE}{{4,200}}+)"),
    _notation("password", "--user", rf"--user[ =]{{1,2}}[\"']?[\w.@+-]{{1,64}}:({_VALUE}{{4,200}}+)"),
    _notation("password", "sshpass", rf"sshpass\s{{1,4}}-p\s{{0,2}}[\"']?({_VALUE}{{4,200}}+)"),
    _notation("password", "mysql", rf"mysql(?:dump|admin)?\s[^\n]{{0,120}}?\s-p({_VALUE}{{4,200}}+)"),
    _notation("password", "login", rf"login\s{{1,4}}{_VALUE}{{1,100}}\s{{1,4}}password\s{{1,4}}({_VALUE}{{3,200}}+)"),
    _notation("password", ":5432:", rf":5432:[^\s:]{{1,64}}:[^\s:]{{1,64}}:({_VALUE}{{3,200}}+)"),
    _notation("aws-secret-key", "secret", r"secret[_-]?(?:access[_-]?)?key[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
              r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    _notation("account-key", "accountkey=", r"accountkey=([A-Za-z0-9+/]{40,200}+={0,2})"),
    _notation("account-key", "sharedaccesskey=", r"sharedaccesskey=([A-Za-z0-9+/]{40,200}+={0,2})"),
    _notation("signature", "sig=", r"sig=([A-Za-z0-9%+/]{40,200}+(?:=|%3d)*+)"),
    _notation("signature", "x-amz-signature=", r"x-amz-signature=([0-9a-f]{64})"),
    _notation("signature", "x-amz-security-token=", r"x-amz-security-token=([A-Za-z0-9%+/=]{60,4000}+)"),
    _notation("telegram-token", ":aa", r":(AA[\w-]{33})(?![\w-])"),
    # Somebody tells it: "the password is hunter2", "use the token 8f7a…".
    _notation("password", "passw", rf"passw(?:or)?d{_FOR} (?:is|was|=|:) ?[:=]? ?[\"'`]?"
              r"((?=[^\s\"'`]{0,40}\d)(?=[^\s\"'`]{0,40}[A-Za-z])[^\s\"'`,;<>()\[\]]{6,200}+)"),
    _notation("secret", "secret", rf"secret{_SAID}", must_be_random=True),
    _notation("token", "token", rf"token{_SAID}", must_be_random=True),
    _notation("key", "key", rf"(?<=(?:api|ess|ret)[ _-])key{_SAID}", must_be_random=True),
)  # fmt: skip


# --- keys in blocks ---------------------------------------------------------------------------------------------------

_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PUTTY_LINES: Final = re.compile(r"Private-Lines: \d{1,4}\r?\n((?:[A-Za-z0-9+/=]{1,64}+\r?\n?)++)")
_BASE64_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{20,}+")


def _key_blocks(text: str) -> Iterator[Span]:
    """Private keys between their marks; of one that was cut, what is left of it."""
    at = text.find("-----BEGIN ")
    while at >= 0:
        begun = _BEGIN.match(text, at)
        if begun is None:
            at = text.find("-----BEGIN ", at + 11)
            continue
        limit = min(len(text), begun.end() + _LONGEST_BLOCK)
        end = text.find("-----", begun.end(), limit)
        body_end = end if end >= 0 else limit
        lines = list(_BASE64_LINE.finditer(text, begun.end(), body_end))
        if lines:
            yield Span(begun.end(), body_end if end >= 0 else lines[-1].end(), "private-key")
        at = text.find("-----BEGIN ", body_end)
    at = text.find("Private-Lines:")
    while at >= 0:
        # As PuTTY writes them.
        found = _PUTTY_LINES.match(text, at)
        if found is not None:
            yield Span(*found.span(1), "private-key")
        at = text.find("Private-Lines:", at + 14)


# --- addresses and cookies --------------------------------------------------------------------------------------------

_USER_AND_PASSWORD: Final = re.compile(r"""://[^\s/:@"'`<>\[\]{}|\\]{0,100}+:([^\s/@"'`<>\\]{1,200}+)@(?=[\w\[.%$-])""")
_COOKIE_VALUE: Final = re.compile(r"""[\w.-]{1,80}=([^\s;,"'\\]{16,2000}+)""")


def _in_addresses(text: str) -> Iterator[Span]:
    """Passwords in addresses such as postgresql://name:password@host."""
    at = text.find("://")
    while at >= 0:
        found = _USER_AND_PASSWORD.match(text, at)
        if found is not None and not is_placeholder(found[1]):
            yield Span(*found.span(1), "password")
        at = text.find("://", at + 3)


def _in_cookies(text: str, lowered: str) -> Iterator[Span]:
    """Long random values in the line of a cookie header."""
    at = lowered.find("cookie:")
    while at >= 0:
        end = text.find("\n", at, at + 8_000)
        end = min(len(text), at + 8_000) if end < 0 else end
        for found in _COOKIE_VALUE.finditer(text, at, end):
            if is_random(found[1]):
                yield Span(*found.span(1), "cookie")
        at = lowered.find("cookie:", max(end, at + 7))
