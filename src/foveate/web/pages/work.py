"""work."""

from __future__ import annotations

from typing import Any


def work_page(*arguments: Any) -> None:
    """Build the page."""
