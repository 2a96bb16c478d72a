"""Fullness: in one line, why a request is as full as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from foveate.log.events import ON_REQUEST, Body, CallRecorded, ReductionRecorded, Trigger

_REASONS: Final[dict[Trigger, str]] = {
    "must": "the budget was used up",
    "free": "the cache was cold",
    "pays": "it paid at the cache's prices",
    "asked": "it was asked for",
    "due": "the policy said so",
}


def fullness(used: int, limit: int | None, call: int, bodies: Iterable[Body]) -> str:
    """Why a call's request takes `used` tokens of its budget; `bodies` are the log's, those of the call last."""
    if limit is None:
        return f"{used:,} tokens: without a budget nothing is reduced"
    size = f"{used:,} of {limit:,} tokens ({used / limit:.0%})"
    number, found, at = 1, None, call
    for body in bodies:
        if isinstance(body, CallRecorded):
            number = body.number + 1
        elif isinstance(body, ReductionRecorded) and body.trigger not in ON_REQUEST:
            found, at = body, min(number, call)
    if found is None:
        return f"{size}: nothing was reduced yet, as all of it fits"
    when = "this call" if at == call else f"call {at}"
    why = _REASONS.get(found.trigger, found.trigger)
    return f"{size}: {when} reduced messages from {found.before:,} to {found.after:,} tokens, as {why}"
