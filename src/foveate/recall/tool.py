"""The recall tool: how a model asks for what was left out of its context."""

from __future__ import annotations

import re
from typing import Any, Final

RECALL_TOOL: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "recall",
        "description": (
            "Get back content from earlier in this session that was shortened or left out of your context. "
            "Shortened content names a reference such as m17; pass it here. Without further arguments you get the "
            "whole content; for long content give `query` to get the matching lines with their numbers, or `lines` "
            "to get a range. The content is as it was then: to see a file as it is now, read the file instead."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "reference": {
                    "type": "string",
                    "description": "The reference as it stands in your context, for example m17.",
                },
                "lines": {
                    "type": "object",
                    "description": "Return only these lines; the first line is 1 and both ends are included.",
                    "properties": {
                        "start": {"type": "integer", "minimum": 1},
                        "end": {"type": "integer", "minimum": 1},
                    },
                    "required": ["start", "end"],
                    "additionalProperties": False,
                },
                "query": {
                    "type": "string",
                    "description": "Return only lines about this, for example an identifier, a path or a few words.",
                },
            },
            "required": ["reference"],
            "additionalProperties": False,
        },
    },
}

ANSWER_MARK: Final = "[from the log of Foveate"
"""What an answer about the log begins with, so that no search finds it instead of what it was about."""
_WITHIN: Final = 400
_OVER_MCP: Final = re.compile(r"(?:mcp[_.-]{1,2})?foveate(?:[_.-]{1,2}|/)(?P<tool>recall|why|search|touched|fixed)")


def tool_over_mcp(name: str) -> str | None:
    """Which of our tools a name stands for that a client gave it, whose MCP server is called `foveate`."""
    found = _OVER_MCP.fullmatch(name)
    return found["tool"] if found is not None else None


def is_answer(text: str) -> bool:
    """Whether a tool result is one of our answers; some clients write a line of their own above it."""
    return ANSWER_MARK in text[:_WITHIN]
