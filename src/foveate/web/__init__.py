"""The web app: what a model's window holds, why, and what it costs, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from foveate.api import Place

__all__ = ["mounted"]


def mounted(app: FastAPI, place: Place) -> FastAPI:
    """The app with the pages for people mounted beside its API; once in a process."""
    # Processes that only replay import this package too, and need none of the pages.
    from foveate.web.app import mount  # noqa: PLC0415

    mount(app, place)
    return app
