"""Home: the sessions of the store, and a place to drop the log of another."""

from __future__ import annotations

import asyncio
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, get_args

from nicegui import ui
from nicegui.element import Element
from nicegui.events import UploadEventArguments

from foveate.errors import FoveateError
from foveate.inspect.sessions import SessionPage, SessionSummary, list_sessions
from foveate.web.bringing import Brought, bring
from foveate.web.desk import SAMPLE, Desk
from foveate.web.frame import failed, framed, headed, loaded
from foveate.web.links import to_session
from foveate.web.phrases import counted, money, tokens
from foveate.web.pieces import Words, box, button, chip, empty, link, notice, progress, say, search
from foveate.web.worker import Worker

_Sort = Literal["title", "messages", "tokens", "calls", "cost", "last_activity"]
_COLUMNS: Final[dict[_Sort, tuple[str, str]]] = {
    "title": ("Session", ""),
    "messages": ("Messages", "number hide-narrow"),
    "tokens": ("Tokens", "number hide-narrow"),
    "calls": ("Calls", "number hide-narrow"),
    "cost": ("Input cost", "number hide-narrow"),
    "last_activity": ("Last activity", "hide-narrow"),
}
_PAGE: Final = 50
_LARGEST: Final = 2_000_000_000


def home_page(desk: Desk) -> None:
    """Build the page."""
    with framed("Sessions"):
        home = _Home(desk)
        with headed("Sessions", "What your agents said and did, and what their models were shown of it."):
            home.search = search("Search titles, names and tags", home.searched)
        with box("stack"):
            home.hint = box()
            home.imports = box("stack").style("margin: 0")
            home.place = loaded(home.fetch, home.show, "Opening the store")
            _drop(home)


class _Home:
    """The list, as it is searched and sorted, and the imports that are under way."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.words = ""
        self.sort: _Sort = "last_activity"
        self.is_down = True
        self.limit = _PAGE
        self.search: Element
        self.hint: Element
        self.imports: Element
        self.place: Element

    async def fetch(self) -> SessionPage:
        store = await self.desk.open()
        read = partial(
            list_sessions,
            store,
            search=self.words,
            sort=self.sort,
            descending=self.is_down,
            limit=self.limit,
            read_costs=self.desk.memory.input_costs,
        )
        return await asyncio.to_thread(read)

    async def refresh(self) -> None:
        try:
            found = await self.fetch()
        except FoveateError as error:
            self.place.clear()
            with self.place:
                failed(error)
            return
        self.place.clear()
        with self.place:
            self.show(found)

    async def searched(self, words: str) -> None:
        self.words, self.limit = words, _PAGE
        await self.refresh()

    async def sorted_by(self, column: _Sort) -> None:
        self.is_down = not self.is_down if column == self.sort else column != "title"
        self.sort = column
        await self.refresh()

    async def more(self) -> None:
        self.limit += 5 * _PAGE
        await self.refresh()

    def show(self, found: SessionPage) -> None:
        self._greet(found)
        if not found.sessions and self.words:
            empty("No session matches", f"Nothing is called, titled or tagged “{self.words}”.")
            return
        if not found.sessions:
            empty("No sessions yet", "Drop a log below, or let your agent write into this store:",
                  command=f"foveate.Session.open({str(self.desk.location)!r}, 'my-session')")  # fmt: skip
            return
        with box("card"), box("scroll"), box("list", "table"):
            self._head()
            with box(tag="tbody"):
                for one in found.sessions:
                    _row(one)
        if len(found.sessions) < found.total:
            with box("row").style("justify-content: center; margin-top: 14px"):
                button(f"Show more of {found.total:,}", self.more)

    def _greet(self, found: SessionPage) -> None:
        self.hint.clear()
        if self.words or [one.info.session_id for one in found.sessions] != [SAMPLE]:
            return
        with self.hint:
            notice(
                "The session below is made up: a coding agent with a window of 12,000 tokens. Open it to see what its "
                "model was shown at every call. Then drop a log of your own agent, or run "
                "`foveate import ~/.claude/projects`.",
                "tip",
                strong="Something to look at first.",
            )

    def _head(self) -> None:
        with box(tag="thead"), box(tag="tr"):
            for column in get_args(_Sort):
                name, kind = _COLUMNS[column]
                with box(kind, "th") as cell:
                    arrow = (" ↓" if self.is_down else " ↑") if column == self.sort else ""
                    if arrow:
                        cell.props["aria-sort"] = "descending" if self.is_down else "ascending"
                    made = Words("button", f"{name}{arrow}")
                    made.on("click", partial(self.sorted_by, column))

    async def take(self, event: UploadEventArguments) -> None:
        """Import a file that was dropped; what became of it stays on the page."""
        with self.imports:
            place = box()
        name = event.file.name or "log"
        with TemporaryDirectory(prefix="foveate-") as folder:
            # Under a name of our own: theirs may be one that no file can have.
            path = Path(folder) / "log"
            await event.file.save(path)
            await self._bring(place, path, name)
        event.sender.run_method("reset")
        await self.refresh()

    async def _bring(self, place: Element, path: Path, name: str) -> None:
        await self.desk.open()
        worker = Worker(bring, self.desk.location, str(path), name)
        with place, box("card padded") as shown:
            watch = ui.timer(0.2, lambda: _progress(shown, worker))
        try:
            came = await worker.result()
        except FoveateError as error:
            place.clear()
            with place:
                failed(error)
        else:
            place.clear()
            with place:
                _arrived(name, came)
        finally:
            watch.cancel()


def _progress(place: Element, worker: Worker[Brought]) -> None:
    # The timer stands in there too; only what it showed the last time is taken away.
    for old in [one for one in place.default_slot.children if not isinstance(one, ui.timer)]:
        place.remove(old)
    with place:
        progress(worker.share, worker.text)


def _arrived(name: str, came: Brought) -> None:
    several = f"{len(came.sessions):,} sessions"
    what = f"“{came.sessions[0][0]}”" if len(came.sessions) == 1 else several
    is_old = all(was_there and not added for _, added, was_there in came.sessions)
    said = f"{what} was here already, nothing is new." if is_old else f"{what} came in from {name} ({came.format})."
    left = f" {came.skipped:,} broken places were left out." if came.skipped else ""
    with notice(f"{said}{left} {' '.join(came.notes)}", "tip", strong="Imported."):
        for session, _, _ in came.sessions[:8]:
            Words("span", " ")
            link(f"Open {session}" if len(came.sessions) > 1 else "Open it", to_session(session))


def _row(summary: SessionSummary) -> None:
    one = summary.info
    calls = f"{one.calls:,}" if one.calls else "–"
    cost = money(summary.cost, "USD") if summary.cost is not None else "–"
    with box(tag="tr"):
        with box("name", "td"):
            link(one.title or one.session_id, to_session(one.session_id))
            with box("row small").style("gap: 4px 8px"):
                Words("span", one.session_id, "soft")
                for name, value in list(one.tags.items())[:4]:
                    chip(f"{name}: {value}"[:60])
            brief = f"{counted(one.messages, 'message')} · {tokens(one.tokens)} tokens · {counted(one.calls, 'call')}"
            Words("div", brief, "only-narrow small soft")
        Words("td", f"{one.messages:,}", "number hide-narrow")
        Words("td", tokens(one.tokens), "number hide-narrow")
        Words("td", calls, "number hide-narrow")
        Words("td", cost, "number hide-narrow")
        Words("td", at(one.last_activity_at), "hide-narrow soft").style("white-space: nowrap")


def at(moment: datetime) -> str:
    """A moment on the reader's own clock."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _drop(home: _Home) -> None:
    say(
        "Claude Code, Codex, Gemini CLI, Cline, Aider, OpenHands, SWE-agent, OpenAI and Anthropic messages, and more: "
        "the format is recognised. Nothing leaves this machine.",
        "soft small",
    )
    made = ui.upload(
        label="Drop a log here to import it, or choose a file with +",
        multiple=True,
        auto_upload=True,
        max_file_size=_LARGEST,
        on_upload=home.take,
        on_rejected=lambda: ui.notify("A log may have at most 2 GB; import larger ones with `foveate import`."),
    ).classes("drop")
    made.props("flat")
