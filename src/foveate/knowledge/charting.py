"""Charting: the map of a repository in the store, kept up to date without reading everything again."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import msgspec
from platformdirs import user_data_path

from foveate.errors import ConfigError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.project import root_of
from foveate.knowledge.repository import MappedFile, Progress, RepositoryMap, build_map, is_under
from foveate.private_files import create_private_file, make_private_folder
from foveate.store.held import HELD_ENDING


def chart(
    knowledge: Knowledge, folder: Path, progress: Progress | None = None, *, within: Path | None = None
) -> RepositoryMap:
    """Put the files of a folder on a project's map, and take off it what is gone; unchanged files are not read.

    Locations are relative to `within` if the folder is in there, else to the top of the folder's git repository.
    """
    if not folder.is_dir():
        raise ConfigError(f"{str(folder)!r} is no folder; name a repository")
    place = folder.resolve()
    root = within.resolve() if within is not None and place.is_relative_to(within.resolve()) else root_of(place)
    under = place.relative_to(root).as_posix() if place != root else ""
    kept = _kept_in(knowledge, root)
    known = _known(kept)
    made = build_map(root, known, under=under, without=_own(knowledge.store.file, root), progress=progress)
    elsewhere = [file for file in known if not is_under(file.path, under)]
    now = {file.path for file in (*elsewhere, *made.files)}
    others = _of_other_folders(kept)
    # Handoffs may have put more on the map; only what this folder had and has no more goes. The store knows that too:
    # what is kept beside it may be lost, or on another machine.
    knowledge.refresh_entries(
        made.entries,
        definitions={file.path: file.definitions for file in made.files},
        gone={file.path for file in known} - now - others,
        ours=lambda location: is_under(location, under) and location not in others,
    )
    make_private_folder(kept.parent)
    # Whole or not at all: half of it would hide which files were there before.
    unfinished = kept.with_suffix(f".{os.getpid()}.part")
    unfinished.unlink(missing_ok=True)
    with create_private_file(unfinished) as file:
        file.write(msgspec.msgpack.encode([*elsewhere, *made.files]))
    unfinished.replace(kept)
    return made


def _own(store: Path | None, root: Path) -> re.Pattern[str] | None:
    """What the store itself keeps in a folder: its file, what was found of maps, and states of directories."""
    if store is None or not store.resolve().is_relative_to(root):
        return None
    file = re.escape(store.resolve().relative_to(root).as_posix())
    folder = file.removesuffix(re.escape(store.resolve().name))
    maps, work = r"maps/[0-9a-f]{16}\.(?:msgpack|\d+\.part)", r"work/[^/]+-[0-9a-f]{10}\.(?:git/.*|lock)"
    return re.compile(
        rf"{file}(?:-wal|-shm|-journal|{re.escape(HELD_ENDING)}/.*)?|{folder}(?:{maps}|{work})", re.DOTALL
    )


def _kept_in(knowledge: Knowledge, root: Path) -> Path:
    """Where what was found is kept: beside the store, or with the user's data if that is a server."""
    file = knowledge.store.file
    place = file.parent if file is not None else user_data_path("foveate", appauthor=False)
    # The first half is that of the project, so that what was found in other folders of it can be told.
    halves = (f"{knowledge.store.url}\n{knowledge.project}", str(root))
    return place / "maps" / f"{''.join(hashlib.sha256(one.encode()).hexdigest()[:8] for one in halves)}.msgpack"


def _of_other_folders(kept: Path) -> set[str]:
    """The files that other folders put on the map of the same project."""
    beside = (one for one in kept.parent.glob(f"{kept.stem[:8]}*.msgpack") if one != kept)
    return {file.path for one in beside for file in _known(one)}


def _known(path: Path) -> tuple[MappedFile, ...]:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=tuple[MappedFile, ...])
    except (FileNotFoundError, msgspec.MsgspecError):
        # Nothing is lost: the files are read again.
        return ()
