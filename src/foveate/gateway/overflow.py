"""Overflow: what providers say of a request that is too long, and how short the next attempt must be."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SIGNS: Final = (
    b"prompt is too long",
    b"context_length_exceeded",
    b"maximum context length",
    b"exceeds the context window",
    b"exceeds the maximum number of tokens",
    b"input token count",
)
_LIMITS: Final = (
    re.compile(rb"> ?(\d{3,})(?: maximum)?"),
    re.compile(rb"maximum context length (?:is|of) (\d{3,})"),
    re.compile(rb"maximum number of tokens allowed \((\d{3,})\)"),
)
_STILL_OPENING: Final = (b"response.created", b"response.in_progress", b"response.queued")
# Of what was refused: the counts of a provider and of Foveate differ by less.
_SHARE: Final = 0.6
_LATER: Final = 0.85
_OF_LIMIT: Final = 0.8
_LONGEST_OPENING: Final = 256_000


def is_overflow(text: bytes) -> bool:
    """Whether an answer says that the request was too long."""
    lowered = text[:_LONGEST_OPENING].lower()
    return any(sign in lowered for sign in _SIGNS)


class Shorter(NamedTuple):
    """The most tokens of the next attempt, and of the requests after it."""

    now: int
    later: int


def shorter(tokens: int, answer: bytes) -> Shorter:
    """How short the next attempt must be, after one of so many tokens was refused with this answer."""
    found = next((match for pattern in _LIMITS if (match := pattern.search(answer))), None)
    limit = int(found[1]) if found is not None else tokens
    now = max(1, min(int(tokens * _SHARE), int(limit * _OF_LIMIT)))
    return Shorter(now, max(now, int(tokens * _LATER)))


def is_opening(events: bytes) -> bool:
    """Whether a stream has said nothing yet but that it begins: an error may still follow.

    Codex gets an overflow inside a stream that has begun.
    """
    if len(events) > _LONGEST_OPENING:
        return False
    whole, _, _ = events.rpartition(b"\n\n")
    blocks = [block for block in whole.split(b"\n\n") if block.strip()]
    return all(any(sign in block[:200] for sign in _STILL_OPENING) for block in blocks)
