"""Location: where sessions are kept, and which rule decided it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

from platformdirs import user_data_path

from foveate.errors import ConfigError

STORE_VARIABLE: Final = "FOVEATE_STORE"
SYSTEM_VARIABLE: Final = "FOVEATE_SYSTEM"
FILE: Final = "context.db"


class Location(NamedTuple):
    """A place for a store, and what it was decided by."""

    store: str | Path
    rule: str


def located(store: str | Path | None = None, *, system: str | Path | None = None) -> Location:
    """Where sessions are kept: what is given, else what the environment says, else with the user's data."""
    if store is not None:
        return Location(store, "the option `--store`")
    if system is not None:
        return _inside(system, "the option `--system`")
    variable = os.environ.get(STORE_VARIABLE)
    if variable:
        return Location(variable, f"the variable {STORE_VARIABLE}")
    folder = os.environ.get(SYSTEM_VARIABLE)
    if folder:
        return _inside(folder, f"the variable {SYSTEM_VARIABLE}")
    return Location(user_data_path("foveate", appauthor=False) / FILE, "the default, the user's data directory")


def _inside(system: str | Path, rule: str) -> Location:
    if not str(system).strip():
        raise ConfigError(f"{rule} is empty; give a folder, or a file with `--store`")
    folder = Path(system).expanduser()
    if folder.is_file():
        raise ConfigError(f"{rule} names {str(system)!r}, which is a file and no folder; give a file with `--store`")
    return Location(folder / FILE, rule)
