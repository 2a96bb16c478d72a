"""Records: the events a session writes, from what it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from foveate.budget.profiles import ModelProfile
from foveate.budget.tokens import TokenCounter
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.summaries import SummaryRequest
from foveate.errors import ConfigError, MessageError, UnknownReferenceError
from foveate.log.context import AgentContext
from foveate.log.events import (
    CallRecorded,
    DiagnosticRecorded,
    FramingSet,
    RecallRecorded,
    Tagged,
    Unpinned,
    UsageReported,
)
from foveate.log.messages import Message
from foveate.log.router import AgentStep, Router
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.log.text import encodable, own_copy
from foveate.views.timeline import Timeline, timeline_of
from foveate.wire.formats import decode_any
from foveate.wire.tools import refuse_unknown

# The end of the year 9999, and more tokens than anybody will ever send.
_LAST_SECOND: Final = 253_402_300_800
_MOST_TOKENS: Final = 2**53


def moment(option: str, time: float | None) -> float | None:
    """A time in seconds, if it is one that a calendar has."""
    if time is not None and not 0 <= time < _LAST_SECOND:
        raise ConfigError(f"`{option}` is a time in seconds since 1970, got {time!r}; divide milliseconds by 1,000")
    return time


def said(system: str | None) -> str | None:
    """A system prompt, unless it says nothing: providers refuse an empty one."""
    if system is not None and not isinstance(system, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"`system` must be text, got {system!r}")
    return encodable(system) if system and system.strip() else None


def framing_of(context: AgentContext) -> FramingSet:
    """The framing that a context has."""
    return FramingSet(
        system=context.system, tools=context.tools, response_format=context.response_format, model=context.model
    )


def plain(response_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A response format as a dict of its own."""
    return None if response_format is None else _own("response_format", dict(response_format))


def definitions(tools: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Tool definitions as dicts of our own: a caller who changes theirs later must not change what was sent."""
    given = tuple(tools)
    for tool in given:
        if not isinstance(tool, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"`tools` are mappings with a name and parameters, got {tool!r}")
    refuse_unknown(given)
    return tuple(_own("tools", dict(tool)) for tool in given)


def _own(option: str, value: dict[str, Any]) -> dict[str, Any]:
    try:
        copy: dict[str, Any] = own_copy(value)
    except ValueError as error:
        raise ConfigError(f"`{option}` must be plain JSON: {error}") from error
    return copy


def reframed(context: AgentContext, changes: Mapping[str, Any]) -> FramingSet:
    """The framing of a context with some of it changed; what is `UNSET` stays as it is."""
    checks: dict[str, Callable[[Any], Any]] = {"system": said, "tools": definitions, "response_format": plain}
    changed = {
        name: checks[name](value) if name in checks else value for name, value in changes.items() if value is not UNSET
    }
    return msgspec.structs.replace(framing_of(context), **changed)


def continued_options(context: AgentContext, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a session that goes on from a context: framing that is not given is as it was left."""
    chosen = dict(options)
    recorded = framing_of(context)
    begun = context.begun or FramingSet()
    for name in ("system", "tools", "response_format", "model"):
        # Given as the last time, an option says what the program always begins with, not what the session became since.
        changed = getattr(recorded, name) != getattr(begun, name)
        if changed and name in chosen and _same(name, chosen[name], begun):
            del chosen[name]
        if name != "model":
            chosen.setdefault(name, getattr(recorded, name))
    if recorded.model is not None and not {"model", "budget", "compiler"} & chosen.keys():
        chosen["model"] = recorded.model
    chosen.setdefault("session_id", context.session)
    return chosen


def usage(input_tokens: int, cached_tokens: int | None, call: int) -> UsageReported:
    """What a provider counted for a call."""
    for name, value in (("input_tokens", input_tokens), ("cached_tokens", cached_tokens)):
        if value is not None and not (isinstance(value, int) and 0 <= value < _MOST_TOKENS):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"`{name}` must be a number of tokens, 0 or more, got {value!r}")
    if call < 1:
        raise ConfigError("usage was reported before any call; `compile()` first")
    return UsageReported(call=call, input_tokens=input_tokens, cached_tokens=cached_tokens)


def tagged(call: int | None, tags: Mapping[str, str], calls: int) -> Tagged:
    """Tags for a session, or for one of its calls."""
    if not tags:
        raise ConfigError("no tags were given; give some, such as `tag(experiment='a', outcome='passed')`")
    for name, value in tags.items():
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"the tag `{name}` must be text, got {value!r}")
    if call is not None and not 1 <= call <= calls:
        raise UnknownReferenceError(f"no call {call} to tag; the session has {calls} calls, the first is 1")
    return Tagged(tags={name: encodable(value) for name, value in tags.items()}, call=call)


def summary_failed(text: str, request: SummaryRequest) -> DiagnosticRecorded:
    """The diagnostic of a summary that did not come about."""
    return DiagnosticRecorded(code="summary_failed", phase="summarise", text=text, subject=str(request.through))


class Recipe(NamedTuple):
    """Where the strategy of a call comes from, and the hash of its options."""

    source: str
    sha256: str


class Beside(NamedTuple):
    """What a caller gives to one compile."""

    sections: tuple[ContextSection, ...] = ()
    override: tuple[Message, ...] | None = None


def beside(sections: Iterable[ContextSection], override: Iterable[object] | None) -> Beside:
    """What a caller gives, read and made fast."""
    return Beside(tuple(sections), None if override is None else tuple(decode_any(list(override))))


Looked = list[RecallRecorded | DiagnosticRecorded]
"""What was recalled for a compile, or why nothing could be."""


def state_of(context: AgentContext, found: Looked, now: float | None, beside: Beside) -> AgentState:
    """What a compile is a function of."""
    recalled = tuple(one for one in found if isinstance(one, RecallRecorded))
    return AgentState(context=context, sections=beside.sections, now=now, recalled=recalled, override=beside.override)


def call_record(view: CompiledContext, now: float | None, recipe: Recipe) -> CallRecorded:
    """The event of a request that is about to be sent."""
    context, budget = view.state.context, view.budget
    return CallRecorded(
        number=view.number,
        strategy=view.strategy,
        budget=budget.limit if budget is not None else None,
        tokens=view.tokens,
        predicted_cached=view.predicted_cached,
        payload_sha256=view.payload_sha256,
        now=now,
        sections=view.sections,
        turn=context.turn,
        model=context.model,
        strategy_source=recipe.source,
        strategy_sha256=recipe.sha256,
        window=budget.window if budget is not None else None,
        reserved=budget.window - budget.limit if budget is not None else 0,
        messages=context.message_count,
        logged=view.logged,
        fates=view.fates,
        override=view.state.override,
    )


def known(context: AgentContext, timeline: Timeline, message_id: str) -> Message:
    """The message with an id."""
    position = timeline.position(message_id)
    if position is None:
        raise UnknownReferenceError(
            f"no message {message_id!r} in session {context.session!r}; it has {context.message_count} messages, "
            "named like m1"
        )
    return context.messages[position]


def unpinned(timeline: Timeline, message_id: str) -> Unpinned:
    """That a message is pinned no more."""
    if message_id not in timeline.pins:
        raise UnknownReferenceError(f"{message_id!r} is not pinned; pinned are {list(timeline.pins)}")
    return Unpinned(message_id=message_id)


class Routing:
    """Puts messages into a log, also once more if another writer was first; `ids` are theirs then."""

    def __init__(self, router: Router, step: AgentStep, counter: TokenCounter) -> None:
        self.ids: list[str] = []
        self._router, self._step, self._counter = router, step, counter

    def __call__(self, context: AgentContext) -> AgentContext:
        """The context with the messages."""
        after = self._router.route(unknown_ids(context, self._step.messages, self._counter), self._step)
        # Now: once they are written, the older of very many may have left memory.
        self.ids = [after.log.message(place).id for place in range(context.message_count, after.message_count)]
        return after


def unknown_ids(context: AgentContext, messages: tuple[Message, ...], counter: TokenCounter) -> AgentContext:
    """The context, unless an id of these messages is in its log already: then a `MessageError`."""
    given = [(index, message.id) for index, message in enumerate(messages) if message.id]
    seen: set[str] = set()
    for index, message_id in given:
        if message_id in seen or timeline_of(context, counter).position(message_id) is not None:
            raise MessageError(f"message {index}: `id` {message_id!r} is in the log already; leave it empty")
        if message_id[0] == "m" and message_id[1:].isdigit():
            raise MessageError(f"message {index}: `id` {message_id!r} looks like one of ours; leave it empty")
        seen.add(message_id)
    return context


def _same(name: str, given: Any, begun: FramingSet) -> bool:
    match name:
        case "system":
            return said(given) == begun.system
        case "tools":
            return definitions(given) == begun.tools
        case "response_format":
            return plain(given) == begun.response_format
        case _:
            return (given.name if isinstance(given, ModelProfile) else given) == begun.model
