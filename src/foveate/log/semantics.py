"""What tools read and write: one table, extendable by the user.

Only tools declared here can retire an earlier read or settle an earlier error; nothing is guessed from a tool's name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import msgspec

from foveate.errors import ConfigError
from foveate.log.messages import Access, DeclaredTool, MessageMeta, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSemantics:
    """How a tool touches resources.

    `resource` names the arguments that hold the resource (the first present one counts); `ranged` names arguments that,
    when present, make a read partial.
    """

    access: Access
    resource: tuple[str, ...] = ("path", "file_path", "filename", "file")
    ranged: tuple[str, ...] = (
        "offset", "limit", "view_range", "start_line", "end_line", "first_line", "last_line", "line_range",
        "head", "tail",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.access not in get_args(Access):
            raise ConfigError(f"`access` of a tool is one of {', '.join(get_args(Access))}, got {self.access!r}")
        given: tuple[tuple[str, object], ...] = (("resource", self.resource), ("ranged", self.ranged))
        for option, names in given:
            # A text is a sequence of its letters, none of which is an argument.
            if isinstance(names, str):
                raise ConfigError(f"`{option}` of a tool are names of arguments, got {names!r}; give ({names!r},)")


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
        "search": _SEARCH,
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

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.*\S)[^\S\n]*+$", re.MULTILINE)
# A word of a command line with its quoted parts, or an operator; the standard library's splitter reads it character by
# character, which for every call of every log is too slow.
_QUOTED = re.compile(r"""\"(?:\\.|[^\"\\])*\"|'[^']*'""")
_WORD = re.compile(r"""(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s\"'|;&<>\\])+|&&|\|\||>>|>&|<<<?|[|;&<>]|[\"'\\]""")
_SEPARATORS = frozenset({"&&", "||", ";", "|", "&", "|&"})
_MAX_COMMAND = 4_000
_MAX_ATTEMPT = 120
_PREFIXES = frozenset(
    {"export", "set", "source", "sudo", "env", "timeout", "bash", "sh", "-lc", "-c", "time", "uv", "run"}
)


def declared_tools(names: Iterable[str], tools: Mapping[str, ToolSemantics]) -> dict[str, DeclaredTool]:
    """What to record of tools with a message: nothing of those that mean what the built-in table says."""
    found: dict[str, DeclaredTool] = {}
    for name in names:
        semantics = tools.get(name)
        if semantics == TOOLS.get(name):
            continue
        found[name] = (
            DeclaredTool()
            if semantics is None
            else DeclaredTool(access=semantics.access, resource=tuple(semantics.resource))
        )
    return found


def recorded_semantics(name: str | None, meta: MessageMeta) -> ToolSemantics | None:
    """How a tool was declared when a message was recorded that calls or answers it; None if it was not."""
    declared = meta.declared.get(name or "")
    if declared is None:
        return TOOLS.get(name or "")
    return ToolSemantics(access=declared.access, resource=declared.resource) if declared.access is not None else None


class Understood(NamedTuple):
    """What a call does, by the declared semantics of its tool."""

    touched: Touched
    attempt: str
    access: Access | None


def understood(call: ToolCall, tools: Mapping[str, ToolSemantics] = TOOLS) -> Understood:
    """The resources a call touches, and what it tries to do: calls of one tool on one resource try the same."""
    semantics = tools.get(call.name)
    if semantics is None:
        return Understood(Touched(), f"{call.name} {call.arguments[:_MAX_ATTEMPT]}", None)
    arguments = parsed_arguments(call)
    value = next((arguments[name] for name in semantics.resource if arguments.get(name)), None)
    if semantics.access == "shell":
        command = " ".join(map(str, value)) if isinstance(value, list) else str(value or "")
        commands = list(_commands(command)) if len(command) <= _MAX_COMMAND else []
        return Understood(_shell(command, commands), f"{call.name} {_attempt(command, commands)}", "shell")
    touched = _declared(semantics, value, arguments, call)
    named = touched.writes or touched.reads
    about = named[0] if named else call.arguments[:_MAX_ATTEMPT]
    return Understood(touched, f"{call.name} {about}", semantics.access)


def parsed_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as a mapping; text that is no JSON object is found under `input`."""
    try:
        value = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, RecursionError):
        return {"input": call.arguments}
    return value if isinstance(value, dict) else {"input": value}


def argument_texts(arguments: str) -> str:
    """The words in the arguments of a call, without the names of the arguments; as they are if they are no JSON."""
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments
    return "\n".join(_leaves(value, 0))


def _leaves(value: object, depth: int) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict() if depth < 8:
            for one in value.values():
                yield from _leaves(one, depth + 1)
        case list() if depth < 8:
            for one in value:
                yield from _leaves(one, depth + 1)
        case _:
            return


def _declared(semantics: ToolSemantics, value: Any, arguments: dict[str, Any], call: ToolCall) -> Touched:
    match semantics.access:
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


def _shell(command: str, commands: list[list[str]]) -> Touched:
    """Files that the plain verbs of a command line read or write; anything cleverer is left alone."""
    patched = _patched(command) if "*** " in command else ()
    if patched:
        return Touched(writes=patched, partial=True)
    folder, reads, writes = "", [], []
    partial = "|" in command
    for words in commands:
        plain, targets, appends = _redirected(words)
        verb, files = (plain[0] if plain else ""), [word for word in plain[1:] if not word.startswith("-")]
        partial = partial or appends or verb in {"head", "tail", "sed"}
        writes += [posixpath.join(folder, target) for target in targets if not target.startswith("/dev/")]
        if verb == "cd":
            folder = posixpath.join(folder, files[0]) if files else folder
        elif verb == "cat" and not targets and "<<" not in command:
            reads += [posixpath.join(folder, file) for file in files]
        elif (verb in {"head", "tail"} or (verb == "sed" and "-n" in plain)) and not targets:
            reads += [posixpath.join(folder, file) for file in files[-1:]]
        elif verb == "tee" or (verb == "sed" and any(word.startswith("-i") for word in plain)):
            writes += [posixpath.join(folder, file) for file in files[-1:]]
    return Touched(tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes)), partial)


def _redirected(words: list[str]) -> tuple[list[str], list[str], bool]:
    """The words of a command without its redirections, the files it writes to, and whether it only appends."""
    plain: list[str] = []
    targets: list[str] = []
    appends = False
    rest = iter(words)
    for word in rest:
        if word.strip("0123456789&") in {">", ">>", "<", ">|", "<<", "<<<"}:
            target = next(rest, "")
            if ">" in word and plain[-1:] not in (["1"], ["2"]):
                targets.append(target)
                appends = appends or word == ">>"
            elif plain[-1:] in (["1"], ["2"]):
                plain.pop()
        else:
            plain.append(word)
    return plain, targets, appends


def _patched(patch: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_PATCHED.findall(patch.replace("\\n", "\n"))))


def _commands(command: str) -> Iterator[list[str]]:
    """The commands of the first line; quotes protect what is in them."""
    words: list[str] = _WORD.findall(command.split("\n", 1)[0])
    if '"' in words or "'" in words:
        # A quote that nothing closes: whatever this is, it is no plain command.
        return
    current: list[str] = []
    for pieces in words:
        if pieces in _SEPARATORS:
            if current:
                yield current
            current = []
        else:
            current.append(_QUOTED.sub(_unquoted, pieces) if '"' in pieces or "'" in pieces else pieces)
    if current:
        yield current


def _unquoted(quoted: re.Match[str]) -> str:
    return quoted.group()[1:-1]


def _attempt(command: str, commands: list[list[str]]) -> str:
    """The program a command line is about, its subcommand and the paths it names: "pytest tests/a.py", "git push"."""
    for words in commands:
        plain = [word for word in _redirected(words)[0] if word not in _PREFIXES and "=" not in word]
        if not plain or plain[0] == "cd":
            continue
        if "-m" in plain[:-1] and plain[0].startswith("python"):
            plain = plain[plain.index("-m") + 1 :]
        named = [word for word in plain[1:] if not word.startswith("-") and " " not in word]
        paths = [word for word in named[1:] if "/" in word or "." in word]
        return " ".join([plain[0], *named[:1], *paths])[:_MAX_ATTEMPT]
    return command[:_MAX_ATTEMPT]
