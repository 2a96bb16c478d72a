"""Repository: the map of a project that exists already, one entry for each of its files."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from foveate.errors import ConfigError
from foveate.hard_links import HardLinks
from foveate.knowledge.checked import LONGEST_LOCATION
from foveate.knowledge.listing import Blob, Found, blobs_at, commit_named, contents, files_in
from foveate.knowledge.mapping import component_of, stems_of
from foveate.knowledge.models import MapEntry
from foveate.knowledge.symbols import Names, Parser, PlainParser, family_of, headline_of, installed_parser, language_of

MOST_FILES: Final = 20_000
# A longer file is data, or was made by a program; if it is code, it is on the map by its name.
MOST_BYTES: Final = 512_000
_HEAD: Final = 8_000
# A name that more files define says nothing of where it comes from.
_DEFINERS: Final = 5
_NOTES: Final = 200
_DUNDER: Final = re.compile(r"__\w+__")

Progress = Callable[[int, int], None]
_Listed = TypeVar("_Listed", Found, Blob)
_Public = tuple[str, str]


class MappedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What was found in a file; given to the next build, it spares parsing the file again."""

    path: str
    size: int
    digest: str
    read_by: str
    mtime_ns: int = 0
    headline: str = ""
    definitions: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    references: float = 0.0

    @property
    def symbols(self) -> frozenset[str]:
        """The stems of what the file defines."""
        return stems_of(" ".join(self.definitions))


class RepositoryMap(NamedTuple):
    """Entries and files of a repository, how many of them were parsed, and how many left out for which reason."""

    entries: tuple[MapEntry, ...]
    files: tuple[MappedFile, ...]
    parsed: int
    left_out: Mapping[str, int]


def build_map(
    root: Path,
    known: Sequence[MappedFile] = (),
    *,
    under: str = "",
    without: re.Pattern[str] | None = None,
    parser: Parser | None = None,
    progress: Progress | None = None,
) -> RepositoryMap:
    """The map of a folder, or of the part of it that is `under` a path, without files whose path is a pattern.

    Files that are as they were when `known` was found are not parsed again.
    """
    _check_folder("root", root / under)
    with _opened(parser) as opened:
        reading = _Reading(opened, known, under)
        names = files_in(root / under)
        listed = reading.chosen(
            [one._replace(path=f"{under}/{one.path}") for one in names] if under else names, without
        )
        links = HardLinks(root)
        for number, found in enumerate(listed, 1):
            reading.read_file(root, found, links)
            if progress is not None:
                progress(number, len(listed))
    return reading.map()


def build_map_at(
    repo: Path,
    commit: str,
    known: Sequence[MappedFile] = (),
    *,
    parser: Parser | None = None,
    progress: Progress | None = None,
) -> RepositoryMap:
    """The map of a repository as it was at a commit; nothing is checked out."""
    _check_folder("repo", repo)
    with _opened(parser) as opened:
        reading = _Reading(opened, known)
        changed = [
            blob for blob in reading.chosen(blobs_at(repo, commit_named(repo, commit))) if not reading.has_blob(blob)
        ]
        for number, (blob, content) in enumerate(zip(changed, contents(repo, changed), strict=True), 1):
            reading.read(blob.path, content, digest=blob.id)
            if progress is not None:
                progress(number, len(changed))
    return reading.map()


def is_under(path: str, folder: str) -> bool:
    """Whether a path leads into a folder; every one leads into the one without a name."""
    return not folder or path.startswith(f"{folder}/")


@contextmanager
def _opened(parser: Parser | None) -> Generator[Parser]:
    """A parser that somebody else closes, or else the installed one while it is used."""
    if parser is not None:
        yield parser
    else:
        with closing(installed_parser()) as ours:
            yield ours


def _check_folder(option: str, folder: Path) -> None:
    if not folder.is_dir():
        raise ConfigError(f"`{option}` is {str(folder)!r}, which is no folder; give the folder of a project")


class _Reading:
    """One pass over the files of a repository."""

    def __init__(self, parser: Parser, known: Iterable[MappedFile], under: str = "") -> None:
        self._parser = parser
        self._plain = PlainParser()
        # A file that another parser read may have more in it for this one.
        self._known = {file.path: file for file in known if file.read_by == parser.name}
        self._beside = [file for file in self._known.values() if not is_under(file.path, under)]
        self._files: list[MappedFile] = []
        self._left_out: Counter[str] = Counter()
        self._parsed = 0

    def chosen(self, listed: Sequence[_Listed], without: re.Pattern[str] | None = None) -> list[_Listed]:
        """The files that a map can have; if there are too many, code goes first and then what is not far down."""
        fit: list[_Listed] = []
        for one in listed:
            if not one.path.isprintable() or not one.path.strip():
                # It could be neither stored nor shown.
                self._left_out["unprintable name"] += 1
            elif len(one.path) > LONGEST_LOCATION:
                self._left_out["too long name"] += 1
            elif without is not None and without.fullmatch(one.path):
                self._left_out["of the store"] += 1
            elif not one.size:
                self._left_out["empty"] += 1
            else:
                fit.append(one)
        if len(fit) <= MOST_FILES:
            return fit
        self._left_out[f"more than {MOST_FILES} files"] += len(fit) - MOST_FILES
        fit.sort(key=lambda one: (not language_of(one.path), one.path.count("/"), one.path))
        return sorted(fit[:MOST_FILES])

    def read_file(self, root: Path, found: Found, links: HardLinks) -> None:
        """Take a file of a folder; one that was not touched is not opened, and one that is the same not parsed."""
        if links.leads_out(root / found.path):
            # By another name it is a file that nobody allowed to look at.
            self._left_out["hard link to a file outside"] += 1
            return
        before = self._known.get(found.path)
        # Some archives date all their files to the beginning of time.
        if before is not None and found.mtime_ns and (before.size, before.mtime_ns) == (found.size, found.mtime_ns):
            self._files.append(before)
            return
        if found.size > MOST_BYTES:
            self._name(found.path, found.size, found.mtime_ns)
            return
        try:
            with (root / found.path).open("rb") as opened:
                # Most of what is large is binary, and its beginning says so.
                content = opened.read(_HEAD)
                content += opened.read(MOST_BYTES) if b"\0" not in content else b""
        except OSError:
            self._left_out["unreadable"] += 1
            return
        digest = hashlib.sha256(content).hexdigest()
        if before is not None and before.digest == digest:
            self._files.append(msgspec.structs.replace(before, mtime_ns=found.mtime_ns))
        else:
            self.read(found.path, content, digest=digest, mtime_ns=found.mtime_ns)

    def has_blob(self, blob: Blob) -> bool:
        """Whether a file of a commit need not be read, as it is known or too large."""
        before = self._known.get(blob.path)
        if before is not None and before.digest == blob.id:
            self._files.append(before)
            return True
        if blob.size > MOST_BYTES:
            self._name(blob.path, blob.size)
            return True
        return False

    def read(self, path: str, content: bytes, *, digest: str, mtime_ns: int = 0) -> None:
        if b"\0" in content[:_HEAD]:
            self._left_out["binary"] += 1
            return
        language = language_of(path)
        names = self._parser(language, content) or self._plain(language, content) or Names()
        self._parsed += 1
        self._files.append(
            MappedFile(
                path=path,
                size=len(content),
                mtime_ns=mtime_ns,
                digest=digest,
                read_by=self._parser.name,
                headline=headline_of(language, content),
                definitions=names.definitions,
                uses=names.uses,
            )
        )

    def map(self) -> RepositoryMap:
        references = _References([*self._files, *self._beside])
        files = sorted(map(references.counted, self._files), key=lambda file: file.path)
        entries = tuple(
            MapEntry(component=component_of(file.path), location=file.path, notes=_notes(file, references))
            for file in files
        )
        return RepositoryMap(entries, tuple(files), self._parsed, dict(self._left_out))

    def _name(self, path: str, size: int, mtime_ns: int = 0) -> None:
        """Put a file on the map by its name alone."""
        if language_of(path):
            self._files.append(
                MappedFile(path=path, size=size, mtime_ns=mtime_ns, digest="", read_by=self._parser.name)
            )
        else:
            self._left_out["too large"] += 1


class _References:
    """Which files use what others define; a name that several files define counts in part for each."""

    def __init__(self, files: Sequence[MappedFile]) -> None:
        self._definers = Counter(name for file in files for name in _public(file, file.definitions))
        self._users: dict[_Public, list[str]] = defaultdict(list)
        telling = {name for name, definers in self._definers.items() if definers <= _DEFINERS}
        for file in files:
            for name in telling.intersection(_public(file, file.uses)):
                self._users[name].append(file.path)

    def of_name(self, file: MappedFile, name: str) -> float:
        """How many other files use a name that a file defines."""
        return sum(len(self._users.get(key, ())) / self._definers[key] for key in _public(file, (name,)))

    def counted(self, file: MappedFile) -> MappedFile:
        """The file with how many others refer to it."""
        shares: dict[str, float] = {}
        for name in _public(file, file.definitions):
            for user in self._users.get(name, ()):
                shares[user] = max(shares.get(user, 0.0), 1 / self._definers[name])
        return msgspec.structs.replace(file, references=round(math.fsum(shares.values()), 3))


def _public(file: MappedFile, names: Iterable[str]) -> Iterator[_Public]:
    """The names that files of the same languages can share."""
    family = family_of(language_of(file.path))
    return ((family, name) for name in names if family and not name.startswith("_"))


def _notes(file: MappedFile, references: _References) -> str:
    """What a file says of itself, and what it defines: most used first, private names last, headings as they come."""
    names = [name for name in file.definitions if name != file.headline and not _DUNDER.fullmatch(name)]
    between = "; "
    if family_of(language_of(file.path)):
        names.sort(key=lambda name: (name.startswith("_"), -references.of_name(file, name)))
        between = ", "
    shown: list[str] = []
    room = _NOTES
    for name in names:
        room -= len(name) + len(between)
        if room < 0:
            break
        shown.append(name)
    said = file.headline if not file.headline or file.headline[-1] in ".!?…:" else f"{file.headline}."
    return " ".join(part for part in (said, f"Has {between.join(shown)}." if shown else "") if part)
