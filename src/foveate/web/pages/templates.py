"""Templates: what endless chats keep in view, to read, to change in the vault, and to try on a session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from nicegui import ui

from foveate.api.room import Room
from foveate.chat.finding import TemplateFolders
from foveate.chat.settings import ChatSettings
from foveate.errors import FoveateError
from foveate.store import SessionInfo
from foveate.web.chat_widgets import Editor
from foveate.web.desk import Desk
from foveate.web.frame import failed, framed, headed, loaded
from foveate.web.links import to_chat, to_template
from foveate.web.phrases import counted, share
from foveate.web.pieces import Words, box, chip, choice, link, notice, say, stats, waiting
from foveate.web.shelf import STARTER, Shown, draft_of, shelf_of, users_of, written
from foveate.web.trial import Trial, tried

MEANINGS: Final = {
    "topic": "the user's newest words that are more than a nod",
    "constraints": "what must, must not, always or never be",
    "plan": "the newest plan that a tool wrote",
    "recent_turns": "the newest turns it stands for: speaker, text",
    "tool_results": "their newest tool results: tool, result",
    "reflections": "the last three: observation, adjustment",
    "latest_input": "what the user said last",
    "recalled": "what was found for it in the whole chat",
    "ledger": "what else is worth a line",
    "computed_context": "what a project knows for the input",
}
"""What each placeholder is filled with."""
_TRIED_ON: Final = 60


class _Opened(NamedTuple):
    """The templates there are, the one that is open (None: a new one), and the sessions to try it on."""

    folders: TemplateFolders
    settings: ChatSettings
    shelf: list[Shown]
    chosen: Shown | None
    sessions: list[SessionInfo]


def templates_page(desk: Desk, room: Room, name: str, *, is_new: bool) -> None:
    """Build the page."""

    def read() -> _Opened:
        place = room.chats.place
        shelf = shelf_of(place.folders)
        wanted = name or place.settings.template
        chosen = next((one for one in shelf if one.name == wanted), None)
        if chosen is None and not is_new:
            if name:
                # It says which there are.
                place.folders.load(name)
            chosen = shelf[0] if shelf else None
        sessions = [one for one in desk.store.sessions() if one.messages]
        return _Opened(place.folders, place.settings, shelf, None if is_new else chosen, sessions)

    async def fetch() -> _Opened:
        await desk.open()
        return await asyncio.to_thread(read)

    with framed("Templates"):
        headed("Templates", "What the model keeps in view of an endless chat: instructions, and a form that is filled.")
        loaded(fetch, lambda opened: _Templates(desk, opened), "Reading the templates")


class _Templates:
    """The template that is open, and what it makes of a session."""

    def __init__(self, desk: Desk, opened: _Opened) -> None:
        self._desk = desk
        self._opened = opened
        self._on = opened.sessions[0].session_id if opened.sessions else ""
        with box("desk"):
            self._shelf = box("chats", "aside")
            with box("stack"):
                self._said = box("stack")
                self._edited()
                self._tried = box("stack")
                self._tried.props["aria-live"] = "polite"
            with box("stack"):
                self._beside()
        self._draw()

    def _draw(self) -> None:
        """Show what is said about the templates as they are now."""
        opened = self._opened
        self._shelf.clear()
        with self._shelf:
            _listed(opened)
        self._said.clear()
        with self._said:
            _told(opened)

    def _edited(self) -> None:
        chosen, has_vault = self._opened.chosen, self._opened.folders.vault is not None
        if chosen is not None and chosen.problem is not None and not chosen.text:
            # There is nothing of it that could be put right here.
            return
        self._editor = Editor(
            chosen.name if chosen is not None else "",
            chosen.text if chosen is not None else STARTER,
            on_try=self._try,
            on_save=self._save if has_vault else None,
        )

    def _beside(self) -> None:
        if self._opened.sessions:
            names = {one.session_id: (one.title or one.session_id)[:60] for one in self._opened.sessions[:_TRIED_ON]}
            with box("card padded"):
                Words("h3", "Preview on")
                choice("Session", names, self._on, self._choose).style("width: 100%; margin-bottom: 6px")
                say(
                    "As if it went on with this template now. No model is asked, and nothing is recorded.", "small soft"
                )
        with box("card padded"):
            Words("h3", "Placeholders").style("margin-bottom: 8px")
            with box("places", "dl"):
                for name, meaning in MEANINGS.items():
                    with box(tag="dt"):
                        made = Words("button", f"{{{{ {name} }}}}")
                        made.props["type"] = "button"
                        made.props["title"] = "Put it where the cursor is"
                        made.on("click", partial(self._insert, f"{{{{ {name} }}}}"))
                    Words("dd", meaning)
            say("{% if topic %} … {% endif %} and {% for turn in recent_turns %} … {% endfor %} work, too. What has no "
                "value is empty.", "small soft")  # fmt: skip

    def _insert(self, text: str) -> None:
        if self._opened.folders.vault is not None:
            self._editor.insert(text)

    def _choose(self, session: str) -> None:
        self._on = session

    async def _save(self, name: str, text: str) -> None:
        opened = self._opened
        try:
            saved = await asyncio.to_thread(written, opened.folders, opened.chosen, name, text)
            shelf = await asyncio.to_thread(shelf_of, opened.folders)
        except FoveateError as error:
            self._draw()
            with self._said:
                failed(error)
            return
        self._editor.saved()
        if opened.chosen is None or opened.chosen.name != saved.name:
            ui.navigate.to(to_template(saved.name))
            return
        chosen = next(one for one in shelf if one.name == saved.name)
        self._opened = opened._replace(shelf=shelf, chosen=chosen)
        self._draw()
        ui.notify(f"Saved as {saved.path}", position="bottom")

    async def _try(self, name: str, text: str) -> None:
        opened, session = self._opened, self._on
        self._tried.clear()
        with self._tried:
            if not session:
                notice("There is no session to try it on yet; say something in a chat first.", "tip")
                return
            waiting("Filling it in")
        try:
            template = draft_of(name, text)
            terms, budget = opened.settings.terms(), opened.settings.budget
            found = await asyncio.to_thread(tried, self._desk.store, session, template, terms, budget)
        except FoveateError as error:
            self._tried.clear()
            with self._tried:
                failed(error)
            return
        self._tried.clear()
        with self._tried:
            for note in template.notes:
                notice(f"{note[:1].upper()}{note[1:]}.", "warn", strong="Odd:")
            _show_trial(found, session)
        ui.run_javascript(f"getHtmlElement({self._tried.id}).scrollIntoView({{block: 'nearest', behavior: 'smooth'}})")


def _listed(opened: _Opened) -> None:
    if opened.folders.vault is not None:
        link("New template", "/templates?new=true", "button main")
    with box("list", "nav") as nav:
        nav.props["aria-label"] = "Templates"
        for one in opened.shelf:
            about = "cannot be read" if one.problem is not None else one.description or "no description"
            with link("", to_template(one.name)) as shown:
                with box("row").style("gap: 6px; flex-wrap: nowrap"):
                    Words("span", one.name, "name")
                    Words("span", one.source, "chip on" if one.source == "vault" else "chip")
                Words("span", about, "soft")
            shown.props["title"] = about
            if opened.chosen is not None and one.name == opened.chosen.name:
                shown.props["aria-current"] = "page"


def _told(opened: _Opened) -> None:
    """What is to be known of the template that is open."""
    chosen = opened.chosen
    if opened.folders.vault is None:
        notice(
            "Templates of your own are kept in a vault, a folder of your notes: start the server with "
            "`foveate serve --vault DIR`. Until then they can be read and tried here, not changed.",
            "tip",
            strong="There is no vault.",
        )
    if chosen is None:
        return
    if chosen.problem is not None:
        failed(chosen.problem)
    if chosen.source == "system" and opened.folders.vault is not None:
        notice("It comes with the system. Saving writes a copy of your own into the vault, which is used from then on; "
               "the one of the system stays as it is.", "tip")  # fmt: skip
    for note in chosen.notes:
        notice(f"{note[:1].upper()}{note[1:]}.", "warn", strong="Odd:")
    with box("row small"):
        chip(chosen.source, "on" if chosen.source == "vault" else "")
        Words("span", str(chosen.path), "mono soft").style("overflow-wrap: anywhere")
    _users(users_of(opened.sessions, chosen.name))


def _users(users: Sequence[SessionInfo]) -> None:
    if users:
        with box("row small"):
            say(f"{counted(len(users), 'chat')} {'goes' if len(users) == 1 else 'go'} on with it:", "soft")
            for one in users[:5]:
                link((one.title or one.session_id)[:40], to_chat(one.session_id))


def _show_trial(found: Trial | None, session: str) -> None:
    if found is None:
        notice(
            f"Nothing of “{session}” is summarised: only its running turn is there, and that stays as it was said.",
            "tip",
            strong="No summary.",
        )
        return
    stay = "all" if found.runs is None else f"{found.runs:,}"
    of = f"of {found.limit:,}, {share(found.request, found.limit)}" if found.limit else ""
    stats(
        [
            ("Summary", f"{found.tokens:,}", "tokens"),
            ("Stands for", f"{found.covered:,}", "messages"),
            ("Whole request", f"{found.request:,}", of),
            ("Stay as said", stay, "finished turns, and the running one"),
        ]
    )
    with box("card padded"):
        Words("h3", "What the model would see of the rest").style("margin-bottom: 8px")
        Words("pre", found.text or "(the form came out empty)", "text")
