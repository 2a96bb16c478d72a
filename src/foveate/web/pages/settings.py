"""Settings: where things are, and what is used where nothing else is said; all of it is decided outside."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from foveate.api.room import Room
from foveate.errors import FoveateError
from foveate.importers.detection import IMPORTERS
from foveate.lab.config import Config, config_at
from foveate.lab.policies import described
from foveate.lab.replay import DEFAULT_POLICIES
from foveate.web.desk import Desk
from foveate.web.frame import framed, headed, loaded
from foveate.web.phrases import counted
from foveate.web.pieces import Words, box, facts, say, table


class _Found(NamedTuple):
    sessions: int
    messages: int
    size: int | None
    config: Config
    model: str


def settings_page(desk: Desk) -> None:
    """Build the page."""

    def read() -> _Found:
        infos = desk.store.sessions()
        size = _size(desk.store.file)
        return _Found(len(infos), sum(info.messages for info in infos), size, config_at(), _model(desk.room))

    async def fetch() -> _Found:
        await desk.open()
        return await asyncio.to_thread(read)

    with framed("Settings"):
        headed("Settings", "Where things are and what is used. They are set by options of `foveate serve`, in the "
               "environment and in foveate.toml; this page only shows them.")  # fmt: skip
        loaded(fetch, lambda found: _show(desk, found))


def _size(file: Path | None) -> int | None:
    """What a store takes on the disk, with what is not yet in its own file."""
    if file is None:
        return None
    parts = [path for path in (file, file.with_name(f"{file.name}-wal")) if path.exists()]
    return sum(path.stat().st_size for path in parts) if parts else None


def _model(room: Room) -> str:
    """Which model answers, as the page Chat says it, or why none does."""
    try:
        chosen = room.chosen()
    except FoveateError as error:
        return f"none: {error}"
    return f"{chosen.name}: {chosen.why}"


def _show(desk: Desk, found: _Found) -> None:
    place = desk.place
    size = f", {found.size / 1e6:,.1f} MB" if found.size is not None else ""
    with box("stack"):
        _card(
            "Store",
            [
                ("Sessions in", str(desk.store)),
                ("Decided by", place.rule),
                ("Holds", f"{counted(found.sessions, 'session')}, {counted(found.messages, 'message')}{size}"),
                ("System folder", str(place.system)),
                ("Vault", str(place.vault) if place.vault is not None else "none; give one with `--vault`"),
            ],
        )
        config = found.config
        _card(
            "Defaults",
            [
                ("foveate.toml", str(config.path) if config.path is not None else f"none in {Path.cwd()} or above it"),
                ("Model of the chat", found.model),
                ("Model of a replay", config.model or "each session's own"),
                ("Budget of a replay", f"{config.budget:,} tokens" if config.budget else "the window of the model"),
                ("Policies of a replay", ", ".join(config.replayed or DEFAULT_POLICIES)),
                ("Version", f"foveate {version('foveate')}"),
            ],
        )
        with box("card"):
            with box("title"):
                Words("h2", "Policies")
                say("How the past of a session is reduced; your own go into foveate.toml.", "soft small")
            rows = [(one.name, one.kind, one.description) for one in described(config)]
            table([("Name", "mono"), ("Kind", "hide-narrow soft"), ("What it does", "")], rows)
        with box("card"):
            with box("title"):
                Words("h2", "Logs that can be imported")
            table([("Format", "mono"), ("What it is", "")], [(one.name, one.title) for one in IMPORTERS.values()])


def _card(title: str, pairs: list[tuple[str, str]]) -> None:
    with box("card padded"):
        Words("h2", title).style("margin-bottom: 10px")
        facts(pairs)
