"""The guard: who may ask a server at all, be it for data or for pages."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foveate.api.door import door, is_person
from foveate.errors import ConfigError

COOKIE: Final = "foveate_token"
TOKEN_VARIABLE: Final = "FOVEATE_TOKEN"  # noqa: S105  the name of it
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_API: Final = "/api"
# Nothing of an answer in JSON is to be run; pages run what the server itself gives them, and load from nowhere else.
_API_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"
_PAGE_POLICY: Final = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: with it a browser hides where a form of our own comes from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Guard:
    """Lets through what comes from this machine's own pages and programs, or from who has the token.

    A page of another site can make a browser ask any address, so a request is refused if it carries the name of
    another host (a name that was bent to this address) or comes from another origin. With a token, it must be given in
    `Authorization: Bearer …`, or once as `?token=…`, which leaves a cookie.

    Args:
        app: what is guarded.
        host: the address that the server listens at.
        token: what a request must have; an address that others can reach demands one.

    """

    def __init__(self, app: ASGIApp, *, host: str = "127.0.0.1", token: str | None = None) -> None:
        check_token(host, token)
        self._app = app
        self._names = None if _is_any(host) else _LOOPBACK | {_bare(host)}
        self._token = token
        # Other servers on this machine get the same cookies: they must not learn the token from it.
        self._sign = _sign(token) if token is not None else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to the application."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(HTTPConnection(scope))
        if refusal is None:
            await self._app(scope, receive, _signed(scope, send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
        else:
            await refusal(scope, receive, _signed(scope, send))

    def _refusal(self, asked: HTTPConnection) -> Response | None:
        """What to answer instead, if a request may not pass."""
        hosts = asked.headers.getlist("host")
        if len(hosts) != 1 or (self._names is not None and _bare(hosts[0]) not in self._names):
            named = ", ".join(hosts)
            return _refused(403, f"the host {named!r} is not this server", "open it by the address it printed")
        if _is_foreign(asked.scope, asked.headers, hosts[0]):
            return _refused(403, "a request from another site was refused", "open the page itself")
        if self._token is None or self._knows(asked):
            return None
        admitted = self._admitted(asked)
        if admitted is None and is_person(asked):
            return door(asked)
        return admitted or _refused(
            401,
            "this server wants its token",
            "open /?token=… once in a browser, or send the header `Authorization: Bearer …`",
            {"WWW-Authenticate": "Bearer"},
        )

    def _knows(self, asked: HTTPConnection) -> bool:
        scheme, _, given = asked.headers.get("authorization", "").partition(" ")
        is_borne = scheme.lower() == "bearer" and _same(_sign(given.strip()), self._sign)
        return is_borne or _same(asked.cookies.get(COOKIE, ""), self._sign)

    def _admitted(self, asked: HTTPConnection) -> Response | None:
        """To the same page without the token in its address, which stays in histories and is shown to others."""
        given, scope = asked.query_params.get("token"), asked.scope
        if given is None or scope.get("method") != "GET" or not _same(_sign(given), self._sign):
            return None
        rest = urlencode([(name, value) for name, value in asked.query_params.multi_items() if name != "token"])
        # One slash: two would name another host.
        path = "/" + scope.get("raw_path", scope["path"].encode()).decode("latin-1").lstrip("/\\")
        response = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
        response.set_cookie(COOKIE, self._sign, httponly=True, samesite="lax", secure=scope["scheme"] == "https")
        return response


def check_token(host: str, token: str | None) -> None:
    """Refuse a token that no header can carry, and an address that others can reach without one."""
    if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token and token):
        raise ConfigError("`--token` must be letters, digits and signs without spaces around them; give another one")
    if token is None and not is_loopback(host):
        raise ConfigError(
            f"`--host` {host!r} can be reached by others, who could read all sessions; "
            f"give a secret with `--token` or in {TOKEN_VARIABLE}, or leave `--host` out"
        )


def is_loopback(host: str) -> bool:
    """Whether an address is one that only this machine reaches."""
    bare = _bare(host)
    if bare in _LOOPBACK:
        return True
    try:
        return ip_address(bare).is_loopback
    except ValueError:
        return False


def _is_any(host: str) -> bool:
    """Whether a server at this address goes by every name of its machine; then only the token can tell who may ask."""
    try:
        return ip_address(_bare(host)).is_unspecified
    except ValueError:
        return not host


def _bare(host: str) -> str:
    """A host without port and brackets."""
    host = host.strip().lower().rstrip(".")
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.count(":") > 1 else host.partition(":")[0].rstrip(".")


def _is_foreign(scope: Scope, headers: Headers, host: str) -> bool:
    """Whether a browser says that a page of somebody else asks."""
    origins = headers.getlist("origin")
    if origins:
        return any(not _is_own(origin, host) for origin in origins)
    # Browsers leave the origin out where a page only embeds something; following a link to us is no harm.
    site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode")
    return site in ("cross-site", "same-site") and not (mode == "navigate" and scope.get("method") in ("GET", "HEAD"))


def _is_own(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.strip().lower()


def _sign(token: str) -> str:
    return sha256(b"foveate " + token.encode("utf-8", "surrogateescape")).hexdigest()


def _same(given: str, known: str) -> bool:
    # In the same time for every wrong one: how long it takes must not tell how much of it was right.
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), known.encode())


def _refused(status: int, error: str, remedy: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": error, "remedy": remedy}, status_code=status, headers=headers)


def _signed(scope: Scope, send: Send) -> Send:
    """Send with the headers that tell a browser what it must not do with an answer."""
    is_api = scope["path"] == _API or scope["path"].startswith(f"{_API}/")

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _answer_headers(is_api=is_api):
                headers.setdefault(name, value)
        await send(message)

    return sent


def _answer_headers(*, is_api: bool) -> Iterable[tuple[str, str]]:
    yield from _HEADERS.items()
    yield "Content-Security-Policy", _API_POLICY if is_api else _PAGE_POLICY
    if is_api:
        # What was said in a session is nobody else's, and changes.
        yield "Cache-Control", "no-store"
