"""The page on the HTTP API has all there is to ask."""

from __future__ import annotations

from pathlib import Path

from foveate.api import Place, create_app

PAGE = (Path(__file__).parents[2] / "docs" / "http-api.md").read_text(encoding="utf-8")


def test_the_page_has_every_request(tmp_path: Path) -> None:
    app = create_app(Place(store=tmp_path / "a.db", system=tmp_path))
    rows = [
        f"| `{method.upper()} {path}` | {operation['summary']} |"
        for path, operations in app.openapi()["paths"].items()
        for method, operation in operations.items()
    ]
    app.state.store.close()
    assert [row for row in rows if row not in PAGE] == []
