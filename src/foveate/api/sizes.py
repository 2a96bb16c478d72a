"""Sizes: how much a request may bring along; only an import may bring more, and says itself how much."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# In bytes; no model reads as much at once.
MOST: Final = 2_000_000
_IMPORT: Final = "/api/sessions/import"
_ERROR: Final = f"the request has more than {MOST:,} bytes"
_REMEDY: Final = "shorten it, or send it in several; a log goes to /api/sessions/import"


class Sizes:
    """Refuses a request to the API that is too large, as soon as that is known."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to the application what is read no further than it may be."""
        if scope["type"] != "http" or not scope["path"].startswith("/api/") or scope["path"] == _IMPORT:
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > MOST:
            refusal = JSONResponse({"error": _ERROR, "remedy": _REMEDY}, status_code=413)
            await refusal(scope, receive, send)
            return
        await self._app(scope, _counted(receive), send)


def _counted(receive: Receive) -> Receive:
    size = 0

    async def received() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MOST:
            raise HTTPException(413, f"{_ERROR}; {_REMEDY}")
        return message

    return received
