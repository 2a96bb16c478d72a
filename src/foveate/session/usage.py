"""Usage reports: from what a caller has of a provider's usage to the events that record it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Literal

from foveate.budget.calibrate import is_too_high, is_too_low
from foveate.compile.projection import Projection
from foveate.errors import ConfigError, UnknownReferenceError
from foveate.log.events import Body, DiagnosticRecorded, UsageReported
from foveate.log.messages import Media, Opaque, Part, Thinking, ToolResult
from foveate.log.text import counted
from foveate.wire.usage import ReportedUsage, checked_usage, read_usage

Side = Literal["low", "high"]
_HIGH: Final = (
    "more than any tokenizer makes of it, so counts are not corrected by it; report the usage of each request, not of "
    "a whole run, and give `tools` or `reserved_system` to the session if requests have more than it knows"
)
_LOW: Final = (
    "less than any tokenizer makes of it, so counts are not corrected by it; if these are numbers of Anthropic, which "
    "leave out what was cached, pass the usage object itself: `report_usage(response.usage)`"
)


def reported(usage: object, input_tokens: int | None, cached_tokens: int | None) -> ReportedUsage:
    """What the provider counted, from a usage object or from plain numbers."""
    if usage is not None and input_tokens is not None:
        raise ConfigError("`usage` and `input_tokens` say the same; give one of them")
    given = input_tokens if usage is None and input_tokens is not None else usage
    found = read_usage(given)
    if cached_tokens is None:
        return found
    if not isinstance(given, int):
        raise ConfigError("`cached_tokens` stand in the usage object already; leave them out")
    return checked_usage(replace(found, cached_tokens=cached_tokens))


class UsageReports:
    """The reports of one session: which call they are about, and what is odd about them."""

    def __init__(self) -> None:
        # The call that this session made last; other writers may have made others since.
        self.last_call = 0
        self._odd: set[Side] = set()

    def bodies(self, usage: ReportedUsage, call: int | None, timeline: Projection, reserved: int) -> list[Body]:
        """The events of a report; `reserved` tokens of each request are nothing that the session sent."""
        calls = max(timeline.calls, self.last_call)
        if calls < 1:
            raise ConfigError("usage was reported before any call; `compile()` first")
        if call is not None:
            _check_number(call)
        number = call if call is not None else self.last_call or calls
        if not 1 <= number <= calls:
            raise UnknownReferenceError(
                f"no call {number} to report usage for; the session has {counted(calls, 'call')}, the first is 1"
            )
        body = UsageReported(
            call=number,
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            written_tokens=usage.written_tokens,
            written_hour_tokens=usage.written_hour_tokens,
            beside_tokens=min(usage.input_tokens, usage.hosted_tokens + reserved),
        )
        return [body, *self._diagnostics(body, timeline)]

    def _diagnostics(self, body: UsageReported, timeline: Projection) -> Iterator[DiagnosticRecorded]:
        odd = _implausible(body, timeline)
        # Said once of each kind: what reports wrongly does so at every call.
        if odd is not None and odd[0] not in self._odd:
            self._odd.add(odd[0])
            yield odd[1]


def _check_number(call: object) -> None:
    """Refuse what is no number of a call: text, or `True`, which Python counts as 1."""
    if isinstance(call, bool) or not isinstance(call, int):
        raise ConfigError(
            f"`call` must be the number of a call, got {call!r:.80}; "
            "give `view.number`, or leave it out for the last call"
        )


def _implausible(body: UsageReported, timeline: Projection) -> tuple[Side, DiagnosticRecorded] | None:
    """Why a report corrects nothing, if it says what cannot be."""
    counted = timeline.counted.get(body.call)
    if counted is None:
        return None
    sent = body.input_tokens - body.beside_tokens
    if is_too_high(counted, sent):
        return "high", _diagnostic(body, f"{sent} tokens were reported for a request of {counted}: {_HIGH}")
    if is_too_low(counted, body.input_tokens) and is_too_low(counted - _uncertain(timeline), body.input_tokens):
        return "low", _diagnostic(body, f"{body.input_tokens} tokens were reported for a request of {counted}: {_LOW}")
    return None


def _diagnostic(body: UsageReported, text: str) -> DiagnosticRecorded:
    return DiagnosticRecorded(code="usage_implausible", phase="usage", text=text, subject=str(body.call))


def _uncertain(timeline: Projection) -> int:
    """The tokens of messages that providers may count at a fifth of ours: images, files, reasoning they leave out."""
    return sum(item.tokens for item in timeline.mender.items if any(map(_is_uncertain, item.message.parts)))


def _is_uncertain(part: Part) -> bool:
    return isinstance(part, Media | Opaque | Thinking) or (isinstance(part, ToolResult) and bool(part.media))
