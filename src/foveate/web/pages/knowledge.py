"""Knowledge: what projects learned, drawn as a graph, searched and read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from foveate.errors import FoveateError
from foveate.knowledge import graph
from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Node
from foveate.knowledge.project import ListedProject, found, list_projects
from foveate.web.desk import Desk
from foveate.web.frame import failed, framed, headed, loaded
from foveate.web.graphs import TYPES, knowledge_graph
from foveate.web.phrases import counted
from foveate.web.pieces import Words, box, chip, choice, empty, facts, say, search

_DRAWN: Final = 300
_FOUND: Final = 40


def knowledge_page(desk: Desk, project: str, node: str) -> None:
    """Build the page."""

    def read() -> list[ListedProject]:
        with desk.store.reading() as connection:
            return list_projects(connection)

    async def fetch() -> tuple[list[ListedProject], list[Node]]:
        await desk.open()
        projects = await asyncio.to_thread(read)
        chosen = project or next((one.name for one in projects if one.nodes), "")
        nodes = await asyncio.to_thread(_newest, Knowledge(desk.store, chosen)) if chosen else []
        return projects, nodes

    with framed("Knowledge"):
        headed("Knowledge", "What projects decided, learned and stumbled over, and how it hangs together.")
        loaded(fetch, lambda read_: _show(desk, project, node, *read_), "Reading what is known")


def _newest(knowledge: Knowledge) -> list[Node]:
    """The nodes that were added last, of however many."""
    with knowledge.store.reading() as connection:
        key = found(connection, knowledge.project).key
        stored = graph.by_id(connection, key, graph.latest_ids(connection, key, _DRAWN))
    nodes = sorted(stored.values(), key=lambda one: one.number)
    return [one.node for one in nodes if not one.node.retired]


def _show(desk: Desk, project: str, node: str, projects: Sequence[ListedProject], nodes: Sequence[Node]) -> None:
    there = [one for one in projects if one.nodes]
    if not there:
        empty(
            "Nothing is known yet",
            "Agents add what they learn when they hand over their work. You can, too:",
            command='foveate knowledge add gotcha "The tests need a database" --tag testing',
        )
        return
    name = project or there[0].name
    total = next((one.nodes for one in there if one.name == name), len(nodes))
    _Graph(Knowledge(desk.store, name), list(nodes), total, node).show([one.name for one in there])


@dataclass
class _Graph:
    """The graph of one project, and the node that is open."""

    knowledge: Knowledge
    nodes: list[Node]
    total: int
    chosen: str
    drawn: list[Node] = field(default_factory=list)

    def show(self, projects: Sequence[str]) -> None:
        self.drawn = self.nodes
        with box("stack"):
            with box("row").style("align-items: flex-end"):
                search("Search tags and words", self._search)
                if len(projects) > 1:
                    names = {name: name for name in projects}
                    choice("Project", names, self.knowledge.project, self._another)
                box("grow")
                self.said = box()
            with box("split"):
                self.graph = box("card").style("overflow: hidden")
                self.detail = box()
        self._draw()
        with self.detail:
            say("Choose a node of the graph to read it, or search for one.", "soft card padded")
        if self.chosen:
            ui.timer(0, partial(self._pick, self.chosen), once=True)

    def _draw(self) -> None:
        self.graph.clear()
        self.said.clear()
        with self.said:
            of = f" of {self.total:,}, the newest" if len(self.drawn) < self.total and self.drawn is self.nodes else ""
            say(f"{counted(len(self.drawn), 'node')}{of}", "soft small")
        with self.graph:
            if not self.drawn:
                say("Nothing is known about that.", "soft").style("padding: 24px")
                return
            ui.echart(knowledge_graph(self.drawn, self.chosen), on_point_click=self._clicked).classes("chart").style(
                "height: 600px"
            )

    async def _clicked(self, event: EChartPointClickEventArguments) -> None:
        data: Any = event.data
        if event.data_type == "node" and isinstance(data, dict):
            await self._pick(str(data.get("id", "")))

    def _another(self, name: str) -> None:
        ui.navigate.to(f"/knowledge?{urlencode({'project': name})}")

    async def _search(self, words: str) -> None:
        asked = words.split()
        if not asked:
            self.drawn = self.nodes
            self._draw()
            return
        today = datetime.now(UTC).date().isoformat()
        query = partial(self.knowledge.query_by_tags, asked, words=asked, limit=_FOUND, today=today)
        hits = await asyncio.to_thread(query)
        self.drawn = [one.node for one in hits]
        self._draw()
        self.detail.clear()
        with self.detail, box("card padded"):
            Words("h2", f"{len(hits):,} found, the best first")
            for one in hits:
                _entry(one.node, self._pick)

    async def _pick(self, node_id: str) -> None:
        try:
            node = await asyncio.to_thread(self.knowledge.node, node_id)
            near = await asyncio.to_thread(self.knowledge.connected, node_id)
        except FoveateError as error:
            self.detail.clear()
            with self.detail:
                failed(error)
            return
        self.chosen = node_id
        self.detail.clear()
        with self.detail, box("card padded stack").style("margin: 0; gap: 12px"):
            with box("row"):
                chip(node.type, "dot").style(f"--fate: {TYPES[node.type]}")
                Words("span", node.id, "mono soft")
                if node.retired:
                    chip("retired", "warn")
            Words("h2", node.summary)
            facts(_facts(node))
            if near:
                with box():
                    Words("h3", "Connected to")
                    for one in near:
                        _entry(one, self._pick)


def _facts(node: Node) -> list[tuple[str, str]]:
    named = (
        ("Why", node.rationale or ""),
        ("Tags", ", ".join(node.tags)),
        ("File", node.file or ""),
        ("Severity", node.severity or ""),
        ("Since", node.created),
    )
    return [(name, value) for name, value in named if value]


def _entry(node: Node, on_pick: Any) -> None:
    with box().style("margin-top: 8px"):
        with box("row").style("gap: 6px"):
            chip(node.type, "dot").style(f"--fate: {TYPES[node.type]}")
            made = Words("button", node.id, "more")
            made.style("border: 0; background: none; padding: 0; color: var(--accent); cursor: pointer; font: inherit")
            made.on("click", partial(on_pick, node.id))
        say(node.summary, "small")
