"""knowledge."""

from __future__ import annotations

from typing import Any


def knowledge_page(*arguments: Any) -> None:
    """Build the page."""
