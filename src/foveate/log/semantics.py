"""What tools read and write: one table, extendable by the user.

Only tools declared here can retire an earlier read or settle an earlier error; nothing is guessed from a tool's name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec

from foveate.log.messages import ToolCall

Access = Literal["read", "write", "edit", "shell", "patch", "search", "plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSemantics:
    """How a tool touches resources.

    `resource` names the arguments that hold the resource (the first present one counts); `ranged` names arguments that,
    when present, make a read partial.
    """

    access: Access
    resource: tuple[str, ...] = ("path", "file_path", "filename", "file")
    ranged: tuple[str, ...] = ("offset", "limit", "view_range", "start_line", "end_line", "line_range", "head", "tail")


class Touched(NamedTuple):
    """The resources one call reads and writes; `partial` if it reads or changes only a part of them."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    partial: bool = False


_READ = ToolSemantics(access="read")
_WRITE = ToolSemantics(access="write")
_EDIT = ToolSemantics(access="edit")
_SHELL = ToolSemantics(access="shell", resource=("command", "cmd", "script", "input"))
_SEARCH = ToolSemantics(access="search")
_PATCH = ToolSemantics(access="patch", resource=("patch", "input", "diff", "command"))
_PLAN = ToolSemantics(access="plan")

TOOLS: Mapping[str, ToolSemantics] = MappingProxyType(
    {
        # Claude Code
        "Read": _READ,
        "NotebookRead": _READ,
        "Write": _WRITE,
        "Edit": _EDIT,
        "MultiEdit": _EDIT,
        "NotebookEdit": ToolSemantics(access="edit", resource=("notebook_path",)),
        "Bash": _SHELL,
        "Grep": _SEARCH,
        "Glob": _SEARCH,
        "LS": _READ,
        "TodoWrite": _PLAN,
        # Codex
        "shell": _SHELL,
        "shell_command": _SHELL,
        "exec_command": _SHELL,
        "local_shell": _SHELL,
        "apply_patch": _PATCH,
        "update_plan": _PLAN,
        # Gemini CLI, Cline, Roo, OpenHands, SWE-agent, opencode and plain names
        "read_file": _READ,
        "write_file": _WRITE,
        "edit_file": _EDIT,
        "replace": _EDIT,
        "replace_in_file": _EDIT,
        "write_to_file": _WRITE,
        "apply_diff": _EDIT,
        "create_file": _WRITE,
        "delete_file": _WRITE,
        "str_replace": _EDIT,
        "insert": _EDIT,
        "open": _READ,
        "view": _READ,
        "list_dir": _READ,
        "list_directory": _READ,
        "list_files": _READ,
        "grep": _SEARCH,
        "glob": _SEARCH,
        "search_files": _SEARCH,
        "search_file_content": _SEARCH,
        "run_shell_command": _SHELL,
        "execute_command": _SHELL,
        "execute_bash": _SHELL,
        "run_command": _SHELL,
        "bash": _SHELL,
        "read": _READ,
        "write": _WRITE,
        "edit": _EDIT,
        "todowrite": _PLAN,
    }
)

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_REDIRECT = re.compile(r"(?<![<>&\d])>>?\s*([\w./~-]+)")
_SEPARATORS = frozenset({"&&", "||", ";", "|"})
_MAX_COMMAND = 4_000
_MAX_ATTEMPT = 120
_PREFIXES = frozenset({"cd", "export", "set", "source", "sudo", "env", "timeout", "bash", "sh", "-lc", "-c"})


def touched(call: ToolCall, tools: Mapping[str, ToolSemantics] = TOOLS) -> Touched:
    """The resources a call reads and writes, by the declared semantics of its tool."""
    semantics = tools.get(call.name)
    if semantics is None:
        return Touched()
    arguments = parsed_arguments(call)
    value = next((arguments[name] for name in semantics.resource if arguments.get(name)), None)
    match semantics.access:
        case "shell":
            return _shell(" ".join(map(str, value)) if isinstance(value, list) else str(value or ""))
        case "patch":
            return Touched(writes=_patched(str(value or call.arguments)), partial=True)
        case "edit" if value:
            return Touched(writes=(str(value),), partial=True)
        case "write" if value:
            return Touched(writes=(str(value),))
        case "read" if value:
            return Touched(reads=(str(value),), partial=any(arguments.get(name) for name in semantics.ranged))
        case _:
            return Touched()


def attempt_of(call: ToolCall, tools: Mapping[str, ToolSemantics] = TOOLS) -> str:
    """What a call tries to do: calls of one tool on one resource are attempts at the same thing."""
    semantics = tools.get(call.name)
    if semantics is not None and semantics.access == "shell":
        arguments = parsed_arguments(call)
        value = next((arguments[name] for name in semantics.resource if arguments.get(name)), "")
        return f"{call.name} {_program(' '.join(map(str, value)) if isinstance(value, list) else str(value))}"
    resources = touched(call, tools)
    named = resources.writes or resources.reads
    return f"{call.name} {named[0]}" if named else f"{call.name} {call.arguments[:_MAX_ATTEMPT]}"


def parsed_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as a mapping; text that is no JSON object is found under `input`."""
    try:
        value = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return {"input": call.arguments}
    return value if isinstance(value, dict) else {"input": value}


def _shell(command: str) -> Touched:
    """Files that the plain verbs of a command line read or write; anything cleverer is left alone."""
    if "*** " in command:
        patched = _patched(command)
        if patched:
            return Touched(writes=patched, partial=True)
    if len(command) > _MAX_COMMAND:
        return Touched()
    writes = [target for target in _REDIRECT.findall(command) if not target.startswith("/dev/")]
    reads: list[str] = []
    partial = False
    for words in _commands(command):
        verb, files = words[0], [word for word in words[1:] if not word.startswith("-")]
        if verb == "cat" and "<<" not in command:
            reads += files
        elif verb in {"head", "tail"} or (verb == "sed" and "-n" in words):
            reads += files[-1:]
            partial = True
        elif verb == "tee" or (verb == "sed" and any(word.startswith("-i") for word in words)):
            writes += files[-1:]
    # Through a pipe only a part arrives, and `>>` or `sed -i` change only a part.
    partial = partial or "|" in command or ">>" in command or "sed -i" in command
    return Touched(reads=tuple(dict.fromkeys(reads)), writes=tuple(dict.fromkeys(writes)), partial=partial)


def _patched(patch: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_PATCHED.findall(patch.replace("\\n", "\n"))))


def _commands(command: str) -> Iterator[list[str]]:
    try:
        words = shlex.split(command.split("\n", 1)[0], comments=False)
    except ValueError:
        return
    current: list[str] = []
    for word in words:
        if word in _SEPARATORS or word.endswith(";"):
            if word.endswith(";") and word != ";":
                current.append(word[:-1])
            if current:
                yield current
            current = []
        else:
            current.append(word)
    if current:
        yield current


def _program(command: str) -> str:
    """The program a command line is about, with its subcommand: "pytest", "git push", "go test"."""
    for words in _commands(command[:_MAX_COMMAND]):
        rest = [word for word in words if word not in _PREFIXES and "=" not in word]
        if words[0] == "cd" or not rest:
            continue
        plain = [word for word in rest[:2] if not word.startswith(("-", "/", "."))]
        return " ".join(plain or rest[:1])
    return command[:_MAX_ATTEMPT]
