"""Patches: the changes of files in `apply_patch` envelopes and unified diffs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

MAX_PATCH: Final = 1_000_000
_FILE: Final = re.compile(r"\*\*\* (Add|Update|Delete) File: (.*)")
_MOVE: Final = re.compile(r"\*\*\* Move to: (.*)")
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OLD_NAME: Final = re.compile(r"--- (?:a/)?([^\t]*)")
_NEW_NAME: Final = re.compile(r"\+\+\+ (?:b/)?([^\t]*)")
_RENAMED: Final = re.compile(r"rename (from|to) (.*)")

Kind = Literal["add", "update", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines before and after; line numbers where the patch has them, `complete` if it has all that it announces.

    `header` is a line of the file that the change stands behind.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    old_start: int | None = None
    new_start: int | None = None
    complete: bool = True
    header: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """What a patch does to one file."""

    path: str
    kind: Kind
    hunks: tuple[Hunk, ...] = ()
    moved_to: str | None = None


def parse_envelope(text: str) -> tuple[FilePatch, ...]:
    """The files of an `apply_patch` envelope; empty if there is none."""
    begin = text.find("*** Begin Patch")
    if begin < 0 or len(text) > MAX_PATCH:
        return ()
    found: list[FilePatch] = []
    lines: list[str] = []
    kind, path, moved = "", "", ""
    for line in text[begin:].split("\n"):
        named = _FILE.match(line)
        if named is not None or line.startswith("*** End Patch"):
            if path:
                found.append(_enveloped(kind, path, moved, lines))
            if named is None:
                break
            kind, path, moved, lines = named.group(1), named.group(2).strip(), "", []
        elif line.startswith("*** Move to: "):
            move = _MOVE.match(line)
            moved = move.group(1).strip() if move is not None else ""
        elif path and not line.startswith("*** "):
            lines.append(line)
    return tuple(found)


def _enveloped(kind: str, path: str, moved: str, lines: list[str]) -> FilePatch:
    match kind:
        case "Delete":
            return FilePatch(path=path, kind="delete")
        case "Add":
            new = tuple(line[1:] for line in lines if line.startswith("+"))
            return FilePatch(path=path, kind="add", hunks=(Hunk(old=(), new=new),))
        case _:
            return FilePatch(path=path, kind="update", hunks=tuple(_open_hunks(lines)), moved_to=moved or None)


def _open_hunks(lines: list[str]) -> Iterator[Hunk]:
    """Hunks that announce no numbers: each goes on to the next `@@`."""
    old: list[str] = []
    new: list[str] = []
    header = ""
    for line in [*lines, "@@"]:
        if line.startswith("@@"):
            if old or new:
                yield Hunk(old=tuple(old), new=tuple(new), header=header)
            old, new, header = [], [], line[2:].strip()
            continue
        if line[:1] in ("-", " ", ""):
            old.append(line[1:])
        if line[:1] in ("+", " ", ""):
            new.append(line[1:])


def parse_unified(text: str) -> tuple[FilePatch, ...]:
    """The files of a unified diff, wherever it begins in a text; hunks that were cut off are marked."""
    if len(text) > MAX_PATCH or "@@ -" not in text:
        return ()
    found: list[FilePatch] = []
    hunks: list[Hunk] = []
    old_name = new_name = ""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("--- "):
            if new_name and hunks:
                found.append(_unified(old_name, new_name, hunks))
            old_name, new_name, hunks = _named(_OLD_NAME, line), "", []
        elif line.startswith("+++ "):
            new_name = _named(_NEW_NAME, line)
        elif new_name and line.startswith("@@ -"):
            header = _HUNK.match(line)
            if header is not None:
                hunk, at = _numbered_hunk(header, lines, at)
                hunks.append(hunk)
    if new_name and hunks:
        found.append(_unified(old_name, new_name, hunks))
    return tuple(found)


def _named(pattern: re.Pattern[str], line: str) -> str:
    found = pattern.match(line)
    return found.group(1).strip().strip('"') if found is not None else ""


def _unified(old_name: str, new_name: str, hunks: list[Hunk]) -> FilePatch:
    if new_name == "/dev/null":
        return FilePatch(path=old_name, kind="delete", hunks=tuple(hunks))
    kind: Kind = "add" if old_name == "/dev/null" else "update"
    return FilePatch(path=new_name, kind=kind, hunks=tuple(hunks))


def _numbered_hunk(header: re.Match[str], lines: list[str], at: int) -> tuple[Hunk, int]:
    """The hunk behind a header, as many lines as it announces, and where it ends."""
    # A count of more digits than these is nobody's.
    old_start, old_count, new_start, new_count = (int(one[:9]) if one else 1 for one in header.groups())
    old: list[str] = []
    new: list[str] = []
    while at < len(lines) and (len(old) < old_count or len(new) < new_count):
        mark, text = lines[at][:1], lines[at][1:]
        if mark not in ("-", "+", " ", "", "\\"):
            break
        if mark in ("-", " ", "") and len(old) < old_count:
            old.append(text)
        if mark in ("+", " ", "") and len(new) < new_count:
            new.append(text)
        at += 1
    complete = len(old) == old_count and len(new) == new_count
    hunk = Hunk(old=tuple(old), new=tuple(new), old_start=old_start, new_start=new_start, complete=complete)
    return hunk, at


def renamed_in(text: str) -> tuple[tuple[str, str], ...]:
    """The renames that a git diff names."""
    found: list[tuple[str, str]] = []
    source = ""
    for line in text.split("\n") if "rename to " in text else ():
        rename = _RENAMED.match(line)
        if rename is not None and rename.group(1) == "from":
            source = rename.group(2)
        elif rename is not None:
            found.append((source, rename.group(2)))
    return tuple(found)
