"""Code view: pieces of files as they are known at a point of a log."""

from __future__ import annotations

from dataclasses import dataclass

from foveate.compile.facts.known_files import Doubt, FileChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Lines that stand together in a file, as they are known.

    `start` is the number of the first line, if known; `sources` are the ids of the messages that they come from, the
    newest last; `whole` if they are all of the file. `doubt` says what may have written them since: nothing that the
    log knows of, the user between two turns, or a command.
    """

    path: str
    start: int | None
    lines: tuple[str, ...]
    doubt: Doubt
    sources: tuple[str, ...]
    whole: bool = False

    @property
    def current(self) -> bool:
        """Whether the log proves that they stand so now."""
        return self.doubt == "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDiff:
    """The newest diff that the agent looked at; `of_tree` if it shows the files as they were then."""

    message_id: str
    order: int
    command: str
    text: str
    of_tree: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeView:
    """What is known of code at a point of a log: pieces of the file used last come last."""

    pieces: tuple[Piece, ...] = ()
    changes: tuple[FileChange, ...] = ()
    diff: ShownDiff | None = None

    def of(self, path: str) -> tuple[Piece, ...]:
        """The pieces of one file."""
        return tuple(piece for piece in self.pieces if piece.path == path)
