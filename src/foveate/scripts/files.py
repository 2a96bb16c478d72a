"""Files of the vault: read whole, and written so that they are there whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar, assert_never

from foveate.errors import FoveateError
from foveate.private_files import create_private_file, make_private_folder
from foveate.scripts.script import WriteMode
from foveate.workflow.files import Files, RefusedError

_T = TypeVar("_T")

_MOST_BYTES: Final = 5_000_000
_ATTEMPTS: Final = 20
_MOST_NAMES: Final = 10_000
# What file systems say that know no links, such as those of memory cards.
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


class VaultError(FoveateError):
    """A file of the vault cannot be read or written."""


class VaultFiles:
    """The files under `root`, without those in `without`; a path that leads out of it is refused."""

    def __init__(self, root: Path, without: Sequence[Path] = ()) -> None:
        self._files = Files(root, without)

    def read(self, path: str) -> str | None:
        """The text of a file; None if there is none."""
        return _attempted(path, "read", lambda: _text(path, self._place(path)))

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return _attempted(path, "read", lambda: self._place(path).is_file())

    def write(self, path: str, text: str, mode: WriteMode) -> str:
        """Write a text; returns the path it has, which in mode `new` is another one if there is such a file."""
        return _attempted(path, "write", lambda: self._written(path, text, mode))

    def check(self, path: str) -> None:
        """Raise `VaultError` if nothing can be written there; a model that is asked first would be paid for nothing."""
        _attempted(path, "write", lambda: self._writable(path))

    def _writable(self, path: str) -> Path:
        place = self._place(path)
        if place.exists() and not place.is_file():
            raise VaultError(f"`@output file:{path}` is a folder or no regular file; name a file")
        if place.exists() and not os.access(place, os.W_OK):
            raise VaultError(f"`@output file:{path}` is read-only; nothing was written; change its permissions")
        return place

    def _written(self, path: str, text: str, mode: WriteMode) -> str:
        place = self._writable(path)
        make_private_folder(place.parent)
        match mode:
            case "append":
                with _alone(place.parent):
                    _append(path, place, text)
            case "replace":
                _replace(place, text.encode(), _stat(place))
            case "new":
                place = _new(place, text.encode())
            case _:
                assert_never(mode)
        return place.relative_to(self._files.root).as_posix()

    def _place(self, path: str) -> Path:
        return self._files.place(path)


def _attempted(path: str, what: str, action: Callable[[], _T]) -> _T:
    try:
        return action()
    except RefusedError as error:
        raise VaultError(f"cannot {what} {error}; name a file inside the vault") from error
    except OSError as error:
        raise VaultError(f"cannot {what} {path!r} in the vault: {error.strerror or error}") from error


def _text(path: str, place: Path) -> str | None:
    if not place.exists():
        return None
    # A pipe or a device would be read for ever.
    if not place.is_file():
        raise VaultError(f"`@input file:{path}` is a folder or no regular file; name a file")
    with place.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise VaultError(f"`@input file:{path}` has more than {_MOST_BYTES:,} bytes; give a part of it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise VaultError(f"{path!r}, line {line}: this is not UTF-8; store it as UTF-8") from error


@contextmanager
def _alone(folder: Path) -> Generator[None, None, None]:
    """Wait until no other workflow appends to a file of a folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _append(path: str, place: Path, text: str) -> None:
    for _ in range(_ATTEMPTS):
        before = _stat(place)
        content = place.read_bytes() if before is not None else b""
        ends = b"" if not content else b"\n" if content.endswith(b"\n") else b"\n\n"
        # An editor may save a note of the day at the same moment; what it wrote must stay.
        if _replace(place, content + ends + text.encode(), before, unchanged=True):
            return
    raise VaultError(f"cannot append to {path!r} in the vault: others change it all the time; try again")


def _new(place: Path, content: bytes) -> Path:
    """Write a file under the first name that nobody has: its own, then `name-2`, `name-3` and so on."""
    unfinished = _beside(place, content)
    try:
        for number in range(1, _MOST_NAMES):
            free = place if number == 1 else place.with_name(f"{place.stem}-{number}{place.suffix}")
            try:
                # A link never replaces a file, renaming does.
                os.link(unfinished, free)
            except FileExistsError:
                continue
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                if os.path.lexists(free):
                    continue
                unfinished.replace(free)
            return free
    finally:
        unfinished.unlink(missing_ok=True)
    raise VaultError(f"there are {_MOST_NAMES:,} files named like {place.name!r} already; choose another name")


def _replace(place: Path, content: bytes, before: os.stat_result | None, *, unchanged: bool = False) -> bool:
    """Put a file in the place of another; with `unchanged` only if that is still the one it was."""
    unfinished = _beside(place, content)
    try:
        if before is not None:
            unfinished.chmod(stat.S_IMODE(before.st_mode))
        if unchanged and _identity(_stat(place)) != _identity(before):
            return False
        unfinished.replace(place)
    finally:
        unfinished.unlink(missing_ok=True)
    return True


def _beside(place: Path, content: bytes) -> Path:
    """A whole file in the same folder, under a name that is nobody else's."""
    unfinished = place.with_name(f".foveate-{secrets.token_hex(8)}")
    try:
        with create_private_file(unfinished) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return unfinished


def _stat(place: Path) -> os.stat_result | None:
    try:
        return place.stat()
    except FileNotFoundError:
        return None


def _identity(found: os.stat_result | None) -> tuple[int, int, int] | None:
    return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)
