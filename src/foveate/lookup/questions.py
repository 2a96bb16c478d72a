"""Questions: the tools that agents are given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from foveate.recall.tool import RECALL_TOOL

Answer = Callable[[str, Mapping[str, Any], Collection[str]], tuple[str, bool]]
"""Answers a call of a tool by its name, its arguments and what the client sent beside them; whether it is an answer."""


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
