"""Folders and files that want to be read for ever, or from elsewhere; for tests and for `make attack`."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from foveate.importers.finding import logs_in
from foveate.importers.reading import SizeLimits

CHAT: Final = json.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a search came upon: logs that were found, what was left out, and what was refused."""

    logs: tuple[str, ...]
    left_out: tuple[str, ...]
    refused: tuple[str, ...]


def make_hostile_folder(folder: Path, outside: Path) -> Path:
    """A folder with one log, and beside it whatever must not be read with it; `outside` gets a secret log."""
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.json").write_bytes(CHAT)
    (folder / "good.json").write_bytes(CHAT)
    (folder / "again.json").symlink_to(folder / "good.json")
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    (folder / "random.log").symlink_to("/dev/urandom")
    (folder / "secret.json").symlink_to(outside / "secret.json")
    (folder / "nowhere.json").symlink_to(folder / "missing.json")
    (folder / "proc").symlink_to("/proc", target_is_directory=True)
    (folder / "root").symlink_to("/", target_is_directory=True)
    (folder / "others").symlink_to(outside, target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    os.mkfifo(folder / "pipe.jsonl")
    os.mkfifo(folder / "event-00001.json")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket.json"))
    with (folder / "sparse.jsonl").open("wb") as file:
        file.truncate(10_000_000_000_000)
    (folder / "line.jsonl").write_bytes(b'{"role": "user", "content": "' + b"x" * 11_000_000 + b'"}\n')
    return folder


def attack_import(folder: Path, limits: SizeLimits) -> Outcome:
    """Look for the logs of a hostile folder; everything but `good.json` must be left out or refused."""
    found = logs_in([folder], limits=limits)
    return Outcome(
        logs=tuple(Path(log.name).name for log in found.logs),
        left_out=tuple(Path(name).name for name, _ in found.left_out),
        refused=tuple(Path(name).name for name, _ in found.refused),
    )
