"""Directives: the lines with `@` at the start of a step, and what each may say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from foveate.scripts.dates import PATTERNS, unknown_patterns
from foveate.scripts.script import Cache, Input, Output, Runs, Scope, Tools, WriteMode
from foveate.workflow.files import shortened

_LINE: Final = re.compile(r"@([A-Za-z][\w-]*):?(?:[ \t]+(.*)|[ \t]*)")
_VARIABLE: Final = re.compile(r"[\w-]+")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_FLAGS: Final = ("required", "refs_only", "properties")
_SCOPES: Final = "scope=run and scope=session"
# A century; nobody waits longer, and no sum of it and a time is too large.
_LONGEST: Final = 100 * 366 * 86_400
_MOST: Final = 1_000_000


class Directive(NamedTuple):
    """How the value of a directive is read, what it must be, and whether a step may have several."""

    read: Callable[[str], Any]
    must_be: str
    repeated: bool = False


class WrongError(ValueError):
    """A value is not what it must be, for a reason of its own."""


def directive_in(line: str) -> tuple[str, str] | None:
    """The name and the value of a directive, if a line is one."""
    found = _LINE.fullmatch(line.strip(" \t"))
    if found is None:
        return None
    name = found.group(1).lower()
    dashed, joined = name.replace("_", "-"), name.replace("-", "_")
    return next((one for one in (dashed, joined) if one in DIRECTIVES), found.group(1)), (found.group(2) or "").strip()


def _text(value: str) -> str:
    if not value:
        raise ValueError
    return value


def _input(value: str) -> Input:
    value, options = _parted(value, _input_option, f"{', '.join(_FLAGS)}, head=LINES, {_SCOPES}")
    kind, _, name = value.partition(":")
    match kind.strip():
        case "file":
            if "scope" in options:
                raise WrongError("a `scope` is that of a variable, and a file has none")
            return Input(kind="file", name=_path(name), **options)
        case "variable":
            if "properties" in options:
                raise WrongError("`properties` are those of a file, and a variable has none")
            return Input(kind="variable", name=_variable(name), **options)
        case _:
            raise ValueError


def _parted(value: str, read: Callable[[str, str], dict[str, Any] | None], known: str) -> tuple[str, dict[str, Any]]:
    """A value without the options in parentheses behind it, and those."""
    options: dict[str, Any] = {}
    if value.endswith(")"):
        value, _, said = value[:-1].rpartition("(")
        for option in filter(None, (one.strip() for one in said.split(","))):
            name, _, given = option.partition("=")
            found = read(name.strip().replace("-", "_"), given.strip())
            if found is None:
                raise WrongError(f"the option {shortened(option)} is not known; known are {known}")
            options |= found
    return value, options


def _input_option(name: str, value: str) -> dict[str, Any] | None:
    if name in _FLAGS and not value:
        return {name: True}
    if name != "head":
        return _output_option(name, value)
    try:
        return {"head": _number(value, least=1)}
    except ValueError:
        raise WrongError(f"`head` must be a number of lines, 1 or more, got {shortened(value)}") from None


def _output_option(name: str, value: str) -> dict[str, Any] | None:
    known: dict[str, Scope] = {"run": "run", "session": "session"}
    return {"scope": known[value.lower()]} if name == "scope" and value.lower() in known else None


def _output(value: str) -> Output:
    kind, _, name = value.partition(":")
    match kind.strip():
        case "context" if not name:
            return Output(kind="context")
        case "file":
            return Output(kind="file", name=_path(name))
        case "variable":
            name, options = _parted(name, _output_option, _SCOPES)
            return Output(kind="variable", name=_variable(name), **options)
        case _:
            raise ValueError


def _path(name: str) -> str:
    name = name.strip()
    path = PurePosixPath(name)
    if not name or "\0" in name or path.name in ("", ".."):
        raise ValueError
    if path.is_absolute() or ".." in path.parts:
        raise WrongError(f"{shortened(name)} leads out of the vault; give a path inside it")
    return _header(path.as_posix())


def _header(value: str) -> str:
    if unknown := unknown_patterns(_text(value)):
        known = ", ".join(f"{{{one}}}" for one in PATTERNS)
        raise WrongError(f"{{{unknown[0][:100]}}} is no date; known are {known}")
    return value


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name.strip()):
        raise WrongError(f"{shortened(name.strip())} is no name of a variable; use letters, digits, - and _")
    return name.strip()


def _tools(value: str) -> tuple[Tools, ...]:
    known: dict[str, Tools] = {"vault": "vault", "recall": "recall"}
    names = re.split(r"[\s,]+", value.lower())
    if names == ["none"]:
        return ()
    return tuple(dict.fromkeys(known[name] for name in names))


def _runs(value: str) -> Runs:
    return "all" if value.lower() == "all" else _number(value)


def _number(value: str, *, least: int = 0) -> int:
    value = value.strip()
    if not value.isascii() or not value.isdecimal() or len(value) > 9 or not least <= int(value) <= _MOST:
        raise ValueError
    return int(value)


def _cache(value: str) -> Cache | None:
    words: dict[str, Cache | None] = {"session": "session", "daily": "daily", "weekly": "weekly", "none": None}
    said = value.lower()
    if said in words:
        return words[said]
    seconds = _number(said[:-1], least=1) * _SECONDS[said[-1:]]
    if seconds > _LONGEST:
        raise ValueError
    return seconds


def _write_mode(value: str) -> WriteMode:
    known: dict[str, WriteMode] = {"append": "append", "replace": "replace", "new": "new"}
    return known[value.lower()]


DIRECTIVES: Final[Mapping[str, Directive]] = {
    "model": Directive(_text, "a model's name, an alias, or none"),
    "context-helper": Directive(_text, "the name of a template"),
    "input": Directive(_input, "file:PATH or variable:NAME, with options in parentheses behind it", repeated=True),
    "output": Directive(_output, "context, variable:NAME or file:PATH", repeated=True),
    "tools": Directive(_tools, "none, vault, recall, or vault, recall"),
    "recent_runs": Directive(_runs, "a number of runs, 0 for none, or all"),
    "cache": Directive(_cache, "session, daily, weekly, none, or a time such as 30s, 10m, 2h, 1d"),
    "header": Directive(_header, "the text of a heading"),
    "write_mode": Directive(_write_mode, "append, replace or new"),
}
