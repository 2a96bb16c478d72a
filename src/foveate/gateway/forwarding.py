"""Forwarding: a request goes to its provider and the answer comes back, both as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import httpx

Headers = list[tuple[bytes, bytes]]

COMMENT: Final = b": waiting for the provider\n\n"
"""What a silent stream gets: a comment of server-sent events, which no client takes for an answer."""
_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OF_THE_CONNECTION: Final = _HOP_BY_HOP | {b"host", b"content-length", b"expect"}
_CONNECTING: Final = 30.0


def upstream_client() -> httpx.AsyncClient:
    """A client that adds nothing of its own, waits as long as the agent does, and follows nobody elsewhere."""
    return httpx.AsyncClient(
        timeout=httpx.Timeout(None, connect=_CONNECTING),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=50),
        follow_redirects=False,
    )


def forwarded_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of a request that are meant for its provider."""
    listed = list(headers)
    named = _named_hops(listed)
    return [(name, value) for name, value in listed if name.lower() not in _OF_THE_CONNECTION | named]


def returned_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of an answer that are meant for the agent."""
    listed = list(headers)
    named = _named_hops(listed)
    return [(name.lower(), value) for name, value in listed if name.lower() not in _HOP_BY_HOP | named]


def _named_hops(headers: Headers) -> frozenset[bytes]:
    """Headers that the header `Connection` says are of this connection alone."""
    named = (
        part.strip().lower() for name, value in headers if name.lower() == b"connection" for part in value.split(b",")
    )
    return frozenset(named)


@dataclass(slots=True)
class Reply:
    """An answer that a provider has begun: what was read of it already, and the bytes that are still to come."""

    response: httpx.Response
    held: bytes = b""
    stream: AsyncIterator[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.stream = self.response.aiter_raw()

    @property
    def is_events(self) -> bool:
        """Whether it is a stream of events that anybody can read; others are packed."""
        return "event-stream" in self.response.headers.get("content-type", "") and self.is_readable

    @property
    def is_readable(self) -> bool:
        """Whether its bytes are not packed."""
        return not self.response.headers.get("content-encoding")

    async def hold(self, is_enough: Callable[[bytes], bool]) -> None:
        """Read on until that is enough, or the answer ends."""
        async for chunk in self.stream:
            self.held += chunk
            if is_enough(self.held):
                return

    async def chunks(self, silence: float) -> AsyncGenerator[bytes]:
        """The bytes as they come; a stream of events that is silent between two of them gets comments."""
        if self.held:
            yield self.held
        if not self.is_events:
            async for chunk in self.stream:
                yield chunk
            return
        end = (b"\n\n" + self.held)[-4:]
        pending: asyncio.Future[bytes | None] | None = None
        try:
            while True:
                pending = pending or asyncio.ensure_future(anext(self.stream, None))
                done, _ = await asyncio.wait({pending}, timeout=silence)
                if not done:
                    if end.endswith((b"\n\n", b"\r\n\r\n")):
                        yield COMMENT
                    continue
                came, pending = pending.result(), None
                if came is None:
                    return
                end = (end + came)[-4:]
                yield came
        finally:
            if pending is not None:
                pending.cancel()
