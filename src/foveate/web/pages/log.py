"""Log: everything that was said, to search, to read whole, and to pin."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from foveate.api.messages import one_message, pin, unpin
from foveate.api.shapes import MessageWholeShape
from foveate.errors import FoveateError
from foveate.inspect.fates import FatePeriod, fate_history
from foveate.inspect.messages import MessageSelection, count_roles_and_tools
from foveate.store import SessionInfo
from foveate.web.desk import Desk, Seen
from foveate.web.frame import back_from, failed, framed, loaded, session_tabs
from foveate.web.links import to_call, to_session
from foveate.web.messages import Wanted, lines_at, selected
from foveate.web.pages.session import head_of
from foveate.web.phrases import counted
from foveate.web.pieces import Words, box, button, chip, choice, empty, facts, link, say, search, waiting
from foveate.web.replaying import Lens
from foveate.web.widgets import LongList

_LONGEST: Final = 200_000
_FATES: Final = (
    "verbatim",
    "rewritten",
    "masked",
    "trimmed",
    "superseded",
    "repaired",
    "folded",
    "summarised",
    "recalled",
    "dropped",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A log with the roles and tools that are in it."""

    info: SessionInfo
    roles: dict[str, int]
    tools: dict[str, int]
    pins: dict[str, bool]
    start: int = 0


def log_page(desk: Desk, session: str, lens: Lens | None, message: str) -> None:
    """Build the page."""

    def read() -> _Opened:
        info = desk.store.session(session)
        roles, tools = count_roles_and_tools(desk.store, info)
        pins = dict(desk.memory.log_state(desk.store, info).pins)
        start = desk.store.reader(info).position(message) if message else None
        return _Opened(info=info, roles=roles, tools=tools, pins=pins, start=start or 0)

    async def fetch() -> _Opened:
        await desk.open()
        return await asyncio.to_thread(read)

    with framed("Sessions"):
        back = partial(back_from, desk.store, session)
        loaded(fetch, lambda opened: _Log(desk, opened, lens, message).show(), "Opening the log", back=back)


@dataclass(slots=True)
class _Log:
    """The log as it is filtered, and the message that is open."""

    desk: Desk
    opened: _Opened
    lens: Lens | None
    message: str
    wanted: Wanted = field(default_factory=Wanted)
    selection: MessageSelection = field(default_factory=MessageSelection)
    seen: Seen | None = None
    # By the id of each message that the last call knew of.
    fates: dict[str, str] | None = None
    # Set once it is known which calls there are, or that there are none.
    looked: asyncio.Event = field(default_factory=asyncio.Event)

    def show(self) -> None:
        info = self.opened.info
        head_of(info)
        session_tabs(info, "Log", self.lens)
        if not info.messages:
            empty("Nothing was said yet", "Messages appear here as soon as something is appended to this session.")
            return
        with box("stack"):
            with box("row").style("align-items: flex-end"):
                self._filters()
            with box("split"):
                with box("card").style("overflow: hidden"):
                    self.none = box()
                    self.shown = LongList(f"Messages of {info.session_id}", self._lines, self._pick)
                self.detail = box()
        with self.detail:
            say("Choose a message to read it whole, and to see which calls saw it.", "soft card padded")
        ui.timer(0, self._begin, once=True)

    # Made in `show`, once the page has a place for them.
    none: Element = field(init=False)
    shown: LongList = field(init=False)
    detail: Element = field(init=False)
    said: Element = field(init=False)
    fate_place: Element = field(init=False)

    def _filters(self) -> None:
        search("Search in what was said", partial(self._want, "words"))
        roles = {"": "every role"} | {role: f"{role} ({count:,})" for role, count in self.opened.roles.items()}
        tools = {"": "every tool"} | {tool: f"{tool} ({count:,})" for tool, count in self.opened.tools.items()}
        choice("Role", roles, "", partial(self._want, "role"))
        if self.opened.tools:
            choice("Tool", tools, "", partial(self._want, "tool")).style("max-width: 190px")
        self.fate_place = box()
        self.said = box("grow")

    async def _begin(self) -> None:
        await self._refresh(self.opened.start)
        if self.message:
            await self._pick(self.message)
        await self._find_fates()

    async def _find_fates(self) -> None:
        """What became of each message in the last call: found out while the log is already there to read."""
        info = self.opened.info
        if self.lens is None and not info.calls:
            self.looked.set()
            with self.fate_place:
                link("See what becomes of each", to_session(info.session_id), "button quiet")
            return
        with self.fate_place:
            say("finding fates …", "soft small")
        try:
            self.seen = await self.desk.seen(info.session_id, self.lens)
            if self.seen.history.entries:
                last = self.seen.history.entries[-1].number
                account = await asyncio.to_thread(self.seen.explanation, last)
                self.fates = {one.id: one.fate for one in account.fates}
        except FoveateError as error:
            with self.detail:
                failed(error)
        finally:
            self.looked.set()
        self.fate_place.clear()
        if self.fates is None:
            return
        counts = Counter(self.fates.values())
        options = {"": "every fate"} | {fate: f"{fate} ({counts[fate]:,})" for fate in _FATES if fate in counts}
        with self.fate_place:
            choice("Fate in the last call", options, "", partial(self._want, "fate"))
        self.shown.show(len(self.selection.positions), self.opened.start)

    async def _want(self, name: str, value: str) -> None:
        self.wanted = replace(self.wanted, **{name: value})
        await self._refresh(0)

    async def _refresh(self, start: int) -> None:
        wanted = self.wanted
        try:
            found = await asyncio.to_thread(selected, self.desk.store, self.opened.info, wanted, self.fates)
        except FoveateError as error:
            self.none.clear()
            with self.none:
                failed(error)
            return
        if wanted != self.wanted:
            # Somebody has typed on meanwhile.
            return
        self.selection = found
        self.none.clear()
        self.said.clear()
        with self.said:
            order = ", the best first" if wanted.words.strip() else ""
            say(f"{counted(len(found.positions), 'message')}{order}", "soft small number")
        if not found.positions:
            with self.none:
                say("No message is like that. Try fewer words, or another role, tool or fate.", "soft").style(
                    "padding: 24px"
                )
        self.shown.show(len(found.positions), start)

    async def _lines(self, first: int, count: int) -> list[dict[str, Any]]:
        work = partial(
            lines_at, self.desk.store, self.opened.info, self.selection, first, count,
            pins=self.opened.pins, fates=self.fates,
        )  # fmt: skip
        return await asyncio.to_thread(work)

    async def _pick(self, message_id: str) -> None:
        self.shown.choose(message_id)
        self.detail.clear()
        with self.detail:
            waiting("Reading")
        try:
            whole = await asyncio.to_thread(
                one_message, self.desk.store, self.desk.memory, self.opened.info.session_id, message_id
            )
        except FoveateError as error:
            self.detail.clear()
            with self.detail:
                failed(error)
            return
        self.detail.clear()
        with self.detail, box("card padded stack").style("margin: 0; gap: 14px"):
            self._whole(whole)
        # On a small screen it stands below the list, where nobody would look for it.
        ui.run_javascript(f"if (innerWidth < 1000) getHtmlElement({self.detail.id}).scrollIntoView({{block: 'start'}})")

    def _whole(self, whole: MessageWholeShape) -> None:
        pinned = self.opened.pins.get(whole.id, whole.pinned)
        with box("row"):
            Words("h2", f"{whole.id} · {whole.role}")
            box("grow")
            button(
                "Unpin" if pinned else "Pin", partial(self._pinned, whole, not pinned), "on" if pinned else "", key="p"
            )
        if pinned:
            say("Pinned: every request from here on shows it word for word.", "small soft")
        facts(_facts(whole))
        lives = box()
        ui.timer(0, partial(self._life, lives, whole), once=True)
        text = (
            whole.text
            if len(whole.text) <= _LONGEST
            else f"{whole.text[:_LONGEST]}\n… {len(whole.text) - _LONGEST:,} more characters"
        )
        Words("pre", text, "text").style("max-height: 60vh; overflow: auto").props["tabindex"] = "0"

    async def _life(self, place: Element, whole: MessageWholeShape) -> None:
        await self.looked.wait()
        if self.seen is None:
            return
        seen = self.seen
        life = await asyncio.to_thread(fate_history, seen.store, seen.calls_in, whole.id, whole.position)
        with place:
            Words("h3", "Which calls saw this")
            if not life:
                say("None yet: no call came after it.", "soft small")
            for one in life:
                _stretch(one, seen)

    async def _pinned(self, whole: MessageWholeShape, wanted: bool) -> None:
        act = pin if wanted else unpin
        session = self.opened.info.session_id
        try:
            kept = await asyncio.to_thread(act, self.desk.store, session, whole.id)
        except FoveateError as error:
            ui.notify(str(error), position="bottom", multi_line=True)
            return
        self.opened.pins[whole.id] = whole.id in kept.pins
        self.shown.change(whole.id, pinned=whole.id in kept.pins)
        await self._pick(whole.id)


def _facts(whole: MessageWholeShape) -> list[tuple[str, str]]:
    found = [
        ("Said", f"{whole.time.astimezone():%Y-%m-%d %H:%M:%S}, in turn {whole.turn:,}"),
        ("Size", f"{whole.tokens:,} tokens, {whole.characters:,} characters"),
        ("Event", f"{whole.event:,}"),
    ]
    for name, value in (
        ("Tool", whole.tool or ""),
        ("Outcome", whole.outcome or ""),
        ("Reads", ", ".join(whole.reads)),
        ("Writes", ", ".join(whole.writes)),
    ):
        if value:
            found.append((name, value))
    return found


def _stretch(one: FatePeriod, seen: Seen) -> None:
    session = seen.info.session_id
    with box("row small").style("gap: 2px 8px; margin-top: 5px"):
        chip(one.fate, fate=one.fate)
        link(f"call {one.first:,}", to_call(session, one.first, seen.lens))
        if one.last != one.first:
            Words("span", "to", "soft")
            link(f"{one.last:,}", to_call(session, one.last, seen.lens))
        said = " ".join(
            part for part in (f"by {one.by}" if one.by else "", f"in {one.item}" if one.item else "", one.why) if part
        )
        if said:
            Words("span", said, "soft").style("overflow-wrap: anywhere")
