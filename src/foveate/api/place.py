"""The place: where a server finds what it shows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from platformdirs import user_data_path

from foveate.errors import ConfigError
from foveate.store.location import SYSTEM_VARIABLE, located


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a server finds what it shows.

    Args:
        store: the file or address that sessions are kept at.
        system: the folder of what belongs to no vault, such as templates.
        vault: the folder of a person's own notes and templates.
        model: the model that answers where none is named.
        rule: what `store` was decided by, for people who wonder.

    """

    store: str | Path
    system: Path
    vault: Path | None = None
    model: str | None = None
    rule: str = ""

    @classmethod
    def found(
        cls,
        store: str | Path | None = None,
        *,
        system: str | Path | None = None,
        vault: str | Path | None = None,
        model: str | None = None,
    ) -> Self:
        """The place that options mean: what is not given is as the environment says, or with the user's data."""
        location = located(store, system=system)
        folder = system if system is not None else os.environ.get(SYSTEM_VARIABLE)
        return cls(
            store=location.store,
            system=Path(folder).expanduser() if folder else _beside(location.store),
            vault=_vault(vault),
            model=model,
            rule=location.rule,
        )


def _beside(store: str | Path) -> Path:
    """The folder that a store's file is in; of a server, where the user's data is."""
    text = str(store).removeprefix("sqlite:///")
    return user_data_path("foveate", appauthor=False) if "://" in text else Path(text).expanduser().absolute().parent


def _vault(given: str | Path | None) -> Path | None:
    if given is None:
        return None
    folder = Path(given).expanduser()
    if not str(given).strip() or not folder.is_dir():
        # A vault holds somebody's own files: one that is not there is a misspelling, not a wish for a new one.
        raise ConfigError(f"`--vault` {str(given)!r} is no folder; name the folder that your notes are in")
    # Whole: `.` is a folder, and has no name that sessions could be kept under.
    return folder.resolve()
