"""The files of held events of one session.

The first line says whose events follow; each line after it is one append, all of it or nothing, with the id that its
rows will have in the store. A line that is damaged is put aside, and no other with it. One file is for all, and changes
only under the lock of the session. An append whose process did not get that lock in time is a file of its own, which
appears whole and is never changed.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from foveate.errors import LogError, StoreError
from foveate.store.held_lines import (
    Batch,
    Damaged,
    Header,
    any_header,
    decoded_header,
    decoded_line,
    encoded_header,
    encoded_line,
)

SUFFIX: Final = ".jsonl"
DAMAGED: Final = ".damaged"
_FOLDER_SUFFIX: Final = ".held"
_logger: Final = logging.getLogger("foveate")
_told_unreadable: Final[set[Path]] = set()


class Aside(NamedTuple):
    """Lines that could not be read, and the file that they were put in."""

    path: Path
    lines: list[Damaged]


class _Content(NamedTuple):
    batches: list[Batch]
    replaced: set[int]
    damaged: list[Damaged]


class HeldFiles:
    """What waits of one session on disk."""

    def __init__(self, folder: Path, session_id: str) -> None:
        self.folder = folder
        self.session_id = session_id
        self.name = file_name(session_id)
        self.path = folder / f"{self.name}{SUFFIX}"
        self._series = (os.getpid(), secrets.token_hex(4))
        self._count = 0

    def paths(self) -> list[Path]:
        """The files there are: that of all, and behind it those of one append each."""
        mine = [path for path in held_paths(self.folder) if path.name.startswith(f"{self.name}.")]
        return sorted(mine, key=lambda path: (path != self.path, path.name))

    def is_empty(self) -> bool:
        """Whether nothing waits; a file without a whole first line holds nothing."""
        return not any(path != self.path or header_of(path) is not _NOTHING for path in self.paths())

    def read(self) -> list[Batch]:
        """All that waits and can be read, each series of appends together, in the order of their numbers."""
        contents = [self._content(path) for path in self.paths()]
        replaced = {one for content in contents for one in content.replaced}
        return [batch for content in contents for batch in content.batches if batch.id not in replaced]

    def add(self, batches: Sequence[Batch], vault: str) -> None:
        """Add appends to the file of all, on disk when this returns; an `OSError` if nothing was added."""
        make_held_folder(self.folder)
        with opened(self.path, os.O_RDWR | os.O_CREAT) as descriptor:
            whole = _whole_lines(descriptor)
            os.ftruncate(descriptor, whole)
            os.lseek(descriptor, whole, os.SEEK_SET)
            try:
                _write_all(descriptor, b"".join([*([] if whole else [self._header(vault)]), *map(self._line, batches)]))
                os.fsync(descriptor)
            except OSError:
                # Nothing by half, and no file at all of which there is nothing.
                os.ftruncate(descriptor, whole)
                if not whole:
                    self.path.unlink()
                raise
        if not whole:
            _sync_folder(self.folder)

    def add_apart(self, batch: Batch, vault: str) -> Path:
        """Keep an append in a file of its own, for which no lock is needed; an `OSError` if it was not kept."""
        make_held_folder(self.folder)
        if self._series[0] != os.getpid():
            self._series, self._count = (os.getpid(), secrets.token_hex(4)), 0
        self._count += 1
        path = self.folder / f"{self.name}.{self._series[0]}-{self._series[1]}-{self._count:06}{SUFFIX}"
        self._write_whole(path, [self._line(batch)], vault)
        return path

    def replace(self, old: Collection[int], new: Sequence[Batch], vault: str) -> None:
        """Have `new` wait instead of the batches with the ids `old`, all or none; an `OSError` if none."""
        contents = {path: self._content(path) for path in self.paths()}
        shared = contents.get(self.path, _Content([], set(), []))
        elsewhere = set(old) - {batch.id for batch in shared.batches} | shared.replaced
        left = [batch for batch in shared.batches if batch.id not in old]
        lines = [self._line(batch, elsewhere if number == 0 else ()) for number, batch in enumerate([*new, *left])]
        make_held_folder(self.folder)
        self._write_whole(self.path, [*lines, *_raw(shared.damaged)], vault)
        self._remove_apart(contents, old)

    def remove(self, ids: Collection[int], vault: str) -> None:
        """Forget the batches with these ids; an `OSError` if some could not be."""
        contents = {path: self._content(path) for path in self.paths()}
        if self.path not in contents:
            self._remove_apart(contents, ids)
            return
        shared = contents[self.path]
        self._remove_apart(contents, {*ids, *shared.replaced})
        left = [batch for batch in shared.batches if batch.id not in ids]
        if (left or shared.damaged) and len(left) < len(shared.batches):
            self._write_whole(self.path, [*map(self._line, left), *_raw(shared.damaged)], vault)
        elif not left and not shared.damaged:
            self.path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget all of it."""
        for path in self.paths():
            path.unlink(missing_ok=True)

    def set_aside_unreadable(self) -> None:
        """Put away files that cannot be read at all, so that they are in nobody's way and nothing of them is lost."""
        for path in self.paths():
            try:
                self._content(path)
            except StoreError as error:
                _logger.warning("session %r: %s; the file was put aside", self.session_id, error)
                path.replace(_aside(path))

    def has_damage(self) -> bool:
        """Whether some line cannot be read."""
        return any(self._content(path).damaged for path in self.paths())

    def set_aside_damaged(self, note: Callable[[list[Aside]], Batch], vault: str) -> None:
        """Put away lines that cannot be read, and have what `note` makes of them wait behind those that can.

        What is put away is on disk before it is taken out of its file, and the note takes its place there, so that
        nobody who is killed in between loses either.
        """
        contents = {path: self._content(path) for path in self.paths()}
        damaged = {path: content for path, content in contents.items() if content.damaged}
        aside = [Aside(_aside(path), content.damaged) for path, content in damaged.items()]
        for path, lines in aside:
            _write_file(path, [self._header(vault), *_raw(lines)])
        shared = contents.get(self.path, _Content([], set(), []))
        apart = [batch for path, content in damaged.items() if path != self.path for batch in content.batches]
        waiting = [*shared.batches, *apart, note(aside)]
        lines_left = [self._line(batch, shared.replaced if not place else ()) for place, batch in enumerate(waiting)]
        self._write_whole(self.path, lines_left, vault)
        for path in damaged:
            if path != self.path:
                path.unlink(missing_ok=True)

    def _remove_apart(self, contents: dict[Path, _Content], ids: Collection[int]) -> None:
        for path, content in contents.items():
            if path != self.path and all(batch.id in ids for batch in content.batches):
                path.unlink(missing_ok=True)

    def _write_whole(self, path: Path, lines: Iterable[bytes], vault: str) -> None:
        _write_file(path, [self._header(vault), *lines])

    def _content(self, path: Path) -> _Content:
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return _Content([], set(), [])
        except OSError as error:
            raise StoreError(f"held events in {path} cannot be read: {error}; check its permissions") from error
        content = _Content([], set(), [])
        if len(lines) == 1:
            # Its process was killed before the first line was whole: nothing was acknowledged.
            return content
        try:
            decoded_header(lines[0], self.session_id)
        except LogError as error:
            # Each line says itself whose it is.
            content.damaged.append(Damaged(1, lines[0], str(error)))
        for number, line in enumerate(lines[1:-1], start=2):
            found = decoded_line(self.session_id, number, line)
            if isinstance(found, Damaged):
                content.damaged.append(found)
            else:
                content.batches.append(found.batch)
                content.replaced.update(found.replaces)
        return content

    def _header(self, vault: str) -> bytes:
        return encoded_header(self.session_id, vault)

    def _line(self, batch: Batch, replaces: Collection[int] = ()) -> bytes:
        return encoded_line(self.session_id, batch, replaces)


def file_name(session_id: str) -> str:
    """What the names of a session's files begin with."""
    return sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def held_paths(folder: Path | None, suffix: str = SUFFIX) -> list[Path]:
    """The files in a folder of held events; none, if this user cannot look into it, which is logged."""
    if folder is None:
        return []
    try:
        with os.scandir(folder) as entries:
            return sorted(folder / entry.name for entry in entries if entry.name.endswith(suffix))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        if folder not in _told_unreadable:
            _told_unreadable.add(folder)
            _logger.warning("%s; what other users hold there is not seen", refused(folder, error))
        return []


def refused(folder: Path, error: OSError) -> str:
    """Why nothing can be held in a folder, and what to do about it."""
    return f"the folder {folder} of held events cannot be used by this user ({error.strerror}); change its owner"


def header_of(path: Path) -> Header | str:
    """Whose events are in a file; else why nobody's are."""
    try:
        with path.open("rb") as file:
            line = file.readline()
        return any_header(line) if line.endswith(b"\n") else _NOTHING
    except FileNotFoundError:
        return _NOTHING
    except (OSError, LogError):
        return _UNREADABLE


_NOTHING: Final = "nothing"
_UNREADABLE: Final = "unreadable"


def fitting(batches: Sequence[Batch], start: int, last: int | None = None) -> list[Batch]:
    """The batches that go on from event number `start`, each from where the one before ends.

    `last` is the id of the append that event belongs to which is before `start`, if that is known.
    """
    found: list[Batch] = []
    left = {batch.id: batch for batch in batches}
    while True:
        here = [batch for batch in left.values() if batch.first == start and batch.after not in left]
        batch = next((one for one in here if last is None or one.after in (0, last)), None)
        if batch is None:
            return found
        found.append(left.pop(batch.id))
        start, last = batch.end, batch.id


def in_order(batches: Sequence[Batch]) -> list[Batch]:
    """Batches by their numbers, but each behind the one that it goes on from."""
    found: list[Batch] = []
    left = {batch.id: batch for batch in sorted(batches, key=lambda batch: batch.first)}
    while left:
        # That which goes on from the last one; else the first that waits for none of the others.
        free = [batch for batch in left.values() if batch.after not in left]
        following = [batch for batch in free if found and batch.after == found[-1].id]
        found.append(left.pop((following or free or list(left.values()))[0].id))
    return found


def make_held_folder(folder: Path) -> None:
    """Make the folder of held events for its owner alone; made by the administrator, for the owner of the store."""
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.mkdir(exist_ok=True, mode=0o700)
    store = Path(str(folder).removesuffix(_FOLDER_SUFFIX))
    if _is_root() and store != folder and store.is_file():
        found = store.stat()
        os.chown(folder, found.st_uid, found.st_gid)


def give_to_owner(descriptor: int, folder: Path) -> None:
    """Let a file that the administrator made belong to the owner of its folder."""
    if _is_root():
        found = folder.stat()
        if found.st_uid != os.fstat(descriptor).st_uid:
            os.fchown(descriptor, found.st_uid, found.st_gid)


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


@contextmanager
def opened(path: Path, flags: int) -> Generator[int, None, None]:
    """A file for its owner alone."""
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        give_to_owner(descriptor, path.parent)
        yield descriptor
    finally:
        os.close(descriptor)


def _whole_lines(descriptor: int) -> int:
    """How many bytes of a file are whole lines."""
    data = b""
    while more := os.read(descriptor, 1 << 20):
        data += more
    return data.rfind(b"\n") + 1


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _write_file(path: Path, lines: Iterable[bytes]) -> None:
    """Make a file, whole or not at all, on disk when this returns."""
    half = path.with_suffix(".half")
    with opened(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
        _write_all(descriptor, b"".join(lines))
        os.fsync(descriptor)
    half.replace(path)
    _sync_folder(path.parent)


def _aside(path: Path) -> Path:
    """Where what cannot be read of a file is kept."""
    return path.with_suffix(f".{time.time_ns()}{DAMAGED}")


def _raw(lines: Iterable[Damaged]) -> list[bytes]:
    return [one.line + b"\n" for one in lines]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
