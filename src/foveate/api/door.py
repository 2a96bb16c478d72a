"""The door: what a person sees who opens a server that wants its token, a field to put it in."""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive

LOGIN: Final = "/login"
"""Where the field is sent to; in the body, as what is in an address stays in histories."""

# A token and an address; more than that is no form of ours.
_MOST: Final = 20_000
# The colours of the other pages, which this one cannot load: whoever sees it has not been let in.
_STYLE: Final = """
:root {
  color-scheme: light dark; --ground: #f7f7f4; --raised: #fff; --ink: #1c2226; --soft: #5c666e; --rule: #e1e2dd;
  --accent: #0b6b66; --accent-ink: #fff; --bad: #b3372f; --bad-wash: #fbeae8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #13161a; --raised: #1b1f24; --ink: #e6e9ec; --soft: #a3acb4; --rule: #2c3239;
    --accent: #5cc4ba; --accent-ink: #08211f; --bad: #f08a80; --bad-wash: #38201e;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 14vh 16px 32px; background: var(--ground); color: var(--ink);
  font: 14.5px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
main { max-width: 25rem; margin: 0 auto; }
.brand { display: flex; align-items: center; gap: 9px; margin-bottom: 16px; font-weight: 680; font-size: 16px; }
.brand i { width: 19px; height: 19px; border-radius: 50%; border: 2.5px solid var(--accent); padding: 3px; }
.brand i::after { content: ""; display: block; height: 100%; border-radius: 50%; background: var(--accent); }
form { padding: 20px; border: 1px solid var(--rule); border-radius: 10px; background: var(--raised); }
h1 { margin: 0 0 14px; font-size: 20px; line-height: 1.3; }
label { display: block; margin-bottom: 4px; font-weight: 600; }
input, button { width: 100%; min-height: 38px; border-radius: 8px; font: inherit; }
input { padding: 0 11px; border: 1px solid var(--rule); background: var(--ground); color: var(--ink); }
input:focus, button:focus-visible { border-color: var(--accent); outline: 2px solid var(--accent); }
button {
  margin-top: 12px; border: 0; background: var(--accent); color: var(--accent-ink); font-weight: 600; cursor: pointer;
}
code { white-space: nowrap; }
.soft { margin: 14px 0 0; color: var(--soft); font-size: 13px; }
.bad { margin: 0 0 14px; padding: 9px 12px; border-radius: 8px; background: var(--bad-wash); color: var(--bad); }
"""
# It runs nothing; the framework of the other pages has to.
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def is_person(asked: HTTPConnection) -> bool:
    """Whether somebody looks at a page with a browser."""
    is_page = asked.scope["type"] == "http" and asked.scope["method"] == "GET"
    return is_page and "text/html" in asked.headers.get("accept", "") and not asked.url.path.startswith("/api")


def door(back: str, problem: str = "", *, wait: int = 0) -> Response:
    """A field for the token, which leads to the page that was asked for; what is wrong is said."""
    said = f"<p class=bad role=alert>{escape(problem)}</p>" if problem else ""
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Log in · Foveate</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>"
        "<main><div class=brand><i></i>Foveate</div>"
        f"<form method=post action='{LOGIN}'><h1>Log in</h1>{said}"
        f'<input type=hidden name=next value="{escape(back)}">'
        "<label for=token>Access token</label>"
        "<input type=password id=token name=token autocomplete=current-password required autofocus>"
        "<button>Log in</button>"
        "<p class=soft>The token that <code>foveate serve</code> was started with, by <code>--token</code> or "
        "<code>FOVEATE_TOKEN</code>.</p></form></main>"
    )
    headers = {"WWW-Authenticate": "Bearer", "Cache-Control": "no-store", "Content-Security-Policy": _POLICY}
    if wait:
        headers["Retry-After"] = str(wait)
    return HTMLResponse(page, status_code=429 if wait else 401, headers=headers)


async def filled_in(receive: Receive) -> tuple[str, str]:
    """The token that was put into the field, and where to go from there; nothing, if it is too long to be that."""
    body = b""
    is_more = True
    while is_more:
        message = await receive()
        is_more = message["type"] == "http.request" and message.get("more_body", False)
        # What comes behind that is heard, so that the answer can be read, and not kept.
        body = (body + message.get("body", b""))[: _MOST + 1]
    if len(body) > _MOST:
        return "", "/"
    fields = dict(parse_qsl(body.decode("utf-8", "replace")))
    return fields.get("token", ""), _here(fields.get("next", "/"))


def without_token(asked: HTTPConnection) -> str:
    """The address that was asked for, without host and without a token, which stays in histories and is shown."""
    scope = asked.scope
    rest = urlencode([(name, value) for name, value in asked.query_params.multi_items() if name != "token"])
    path = _here("/" + scope.get("raw_path", scope["path"].encode()).decode("latin-1").lstrip("/\\"))
    return f"{path}?{rest}" if rest else path


def _here(address: str) -> str:
    """An address if it is on this server; browsers take two slashes, of either kind, for another one's name."""
    is_ours = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_ours and address.partition("?")[0] != LOGIN else "/"
