"""Opening a chat: its session in a store, as it was left, with the model, tools and template it goes on with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from foveate.agents.driver import Driver, alias_of
from foveate.agents.toolset import Toolset
from foveate.budget.profiles import known_profile
from foveate.budget.window import TokenBudget
from foveate.chat.conversation import Conversation
from foveate.chat.endless import Computed, Endless, Named
from foveate.chat.finding import TemplateFolders
from foveate.chat.recording import note_alias
from foveate.chat.settings import ChatSettings
from foveate.errors import ConfigError
from foveate.log.events import DiagnosticRecorded, Tagged
from foveate.log.text import encodable
from foveate.session import Session
from foveate.store import SessionInfo, Store
from foveate.store.summaries import MODEL_ALIAS

SYSTEM: Final = (
    "You are a helpful assistant in a long conversation. Answer in the language of the user, to the point, and say so "
    "when you do not know something."
)
TRANSCRIPTS: Final = "AssistantMD/Chats"
# Tags of a session: that it is a chat, and how it goes on.
KIND: Final = "kind"
ENDLESS: Final = "endless"
TEMPLATE: Final = "template"
_CHAT: Final = "chat"
_STORE_FAILED: Final = "store_failed"
# Names of files may have 255 bytes; of a longer one, so many characters are shown.
_LONGEST: Final = 240
_SHOWN: Final = 60

# How far back in a log it is looked whether something was said already.
_LOOKED_AT: Final = 200

OnProblem = Callable[[DiagnosticRecorded], None]


def _to_nobody(_problem: DiagnosticRecorded) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """Who answers in a chat: a model, the room it has, its tools, and who writes summaries."""

    driver: Driver
    writer: Driver | None = None
    # The model of a name or an alias, for templates that name one.
    named: Named | None = None
    # What the model can read at once; None if only its provider knows.
    window: int | None = None
    tools: Sequence[Toolset] = ()
    # What could not be had as the settings say; a chat goes on without it, and says so.
    problems: Sequence[DiagnosticRecorded] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPlace:
    """Where chats are: a store, templates, and the vault they belong to."""

    store: Store
    folders: TemplateFolders
    settings: ChatSettings
    computed: Computed | None = None
    clock: Callable[[], float | None] = time.time

    @property
    def vault_name(self) -> str:
        """The name of the vault."""
        # Whole: of `.` there is no name, and the root has none at all.
        return (self.folders.vault.resolve().name if self.folders.vault is not None else "") or "default"

    def transcript_of(self, session_id: str) -> Path | None:
        """Where the transcript of a chat is written: in the vault, if there is one."""
        if self.folders.vault is None:
            return None
        return self.folders.vault / TRANSCRIPTS / f"{file_name(session_id)}.md"

    def template_of(self, session: Session) -> str:
        """The template that a chat goes on with when it is endless: the one it had last, else that of the settings."""
        return self.store.tags_of(session.id).get(TEMPLATE, self.settings.template)

    def opened(self, session_id: str, answering: Answering, on_problem: OnProblem = _to_nobody) -> Conversation:
        """A chat as it was left, or a new one; a transcript that cannot be written is a problem, and no more.

        A store that can only be read is refused: nothing of the chat could be kept.
        """
        self.store.require_writing()
        session = self._session(session_id, answering, on_problem)
        if session.held_in is not None:
            # Said in the log when nobody listened yet.
            for said in _newest(session)[::-1]:
                if isinstance(said, DiagnosticRecorded) and said.code == _STORE_FAILED:
                    on_problem(said)
                    break
        for problem in answering.problems:
            self._met(session, problem, on_problem)
        chat = Conversation(
            session,
            answering.driver,
            system=SYSTEM,
            tools=answering.tools,
            clock=self.clock,
            steps=self.settings.steps,
        )
        tags = self.store.tags_of(session_id)
        if KIND not in tags:
            # In the log like all else, so that it goes along with an export; a chat goes on without it, too.
            session.note(Tagged(tags={KIND: _CHAT}), time=self.clock())
        note_alias(session, tags.get(MODEL_ALIAS, ""), alias_of(answering.driver), time=self.clock())
        is_endless = tags[ENDLESS] == "on" if ENDLESS in tags else self.settings.endless
        if is_endless:
            chat.endless = self.endless(session, answering, self.template_of(session))
        return chat

    def endless(self, session: Session, answering: Answering, template: str) -> Endless:
        """Endless mode for a session."""
        return Endless(
            session,
            self.folders,
            template,
            terms=self.settings.terms(),
            writer=answering.writer,
            named=answering.named,
            computed=self.computed,
        )

    def switch(self, chat: Conversation, answering: Answering, *, template: str | None) -> None:
        """Go on endlessly with a template, or with the plain history (None); the session remembers it."""
        if template is None:
            chat.endless = None
            chat.session.use("chat")
            chat.session.note(Tagged(tags={ENDLESS: "off"}))
            return
        # A template that cannot be read is refused here; once it is chosen, a call never fails for it.
        chosen = self.folders.load(template)
        chat.endless = self.endless(chat.session, answering, chosen.name)
        chat.session.note(Tagged(tags={ENDLESS: "on", TEMPLATE: chosen.name}))

    def resume(self, chat: Conversation, answering: Answering) -> None:
        """Go on endlessly with the template that the chat had, or that of the settings.

        Nobody names it now, so none is refused: if it is gone, the next call says so, and goes out all the same.
        """
        chat.endless = self.endless(chat.session, answering, self.template_of(chat.session))
        chat.session.note(Tagged(tags={ENDLESS: "on"}))

    def budget(self, answering: Answering) -> TokenBudget:
        """The most that a request of a chat may have: as the settings say, and never more than the model can read."""
        window = answering.window or known_profile(answering.driver.name).window
        budget, reserve = self.settings.budget, self.settings.reserve
        if window is None or window >= budget + reserve:
            return TokenBudget(window=budget + reserve, reserved_output=reserve)
        return TokenBudget(window=window, reserved_output=min(reserve, window // 2))

    def options(self, answering: Answering) -> dict[str, Any]:
        """The options that the session of a chat is opened with."""
        return {
            "budget": self.budget(answering),
            "model": known_profile(answering.driver.name),
            "policy": "chat",
        }

    def _session(self, session_id: str, answering: Answering, on_problem: OnProblem) -> Session:
        options = {"vault": self.vault_name, **self.options(answering)}
        path = self.transcript_of(session_id)
        try:
            return Session.open(self.store, session_id, transcript=path, **options)
        except ConfigError as error:
            if path is None:
                raise
            # Options that are wrong are wrong without a transcript, too.
            session = Session.open(self.store, session_id, **options)
            problem = DiagnosticRecorded(
                code="transcript_failed", phase="transcript", text=encodable(f"{error}"), subject=encodable(f"{path}")
            )
            self._met(session, problem, on_problem)
            return session

    def _met(self, session: Session, problem: DiagnosticRecorded, on_problem: OnProblem) -> None:
        """Tell of a problem; what lasts is in the log once, however often the chat is opened."""
        if problem not in _newest(session):
            session.note(problem, time=self.clock())
        on_problem(problem)


def is_chat(info: SessionInfo) -> bool:
    """Whether a session is a conversation with a model, wherever it was begun."""
    # Chats of earlier versions have the other tag only.
    return info.tags.get(KIND) == _CHAT or ENDLESS in info.tags


def file_name(session_id: str) -> str:
    """The name of a session as a file can have it, and no other session's: `a/b` is a_b~c14cddc0, `a_b` stays."""
    safe = "".join(one if one.isalnum() or one in "-_. " else "_" for one in session_id).lstrip(".")
    if safe == session_id and len(safe.encode()) <= _LONGEST:
        return safe
    # A plain name has no ~ in it.
    return f"{safe[:_SHOWN]}~{sha256(encodable(session_id).encode()).hexdigest()[:8]}"


def _newest(session: Session) -> list[object]:
    log, length = session.context.log, session.context.length
    return [event.body for event in log.events(max(0, length - _LOOKED_AT), length)]
