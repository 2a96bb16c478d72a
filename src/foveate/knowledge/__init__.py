"""Knowledge: what earlier tasks learned, found again for the next one without asking a model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from foveate.knowledge.base import Knowledge
    from foveate.knowledge.compute import ComputedContext
    from foveate.knowledge.handoff import HandoffError, parse_handoff, read_handoff
    from foveate.knowledge.models import ContextTask, Handoff, JournalTask, MapEntry, Node
    from foveate.knowledge.render import context_section, rendered, with_prefix
    from foveate.knowledge.sources import context_of

__all__ = [
    "ComputedContext",
    "ContextTask",
    "Handoff",
    "HandoffError",
    "JournalTask",
    "Knowledge",
    "MapEntry",
    "Node",
    "context_of",
    "context_section",
    "parse_handoff",
    "read_handoff",
    "rendered",
    "with_prefix",
]

_HOMES: Final = {
    "base": ("Knowledge",),
    "compute": ("ComputedContext",),
    "handoff": ("HandoffError", "parse_handoff", "read_handoff"),
    "models": ("ContextTask", "Handoff", "JournalTask", "MapEntry", "Node"),
    "render": ("context_section", "rendered", "with_prefix"),
    "sources": ("context_of",),
}


def __getattr__(name: str) -> Any:
    # Who only parses a source, or writes a handoff, need not wait for SQLAlchemy.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
