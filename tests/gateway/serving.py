"""A gateway on a free port, without pages, for the time of a block."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.responses import JSONResponse

from foveate.api.guard import Guard
from foveate.gateway import Gateway, GatewayRoutes, GatewaySettings, Upstreams
from foveate.store import Store

SECRET = b"s" * 32
# A machine that tests share may take its time; what is late is tested by itself.
PATIENT = 30.0


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    await JSONResponse({"here": "the app"}, status_code=404)(scope, receive, send)


@contextmanager
def gateway(address: str, store: Path | str | None, **options: Any) -> Iterator[tuple[Gateway, str]]:
    """A running gateway in front of a provider, and its address."""
    upstreams = Upstreams(anthropic=address, openai=address, gemini=address)
    settings = GatewaySettings(upstreams=upstreams, **{"patience": PATIENT, **options})
    opened = Store(store) if store is not None else None
    made = Gateway(settings, opened, SECRET)
    app = Guard(GatewayRoutes(nothing, made))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", date_header=False, server_header=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    try:
        yield made, f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
        if opened is not None:
            opened.close()
