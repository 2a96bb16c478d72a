"""Questions: the tools that agents are given, and how a call of one is answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from foveate.errors import ConfigError, FoveateError
from foveate.lookup.answers import Lookup
from foveate.recall.tool import ANSWER_MARK, RECALL_TOOL

OpenLookup = Callable[[], AbstractContextManager[Lookup]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A tool: its name, what a model is told of it, and whether a client should load it before anybody searches it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    always_loaded: bool = False


def _schema(required: str, **properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": said} for name, said in properties.items()},
        "required": [required],
        "additionalProperties": False,
    }


_RECALL: Final = RECALL_TOOL["function"]
_REFERENCE: Final = "The reference as it stands in your context, for example m17."

QUESTIONS: Final = (
    Question(
        name="recall",
        description=f"{_RECALL['description']} An answer has 4 kB at most.",
        schema=_RECALL["parameters"],
        always_loaded=True,
    ),
    Question(
        name="why",
        description="Tell what became of a message of this session in the requests after it, and why: shown as it was, "
        "shortened, left out or brought back.",
        schema=_schema("reference", reference=_REFERENCE),
    ),
    Question(
        name="search",
        description="Find what was said or printed in earlier sessions of any agent on this machine: decisions, "
        "errors, commands, outputs. Pass the reference before a passage to `recall` to see all of it.",
        schema=_schema(
            "query",
            query="Words, names, file paths; as you would ask.",
            project="Only sessions in folders with this in their path.",
            agent="Only sessions with this in their name, tags or model.",
            since="Not before this time, such as 2026-01-31 or 2026-01-31T18:00.",
        ),
    ),
    Question(
        name="touched",
        description="List the sessions in which an agent read or changed a file, and how that went.",
        schema=_schema("path", path="The file as agents name it, such as src/app.py."),
    ),
    Question(
        name="fixed",
        description="Tell what was done after an error like this in earlier sessions: which files were changed, and "
        "whether the same passed later.",
        schema=_schema("error", error="The line that says what failed."),
    ),
)


def answer(
    open_lookup: OpenLookup, name: str, arguments: Mapping[str, Any], evidence: Collection[str] = ()
) -> tuple[str, bool]:
    """The answer to a call of a tool, and whether it is one; what is wrong with a call is said to the model."""
    try:
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


def _needed(arguments: Mapping[str, Any], name: str) -> str:
    value = _text(arguments, name)
    if value is None:
        raise ConfigError(f"`{name}` must be text, got {arguments.get(name)!r:.80}")
    return value


def _text(arguments: Mapping[str, Any], name: str) -> str | None:
    value = arguments.get(name)
    return value.strip() if isinstance(value, str) and value.strip() else None


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
