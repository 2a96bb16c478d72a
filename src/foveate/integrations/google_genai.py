"""google-genai: its client, wrapped (extra: `foveate[google-genai]`).

Whatever method is called, chats and automatic function calling included, it comes to a request of the API client with
the body as plain JSON, so that is where a request is compiled.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from copy import copy
from typing import Any, Final, NamedTuple, TypeVar

from foveate.errors import ConfigError
from foveate.integrations.wrap import ATTRIBUTE, specialized
from foveate.session.beside import run_beside
from foveate.threads.bodies import CONTENTS
from foveate.threads.request import HistoryRequest
from foveate.threads.threads import Compiled, Threads

Client = TypeVar("Client")

_API: Final = "_api_client"
_COMPILED: Final = ("contents", "systemInstruction", "tools", "cachedContent")
_METHODS: Final = frozenset({"generateContent", "streamGenerateContent"})


def wrapped(client: Client, threads: Threads) -> Client:
    """A copy of a client with the same connections, whose requests are compiled."""
    before: Any = getattr(client, _API)
    api = specialized(before, _Compiling)
    setattr(api, ATTRIBUTE, threads)
    # Connections close with the client that opened them.
    api._opened_by = client  # noqa: SLF001  it is ours
    made = _rebound(client, before, api)
    setattr(made, ATTRIBUTE, threads)
    return made


def _rebound(owner: Client, before: object, after: object) -> Client:
    """A copy of an object that asks another API client, down to what it holds."""
    # What closes its connections when it is let go of would close those of the client that was given.
    made = specialized(owner, _Borrowing) if hasattr(owner, "__del__") else copy(owner)
    for name, held in list(vars(made).items()):
        if held is before:
            setattr(made, name, after)
        elif _API in getattr(held, "__dict__", ()):
            setattr(made, name, _rebound(held, before, after))
    return made


class _Asked(NamedTuple):
    request: HistoryRequest
    body: dict[str, Any]


class _Borrowing:
    """Uses connections of another client."""

    def __del__(self) -> None:
        """Leave them open."""


class _Compiling(_Borrowing):
    """Compiles what passes; the four methods are those of the API client."""

    _foveate_threads: Threads

    def _asked(self, path: str, body: dict[str, Any], http_options: Any) -> _Asked | None:
        asked = _asked(path, body)
        if asked is not None:
            for given in (http_options, getattr(self, "_http_options", None)):
                _refuse_history_in(given)
        return asked

    def request(self, http_method: str, path: str, request_dict: dict[str, Any], http_options: Any = None) -> Any:
        """Send a request and wait for the whole answer."""
        sender: Any = super()
        asked = self._asked(path, request_dict, http_options)
        if asked is None:
            return sender.request(http_method, path, request_dict, http_options)
        compiled = self._foveate_threads.compile(asked.request)
        answer = sender.request(http_method, path, _written(asked, compiled), http_options)
        _report(compiled, [answer])
        return answer

    def request_streamed(
        self, http_method: str, path: str, request_dict: dict[str, Any], http_options: Any = None
    ) -> Iterator[Any]:
        """Send a request and pass on the answer as it comes."""
        sender: Any = super()
        asked = self._asked(path, request_dict, http_options)
        if asked is None:
            yield from sender.request_streamed(http_method, path, request_dict, http_options)
            return
        compiled = self._foveate_threads.compile(asked.request)
        last: list[Any] = []
        try:
            for chunk in sender.request_streamed(http_method, path, _written(asked, compiled), http_options):
                last = [chunk]
                yield chunk
        finally:
            # Each chunk says what went in, so that a stream that is left early has said it too.
            _report(compiled, last)

    async def async_request(
        self, http_method: str, path: str, request_dict: dict[str, Any], http_options: Any = None
    ) -> Any:
        """Send a request and wait for the whole answer."""
        sender: Any = super()
        asked = self._asked(path, request_dict, http_options)
        if asked is None:
            return await sender.async_request(http_method, path, request_dict, http_options)
        compiled = await self._foveate_threads.acompile(asked.request)
        answer = await sender.async_request(http_method, path, _written(asked, compiled), http_options)
        await run_beside(_report, compiled, [answer])
        return answer

    async def async_request_streamed(
        self, http_method: str, path: str, request_dict: dict[str, Any], http_options: Any = None
    ) -> Any:
        """Send a request and pass on the answer as it comes."""
        sender: Any = super()
        asked = self._asked(path, request_dict, http_options)
        if asked is None:
            return await sender.async_request_streamed(http_method, path, request_dict, http_options)
        compiled = await self._foveate_threads.acompile(asked.request)
        chunks = await sender.async_request_streamed(http_method, path, _written(asked, compiled), http_options)
        return _passed_on(chunks, compiled)


async def _passed_on(chunks: AsyncIterator[Any], compiled: Compiled) -> AsyncIterator[Any]:
    last: list[Any] = []
    try:
        async for chunk in chunks:
            last = [chunk]
            yield chunk
    finally:
        await run_beside(_report, compiled, last)


def _asked(path: str, body: dict[str, Any]) -> _Asked | None:
    """The history in a request; None for requests that have none."""
    name, _, method = path.partition("?")[0].rpartition(":")
    if method not in _METHODS:
        return None
    request = CONTENTS.read({**body, "model": name.rpartition("/")[2]})
    return _Asked(request, body) if request is not None else None


def _refuse_history_in(http_options: Any) -> None:
    """Refuse what the library would put into a body that was compiled, in place of what was."""
    is_plain = isinstance(http_options, Mapping)
    extra = http_options.get("extra_body") if is_plain else getattr(http_options, "extra_body", None)
    for name in _COMPILED:
        if name in (extra or ()):
            raise ConfigError(
                f"`extra_body` has `{name}`, which no budget would count; give it as an argument or in `config`"
            )


def _written(asked: _Asked, compiled: Compiled) -> dict[str, Any]:
    return CONTENTS.write(asked.body, compiled.view)


def _report(compiled: Compiled, answers: list[Any]) -> None:
    for answer in answers:
        found = json.loads(answer.body or "{}").get("usageMetadata")
        if isinstance(found, dict):
            compiled.branch.report(compiled.view.number, found)
