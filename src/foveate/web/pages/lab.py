"""lab."""

from __future__ import annotations

from typing import Any


def lab_page(*arguments: Any) -> None:
    """Build the page."""
