"""Sections: named pieces of text beside the history."""

from __future__ import annotations

from typing import Literal

import msgspec

CacheTier = Literal["stable", "volatile"]


class ContextSection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A named piece of text beside the history.

    A stable section stands right after the system prompt, a volatile one after the history.
    """

    name: str
    content: str
    source: str | None = None
    tier: CacheTier = "volatile"
