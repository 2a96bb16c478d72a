"""Sockets: connections that stay open, each for as long as the cookie that opened it is valid."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The code of RFC 6455 for who may not go on.
REFUSED: Final = 1008


class Sockets:
    """The open WebSockets of each cookie; they end when somebody logs out, and when the cookie expires."""

    def __init__(self) -> None:
        self._open: dict[str, set[asyncio.Event]] = {}

    def close(self, cookie: str) -> None:
        """End all connections of a cookie."""
        for over in self._open.get(cookie, ()):
            over.set()

    async def serve(
        self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, cookie: str, seconds: float
    ) -> None:
        """Hand a connection on to the application until either ends it, or its cookie does in so many seconds."""
        over = asyncio.Event()
        mine = self._open.setdefault(cookie, set())
        mine.add(over)
        expiry = asyncio.get_running_loop().call_later(max(0.0, seconds), over.set)
        socket = _Socket(receive, send, over)
        watching = asyncio.create_task(socket.close_in_time())
        try:
            await app(scope, socket.receive, socket.send)
        finally:
            expiry.cancel()
            watching.cancel()
            socket.forget()
            mine.discard(over)
            if not mine:
                self._open.pop(cookie, None)


class _Socket:
    """One connection; when it is over, the application hears that the browser has left, and can send nothing more."""

    def __init__(self, receive: Receive, send: Send, over: asyncio.Event) -> None:
        self._receive = receive
        self._send = send
        self._over = over
        self._coming: asyncio.Future[Message] | None = None
        self._is_closed = False

    async def receive(self) -> Message:
        """What the browser says next."""
        if self._coming is None:
            self._coming = asyncio.ensure_future(self._receive())
        ending = asyncio.ensure_future(self._over.wait())
        try:
            waited: tuple[asyncio.Future[Any], ...] = (self._coming, ending)
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()
        if self._over.is_set():
            return {"type": "websocket.disconnect", "code": REFUSED, "reason": "logged out"}
        coming, self._coming = self._coming, None
        message = coming.result()
        self._is_closed |= message["type"] == "websocket.disconnect"
        return message

    async def send(self, message: Message) -> None:
        """Tell the browser something, unless it is no longer allowed to know."""
        if self._over.is_set():
            return
        self._is_closed |= message["type"] == "websocket.close"
        await self._send(message)

    async def close_in_time(self) -> None:
        """Close the connection when it is over, whatever the application is doing then."""
        await self._over.wait()
        if not self._is_closed:
            await self._send({"type": "websocket.close", "code": REFUSED, "reason": "logged out"})

    def forget(self) -> None:
        """Wait for nothing more."""
        if self._coming is not None:
            self._coming.cancel()
