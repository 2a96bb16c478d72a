"""The door: what a person sees who opens a server that wants its token, a field to put it in."""

from __future__ import annotations

from html import escape
from typing import Final

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response

_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 26rem; margin: 18vh auto 0; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .4rem; }
form { display: flex; gap: .5rem; margin-top: 1rem; }
input, button { font: inherit; padding: .4rem .7rem; min-width: 0; }
input { flex: 1; }
"""


def is_person(asked: HTTPConnection) -> bool:
    """Whether somebody looks at a page with a browser."""
    is_page = asked.scope["type"] == "http" and asked.scope["method"] == "GET"
    return is_page and "text/html" in asked.headers.get("accept", "") and not asked.url.path.startswith("/api")


def door(asked: HTTPConnection) -> Response:
    """A field for the token, which leads to the page that was asked for; what is wrong is said."""
    given = asked.query_params.multi_items()
    said = "That is not its token. " if any(name == "token" for name, _ in given) else ""
    kept = "".join(
        f'<input type=hidden name="{escape(name)}" value="{escape(value)}">' for name, value in given if name != "token"
    )
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Foveate</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>"
        f"<h1>This server wants its token</h1><p>{said}It is what <code>foveate serve</code> was started with: "
        "<code>--token</code>, or <code>FOVEATE_TOKEN</code>.</p>"
        f"<form>{kept}<input type=password name=token aria-label=Token required autofocus>"
        "<button>Open</button></form>"
    )
    return HTMLResponse(page, status_code=401, headers={"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"})
