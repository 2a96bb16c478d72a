"""Answering: a call of a tool becomes a question to the logs; what is wrong with a call is said to the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from foveate.errors import ConfigError, FoveateError
from foveate.lookup.answers import Lookup
from foveate.lookup.questions import QUESTIONS
from foveate.recall.tool import ANSWER_MARK

OpenLookup = Callable[[], AbstractContextManager[Lookup]]


def answer(
    open_lookup: OpenLookup, name: str, arguments: Mapping[str, Any], evidence: Collection[str] = ()
) -> tuple[str, bool]:
    """The answer to a call of a tool, and whether it is one; what is wrong with a call is said to the model."""
    try:
        _refuse_unknown(name, arguments)
        with open_lookup() as lookup:
            return _asked(lookup, name, arguments, evidence), True
    except FoveateError as error:
        return f"{ANSWER_MARK}]\n{name}: {error}", False


def _asked(lookup: Lookup, name: str, arguments: Mapping[str, Any], evidence: Collection[str]) -> str:
    match name:
        case "recall":
            lines = _lines(arguments.get("lines"))
            query = _text(arguments, "query")
            return lookup.recall(_needed(arguments, "reference"), lines=lines, query=query, evidence=evidence)
        case "why":
            return lookup.why(_needed(arguments, "reference"), evidence=evidence)
        case "search":
            since = _text(arguments, "since")
            return lookup.search(
                _needed(arguments, "query"),
                project=_text(arguments, "project"),
                agent=_text(arguments, "agent"),
                since=_moment(since) if since is not None else None,
            )
        case "touched":
            return lookup.touched(_needed(arguments, "path"))
        case "fixed":
            return lookup.fixed(_needed(arguments, "error"))
        case _:
            raise ConfigError(f"no tool {name!r:.80}; there are {', '.join(one.name for one in QUESTIONS)}")


def _refuse_unknown(name: str, arguments: Mapping[str, Any]) -> None:
    """Refuse an argument that the tool does not have: what it was to narrow would come back unnarrowed."""
    known = next((tuple(one.schema["properties"]) for one in QUESTIONS if one.name == name), None)
    unknown = [given for given in arguments if known is not None and given not in known]
    if known is not None and unknown:
        raise ConfigError(f"no argument {unknown[0]!r:.80}; there are {', '.join(known)}")


def _needed(arguments: Mapping[str, Any], name: str) -> str:
    value = _text(arguments, name)
    if value is None:
        raise ConfigError(f"`{name}` must be text, got {arguments.get(name)!r:.80}")
    return value


def _text(arguments: Mapping[str, Any], name: str) -> str | None:
    value = arguments.get(name)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"`{name}` must be text, got {value!r:.80}")
    return (value or "").strip() or None


def _lines(value: object) -> tuple[int, int] | None:
    match value:
        case None:
            return None
        case [int() as first, int() as last] | {"start": int() as first, "end": int() as last}:
            return first, last
        case str() if found := re.fullmatch(r"\s*(\d{1,9})\s*[-:,]\s*(\d{1,9})\s*", value):
            return int(found[1]), int(found[2])
        case _:
            raise ConfigError(f"`lines` must be a first and a last line number, got {value!r:.80}")


def _moment(given: str) -> datetime:
    try:
        # Without a zone it is the time on the clock of this machine.
        return datetime.fromisoformat(given).astimezone()
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"`since` {given!r:.80} is no time; give one such as 2026-01-31") from error
