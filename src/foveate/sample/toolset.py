"""What the sample's agent is told: its system prompt and its tools."""

from __future__ import annotations

from foveate.sample.recorder import Message

SYSTEM = """\
You are a coding agent. You work in one repository, for one person who reads what you write
between two other things.

How you work:
- Look before you change: list, search and read until you know which lines matter.
- Make the smallest change that solves the problem. Follow the conventions you find.
- Run the tests after each change, and the whole suite before you say that you are done.
- If a command is denied, do not look for a way around it. Say what you could not do.
- Instructions of the user hold for the whole session unless the user takes them back.
- End each task with a short answer: what was wrong or wanted, what you changed, what is open.

Paths are relative to the root of the repository. `bash` runs there too, without network access."""


def tools() -> list[dict[str, object]]:
    """The definitions of the six tools, in OpenAI's shape."""
    path = _string("Path relative to the root of the repository.")
    offset, limit = _integer("First line, from 1."), _integer("Number of lines.")
    return [
        _tool("list_dir", "List the entries of a directory with their sizes.", {"path": path}),
        _tool(
            "grep",
            "Search files for a regular expression; gives path, line number and line.",
            {"pattern": _string("Python regular expression."), "path": path},
        ),
        _tool(
            "read_file",
            "Read a text file with line numbers, whole or in part.",
            {"path": path, "offset": offset, "limit": limit},
            optional=("offset", "limit"),
        ),
        _tool(
            "edit_file",
            "Replace a text that occurs exactly once in a file.",
            {
                "path": path,
                "old_text": _string("The text to replace, copied exactly."),
                "new_text": _string("What stands there afterwards."),
            },
        ),
        _tool(
            "write_file",
            "Create a file, or replace all of its content.",
            {"path": path, "content": _string("The whole content.")},
        ),
        _tool(
            "bash",
            "Run a shell command; gives its output, and its exit code if that is not 0.",
            {"command": _string("The command line.")},
        ),
    ]


def _string(description: str) -> Message:
    return {"type": "string", "description": description}


def _integer(description: str) -> Message:
    return {"type": "integer", "description": description}


def _tool(name: str, description: str, properties: Message, optional: tuple[str, ...] = ()) -> Message:
    required = [key for key in properties if key not in optional]
    parameters = {"type": "object", "properties": properties, "required": required}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
