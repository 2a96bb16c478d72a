"""The guard: who may ask a server at all, be it for data or for pages."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foveate.api.admission import COOKIE_SECONDS, Cookies, Tokens
from foveate.api.door import LOGIN, door, filled_in, is_person, without_token
from foveate.api.sockets import Sockets
from foveate.errors import ConfigError

COOKIE: Final = "foveate_token"
LOGGED_IN: Final = "foveate.logged_in"
"""What the scope of a request has that was let in by a cookie, so that a page can offer to take it back."""
TOKEN_VARIABLE: Final = "FOVEATE_TOKEN"  # noqa: S105  the name of it
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_API: Final = "/api"
_LOGOUT: Final = "/logout"
_WRONG: Final = "That is not the token. Check it and try again."
# Nothing of an answer in JSON is to be run; pages run what the server itself gives them, and load from nowhere else.
_API_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"
# `unsafe-eval` for scripts alone: the framework of the pages compiles templates in the browser (`new Function`), and
# without it no page is drawn. Nothing that was said in a session is ever a template.
_PAGE_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' data: blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
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
    `Authorization: Bearer …`, or once by POST to /login (or as `?token=…`, for links), which leaves a cookie for some
    days; POST to /logout takes it back and ends what it has open. After some wrong tokens an address must wait.

    Args:
        app: what is guarded.
        host: the address that the server listens at.
        token: what a request must have; an address that others can reach demands one.

    """

    def __init__(self, app: ASGIApp, *, host: str = "127.0.0.1", token: str | None = None) -> None:
        check_token(host, token)
        self._app = app
        self._names = None if _is_any(host) else _LOOPBACK | {_bare(host)}
        self._tokens = Tokens(token) if token is not None else None
        self._cookies = Cookies()
        self._sockets = Sockets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to the application."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        refusal = self._foreign(asked)
        if refusal is None and self._tokens is not None:
            is_login = scope["path"] == LOGIN and scope.get("method") == "POST"
            refusal = (
                await self._login(asked, receive, self._tokens) if is_login else self._refusal(asked, self._tokens)
            )
        if refusal is None:
            await self._hand_on(asked, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
        else:
            await refusal(scope, receive, _signed(scope, send))

    async def _hand_on(self, asked: HTTPConnection, receive: Receive, send: Send) -> None:
        cookie, scope = asked.cookies.get(COOKIE, ""), asked.scope
        seconds = self._cookies.seconds_left(cookie) if self._tokens is not None else 0.0
        if seconds <= 0:
            await self._app(scope, receive, _signed(scope, send))
        elif scope["type"] == "websocket":
            await self._sockets.serve(self._app, scope, receive, send, cookie=cookie, seconds=seconds)
        else:
            await self._app({**scope, LOGGED_IN: True}, receive, _signed(scope, send))

    def _foreign(self, asked: HTTPConnection) -> Response | None:
        """What to answer a request that is meant for another server, or comes from another site."""
        hosts = asked.headers.getlist("host")
        if len(hosts) != 1 or (self._names is not None and _bare(hosts[0]) not in self._names):
            named = ", ".join(hosts)
            return _refused(403, f"the host {named!r} is not this server", "open it by the address it printed")
        if _is_foreign(asked.scope, asked.headers, hosts[0]):
            return _refused(403, "a request from another site was refused", "open the page itself")
        return None

    def _refusal(self, asked: HTTPConnection, tokens: Tokens) -> Response | None:
        """What to answer instead, if a request may not pass as it is."""
        if asked.scope["path"] == _LOGOUT and asked.scope.get("method") == "POST":
            return self._logged_out(asked)
        if not self._cookies.is_valid(asked.cookies.get(COOKIE, "")):
            return self._token_refusal(asked, tokens)
        if asked.scope.get("method") == "GET" and (
            "token" in asked.query_params or asked.scope["path"] == LOGIN  # There is nothing to do any more.
        ):
            return RedirectResponse(without_token(asked), status_code=303)
        return None

    def _token_refusal(self, asked: HTTPConnection, tokens: Tokens) -> Response | None:
        """What to answer somebody without a cookie, if the token was not given with this request."""
        scheme, _, borne = asked.headers.get("authorization", "").partition(" ")
        borne = borne.strip() if scheme.lower() == "bearer" else ""
        linked = asked.query_params.get("token", "") if asked.scope.get("method") == "GET" else ""
        given, address = borne or linked, _address(asked)
        if given and (wait := tokens.wait_for(address)):
            return _refused(
                429, "too many wrong tokens", f"wait {wait} seconds and give the right one", {"Retry-After": str(wait)}
            )
        if given and tokens.is_right(given, address):
            return None if borne else self._admitted(asked, without_token(asked))
        if is_person(asked):
            return door(without_token(asked), _WRONG if linked else "")
        return _refused(
            401,
            "this server wants its token",
            "open it in a browser and log in, or send the header `Authorization: Bearer …`",
            {"WWW-Authenticate": "Bearer"},
        )

    async def _login(self, asked: HTTPConnection, receive: Receive, tokens: Tokens) -> Response:
        """To the page that was asked for, with a cookie, if the form has the token; else the form again."""
        given, back = await filled_in(receive)
        address = _address(asked)
        if given and (wait := tokens.wait_for(address)):
            return door(back, f"Too many wrong tokens. Wait {wait} seconds and enter the right one.", wait=wait)
        if given and tokens.is_right(given, address):
            return self._admitted(asked, back)
        return door(back, _WRONG if given else "")

    def _admitted(self, asked: HTTPConnection, back: str) -> Response:
        response = RedirectResponse(back, status_code=303)
        response.set_cookie(
            COOKIE,
            self._cookies.issue(),
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="lax",
            secure=_is_encrypted(asked),
        )
        return response

    def _logged_out(self, asked: HTTPConnection) -> Response:
        """To the door, without the cookie; whoever has a copy of it is out, too, also where a page is still open."""
        cookie = asked.cookies.get(COOKIE, "")
        self._cookies.revoke(cookie)
        self._sockets.close(cookie)
        response = RedirectResponse("/", status_code=303)
        response.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=_is_encrypted(asked))
        return response


def _is_encrypted(asked: HTTPConnection) -> bool:
    """Whether a browser sees the server over TLS: by itself, or by a proxy that says so.

    A false claim only makes the cookie stricter.
    """
    return "https" in (asked.scope["scheme"], asked.headers.get("x-forwarded-proto", ""))


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


def _address(asked: HTTPConnection) -> str | None:
    """Where a guess comes from."""
    return asked.client.host if asked.client is not None else None


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
