"""The room: chats that go on in threads of their own, so that a slow model keeps nobody else waiting."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Literal

from foveate.agents.loop import Listening
from foveate.agents.toolset import Answer
from foveate.api.line import Line
from foveate.api.place import Place
from foveate.budget.tokens import counter_for
from foveate.chat.conversation import Conversation
from foveate.chat.endless import Endless
from foveate.chat.opening import ENDLESS, TEMPLATE, Answering, OnProblem
from foveate.compile.compiled import CompiledContext
from foveate.errors import BudgetError, ConfigError, ConflictError, FoveateError
from foveate.integrations.chats import Chats, chats_of
from foveate.integrations.models import Chosen, chosen_for_chat
from foveate.log.events import DiagnosticRecorded, Tagged
from foveate.log.messages import ToolCall
from foveate.session import Session
from foveate.store import Store
from foveate.store.info import new_row

Kind = Literal["text", "call", "result", "diagnostic", "done", "error"]


@dataclass(frozen=True, slots=True)
class Told:
    """Something that happened while a model answered."""

    kind: Kind
    facts: dict[str, Any] = field(default_factory=dict)


# Told what happens, and at the end None.
Tell = Callable[[Told | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How a chat goes on."""

    endless: bool
    template: str


class Room:
    """The chats of a server's store; the model is started when the first answer is wanted."""

    def __init__(self, store: Store, place: Place) -> None:
        self._store = store
        self._place = place
        self._chats: Chats | None = None
        self._answering: tuple[Chosen, Answering] | None = None
        self._held = ExitStack()
        self._starting = Lock()
        self._busy: set[str] = set()
        self._counting = Lock()

    @property
    def chats(self) -> Chats:
        """Templates and settings; read once."""
        with self._starting:
            if self._chats is None:
                given = {"model": self._place.model}
                self._chats = chats_of(self._store, vault=self._place.vault, system=self._place.system, given=given)
            return self._chats

    def chosen(self) -> Chosen:
        """Which model will answer, and why; it is not started for that."""
        chats = self.chats
        return chosen_for_chat(chats.place.settings.model, chats.config.models, os.environ)

    def answering(self) -> tuple[Chosen, Answering]:
        """The model that answers, and why it is that one."""
        chats = self.chats
        with self._starting:
            if self._answering is None:
                chosen, models = self._held.enter_context(chats.answering())
                line = Line()
                self._held.callback(line.close)
                self._answering = chosen, line.over(models)
            return self._answering

    def close(self) -> None:
        """Let go of the models."""
        self._held.close()

    def mode(self, session_id: str) -> Mode:
        """How a chat goes on; one that has not begun goes as the settings say."""
        settings = self.chats.place.settings
        tags = self._store.tags_of(session_id)
        endless = tags[ENDLESS] == "on" if ENDLESS in tags else settings.endless
        return Mode(endless=endless, template=tags.get(TEMPLATE, settings.template))

    def switch(self, session_id: str, *, endless: bool | None = None, template: str | None = None) -> Mode:
        """Go on endlessly by a template, or with the plain history; what is not given stays as it is.

        A template is kept while the history is plain, for when the chat is endless again.
        """
        place, mode = self.chats.place, self.mode(session_id)
        is_endless = mode.endless if endless is None else endless
        # Before anything is opened: a chat that is not there yet must not begin with a mistake.
        wanted = place.folders.load(template).name if template is not None else mode.template
        with self.alone(session_id), self._opened(session_id) as (chat, answering):
            place.switch(chat, answering, template=wanted if is_endless else None)
            if template is not None and not is_endless:
                chat.session.note(Tagged(tags={TEMPLATE: wanted}))
        return self.mode(session_id)

    def preview(self, session_id: str) -> CompiledContext:
        """What the model would be sent if it were asked now; also while it answers."""
        with Session.open(self._store, session_id, **self.options()) as session:
            return self.view_of(session)

    def options(self) -> dict[str, Any]:
        """The options that the session of a chat is opened with to be answered."""
        _, answering = self.answering()
        return self.chats.place.options(answering)

    def view_of(self, session: Session) -> CompiledContext:
        """What would be sent now of a session that somebody else has opened: by its template, if it has one."""
        mode, place = self.mode(session.id), self.chats.place
        if not mode.endless:
            return session.preview()
        return Endless(session, place.folders, mode.template, terms=place.settings.terms()).preview(now=place.clock())

    def heard(self, session_id: str, text: str | None) -> Iterator[Told]:
        """Say something (or ask again, for None), and what happens until it is answered; see `begin`."""
        told: SimpleQueue[Told | None] = SimpleQueue()
        self.begin(session_id, text, told.put)
        return iter(told.get, None)

    def begin(self, session_id: str, text: str | None, tell: Tell) -> None:
        """Say something, or ask again for None; what happens is told from another thread, and None at the end.

        An answer that nobody waits for any more is still written into the log. What cannot be begun is refused here:
        raises `ConflictError` if the chat is being answered already, `UnknownReferenceError` if it is not there.
        """
        self._store.require_writing()
        if text is None:
            if self._store.held.of(session_id).is_empty:
                self._store.session(session_id)
        elif self._store.find(session_id) is None:
            # A name that none can have is refused now, and not once the answer is under way.
            new_row(session_id, self.chats.place.vault_name)
        if text is not None and not text.strip():
            raise ConfigError("there is nothing to say: `text` is empty; write something")
        _, answering = self.answering()
        if text is not None:
            self._check_fits(text, answering)
        self._enter(session_id)
        Thread(target=self._answer, args=(session_id, text, tell), name=f"chat {session_id}", daemon=True).start()

    def _answer(self, session_id: str, text: str | None, tell: Tell) -> None:
        try:
            listening = _listening(tell)
            # What is wrong with a transcript is found before anybody listens to the session.
            with self._opened(session_id, listening.on_diagnostic) as (chat, _):
                asked = chat.say(text, listening) if text is not None else chat.go_on(listening)
                turn = asyncio.run(asked)
            facts = {"message_id": turn.message_id, "text": turn.text, "calls": list(turn.calls)}
            tell(Told("done", facts))
        except FoveateError as error:
            said, _, remedy = str(error).partition("; ")
            tell(Told("error", {"error": said, "remedy": remedy}))
        except Exception as error:
            tell(Told("error", {"error": f"this is a defect of Foveate: {error!r}", "remedy": "please report it"}))
            raise
        finally:
            self._leave(session_id)
            tell(None)

    def _check_fits(self, text: str, answering: Answering) -> None:
        """Refuse what no request could ever hold: once it was said, it would be in the log for good."""
        limit = self.chats.place.budget(answering).limit
        # Most need not be counted: a token has at least one byte.
        size = len(text.encode("utf-8", "replace"))
        needed = counter_for(answering.driver.name).count(text) if size > limit else 0
        if needed > limit:
            raise BudgetError(
                f"`text` has {needed:,} tokens, and a request may have {limit:,}; shorten it, or raise `budget`",
                needed=needed,
                limit=limit,
                parts={"text": needed},
            )

    @contextmanager
    def _opened(
        self, session_id: str, on_problem: OnProblem = lambda _problem: None
    ) -> Generator[tuple[Conversation, Answering], None, None]:
        _, answering = self.answering()
        chat = self.chats.place.opened(session_id, answering, on_problem)
        with chat.session:
            yield chat, answering

    @contextmanager
    def alone(self, session_id: str) -> Generator[None, None, None]:
        """Do something to a session while no chat is answered in it; refused if one is."""
        self._enter(session_id)
        try:
            yield
        finally:
            self._leave(session_id)

    def _enter(self, session_id: str) -> None:
        with self._counting:
            if session_id in self._busy:
                raise ConflictError(f"chat {session_id!r} is being answered; wait for the answer")
            self._busy.add(session_id)

    def _leave(self, session_id: str) -> None:
        with self._counting:
            self._busy.discard(session_id)


def _listening(tell: Tell) -> Listening:
    def text(piece: str) -> None:
        tell(Told("text", {"text": piece}))

    def called(call: ToolCall) -> None:
        tell(Told("call", {"id": call.id, "name": call.name, "arguments": call.arguments}))

    def answered(call: ToolCall, answer: Answer) -> None:
        facts = {"id": call.id, "name": call.name, "text": answer.text[:4_000], "outcome": answer.outcome}
        tell(Told("result", facts))

    def noted(diagnostic: DiagnosticRecorded) -> None:
        facts = {"code": diagnostic.code, "phase": diagnostic.phase, "text": diagnostic.text}
        tell(Told("diagnostic", {**facts, "subject": diagnostic.subject}))

    return Listening(on_text=text, on_call=called, on_answer=answered, on_diagnostic=noted)
