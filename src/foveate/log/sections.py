"""Sections: named pieces of text beside the history."""

from __future__ import annotations

from typing import Literal

import msgspec

CacheTier = Literal["instructions", "stable", "volatile"]


class ContextSection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A named piece of text beside the history.

    One of instructions ends the system prompt, a stable one stands right after it, a volatile one after the history.
    """

    name: str
    content: str
    source: str | None = None
    tier: CacheTier = "volatile"
