"""The reference: what can be asked and what is answered, as one page that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

router = APIRouter()

# The page has a style of its own and nothing else.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h2 { margin: 2.5rem 0 0; border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
details { margin: .75rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
.method { font-weight: 700; display: inline-block; min-width: 4.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .25rem 0 1rem; }
td, th { padding: .2rem 1.2rem .2rem 0; text-align: left; vertical-align: top; }
"""


@router.get("/docs", include_in_schema=False)
def reference(request: Request) -> HTMLResponse:
    """What can be asked and what is answered."""
    page = "".join(_page(request.app.openapi()))
    return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})


def _page(schema: Mapping[str, Any]) -> Iterator[str]:
    about = schema["info"]
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(about['title'])} API</title>"
    yield f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>"
    yield f"<h1>{escape(about['title'])} API {escape(about['version'])}</h1>"
    yield from (f"<p>{_marked(text)}</p>" for text in about["description"].strip().split("\n\n"))
    yield "<p>As <a href=/api/openapi.json>OpenAPI</a>, for programs.</p>"
    shapes: Mapping[str, Any] = schema["components"]["schemas"]
    for tag in schema["tags"]:
        yield f"<h2>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>"
        for path, operations in schema["paths"].items():
            for method, operation in operations.items():
                if tag["name"] in operation.get("tags", ()):
                    yield from _operation(method, path, operation, shapes)


def _operation(method: str, path: str, operation: Mapping[str, Any], shapes: Mapping[str, Any]) -> Iterator[str]:
    yield f"<details><summary><span class=method>{escape(method.upper())}</span> <code>{escape(path)}</code>"
    yield f" · {escape(operation['summary'])}</summary><p>{_marked(operation.get('description', ''))}</p>"
    rows = [(one["name"], one["in"], one.get("description", "")) for one in operation.get("parameters", ())]
    yield from _table(("parameter", "in", ""), rows)
    answer = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
    shape = shapes.get((answer.get("$ref") or answer.get("items", {}).get("$ref", "")).rpartition("/")[2], {})
    fields = [(name, _kind(field), field.get("description", "")) for name, field in shape.get("properties", {}).items()]
    yield from _table(("answer", "", ""), fields)
    yield "</details>"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield "<div class=scroll><table><tr>" + "".join(f"<th>{escape(one)}</th>" for one in head) + "</tr>"
        for name, *others in rows:
            cells = "".join(f"<td>{_marked(one)}</td>" for one in others)
            yield f"<tr><td><code>{escape(name)}</code></td>{cells}</tr>"
        yield "</table></div>"


def _kind(field: Mapping[str, Any]) -> str:
    """The type of a field in a few words."""
    if "anyOf" in field:
        return " or ".join(_kind(one) for one in field["anyOf"])
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2].removesuffix("Shape")
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    return str(field.get("format") or field.get("type", "any"))


def _marked(text: str) -> str:
    """A text of ours with code between backticks."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))
