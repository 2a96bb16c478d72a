"""Widgets: the parts of pages that are too large to be built piece by piece; each has its half in the browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments


class RequestView(ui.element, component="assets/request.js"):
    """A request, block by block; `original` gives the text that a block stands for when somebody wants to see it."""

    def __init__(self, blocks: Sequence[dict[str, Any]], original: Callable[[str], Awaitable[str]]) -> None:
        super().__init__()
        self.props["blocks"] = list(blocks)
        self._original = original
        self.on("original", self._give)

    async def _give(self, event: GenericEventArguments) -> None:
        key = str(event.args)
        self.run_method("give", key, await self._original(key))


class LongList(ui.element, component="assets/long_list.js"):
    """A list of however many lines; `lines` gives those from a place on, as they come into sight."""

    def __init__(
        self,
        label: str,
        lines: Callable[[int, int], Awaitable[list[dict[str, Any]]]],
        on_pick: Callable[[str], Awaitable[None]],
    ) -> None:
        super().__init__()
        self._lines = lines
        self._on_pick = on_pick
        self._version = 0
        self.props["label"] = label
        self.props["total"] = 0
        self.props["version"] = 0
        self.on("need", self._fill)
        self.on("pick", self._pick)

    def show(self, total: int, start: int = 0) -> None:
        """Show another selection of so many lines, from a place on."""
        self._version += 1
        self.props["total"] = total
        self.props["start"] = start
        self.props["version"] = self._version
        self.update()

    def choose(self, id: str) -> None:
        """Mark a line as the chosen one."""
        self.props["chosen"] = id
        self.update()

    def change(self, id: str, **values: object) -> None:
        """Change what a line shows."""
        self.run_method("change", id, values)

    async def _fill(self, event: GenericEventArguments) -> None:
        first, version = int(event.args["first"]), int(event.args["version"])
        if version != self._version:
            return
        lines = await self._lines(first, min(int(event.args["count"]), 200))
        self.run_method("fill", first, lines, version)

    async def _pick(self, event: GenericEventArguments) -> None:
        await self._on_pick(str(event.args))
