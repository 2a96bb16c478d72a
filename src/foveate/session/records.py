"""Records: the events a session writes, from what it was given."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from foveate.budget.profiles import CacheRules, ModelProfile, known_profile
from foveate.budget.tokens import TokenCounter
from foveate.compile.compiled import CompiledContext
from foveate.compile.projection import Projection, numbered
from foveate.compile.summaries import Summarizer, SummaryRequest, refused
from foveate.errors import ConfigError, EmptyRequestError, MessageError, UnknownModelError, UnknownReferenceError
from foveate.log.context import AgentContext
from foveate.log.events import (
    Body,
    CacheTerms,
    CallRecorded,
    DiagnosticRecorded,
    FramingSet,
    RecallRecorded,
    SummaryRecorded,
    Tagged,
    Unpinned,
)
from foveate.log.messages import Message
from foveate.log.sections import ContextSection, contain_section
from foveate.log.state import AgentState
from foveate.log.text import counted, encodable, own_copy
from foveate.wire.anthropic_rules import is_of_unknown_type
from foveate.wire.formats import decode_any
from foveate.wire.tools import refuse_unknown

# The end of the year 9999.
_LAST_SECOND: Final = 253_402_300_800


def moment(option: str, time: float | None) -> float | None:
    """A time in seconds, if it is one that a calendar has."""
    if time is not None and not 0 <= time < _LAST_SECOND:
        raise ConfigError(f"`{option}` is a time in seconds since 1970, got {time!r}; divide milliseconds by 1,000")
    return time


SystemPrompt = str | Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""A system prompt: text, blocks as Anthropic has them, or an instruction with parts as Gemini has it."""


class Prompt(NamedTuple):
    """The text of a system prompt, and the prompt as it was given, by its format, if that was more than a text."""

    text: str | None
    forms: dict[str, Any]


def session_name(session_id: str) -> str:
    """The name of a session, unless it cannot be written into its events."""
    if not isinstance(session_id, str) or encodable(session_id) != session_id:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"`session_id` {session_id!r:.200} is no name; give one such as 'task-42'")
    return session_id


@contextmanager
def _refusing_depth(option: str) -> Generator[None]:
    try:
        yield
    except RecursionError as error:
        raise ConfigError(
            f"`{option}` must be plain JSON, a few hundred levels deep at most; what was given is nested deeper"
        ) from error


@_refusing_depth("system")
def prompt(system: SystemPrompt | None) -> Prompt:
    """A system prompt, unless it says nothing: providers refuse an empty one."""
    match system:
        case None:
            return Prompt(None, {})
        case str():
            return Prompt(encodable(system) if system.strip() else None, {})
        case {"parts": [*given]}:
            form, parts = "gemini", list[object](given)
        case [*given]:
            form, parts = "anthropic", list[object](given)
        case _:
            form, parts = "", []
    known = [part for part in parts if form != "anthropic" or not is_of_unknown_type(part)]
    texts = [part.get("text") for part in known if isinstance(part, Mapping)]
    said = [text for text in texts if isinstance(text, str) and text.strip()]
    if len(said) != len(known) or (not said and (form != "anthropic" or parts)):
        raise ConfigError(
            f"`system` must be text, blocks of text, or an instruction with parts of text, got {system!r:.200}"
        )
    if not said:
        return Prompt(None, {})
    return Prompt(encodable("\n\n".join(said)), {form: _own("system", {form: system})[form]})


def framing_of(context: AgentContext) -> FramingSet:
    """The framing that a context has."""
    return FramingSet(
        system=context.system,
        forms=dict(context.forms),
        tools=context.tools,
        response_format=context.response_format,
        model=context.model,
    )


def framing(
    system: SystemPrompt | None,
    tools: Iterable[Mapping[str, Any]],
    response_format: Mapping[str, Any] | None,
    model: str | None,
) -> FramingSet:
    """The framing that options ask for."""
    text, forms = prompt(system)
    return FramingSet(
        system=text,
        forms=forms,
        tools=definitions(tools),
        response_format=plain(response_format),
        model=model,
    )


def plain(response_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A response format as a dict of its own."""
    return None if response_format is None else _own("response_format", dict(response_format))


@_refusing_depth("tools")
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
    checks: dict[str, Callable[[Any], Any]] = {"tools": definitions, "response_format": plain}
    changed = {
        name: checks[name](value) if name in checks else value for name, value in changes.items() if value is not UNSET
    }
    if "system" in changed:
        changed["system"], changed["forms"] = prompt(changed["system"])
    return msgspec.structs.replace(framing_of(context), **changed)


def continued_options(context: AgentContext, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a session that goes on from a context: framing that is not given is as it was left."""
    chosen = dict(options)
    recorded = framing_of(context)
    begun = context.begun or FramingSet()
    for name in ("system", "tools", "response_format", "model"):
        # Given as the last time, an option says what the program always begins with, not what the session became since.
        changed = _framed(recorded, name) != _framed(begun, name)
        if changed and name in chosen and _same(name, chosen[name], begun):
            del chosen[name]
        if name != "model":
            chosen.setdefault(name, _framed(recorded, name))
    if recorded.model is not None and not {"model", "budget", "compiler"} & chosen.keys():
        if known_profile(recorded.model).window is not None:
            chosen["model"] = recorded.model
        else:
            chosen["compiler"] = WindowUnknown(context.session, recorded.model)
    chosen.setdefault("session_id", context.session)
    return chosen


def tagged(call: int | None, tags: Mapping[str, str], calls: int) -> Tagged:
    """Tags for a session, or for one of its calls."""
    if not tags:
        raise ConfigError("no tags were given; give some, such as `tag(experiment='a', outcome='passed')`")
    for name, value in tags.items():
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"the tag `{name}` must be text, got {value!r}")
    if call is not None and not (isinstance(call, int) and 1 <= call <= calls):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnknownReferenceError(
            f"no call {call!r:.80} to tag; the session has {counted(calls, 'call')}, the first is 1"
        )
    return Tagged(tags={name: encodable(value) for name, value in tags.items()}, call=call)


def summary_failed(text: str, request: SummaryRequest) -> DiagnosticRecorded:
    """The diagnostic of a summary that did not come about."""
    return DiagnosticRecorded(code="summary_failed", phase="summarise", text=text, subject=str(request.through))


async def summarised(summarizer: Summarizer, request: SummaryRequest, timeout: float, counter: TokenCounter) -> Body:
    """The summary that a summarizer wrote, or the diagnostic that says why there is none."""
    # Only who has a summarizer pays for the event loop's import.
    import asyncio  # noqa: PLC0415

    try:
        text = encodable(str(await asyncio.wait_for(summarizer.summarise(request), timeout) or ""))
    except TimeoutError:
        return summary_failed(f"{summarizer.name} gave no summary within {timeout:g} s", request)
    except Exception as error:  # noqa: BLE001  a summary that fails must not cost the call
        return summary_failed(f"{summarizer.name} failed: {error!r}", request)
    tokens = counter.count(text)
    problem = refused(text, tokens, request)
    if problem is not None:
        return summary_failed(f"{summarizer.name}: {problem}", request)
    return SummaryRecorded(text=text, through=request.through, summarizer=summarizer.name, tokens=tokens)


@dataclass(frozen=True, slots=True)
class WindowUnknown:
    """The compiler of a session whose model nobody here knows: all of it can be read, but no request be made."""

    session: str
    model: str

    def compile(self, _state: AgentState, /) -> CompiledContext:
        """Refuse it, with the remedy."""
        raise UnknownModelError(
            f"session {self.session!r} has `model` {self.model!r}, which is not in the price list; to compile, open it "
            "with `budget=…` or `model=ModelProfile(name=…, window=…)`"
        )


class Recipe(NamedTuple):
    """Where the strategy of a call comes from, the hash of its options, its policy, and what words its summaries."""

    source: str
    sha256: str
    policy: str = ""
    template: str = ""


class Beside(NamedTuple):
    """What a caller gives to one compile."""

    sections: tuple[ContextSection, ...] = ()
    override: tuple[Message, ...] | None = None


def beside(sections: Iterable[ContextSection], override: Iterable[object] | None) -> Beside:
    """What a caller gives, read and made fast."""
    contained = tuple(map(contain_section, sections))
    return Beside(contained, None if override is None else tuple(decode_any(list(override))))


Looked = list[RecallRecorded | DiagnosticRecorded]
"""What was recalled for a compile, or why nothing could be."""


def state_of(context: AgentContext, projection: Projection, now: float | None, beside: Beside) -> AgentState:
    """What a compile is a function of, before anything is looked up for it."""
    return AgentState(
        context=context, sections=beside.sections, now=now, override=beside.override, projection=projection
    )


def refuse_empty(view: CompiledContext) -> None:
    """Nothing, unless a request says nothing: then an `EmptyRequestError`."""
    if not view.is_empty:
        return
    if view.state.override is not None:
        raise EmptyRequestError(
            "`override` has no message with content; give one with text, or leave `override` out to send the history"
        )
    raise EmptyRequestError(
        f"session {view.state.context.session!r} has nothing to send: no message with content and no system prompt; "
        "append a user message before `compile()`, or look at the empty view with `preview()`"
    )


def call_record(view: CompiledContext, found: Looked, beside: Beside, recipe: Recipe) -> CallRecorded:
    """The event of a request that is about to be sent; one that says nothing is refused."""
    refuse_empty(view)
    context, budget, decision = view.state.context, view.budget, view.decision
    return CallRecorded(
        number=view.number,
        strategy=view.strategy,
        budget=budget.limit if budget is not None else None,
        tokens=view.tokens,
        predicted_cached=view.predicted_cached,
        payload_sha256=view.payload_sha256,
        now=view.state.now,
        sections=view.state.sections,
        turn=context.turn,
        model=context.model,
        strategy_source=recipe.source,
        strategy_sha256=recipe.sha256,
        policy=recipe.policy,
        template=recipe.template,
        window=budget.window if budget is not None else None,
        reserved=budget.window - budget.limit if budget is not None else 0,
        messages=context.message_count,
        logged=view.projection.logged,
        fates=dict(view.fates),
        override=view.state.override,
        selected=view.state.override is not None and beside.override is None,
        cache=_cache_terms(view.cache),
        marks=view.breakpoints,
        proposed=len(found) + len(view.proposed),
        trigger=decision.trigger if decision is not None else None,
        reason=decision.reason if decision is not None else None,
        stages=view.records,
        used=budget.used if budget is not None else None,
        reserved_system=budget.reserved_system if budget is not None else 0,
        soft_threshold=budget.soft_threshold if budget is not None else None,
        minimum_headroom=budget.minimum_headroom if budget is not None else 0,
        asked=view.asked,
        wire=view.wire,
    )


@lru_cache
def _cache_terms(rules: CacheRules) -> CacheTerms:
    return CacheTerms(**asdict(rules))


def known(context: AgentContext, timeline: Projection, message_id: str) -> Message:
    """The message with an id, as requests may show it."""
    position = timeline.position(message_id) if isinstance(message_id, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if position is None:
        raise UnknownReferenceError(
            f"no message {message_id!r:.200} in session {context.session!r}; "
            f"it has {context.message_count:,}, named like m1"
        )
    return timeline.message(position)


def unpinned(timeline: Projection, message_id: str) -> Unpinned:
    """That a message is pinned no more."""
    if not isinstance(message_id, str) or message_id not in timeline.pins:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnknownReferenceError(f"{message_id!r:.200} is not pinned; pinned are {list(timeline.pins)}")
    return Unpinned(message_id=message_id)


def refuse_known_ids(messages: tuple[Message, ...], projection: Projection) -> None:
    """Raise a `MessageError` if an id of these messages is in the log already."""
    seen: set[str] = set()
    for index, message_id in enumerate(message.id for message in messages):
        if not message_id:
            continue
        if message_id in seen or projection.position(message_id) is not None:
            raise MessageError(f"message {index}: `id` {message_id!r} is in the log already; leave it empty")
        if numbered(message_id) is not None:
            raise MessageError(f"message {index}: `id` {message_id!r} looks like one of ours; leave it empty")
        seen.add(message_id)


def _framed(framing: FramingSet, name: str) -> Any:
    """An option of a framing, as it would be given."""
    return next(iter(framing.forms.values()), framing.system) if name == "system" else getattr(framing, name)


def _same(name: str, given: Any, begun: FramingSet) -> bool:
    match name:
        case "system":
            return prompt(given) == (begun.system, begun.forms)
        case "tools":
            return definitions(given) == begun.tools
        case "response_format":
            return plain(given) == begun.response_format
        case _:
            return (given.name if isinstance(given, ModelProfile) else given) == begun.model
