"""Model calls of a recording: which requests its log tells of, when and to which model each went, and its usage.

A session that Foveate compiled for recorded each request. The log of another agent has only the responses: each
answered a request made of what came before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Final, Protocol

from foveate.importers.entries import Usage, model_of, usage_of
from foveate.importers.recording import RecordedRequest, Recording

# More than anybody will ever send, and less than a float can count.
_MOST_TOKENS: Final = 2**53
# The names of calls whose model nobody recorded.
_NAMELESS: Final = ("", "unspecified")


class ChargedCall(Protocol):
    """A call as far as its rates need it: its model and its usage."""

    @property
    def model(self) -> str: ...
    @property
    def usage(self) -> Usage | None: ...


class SentCall(ChargedCall, Protocol):
    """A call as far as costs need it: also the messages before it, its time, and its request if it was recorded."""

    @property
    def place(self) -> int: ...
    @property
    def at(self) -> float | None: ...
    @property
    def request(self) -> RecordedRequest | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call: the messages before it, its time, its model, its usage; `answer` is the index of its response."""

    place: int
    at: float | None
    model: str
    usage: Usage | None
    answer: int | None
    request: RecordedRequest | None = None


def model_calls(recording: Recording) -> list[ModelCall]:
    """The calls of a recording: its recorded requests, or those that its responses answered."""
    return _requested(recording) if recording.requests else _answered(recording)


def usual_model(calls: Iterable[ChargedCall]) -> str:
    """The model of most calls; "" if no call names one."""
    named = Counter(call.model for call in calls if is_named(call.model))
    return named.most_common(1)[0][0] if named else ""


def is_named(model: str) -> bool:
    """Whether this is the name of a model; what a recorder writes in its place has angle brackets."""
    return model not in _NAMELESS and not model.startswith("<")


def usual_ttl(usages: Iterable[Usage | None]) -> int | None:
    """How long most calls had their prefixes kept, if the log says so."""
    known = [usage.ttl_seconds for usage in usages if usage is not None and usage.ttl_seconds]
    return Counter(known).most_common(1)[0][0] if known else None


def _requested(recording: Recording) -> list[ModelCall]:
    messages: Sequence[object] = recording.messages
    return [
        ModelCall(
            place=one.place,
            at=one.at,
            model=one.model or recording.model or "",
            usage=credible_usage(one.usage),
            answer=one.place
            if one.place < len(messages) and recording.messages[one.place].role == "assistant"
            else None,
            request=one,
        )
        for one in recording.requests
    ]


def _answered(recording: Recording) -> list[ModelCall]:
    responses = set(recording.calls())
    calls: list[ModelCall] = []
    moment: float | None = None
    # A call of which no model is known went where the one before it went.
    model = recording.model or ""
    for index, message in enumerate(recording.messages):
        time = recording.times[index]
        if index not in responses:
            moment = time if time is not None else moment
            continue
        model = model_of(message) or model
        # A request is made when what it answers has come in; its response is recorded when that is complete.
        at = moment if moment is not None else time
        usage = credible_usage(usage_of(message))
        calls.append(ModelCall(place=index, at=at, model=model, usage=usage, answer=index))
    return calls


def credible_usage(usage: Usage | None) -> Usage | None:
    """A recorded usage, unless its numbers cannot be: a log can say anything."""
    if usage is None:
        return None
    counts = astuple(usage)
    return usage if all(count is None or 0 <= count < _MOST_TOKENS for count in counts) else None
