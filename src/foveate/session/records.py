"""Records: the events a session writes, from what it was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foveate.budget.profiles import ModelProfile
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.summaries import SummaryRequest
from foveate.errors import ConfigError, MessageError
from foveate.log.context import AgentContext
from foveate.log.events import CallRecorded, DiagnosticRecorded, FramingSet
from foveate.log.messages import Message
from foveate.log.text import encodable, own_copy
from foveate.views.timeline import Timeline


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
    return tuple(_own("tools", dict(tool)) for tool in given)


def _own(option: str, value: dict[str, Any]) -> dict[str, Any]:
    try:
        copy: dict[str, Any] = own_copy(value)
    except ValueError as error:
        raise ConfigError(f"`{option}` must be plain JSON: {error}") from error
    return copy


def summary_failed(text: str, request: SummaryRequest) -> DiagnosticRecorded:
    """The diagnostic of a summary that did not come about."""
    return DiagnosticRecorded(code="summary_failed", phase="summarise", text=text, subject=str(request.through))


def call_record(view: CompiledContext, now: float | None) -> CallRecorded:
    """The event of a request that is about to be sent."""
    return CallRecorded(
        number=view.number,
        strategy=view.strategy,
        budget=view.budget.limit if view.budget is not None else None,
        tokens=view.tokens,
        predicted_cached=view.predicted_cached,
        payload_sha256=view.payload_sha256,
        now=now,
        sections=view.sections,
    )


def refuse_known_ids(messages: tuple[Message, ...], timeline: Timeline) -> None:
    """Raise `MessageError` for an id that the log has, or will have."""
    seen: set[str] = set()
    for index, message in enumerate(messages):
        if not message.id:
            continue
        if message.id in seen or timeline.position(message.id) is not None:
            raise MessageError(f"message {index}: `id` {message.id!r} is in the log already; leave it empty")
        if message.id[0] == "m" and message.id[1:].isdigit():
            raise MessageError(f"message {index}: `id` {message.id!r} looks like one of ours; leave it empty")
        seen.add(message.id)


def same_as_begun(name: str, given: Any, context: AgentContext) -> bool:
    """Whether an option is what the session was begun with."""
    first = next((event.body for event in context.events if isinstance(event.body, FramingSet)), FramingSet())
    match name:
        case "system":
            return said(given) == first.system
        case "tools":
            return definitions(given) == first.tools
        case "response_format":
            return plain(given) == first.response_format
        case _:
            return (given.name if isinstance(given, ModelProfile) else given) == first.model
