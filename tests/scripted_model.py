"""A model that follows a script: an OpenAI-compatible server on loopback whose answers are computed from what it got."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Payload = dict[str, Any]
Reply = Callable[[Payload], dict[str, Any]]


class ScriptError(AssertionError):
    """The script misses something in the request it received."""


@dataclass
class ScriptedModel:
    """The server, and everything it was sent."""

    address: str = ""
    received: list[Payload] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    # Called with the number of each request before it is answered.
    before: Callable[[int], None] = lambda _number: None

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{self.address}/v1", "OPENAI_API_KEY": "none-is-needed"}


def text(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def call(name: str, *, number: int = 1, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{name}_{number}", "type": "function", "function": function}],
    }


@contextmanager
def scripted_model(reply: Reply) -> Iterator[ScriptedModel]:
    model = ScriptedModel()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                model.received.append(payload)
                number = len(model.received)
            model.before(number)
            try:
                message = reply(payload)
            except ScriptError as error:
                model.problems.append(str(error))
                return self._send(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
            usage = {"prompt_tokens": len(json.dumps(payload)) // 4, "completion_tokens": 20, "total_tokens": 0}
            usage["total_tokens"] = usage["prompt_tokens"] + 20
            if payload.get("stream"):
                return self._stream(payload, message, usage)
            finish = "tool_calls" if message.get("tool_calls") else "stop"
            return self._send(
                200,
                {
                    "id": "c",
                    "object": "chat.completion",
                    "created": 0,
                    "model": payload["model"],
                    "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                    "usage": usage,
                },
            )

        def _stream(self, payload: Payload, message: dict[str, Any], usage: dict[str, int]) -> None:
            head = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": payload["model"]}
            calls = [{"index": place, **one} for place, one in enumerate(message.get("tool_calls") or [])]
            delta = {
                key: value
                for key, value in (("role", "assistant"), ("content", message.get("content")), ("tool_calls", calls))
                if value
            }
            finish = "tool_calls" if calls else "stop"
            chunks = [
                {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
                {**head, "choices": [], "usage": usage},
            ]
            body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
            self._write(200, "text/event-stream", body.encode())

        def _send(self, status: int, body: dict[str, Any]) -> None:
            self._write(status, "application/json", json.dumps(body).encode())

        def _write(self, status: int, kind: str, body: bytes) -> None:
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                # Whoever asked was killed.
                return

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
