"""A server with a token: guesses, forged cookies and cookies that were taken back open nothing."""

from __future__ import annotations

import http.client
import socket
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Final
from urllib.parse import quote, urlsplit

from bench.serving import serving

from foveate.api.admission import MOST_GUESSES
from foveate.api.guard import COOKIE
from tests.attack.attack import BROKEN, Scene
from tests.attack.http import ask

_TOKEN: Final = "correct-horse-battery-staple"  # noqa: S105  it opens nothing else
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_PATHS: Final = ("/", "/api/sessions", "/chat", "/settings", "/api/docs", "/_nicegui/components", "/login", "//api")


def guess_tokens(scene: Scene) -> Iterator[str]:
    """Guess a token in every way there is, and forge its cookie: only who gave it is answered, until they log out."""
    with serving(scene.folder / "guarded.db", "--token", _TOKEN) as address:
        cookie = _log_in(address)
        if not cookie:
            yield f"{BROKEN}the right token is not taken"
            return
        statuses: Counter[int] = Counter()
        for _ in range(scene.count):
            status = _guess(address, cookie, scene.rng)
            statuses[status] += 1
            is_refused = status in {401, 403, 429}
            yield f"refused with {status}" if is_refused else f"{BROKEN}a guess was answered with {status}"
        if scene.count > 4 * MOST_GUESSES and not statuses[429]:
            yield f"{BROKEN}nobody has to wait after {scene.count} guesses"
        yield from _log_out(address, cookie)


def _log_in(address: str) -> str:
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        connection.request("POST", "/login", body=f"token={_TOKEN}&next=%2F", headers=_FORM)
        answer = connection.getresponse()
        return (answer.getheader("set-cookie") or "").partition(";")[0] if answer.status == 303 else ""
    finally:
        connection.close()


def _guess(address: str, cookie: str, rng: Random) -> int:
    """The status that a guess gets."""
    token, path = _wrong(_TOKEN, rng), rng.choice(_PATHS)
    match rng.randrange(4):
        case 0:
            return ask(address, "GET", path, b"", {"Authorization": f"Bearer {token}"})[0]
        case 1:
            return ask(address, "GET", f"{path}?token={quote(token)}")[0]
        case 2:
            return ask(address, "POST", "/login", f"token={quote(token)}".encode(), _FORM)[0]
        case _:
            name, _, value = cookie.partition("=")
            forged = rng.choice((_wrong(value, rng), _TOKEN, "", value.rpartition(".")[0], f"9{value}"))
            return ask(address, "GET", path, b"", {"Cookie": f"{name}={forged}"})[0]


def _wrong(secret: str, rng: Random) -> str:
    """Something that looks like a secret."""
    place = rng.randrange(len(secret))
    other = rng.choice("abcdef0123456789".replace(secret[place], ""))
    return rng.choice((secret[:place], f"{secret}x", secret[:place] + other + secret[place + 1 :], "x" * 5_000))


def _log_out(address: str, cookie: str) -> Iterator[str]:
    """What is wrong with the cookie, and with what it has open, before and after it is taken back."""
    headers = {"Cookie": cookie}
    if (status := ask(address, "GET", "/api/sessions", b"", headers)[0]) != 200:
        yield f"{BROKEN}who has logged in got {status} after others guessed"
    with _opened(address, headers) as live:
        ask(address, "POST", "/logout", b"", headers)
        if (status := ask(address, "GET", "/api/sessions", b"", headers)[0]) != 401:
            yield f"{BROKEN}a cookie got {status} after the logout"
        yield "a logout ends its socket" if _is_closed(live) else f"{BROKEN}a socket stays open after the logout"


def _opened(address: str, headers: dict[str, str]) -> socket.socket:
    """The pages' WebSocket, as somebody has it who has logged in."""
    where = urlsplit(address)
    live = socket.create_connection((where.hostname or "", where.port or 0), timeout=20)
    lines = [
        "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket&client_id=x HTTP/1.1",
        *(f"{name}: {value}" for name, value in {"Host": where.netloc, "Origin": address, **headers}.items()),
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    live.sendall("\r\n".join([*lines, "", ""]).encode())
    if b" 101 " not in live.recv(4_096).partition(b"\r\n")[0]:
        live.close()
        raise RuntimeError(f"the socket of {COOKIE} was not opened; see `python -m tests.attack --only sockets`")
    return live


def _is_closed(live: socket.socket) -> bool:
    """Whether a socket says that it ends (a frame of kind 8), before it says nothing for long."""
    try:
        while piece := live.recv(4_096):
            if b"\x88" in piece:
                return True
    except TimeoutError:
        return False
    return True
