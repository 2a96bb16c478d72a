"""Routes: the providers' paths at the root of a server, and what the gateway itself can be asked."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from typing import Any, Final

import httpx
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foveate.gateway.forwarding import Headers
from foveate.gateway.gateway import Answer, Asked, Gateway
from foveate.gateway.settings import MODES
from foveate.gateway.status import status_of

CONTROL: Final = "/api/gateway"
_PROVIDERS: Final = ("/v1/", "/v1beta/", "/v1alpha/", "/api/hello", "/api/claude", "/api/event_logging")
# What no browser of a person sends, and every client of a provider does.
_CLIENTS: Final = (b"x-api-key", b"x-goog-api-key", b"anthropic-version", b"openai-beta", b"originator")
_NAMED: Final = re.compile(r"^/as/([a-z0-9-]{1,40})(/.*)$")
_SWITCH: Final = re.compile(rf"^{CONTROL}/sessions/(.+)/(on|off|{'|'.join(MODES)}|forget)$")
_UPGRADE_REQUIRED: Final = b'{"error":{"message":"There is no WebSocket here; use HTTP."}}'


class GatewayRoutes:
    """Answers what is meant for a provider, and hands everything else on.

    Args:
        app: what answers the rest: the web app and its API.
        gateway: passes requests on.

    """

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, self._closing(send))
            return
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        named = _NAMED.match(scope["path"])
        path = named[2] if named is not None else scope["path"]
        if scope["type"] == "http" and (path == CONTROL or path.startswith(f"{CONTROL}/")):
            await self._control(path, scope["method"], send)
        elif named is None and not _is_for_a_provider(path, scope["headers"]):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await _refuse_websocket(receive, send)
        elif (b"upgrade", b"websocket") in scope["headers"]:
            await _answer(send, 426, _UPGRADE_REQUIRED, [(b"upgrade", b"HTTP/1.1")])
        else:
            await self._forward(scope, path, named[1] if named is not None else "", receive, send)

    async def _forward(self, scope: Scope, path: str, agent: str, receive: Receive, send: Send) -> None:
        try:
            body = await _body_of(receive)
        except ClientDisconnect:
            return
        asked = Asked(
            method=scope["method"],
            path=path,
            query=scope["query_string"].decode("latin-1"),
            headers=list(scope["headers"]),
            body=body,
            agent=agent,
        )
        answering = asyncio.ensure_future(self._answered(asked, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # A client that leaves takes its request along: nobody waits for the provider any more.
            for task in (leaving, answering):
                if not task.done():
                    task.cancel()
        with suppress(asyncio.CancelledError):
            await answering

    async def _answered(self, asked: Asked, send: Send) -> None:
        try:
            answer = await self._gateway.answer(asked)
        except httpx.HTTPError as error:
            await _answer(send, 502, _unreachable(error), [])
            return
        try:
            await _pass_back(answer, send)
        except httpx.HTTPError:
            # The provider broke off in mid-answer: so does this one, and the agent does what it does then.
            return
        finally:
            await answer.chunks.aclose()

    async def _control(self, path: str, method: str, send: Send) -> None:
        if path == CONTROL and method == "GET":
            await self._gateway.settle()
            found: dict[str, Any] = await asyncio.to_thread(status_of, self._gateway)
            await _answer(send, 200, json.dumps(found).encode(), [])
            return
        switch = _SWITCH.match(path)
        if switch is None or method != "POST":
            await _answer(send, 404, b'{"error":"nothing is here","remedy":"GET /api/gateway"}', [])
            return
        session, what = switch[1], switch[2]
        if what == "forget":
            await asyncio.to_thread(self._gateway.conversations.forget, session)
        elif what == "on":
            self._gateway.switched.pop(session, None)
        else:
            self._gateway.switched[session] = next(mode for mode in MODES if mode == what)
        mode = self._gateway.mode_of(session)
        await _answer(send, 200, json.dumps({"session": session, "mode": mode}).encode(), [])

    def _closing(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "lifespan.shutdown.complete":
                await self._gateway.aclose()
            await send(message)

        return sent


def _is_for_a_provider(path: str, headers: Headers) -> bool:
    return path.startswith(_PROVIDERS) or any(name in _CLIENTS for name, _ in headers)


async def _body_of(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


async def _left(receive: Receive) -> None:
    """Wait until the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pass_back(answer: Answer, send: Send) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    async for chunk in answer.chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _answer(send: Send, status: int, body: bytes, headers: Headers) -> None:
    own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


async def _refuse_websocket(receive: Receive, send: Send) -> None:
    """With this status Codex goes on over HTTP at once; anything else it tries again for seconds."""
    await receive()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "websocket.http.response.start", "status": 426, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": _UPGRADE_REQUIRED})


def _unreachable(error: httpx.HTTPError) -> bytes:
    message = f"foveate gateway: the provider cannot be reached: {type(error).__name__}: {error}"
    return json.dumps({"type": "error", "error": {"type": "api_error", "message": message}}).encode()


async def no_pages(scope: Scope, receive: Receive, send: Send) -> None:
    """An application without pages, for a gateway that stands alone."""
    while scope["type"] == "lifespan":
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
    if scope["type"] == "http":
        await _answer(send, 404, b'{"error":"nothing is here","remedy":"`foveate serve` shows sessions"}', [])
