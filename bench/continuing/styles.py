"""Styles: how different agents call their tools, and how these answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Style = Literal["claude", "codex", "openhands", "plain", "bash"]
ToolUse = tuple[str, dict[str, Any], str]
"""The tool, its arguments, and its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """One agent's tools: each function gives the call and its result."""

    read: Callable[[str, str, int, int], ToolUse]
    edit: Callable[[str, str, str], ToolUse]
    write: Callable[[str, str], ToolUse]
    run: Callable[[str, str, int], ToolUse]
    definitions: tuple[dict[str, Any], ...]


def _numbered(text: str, first: int, separator: str) -> str:
    return "\n".join(f"{number:>6}{separator}{line}" for number, line in enumerate(text.splitlines(), first))


def _defined(tools: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, Any], ...]:
    """Definitions of tools whose parameters are all texts."""
    return tuple(
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"The tool {name}.",
                "parameters": {
                    "type": "object",
                    "properties": {parameter: {"type": "string"} for parameter in parameters},
                    "required": list(parameters),
                },
            },
        }
        for name, parameters in tools.items()
    )


def _claude_read(path: str, text: str, first: int, last: int) -> ToolUse:
    arguments: dict[str, Any] = {"file_path": f"/work/{path}"}
    if last:
        arguments |= {"offset": first, "limit": last - first + 1}
    return "Read", arguments, _numbered(text, first, "→")


def _claude_edit(path: str, old: str, new: str) -> ToolUse:
    arguments = {"file_path": f"/work/{path}", "old_string": old, "new_string": new}
    return "Edit", arguments, f"The file /work/{path} has been updated."


def _claude_run(command: str, output: str, code: int) -> ToolUse:
    return "Bash", {"command": command}, f"Error: Exit code {code}\n{output}" if code else output


def _shell(command: str) -> dict[str, Any]:
    return {"command": ["bash", "-lc", command], "workdir": "/work"}


def _codex_run(command: str, output: str, code: int) -> ToolUse:
    return "shell", _shell(command), f"Exit code: {code}\nWall time: 0.4 seconds\nOutput:\n{output}"


def _codex_read(path: str, text: str, first: int, last: int) -> ToolUse:
    return _codex_run(f"sed -n '{first},{last or 400}p' {path}", text, 0)


def _codex_edit(path: str, old: str, new: str) -> ToolUse:
    removed = "\n".join(f"-{line}" for line in old.splitlines())
    added = "\n".join(f"+{line}" for line in new.splitlines())
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{removed}\n{added}\n*** End Patch"
    return "apply_patch", {"input": patch}, f"Success. Updated the following files:\nM {path}"


def _codex_write(path: str, text: str) -> ToolUse:
    added = "\n".join(f"+{line}" for line in text.splitlines())
    patch = f"*** Begin Patch\n*** Add File: {path}\n{added}\n*** End Patch"
    return "apply_patch", {"input": patch}, f"Success. Updated the following files:\nA {path}"


def _editor(command: str, path: str, **more: Any) -> dict[str, Any]:
    return {"command": command, "path": f"/work/{path}", **more}


def _openhands_read(path: str, text: str, first: int, last: int) -> ToolUse:
    more = {"view_range": [first, last]} if last else {}
    shown = _numbered(text, first, "\t")
    return "str_replace_editor", _editor("view", path, **more), f"Here's the result of running `cat -n` on it:\n{shown}"


def _openhands_edit(path: str, old: str, new: str) -> ToolUse:
    arguments = _editor("str_replace", path, old_str=old, new_str=new)
    return "str_replace_editor", arguments, f"The file /work/{path} has been edited."


def _openhands_run(command: str, output: str, code: int) -> ToolUse:
    ended = f"[The command completed with exit code {code}.]"
    return "execute_bash", {"command": command}, f"{output}\n{ended}"


def _plain_edit(path: str, old: str, new: str) -> ToolUse:
    return "edit_file", {"path": path, "old": old, "new": new}, f"edited {path}"


def _plain_run(command: str, output: str, code: int) -> ToolUse:
    return "run_command", {"command": command}, f"{output}\nexit code {code}"


def _bash_run(command: str, output: str, code: int) -> ToolUse:
    return "bash", {"command": command}, f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>"


def _bash_edit(path: str, old: str, new: str) -> ToolUse:
    script = f"p = {path!r}\ns = open(p).read()\ns = s.replace({json.dumps(old)}, {json.dumps(new)}, 1)"
    return _bash_run(f"python3 - <<'EOF'\n{script}\nopen(p, 'w').write(s)\nEOF", "", 0)


def _bash_write(path: str, text: str) -> ToolUse:
    return _bash_run(f"cat > {path} <<'EOF'\n{text.rstrip()}\nEOF", "", 0)


TOOLS: Final[Mapping[Style, Tools]] = {
    "claude": Tools(
        read=_claude_read,
        edit=_claude_edit,
        write=lambda path, text: (
            "Write",
            {"file_path": f"/work/{path}", "content": text},
            f"File created successfully at: /work/{path}",
        ),
        run=_claude_run,
        definitions=_defined(
            {
                "Read": ("file_path",),
                "Edit": ("file_path", "old_string", "new_string"),
                "Write": ("file_path", "content"),
                "Bash": ("command",),
            }
        ),
    ),
    "codex": Tools(
        read=_codex_read,
        edit=_codex_edit,
        write=_codex_write,
        run=_codex_run,
        definitions=_defined({"shell": ("command",), "apply_patch": ("input",)}),
    ),
    "openhands": Tools(
        read=_openhands_read,
        edit=_openhands_edit,
        write=lambda path, text: (
            "str_replace_editor",
            _editor("create", path, file_text=text),
            f"File created successfully at: /work/{path}",
        ),
        run=_openhands_run,
        definitions=_defined({"str_replace_editor": ("command", "path"), "execute_bash": ("command",)}),
    ),
    "plain": Tools(
        read=lambda path, text, first, last: ("read_file", {"path": path, "first": first, "last": last}, text),
        edit=_plain_edit,
        write=lambda path, text: ("write_file", {"path": path, "content": text}, f"wrote {path}"),
        run=_plain_run,
        definitions=_defined(
            {
                "read_file": ("path",),
                "edit_file": ("path", "old", "new"),
                "write_file": ("path", "content"),
                "run_command": ("command",),
            }
        ),
    ),
    "bash": Tools(
        read=lambda path, text, first, last: _bash_run(
            f"sed -n '{first},{last}p' {path}" if last else f"cat {path}", text, 0
        ),
        edit=_bash_edit,
        write=_bash_write,
        run=_bash_run,
        definitions=_defined({"bash": ("command",)}),
    ),
}
