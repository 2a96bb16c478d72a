"""The server: HTTP on loopback, the keeping of requests, and the rules that may refuse them."""

from __future__ import annotations

import gzip
import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import zstandard

from bench.provider.anthropic import Anthropic
from bench.provider.gemini import Gemini
from bench.provider.openai_chat import OpenAIChat
from bench.provider.reply import Dialect, Reply, json_reply
from bench.provider.responses import Responses
from bench.provider.script import Json, Refusal, Request, Step, resolved

# A rule looks at a request before it is answered; what it returns is the error that the agent gets.
Rule = Callable[[Request], str | Refusal | None]
Answer = Callable[[Request], Step | Refusal]
Count = Callable[[str, Json], tuple[int, int]]

DIALECTS: Final[tuple[Dialect, ...]] = (Anthropic(), OpenAIChat(), Responses(), Gemini())
_SECRET_HEADERS: Final = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"})
_SECRET_QUERY: Final = re.compile(r"([?&]key=)[^&]*")
_COUNTING: Final = re.compile(r"(/count_tokens|:countTokens)$")
BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came, without keys: `wire` are the bytes received, `body` the same decompressed."""

    number: int
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    wire: bytes
    body: bytes
    # What the provider took it for: a dialect, or a word for requests that want no answer of a model.
    kind: str

    def write(self, folder: Path) -> None:
        """`NNN.json` holds the body, `NNN.meta.json` the rest, `NNN.encoded` the bytes of a compressed body."""
        meta = {"kind": self.kind, "method": self.method, "path": self.path, "headers": self.headers}
        (folder / f"{self.number:03}.meta.json").write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")
        if self.body:
            (folder / f"{self.number:03}.json").write_bytes(self.body)
        if self.wire != self.body:
            (folder / f"{self.number:03}.encoded").write_bytes(self.wire)


@dataclass
class ScriptedProvider:
    """The running provider.

    Attributes:
        address: without a path; agents of OpenAI's kind want `/v1` after it.
        received: every request so far, in the order in which they came.
        complaints: what rules said, each with the number of its request.
        errors: what the script or the provider failed at; tests assert that there are none.

    """

    address: str = ""
    received: list[Received] = field(default_factory=list)
    complaints: list[tuple[int, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def requests(self) -> list[Received]:
        """Those that wanted an answer of a model."""
        names = {dialect.name for dialect in DIALECTS}
        return [one for one in self.received if one.kind in names]


@contextmanager
def serve(
    answer: Answer,
    *,
    folder: Path | None = None,
    rules: Sequence[Rule] = (),
    scale: float = 1.0,
    count: Count | None = None,
) -> Iterator[ScriptedProvider]:
    """Serve on a free port of loopback until the block ends.

    Args:
        answer: such as a `Script`.
        folder: where each request is written as it comes.
        rules: each sees every request that wants an answer; the first complaint refuses it.
        scale: of the usage that is reported: agents compact by that figure.
        count: the tokens of a request of a dialect and those that are cached, to report; without it, a token is some
            bytes of its body, and nothing is cached.

    """
    provider = ScriptedProvider()
    exchange = _Exchange(provider, answer, rules, folder, scale, count)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(exchange))
    # Threads that an agent keeps alive must not hold up the end.
    server.daemon_threads = True
    server.block_on_close = False
    provider.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class _Exchange:
    """From a request to its reply."""

    provider: ScriptedProvider
    answer: Answer
    rules: Sequence[Rule]
    folder: Path | None
    scale: float
    count: Count | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, method: str, path: str, headers: tuple[tuple[str, str], ...], wire: bytes) -> Reply:
        plain = path.partition("?")[0]
        by_name = {name.lower(): value for name, value in headers}
        dialect = next((one for one in DIALECTS if method == "POST" and one.speaks(plain)), None)
        body = _decompressed(wire, by_name.get("content-encoding", ""))
        kind = dialect.name if dialect is not None else _kind(plain, by_name)
        number = self._keep(method, path, headers, wire, body, kind)
        tokens, cached = int(len(body) / BYTES_PER_TOKEN * self.scale), 0
        if dialect is None:
            return _other_reply(kind, tokens)
        try:
            parsed: Json = json.loads(body)
            if self.count is not None:
                tokens, cached = (int(one * self.scale) for one in self.count(dialect.name, parsed))
            tools = tuple(dialect.tools(parsed))
            request = Request(number, dialect.name, path, by_name, parsed, tools, tokens, cached)
            return self._answered(dialect, request)
        except Exception as error:  # noqa: BLE001 - the agent gets it as a server error, the test sees it in `errors`
            self.provider.errors.append(f"request {number}: {type(error).__name__}: {error}")
            return json_reply({"error": {"type": "api_error", "message": str(error)}}, 500)

    def _answered(self, dialect: Dialect, request: Request) -> Reply:
        for rule in self.rules:
            if complaint := rule(request):
                refusal = complaint if isinstance(complaint, Refusal) else Refusal(complaint)
                self.provider.complaints.append((request.number, refusal.message))
                return dialect.refuse(request, refusal)
        answer = self.answer(request)
        if isinstance(answer, Refusal):
            return dialect.refuse(request, answer)
        return dialect.answer(request, resolved(answer, request.tools))

    def _keep(
        self, method: str, path: str, headers: tuple[tuple[str, str], ...], wire: bytes, body: bytes, kind: str
    ) -> int:
        kept = tuple((name, value) for name, value in headers if name.lower() not in _SECRET_HEADERS)
        with self.lock:
            number = len(self.provider.received) + 1
            received = Received(number, method, _SECRET_QUERY.sub(r"\1", path), kept, wire, body, kind)
            self.provider.received.append(received)
        if self.folder is not None:
            received.write(self.folder)
        return number


def _kind(path: str, headers: dict[str, str]) -> str:
    if "upgrade" in headers:
        return "websocket"
    if _COUNTING.search(path):
        return "count"
    return "models" if path.endswith("/models") else "unknown"


def _other_reply(kind: str, tokens: int) -> Reply:
    match kind:
        case "websocket":
            # With this status Codex goes on over HTTP at once; a 404 it would try again for seconds.
            return json_reply({"error": {"message": "No WebSocket here."}}, 426)
        case "count":
            return json_reply({"input_tokens": tokens, "totalTokens": tokens})
        case "models":
            return json_reply({"object": "list", "data": [], "models": [], "has_more": False})
        case _:
            return json_reply({"error": {"type": "not_found_error", "message": "Nothing is here."}}, 404)


def _decompressed(wire: bytes, encoding: str) -> bytes:
    """The body as JSON text; what cannot be decompressed stays as it is, and is reported when it is parsed."""
    try:
        match encoding:
            case "gzip":
                return gzip.decompress(wire)
            case "zstd":
                return zstandard.ZstdDecompressor().decompressobj().decompress(wire)
            case _:
                return wire
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        return wire


def _handler(exchange: _Exchange) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            # An agent that ends may reset a connection that it kept alive.
            with suppress(ConnectionError):
                super().handle()

        def _serve(self) -> None:
            self._send(exchange.reply(self.command, self.path, tuple(self.headers.items()), self._body()))

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - the names of http.server

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            if reply.is_stream:
                self.send_header("Transfer-Encoding", "chunked")
            else:
                self.send_header("Content-Length", str(sum(map(len, reply.chunks))))
            self.end_headers()
            if self.command == "HEAD":
                return
            for chunk in reply.chunks:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if reply.is_stream else chunk)
                self.wfile.flush()
            if reply.is_stream:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing on standard error."""

    return Handler
