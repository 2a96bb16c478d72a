"""Requests that mean harm, readers that do not read, and many clients at once, against a real server."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlsplit

from bench.serving import serving

from foveate import Session
from tests.attack.attack import BROKEN, Scene
from tests.chat.script import reply, said_in
from tests.dialogue import says, user
from tests.scripted_model import Payload, scripted_model, text

_SESSION: Final = "s"
_ODD_NAMES: Final = (
    # One that is there, as often as all others together nearly: what is behind it is attacked, too.
    *(_SESSION,) * 6,
    "../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "a\x00b",
    "%00",
    "a" * 5_000,
    "'; DROP TABLE events; --",
    "<script>alert(1)</script>",
    "日志",
    "{{7*7}}",
    "-1",
    "1e309",
)
_ODD_BODIES: Final = (
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"text": null}',
    b'{"text": ""}',
    b'{"text": "\\ud800"}',
    b'{"text": {"a": 1}}',
    b'{"text": "x", "template": "../../x"}',
    b"[" * 100_000,
    b'{"text": "' + b"x" * 3_000_000 + b'"}',
    b"\xff\xfe\x00",
)
_ORIGINS: Final = ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example", "file://")
_HOSTS: Final = ("evil.example", "127.0.0.1.evil.example", "localhost:1@evil.example", "")
_PATHS: Final = (
    "sessions/{}",
    "sessions/{}/calls/1",
    "sessions/{}/messages",
    "sessions/{}/preview",
    "sessions?search={}",
    "context/templates/{}",
    "chats/{}/messages",
    "search?q={}",
)
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_JSON: Final = {"Content-Type": "application/json"}
_CROWD_TURNS: Final = 3
_WISH: Final = "Tell me much."
# It is sent as it comes and once more at the end. A connection on one machine holds up to 4 MB that nobody reads.
_MUCH: Final = 4_000_000
# In seconds: an answer takes a moment; the machine may have other things to do.
_SOON: Final = 20.0
_SECRETS: Final = ("root:x:0", "Traceback", "sqlite3.", "sqlalchemy")


def attack_http(scene: Scene) -> Iterator[str]:
    """Ask for what is not there, in ways that nobody should: no failure of the server, nothing of the machine told."""
    store = scene.folder / "http.db"
    with Session.open(store, _SESSION, budget=4_000) as session:
        session.extend([user("hello"), says("hi")])
        session.compile()
    with serving(store) as address:
        statuses: set[int] = set()
        for _ in range(scene.count):
            status, said, foreign = _odd_request(address, scene)
            statuses.add(status)
            yield _ending(status, said, foreign)
        yield from _afterwards(address, statuses)


def _afterwards(address: str, statuses: AbstractSet[int]) -> Iterator[str]:
    """What is wrong with the server and its session when all was asked."""
    if not {200, 403, 404} <= statuses:
        yield f"{BROKEN}only {sorted(statuses)} were answered, so not everything was attacked"
    status, said = ask(address, "GET", f"/api/sessions/{_SESSION}/messages")
    texts = [one["preview"] for one in json.loads(said)["messages"]] if status == 200 else []
    if texts[:2] != ["hello", "hi"]:
        yield f"{BROKEN}the session has {texts[:2]} afterwards, and the server answers {status}"


def _odd_request(address: str, scene: Scene) -> tuple[int, str, bool]:
    rng = scene.rng
    method = rng.choice(("GET", "GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"))
    name = rng.choice(_ODD_NAMES)
    path = "/api/" + rng.choice(_PATHS).format(quote(name, safe="") if rng.random() < 0.5 else quote(name))
    body = rng.choice(_ODD_BODIES) if method in {"POST", "PUT", "PATCH"} else b""
    headers: dict[str, str] = {"Content-Type": rng.choice(("application/json", "text/plain", "multipart/form-data"))}
    foreign = rng.random() < 0.3
    if foreign:
        headers["Origin"] = rng.choice(_ORIGINS)
    status, said = ask(address, method, path, body, headers)
    return status, said, foreign


def _ending(status: int, said: str, foreign: bool) -> str:
    if foreign and status not in {403, 0}:
        return f"{BROKEN}another origin was answered with {status}"
    if status >= 500:
        return f"{BROKEN}{status}: {said[:200]}"
    told = [secret for secret in _SECRETS if secret in said]
    if told:
        return f"{BROKEN}the answer has {told[0]!r}: {said[:200]}"
    return f"answered {status}" if status else "closed"


def ask(
    address: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = NOTHING
) -> tuple[int, str]:
    """The status and the text of an answer; 0 if the connection was closed, 504 if there is none in a minute."""
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        connection.request(method, path, body=body, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read(1_000_000).decode("utf-8", "replace")
    except (http.client.HTTPException, ConnectionError):
        # A body that is refused before it was read may end the connection.
        return 0, ""
    except TimeoutError:
        return 504, "there is no answer"
    finally:
        connection.close()


def open_sockets(scene: Scene) -> Iterator[str]:
    """Open the pages' WebSocket from other origins and by other names: refused; from its own page: accepted."""
    store = scene.folder / "sockets.db"
    with serving(store) as address:
        where = urlsplit(address)
        own = {"Host": where.netloc, "Origin": address}
        for number in range(scene.count):
            if number % 10 == 0:
                status = _shake_hands(address, own)
                yield "its own page is accepted" if status == 101 else f"{BROKEN}its own page got {status}"
                continue
            foreign = {**own, "Origin": scene.rng.choice(_ORIGINS)}
            if scene.rng.random() < 0.3:
                foreign = {"Host": scene.rng.choice(_HOSTS), "Origin": scene.rng.choice((address, *_ORIGINS))}
            status = _shake_hands(address, foreign)
            yield "another origin is refused" if status in {400, 403} else f"{BROKEN}{foreign} got {status}"


def _shake_hands(address: str, headers: dict[str, str]) -> int:
    """The status with which a WebSocket is answered."""
    where = urlsplit(address)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=60) as one:
        lines = [
            "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket&client_id=x HTTP/1.1",
            *(f"{name}: {value}" for name, value in headers.items()),
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        one.sendall("\r\n".join([*lines, "", ""]).encode())
        head = one.recv(4_096).split()
        return int(head[1]) if len(head) > 1 else 0


def stall_readers(scene: Scene) -> Iterator[str]:
    """Ask for long answers and never read them: others are answered soon, and all is in the log afterwards."""
    store = scene.folder / "slow.db"
    with _answering_server(store) as address:
        stalled = [_stalled(address, f"slow-{number}") for number in range(scene.count)]
        for number in range(scene.count):
            began, body = time.monotonic(), json.dumps({"text": "hello"}).encode()
            status, said = ask(address, "POST", f"/api/chats/quick-{number}/messages", body, _JSON)
            taken = time.monotonic() - began
            if status != 200 or "event: done" not in said:
                yield f"{BROKEN}{status} {said[:200]}"
            else:
                yield f"{BROKEN}answered after {taken:.0f} s" if taken > _SOON else "answered beside it"
        for one in stalled:
            one.close()
    # The server has ended: an answer that nobody read is in the log all the same.
    for number in range(scene.count):
        with Session.open(store, f"slow-{number}") as session:
            sizes = [len(message.text) for message in session.messages]
        # A shorter one would have been sent without a reader, and nobody would have been slow.
        if len(sizes) != 2 or sizes[1] < _MUCH:
            yield f"{BROKEN}of an answer that nobody read, messages of {sizes} characters are in the log"


def _stalled(address: str, session_id: str) -> socket.socket:
    where = urlsplit(address)
    body = json.dumps({"text": _WISH})
    one = socket.socket()
    # Before it is connected: later, what was agreed on stays.
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_024)
    one.connect((where.hostname or "", where.port or 0))
    head = (
        f"POST /api/chats/{session_id}/messages HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
    )
    one.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    return one


def _reply(payload: Payload) -> dict[str, Any]:
    """As the script says; who wants much gets more than the buffers of a connection hold."""
    return text("much more " * (_MUCH // 10)) if said_in(payload) == _WISH else reply(payload)


@contextmanager
def _answering_server(store: Path) -> Iterator[str]:
    with (
        scripted_model(_reply) as model,
        serving(store, "--model", "openai-chat:scripted", environment=model.environment) as address,
    ):
        yield address


def visits(clients: int) -> int:
    """How many answers a crowd wants: a message and a preview for each turn."""
    return clients * _CROWD_TURNS * 2


def crowd_server(scene: Scene) -> Iterator[str]:
    """Many clients chat and look at previews at once: each is answered."""
    store = scene.folder / "crowd.db"
    with _answering_server(store) as address, ThreadPoolExecutor(scene.count) as pool:
        for endings in pool.map(lambda number: _visit(address, number), range(scene.count)):
            yield from endings


def _visit(address: str, number: int) -> list[str]:
    endings: list[str] = []
    for turn in range(_CROWD_TURNS):
        body = json.dumps({"text": f"hello {turn}"}).encode()
        status, said = ask(address, "POST", f"/api/chats/crowd-{number}/messages", body, _JSON)
        ok = status == 200 and "event: done" in said
        endings.append("answered" if ok else f"{BROKEN}a message got {status}: {said[-200:]}")
        status, said = ask(address, "GET", f"/api/sessions/crowd-{number}/preview", b"")
        endings.append("previewed" if status == 200 else f"{BROKEN}a preview got {status}: {said[:200]}")
    return endings
