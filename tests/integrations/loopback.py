"""A provider on this machine: it answers by a script, and keeps what it was sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Turn = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Loopback:
    """Where it listens, what it will answer, and what it got."""

    address: str = ""
    script: list[Turn] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def answers(self, *turns: Turn) -> None:
        self.script[:] = turns
        self.bodies.clear()


@contextmanager
def loopback() -> Iterator[Loopback]:
    """A server for as long as it is needed."""
    state = Loopback()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            state.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            state.script.pop(0)(self)

        def log_message(self, format: str, *args: object) -> None:
            """Tests have nothing to read there."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def said(content: str = "", *, calls: Sequence[tuple[str, str]] = (), usage: dict[str, Any] | None = None) -> Turn:
    """A whole answer, as OpenAI gives it."""
    made = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content or None, **({"tool_calls": made} if made else {})}
    choice = {"index": 0, "finish_reason": "tool_calls" if made else "stop", "message": message}
    return _sent(200, {"object": "chat.completion", **_HEAD, "choices": [choice], **_counted(usage)})


def refused(status: int, error: dict[str, Any] | None = None, **headers: str) -> Turn:
    """An error, as OpenAI gives it."""
    return _sent(status, {"error": error or {"message": "not now"}}, headers)


def streamed(*pieces: str, usage: dict[str, Any] | None = None, breaks: bool = False) -> Turn:
    """An answer in pieces; it may break off behind the last."""

    def turn(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        deltas = [{"index": 0, "delta": {"role": "assistant", "content": piece}} for piece in pieces]
        for choice in deltas:
            _chunk(handler, {"choices": [choice]})
        if breaks:
            gone(handler)
            return
        _chunk(handler, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], **_counted(usage)})
        handler.wfile.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")

    return turn


def gone(handler: BaseHTTPRequestHandler) -> None:
    """No answer: the connection ends."""
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.close()


_HEAD: dict[str, Any] = {"id": "x", "created": 1, "model": "made-up"}


def _counted(usage: dict[str, Any] | None) -> dict[str, Any]:
    return {} if usage is None else {"usage": {"total_tokens": 0, **usage}}


def _sent(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> Turn:
    def turn(handler: BaseHTTPRequestHandler) -> None:
        raw = json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(raw)

    return turn


def _chunk(handler: BaseHTTPRequestHandler, fields: dict[str, Any]) -> None:
    raw = b"data: " + json.dumps({"object": "chat.completion.chunk", **_HEAD, **fields}).encode() + b"\n\n"
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
    handler.wfile.flush()
