"""Actions: what a tool call does to files and shows of them, the same for every agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from foveate.compile.facts.patches import FilePatch

EVERYTHING: Final = ""


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A file gets a text, or lines at its end."""

    path: str
    text: str
    append: bool = False


@dataclass(frozen=True, slots=True)
class EditText:
    """A text in a file is replaced: once, or wherever it stands."""

    path: str
    old: str
    new: str
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class InsertLines:
    """Lines are put in behind a line."""

    path: str
    after: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubstituteLines:
    """`sed` replaces a literal text in each line, or in the lines from `first` to `last`."""

    path: str
    old: str
    new: str
    all_in_line: bool = False
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteLines:
    """`sed` deletes lines by their numbers."""

    path: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PatchFile:
    """A patch is applied to a file."""

    patch: FilePatch


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file is removed."""

    path: str


@dataclass(frozen=True, slots=True)
class MoveFile:
    """A file gets another path."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class MayWrite:
    """A file, or all below a folder, or everything may have another text now."""

    path: str = EVERYTHING


@dataclass(frozen=True, slots=True)
class RunCode:
    """A program runs that leaves sources alone, but may write what is generated: lock files, snapshots, builds."""


@dataclass(frozen=True, slots=True)
class RunScript:
    """A script runs that the agent may have written itself: what it does is read from its text, if that is known."""

    path: str


@dataclass(frozen=True, slots=True)
class Confirm:
    """A tool that refuses to touch a file that changed since it was seen has found it unchanged."""

    path: str


@dataclass(frozen=True, slots=True)
class ShowLines:
    """Output shows lines of a file.

    `ranges` are the first and last lines asked for, none for the whole file; `from_end` if they are its last ones;
    `numbered` if each has its number in front; `matches` if they may be any lines of it; `altered` if the tool takes
    what stands before a colon for a path, and tidies it.
    """

    path: str
    ranges: tuple[tuple[int, int | None], ...] = ()
    numbered: bool = False
    from_end: bool = False
    matches: bool = False
    altered: bool = False


@dataclass(frozen=True, slots=True)
class ShowMatches:
    """Output shows lines of several files, each with its path and number; `altered` as above."""

    folder: str = ""
    altered: bool = False


@dataclass(frozen=True, slots=True)
class ShowDiff:
    """Output is a unified diff; `of_tree` if its new side is what the files have now."""

    folder: str
    of_tree: bool
    command: str = ""


@dataclass(frozen=True, slots=True)
class Print:
    """Output is a known line, such as those that agents put between two files."""

    text: str


Action = (
    WriteFile
    | EditText
    | InsertLines
    | SubstituteLines
    | DeleteLines
    | PatchFile
    | DeleteFile
    | MoveFile
    | MayWrite
    | RunCode
    | RunScript
    | Confirm
    | ShowLines
    | ShowMatches
    | ShowDiff
    | Print
)
Shown = ShowLines | ShowMatches | ShowDiff | Print
