"""Access: how a SQLite file can be opened by this process, to write or only to read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import quote

from foveate.errors import StoreError
from foveate.private_files import create_private_file, make_private_folder

# Where the header of a SQLite file says that it has a write-ahead log.
_WAL_MARK: Final = slice(18, 20)
_WAL: Final = b"\x02\x02"

Mode = Literal["write", "read", "frozen"]
"""`read` takes part in the locking of SQLite; `frozen` does not, for files that nobody is writing."""


class Access(NamedTuple):
    """How a file is opened, and why no better."""

    path: Path
    mode: Mode
    reason: str = ""

    @property
    def uri(self) -> str:
        """The file as an address for SQLite."""
        options = {"write": "mode=rw", "read": "mode=ro", "frozen": "mode=ro&immutable=1"}[self.mode]
        return f"file:{quote(str(self.path.absolute()))}?{options}"

    def refusal(self) -> str:
        """Why nothing can be written, and what to do about it."""
        return (
            f"store {str(self.path)!r} can only be read: {self.reason}; change its permissions or name another "
            "`store`, such as a copy in a folder that can be written"
        )


class Fingerprint(NamedTuple):
    """What changes when another process writes a file that was opened as frozen."""

    inode: int
    size: int
    modified: int
    pending: bool


def create_store_file(path: Path) -> None:
    """Create an empty SQLite file for its owner alone, and its folder; SQLite gives its other files the same mode."""
    make_private_folder(path.parent)
    try:
        create_private_file(path).close()
    except FileExistsError:
        # It was there, or another process was first.
        return


def access_to(path: Path) -> Access:
    """How an existing file can be opened.

    Raises:
        StoreError: it cannot be read, or only part of what was written to it could be.

    """
    if not os.access(path, os.R_OK):
        raise StoreError(f"store {str(path)!r} cannot be read by this user; change its permissions")
    wal, shm = _beside(path, "-wal"), _beside(path, "-shm")
    shared = wal.exists() and shm.exists()
    folder_writable = os.access(path.parent, os.W_OK)
    if os.access(path, os.W_OK):
        if folder_writable or (shared and os.access(wal, os.W_OK) and os.access(shm, os.W_OK)):
            return Access(path, "write")
        reason = f"files cannot be made in its folder {str(path.absolute().parent)!r}, and SQLite needs two there"
    else:
        reason = "its permissions or its file system do not let this user write it"
    if folder_writable or shared or not _has_wal(path):
        return Access(path, "read", reason)
    if _is_pending(path):
        raise StoreError(
            f"store {str(path)!r} has changes in {wal.name!r} that SQLite cannot take in, because {reason}; copy both "
            "files to a folder that can be written, and open the copy"
        )
    return Access(path, "frozen", reason)


def fingerprint_of(path: Path) -> Fingerprint:
    """The state of a file, to be compared later."""
    found = path.stat()
    return Fingerprint(found.st_ino, found.st_size, found.st_mtime_ns, _is_pending(path))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _is_pending(path: Path) -> bool:
    """Whether a log or a journal beside a file has something that belongs into it."""
    beside = (_beside(path, "-wal"), _beside(path, "-journal"))
    return any(one.exists() and one.stat().st_size > 0 for one in beside)


def _has_wal(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_WAL_MARK.stop)[_WAL_MARK] == _WAL
