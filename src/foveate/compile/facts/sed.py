"""sed: the scripts of `sed -i` that are plain enough to be applied to a text."""

from __future__ import annotations

import re
from typing import Final

from foveate.compile.facts.actions import Action, DeleteLines, MayWrite, SubstituteLines

_ADDRESS: Final = re.compile(r"(\d{1,9})(?:,(\d{1,9}))?")
_SPECIAL: Final = frozenset(".*[]^$")
_EXTENDED: Final = frozenset(".*[]^$+?(){}|")


def sed_actions(script: str, path: str, *, extended: bool) -> tuple[Action, ...]:
    """What a script of `sed -i` does to a file; that it may have written it, where it is cleverer than that."""
    address = _ADDRESS.match(script)
    first = int(address.group(1)) if address is not None else None
    last = int(address.group(2) or address.group(1)) if address is not None else None
    command = script[address.end() :] if address is not None else script
    if first is not None and last is not None and command in ("d", "d;"):
        return (DeleteLines(path, first, last),)
    substituted = _substitution(command, extended=extended)
    if substituted is None:
        return (MayWrite(path),)
    old, new, all_in_line = substituted
    return (SubstituteLines(path, old, new, all_in_line, first, last),)


def _substitution(command: str, *, extended: bool) -> tuple[str, str, bool] | None:
    """The texts of `s/old/new/g`, if the pattern stands for itself."""
    if len(command) < 4 or command[0] != "s" or command[1].isalnum() or command[1] in "\\\n":
        return None
    delimiter = command[1]
    fields: list[list[str]] = [[]]
    rest = iter(command[2:])
    for character in rest:
        if character == "\\":
            fields[-1].append("\\" + next(rest, ""))
        elif character == delimiter and len(fields) < 3:
            fields.append([])
        else:
            fields[-1].append(character)
    if len(fields) != 3 or "".join(fields[2]) not in ("", "g"):
        return None
    old = _literal(fields[0], delimiter, extended=extended)
    new = _replacement(fields[1], delimiter)
    return (old, new, fields[2] == ["g"]) if old and new is not None and "\n" not in old else None


def _literal(characters: list[str], delimiter: str, *, extended: bool) -> str | None:
    special = _EXTENDED if extended else _SPECIAL
    found: list[str] = []
    for one in characters:
        if len(one) == 2:
            if one[1] == "n":
                found.append("\n")
            elif one[1] in special or one[1] in ("\\", delimiter, "/"):
                found.append(one[1])
            else:
                # Of what else is escaped, half is special only then.
                return None
        elif one in special or one == "\\":
            return None
        else:
            found.append(one)
    return "".join(found)


def _replacement(characters: list[str], delimiter: str) -> str | None:
    found: list[str] = []
    for one in characters:
        if len(one) == 2:
            # A tab is one for GNU alone, and a line break is one for GNU alone.
            if one[1] not in ("&", "\\", delimiter, "/", '"', "'"):
                return None
            found.append(one[1])
        elif one in ("&", "\\", "\n"):
            return None
        else:
            found.append(one)
    return "".join(found)
