"""Chat: a conversation with a model, endless or plain, and how full its window is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from nicegui import ui
from nicegui.element import Element

from foveate.api.failures import failure_of
from foveate.errors import FoveateError
from foveate.web.chat_widgets import Composer, ConversationView
from foveate.web.desk import Desk
from foveate.web.frame import failed, framed, headed, loaded, session_tabs
from foveate.web.gauge import show_gauge
from foveate.web.held import SAVED, Held, notice_of
from foveate.web.links import to_chat, to_template, to_transcript
from foveate.web.opened import Opened, new_name, read_chat
from foveate.web.phrases import counted
from foveate.web.pieces import Words, box, choice, empty, link, notice
from foveate.web.talks import Talk, Talks
from foveate.web.turns import Entry, first_of_turns, moment

_LISTED: Final = 40
_TICK: Final = 0.15
# In seconds: how often it is looked whether something waits to be written.
_WATCH: Final = 0.7
_ENDLESS: Final = "Compile each request from a template, so that the chat can go on for ever"


def chat_page(desk: Desk, talks: Talks, session: str) -> None:
    """Build the page."""

    async def fetch() -> Opened:
        await desk.open()
        return await asyncio.to_thread(read_chat, desk, talks, session, None)

    with framed("Chat"):
        loaded(fetch, lambda opened: _Chat(desk, talks, opened), "Opening the chat")


class _Chat:
    """An open chat: what is shown of it, and the answer that is under way."""

    def __init__(self, desk: Desk, talks: Talks, opened: Opened) -> None:
        self._desk = desk
        self._talks = talks
        self._opened = opened
        # What was said on this page, and how much of what is under way it shows.
        self._mine: Talk | None = None
        self._seen: tuple[Talk | None, int] = (None, 0)
        self._is_settling = False
        self._composer: Composer | None = None
        # Whether something waited to be written when it was last looked.
        self._is_waiting = bool(opened.held.events)
        self._build()
        self._draw()
        self._draw_saving()
        ui.timer(_TICK, self._look)
        ui.timer(_WATCH, self._watch)

    # --- what stands where ----------------------------------------------------------------------------------------

    def _build(self) -> None:
        again = partial(self._begin, None)
        with box("chat"):
            self._chats = box("chats", "aside")
            with box("column"):
                self._head = box()
                with box("conversation"):
                    self._nothing = box()
                    self._past = ConversationView("What was said", on_again=again, on_earlier=self._earlier)
                    self._live = ConversationView("What is being said", on_again=again)
                with box("foot"):
                    self._saving = box("stack problems")
                    self._problems = box("stack problems")
                    self._writing()

    def _writing(self) -> None:
        refusal = self._opened.manner.refusal
        if refusal is not None:
            said = failure_of(refusal)
            told = [_sentence(text) for text in (said.error, said.remedy) if text]
            empty("Nobody can answer here", *told).classes("refusal")
            return
        with box("card writing"):
            self._window = box()
            self._composer = Composer(self._opened.session, self._begin)
            self._controls = box("row controls")

    def _draw(self) -> None:
        """Show everything as it is now."""
        opened, talk = self._opened, self._talks.of(self._opened.session)
        _redrawn(self._chats, partial(_listed, opened))
        _redrawn(self._head, partial(_heading, opened))
        if self._composer is not None:
            _redrawn(self._window, partial(_gauge, opened))
            _redrawn(self._controls, self._switches)
        self._draw_talk(talk)

    def _draw_talk(self, talk: Talk | None) -> None:
        turns, is_busy = self._opened.turns, talk is not None and not talk.is_done
        ending = [] if is_busy else _ending(self._opened, talk, is_mine=talk is self._mine)
        shown = [*turns.entries, *ending]
        is_new = not shown and not is_busy and self._composer is not None
        _redrawn(self._nothing, partial(_greeting, is_new=is_new))
        self._past.show(shown, has_earlier=turns.first > 0)
        self._live.show(talk.entries if talk is not None and is_busy else [], waiting="being answered…" * is_busy)
        if self._composer is not None:
            self._composer.show(is_busy=is_busy, messages=self._opened.messages)

    def _switches(self) -> None:
        mode, templates = self._opened.manner.mode, self._opened.manner.templates
        if mode is None:
            return
        names = {name: name for name in templates}
        if mode.template not in names:
            names = {mode.template: f"{mode.template} (is gone)", **names}
        with box("switch", "label") as label:
            label.props["title"] = _ENDLESS
            self._toggle = ui.element("input")
            self._toggle.props.update({"type": "checkbox", "role": "switch"})
            if mode.endless:
                self._toggle.props["checked"] = True
            Words("span", "Endless")
        self._toggle.on(
            "change",
            lambda event: self._switch(endless=bool(event.args), template=None),
            js_handler="(event) => emit(event.target.checked)",
        )
        chosen = choice("Template", names, mode.template, lambda name: self._switch(endless=True, template=name))
        if not mode.endless:
            chosen.props["disabled"] = True
            chosen.props["title"] = "for endless chats"
        link("What it says", to_template(mode.template), "button quiet hide-narrow")

    # --- what happens ---------------------------------------------------------------------------------------------

    async def _switch(self, *, endless: bool, template: str | None) -> None:
        room, session = self._talks.room, self._opened.session
        self._problems.clear()
        try:
            await asyncio.to_thread(partial(room.switch, session, endless=endless, template=template))
        except FoveateError as error:
            self._failed(error)
        await self._refresh()
        self._draw()
        with self._controls:
            # The switch is a new one, and who works with keys stays on it.
            ui.run_javascript(f"getHtmlElement({self._toggle.id})?.focus({{preventScroll: true}})")

    async def _begin(self, text: str | None) -> None:
        self._problems.clear()
        if not self._is_waiting:
            # That all is saved was said of what came before.
            self._saving.clear()
        try:
            self._mine = await asyncio.to_thread(self._talks.begin, self._opened.session, text)
        except FoveateError as error:
            self._failed(error)
            if text is not None and self._composer is not None:
                self._composer.restore(text)
            return
        await self._look()

    async def _earlier(self) -> None:
        info, first = self._opened.info, self._opened.turns.first
        if info is not None and first:
            before = await asyncio.to_thread(first_of_turns, self._desk.store, info, first)
            await self._refresh(before)
            self._draw_talk(self._talks.of(self._opened.session))

    async def _look(self) -> None:
        """Show what has come since; the page may have been opened in the middle of an answer."""
        talk = self._talks.of(self._opened.session)
        if talk is None or self._is_settling or self._seen == (talk, talk.version):
            return
        before, self._seen = self._seen[0], (talk, talk.version)
        if talk.is_done:
            await self._settle(talk)
        elif talk is before:
            self._live.show(talk.entries, waiting="being answered…")
        else:
            self._draw_talk(talk)

    async def _watch(self) -> None:
        """Say once that what is said waits to be written, and that it was written when it was."""
        held = self._desk.store.held.of(self._opened.session)
        is_waiting = not await asyncio.to_thread(lambda: held.is_empty)
        if is_waiting == self._is_waiting or self._is_settling:
            return
        await self._refresh()
        self._is_waiting = bool(self._opened.held.events)
        self._draw()
        self._draw_saving(is_saved=not self._is_waiting)

    def _draw_saving(self, *, is_saved: bool = False) -> None:
        _redrawn(self._saving, partial(_saving, self._opened.held, is_saved=is_saved))

    async def _settle(self, talk: Talk) -> None:
        """An answer is there, or has failed: from now on it is the log that is shown."""
        self._is_settling = True
        try:
            await self._refresh()
        finally:
            self._is_settling = False
        self._draw()
        if self._opened.held.events:
            self._is_waiting = True
            self._draw_saving()
        if talk is self._mine and self._composer is not None:
            # It may have failed before the page showed that it was under way.
            self._composer.settled()

    async def _refresh(self, first: int | None = None) -> None:
        opened = self._opened
        wanted = opened.turns.first if first is None else first
        try:
            self._opened = await asyncio.to_thread(read_chat, self._desk, self._talks, opened.session, wanted)
        except FoveateError as error:
            self._failed(error)

    def _failed(self, error: FoveateError) -> None:
        with self._problems:
            failed(error)


def _redrawn(place: Element, show: Callable[[], object]) -> None:
    place.clear()
    with place:
        show()


def _listed(opened: Opened) -> None:
    """The chats there are, the one that was used last on top."""
    link("New chat", to_chat(new_name()), "button main")
    with box("list", "nav") as nav:
        nav.props["aria-label"] = "Chats"
        if all(one.session != opened.session for one in opened.chats):
            _chat(opened.session, "New chat", "nothing was said yet", is_open=True)
        for one in opened.chats[:_LISTED]:
            about = f"{counted(one.messages, 'message')} · {moment(one.active_at)}"
            _chat(one.session, one.title, about, is_open=one.session == opened.session)
    if len(opened.chats) > _LISTED:
        link(f"All {len(opened.chats):,} chats", "/", "small")


def _chat(session: str, title: str, about: str, *, is_open: bool) -> None:
    with link("", to_chat(session)) as shown:
        Words("span", title, "name")
        Words("span", about, "soft")
    if is_open:
        shown.props["aria-current"] = "page"


def _heading(opened: Opened) -> None:
    info, chosen = opened.info, opened.manner.chosen
    told = [counted(opened.messages, "message")] if info is not None or opened.messages else []
    told += [f"{chosen.name} answers: {chosen.why}"] if chosen is not None else []
    with headed((info.title if info is not None else "") or opened.session, " · ".join(told)):
        if info is not None:
            link("Download transcript", to_transcript(opened.session), "button").props["download"] = ""
    if info is not None:
        session_tabs(info, "Chat", None)


def _saving(held: Held, *, is_saved: bool) -> None:
    strong, text = ("Now saved.", SAVED) if is_saved else notice_of(held)
    if strong:
        made = notice(text, "tip" if is_saved else "warn", strong=strong)
        # It comes and goes while somebody writes: it is read out when there is a pause.
        made.props["role"] = "status"


def _greeting(*, is_new: bool) -> None:
    if is_new:
        empty(
            "Say something",
            "Whatever is said stays in the log, word for word. What the model is shown of it is another matter: the "
            "bar below tells, and each answer leads to the request that it answers.",
            "Endless compiles every request from a template, so that a chat can go on for months.",
        )


def _gauge(opened: Opened) -> None:
    if opened.gauge is not None:
        show_gauge(opened.session, opened.gauge)


def _ending(opened: Opened, talk: Talk | None, *, is_mine: bool) -> list[Entry]:
    """What stands below the last turn if it has no answer, or if what was said did not come into the log."""
    if opened.info is None and talk is None:
        return []
    is_answered = opened.turns.is_answered
    can_ask = not is_answered and opened.manner.refusal is None
    failure = talk.failure if talk is not None else None
    if talk is None or failure is None:
        title, text = "What was said last has no answer yet.", "The model was not asked, or did not come to an end."
        return [] if is_answered else [_failure(title, text, "Ask now" if can_ask else "")]
    lost = [] if is_mine or _is_logged(opened, talk) else talk.entries[:1]
    if is_answered and not is_mine and not lost:
        return []
    return [*lost, _failure(_sentence(failure.error), _sentence(failure.remedy), "Try again" if can_ask else "")]


def _failure(title: str, text: str, again: str) -> Entry:
    return {"key": "failure", "who": "failure", "title": title, "text": text, "again": again}


def _is_logged(opened: Opened, talk: Talk) -> bool:
    """Whether what was said is in the log."""
    return talk.text is None or opened.messages > talk.messages


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
