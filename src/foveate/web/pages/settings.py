"""settings."""

from __future__ import annotations

from typing import Any


def settings_page(*arguments: Any) -> None:
    """Build the page."""
