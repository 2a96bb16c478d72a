"""log."""

from __future__ import annotations

from typing import Any


def log_page(*arguments: Any) -> None:
    """Build the page."""
