"""OpenAI and Anthropic: their clients, wrapped (extras: `foveate[openai]`, `foveate[anthropic]`).

Both libraries are made by one generator. Whatever method is called, it comes to `client.post(path, body=…)` with the
body as plain JSON, so that is where a request is compiled.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar

from foveate.integrations.wrap import ATTRIBUTE, specialized
from foveate.session.beside import run_beside
from foveate.threads.bodies import CHAT, MESSAGES, RESPONSES, BodyShape
from foveate.threads.threads import Compiled, Threads

Client = TypeVar("Client")

_SHAPES: Final[Mapping[str, BodyShape]] = {
    "/chat/completions": CHAT,
    "/responses": RESPONSES,
    "/messages": MESSAGES,
}
_EXTRA: Final = "extra_json"


def wrapped(client: Client, threads: Threads) -> Client:
    """A copy of a client with the same connections, whose requests are compiled."""
    kind = type(client)
    mixin = _AsyncCompiling if _is_async(client) else _Compiling
    made = specialized(client, mixin)
    # Resources are made when they are first asked for, and those that were made belong to the other client.
    for name in [name for name in vars(made) if isinstance(getattr(kind, name, None), cached_property)]:
        del made.__dict__[name]
    setattr(made, ATTRIBUTE, threads)
    return made


def _is_async(client: object) -> bool:
    return any(one.__name__ == "AsyncAPIClient" for one in type(client).__mro__)


def _shape_of(path: str, body: object) -> BodyShape | None:
    plain = path.partition("?")[0]
    known = next((shape for end, shape in _SHAPES.items() if plain.endswith(end)), None)
    return known if isinstance(body, Mapping) else None


def _with_extra(body: Any, options: Any) -> tuple[Any, Mapping[str, Any]]:
    """A body with the caller's `extra_body` in it, which is sent in place of fields of the same name."""
    options = options or {}
    extra = options.get(_EXTRA)
    if not isinstance(body, Mapping) or not isinstance(extra, Mapping):
        return body, options
    # The library leaves out what `extra_body` omits where it merges the rest, though nothing is left of it.
    return {**body, **extra}, {**options, _EXTRA: {}}


class _Base:
    _foveate_threads: Threads

    def copy(self, **options: Any) -> Any:
        """The client with other options; its requests are compiled, too."""
        made = super().copy(**options)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
        setattr(made, ATTRIBUTE, self._foveate_threads)
        return made

    with_options = copy


class _Compiling(_Base):
    def post(self, path: str, *, body: Any = None, options: Any = None, **rest: Any) -> Any:
        """Send a request; one that has a history is compiled first."""
        sender: Any = super()
        body, options = _with_extra(body, options)
        shape = _shape_of(path, body)
        request = shape.read(body) if shape is not None else None
        if shape is None or request is None:
            return sender.post(path, body=body, options=options, **rest)
        compiled = self._foveate_threads.compile(request)
        answer = sender.post(path, body=shape.write(body, compiled.view), options=options, **rest)
        report = _Report(compiled)
        if _is_stream(answer):
            answer._iterator = _stream(answer._iterator, report)  # noqa: SLF001  the one place that all events pass
            return answer
        report.see_answer(answer)
        report.send()
        return answer


class _AsyncCompiling(_Base):
    async def post(self, path: str, *, body: Any = None, options: Any = None, **rest: Any) -> Any:
        """Send a request; one that has a history is compiled first, beside the event loop."""
        sender: Any = super()
        body, options = _with_extra(body, options)
        shape = _shape_of(path, body)
        request = shape.read(body) if shape is not None else None
        if shape is None or request is None:
            return await sender.post(path, body=body, options=options, **rest)
        compiled = await self._foveate_threads.acompile(request)
        answer = await sender.post(path, body=shape.write(body, compiled.view), options=options, **rest)
        report = _Report(compiled)
        if _is_stream(answer):
            answer._iterator = _async_stream(answer._iterator, report)  # noqa: SLF001  as above
            return answer
        report.see_answer(answer)
        await run_beside(report.send)
        return answer


# --- usage ------------------------------------------------------------------------------------------------------------


class _Report:
    """Gathers what an answer says of its usage, and reports it once."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._usage: dict[str, Any] = {}

    def see_answer(self, answer: Any) -> None:
        """Take a whole answer, or the response that it came in."""
        raw = getattr(answer, "http_response", None)
        if raw is None:
            self.see(answer)
        elif raw.is_closed and "json" in raw.headers.get("content-type", ""):
            # Parsed by the caller, if it is; its usage is read from the bytes, which are there.
            self._take(raw.json().get("usage"))

    def see(self, event: Any) -> None:
        """Take an event: it says itself what was used, or what it is about does."""
        for holder in (event, getattr(event, "message", None), getattr(event, "response", None)):
            self._take(getattr(holder, "usage", None))

    def _take(self, usage: Any) -> None:
        if usage is not None:
            # Anthropic says at the end what came out, and again what it said at the beginning.
            self._usage |= usage if isinstance(usage, Mapping) else usage.model_dump(exclude_none=True)

    def send(self) -> None:
        """Report it, if the provider said anything."""
        if self._usage:
            self._compiled.branch.report(self._compiled.view.number, self._usage)
            self._usage = {}


def _is_stream(answer: Any) -> bool:
    return hasattr(answer, "__stream__")


def _stream(events: Iterator[Any], report: _Report) -> Iterator[Any]:
    try:
        for event in events:
            report.see(event)
            yield event
    finally:
        report.send()


async def _async_stream(events: AsyncIterator[Any], report: _Report) -> AsyncIterator[Any]:
    try:
        async for event in events:
            report.see(event)
            yield event
    finally:
        await run_beside(report.send)
