"""Charting: the map of a repository in the store, kept up to date without reading everything again."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
from platformdirs import user_data_path

from foveate.errors import ConfigError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.repository import MappedFile, Progress, RepositoryMap, build_map


def chart(knowledge: Knowledge, folder: Path, progress: Progress | None = None) -> RepositoryMap:
    """Put the files of a folder on a project's map, and take off it what is gone; unchanged files are not read."""
    if not folder.is_dir():
        raise ConfigError(f"{str(folder)!r} is no folder; name a repository")
    kept = _kept_in(knowledge, folder.resolve())
    known = _known(kept)
    made = build_map(folder, known, progress=progress)
    now = {entry.location for entry in made.entries}
    # Handoffs may have put more on the map; only what this folder had and has no more goes.
    for gone in {file.path for file in known} - now:
        knowledge.remove_entries(gone)
    knowledge.put_entries(made.entries, definitions={file.path: file.definitions for file in made.files})
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all: half of it would hide which files were there before.
    unfinished = kept.with_suffix(f".{os.getpid()}.part")
    unfinished.write_bytes(msgspec.msgpack.encode(made.files))
    unfinished.replace(kept)
    return made


def _kept_in(knowledge: Knowledge, folder: Path) -> Path:
    """Where what was found is kept: beside the store, or with the user's data if that is a server."""
    file = knowledge.store.file
    place = file.parent if file is not None else user_data_path("foveate", appauthor=False)
    name = hashlib.sha256(f"{knowledge.store.url}\n{knowledge.project}\n{folder}".encode()).hexdigest()[:16]
    return place / "maps" / f"{name}.msgpack"


def _known(path: Path) -> tuple[MappedFile, ...]:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=tuple[MappedFile, ...])
    except (FileNotFoundError, msgspec.MsgspecError):
        # Nothing is lost: the files are read again.
        return ()
