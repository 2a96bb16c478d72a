"""The room: chats that go on in threads of their own, so that a slow model keeps nobody else waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Literal

from foveate.agents.toolset import Answer
from foveate.api.place import Place
from foveate.chat.conversation import Conversation, Listening
from foveate.chat.endless import Endless
from foveate.chat.opening import ENDLESS, TEMPLATE, Answering
from foveate.compiler.compiled import CompiledContext
from foveate.errors import ConfigError, ConflictError, FoveateError
from foveate.integrations.chats import Chats, chats_of
from foveate.integrations.models import Chosen
from foveate.log.events import DiagnosticRecorded
from foveate.log.messages import ToolCall
from foveate.session import Session
from foveate.store import Store

Kind = Literal["text", "call", "result", "diagnostic", "done", "error"]


@dataclass(frozen=True, slots=True)
class Told:
    """Something that happened while a model answered."""

    kind: Kind
    facts: dict[str, Any] = field(default_factory=dict)


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

    def answering(self) -> tuple[Chosen, Answering]:
        """The model that answers, and why it is that one."""
        chats = self.chats
        with self._starting:
            if self._answering is None:
                self._answering = self._held.enter_context(chats.answering())
            return self._answering

    def close(self) -> None:
        """Let go of the models."""
        self._held.close()

    def mode(self, session_id: str) -> Mode:
        """How a chat goes on; one that has not begun goes as the settings say."""
        settings = self.chats.place.settings
        info = self._store.find(session_id)
        tags = info.tags if info is not None else {}
        endless = tags[ENDLESS] == "on" if ENDLESS in tags else settings.endless
        return Mode(endless=endless, template=tags.get(TEMPLATE, settings.template))

    def switch(self, session_id: str, *, endless: bool, template: str | None) -> Mode:
        """Go on endlessly by a template, or with the plain history."""
        wanted = template or self.mode(session_id).template
        with self._alone(session_id), self._opened(session_id) as (chat, answering):
            self.chats.place.switch(chat, answering, template=wanted if endless else None)
        return self.mode(session_id)

    def preview(self, session_id: str) -> CompiledContext:
        """What the model would be sent if it were asked now."""
        with self._alone(session_id), self._opened(session_id) as (chat, _):
            return chat.preview()

    def view_of(self, session: Session) -> CompiledContext:
        """What would be sent now of a session that somebody else has opened: by its template, if it has one."""
        mode, place = self.mode(session.id), self.chats.place
        if not mode.endless:
            return session.preview()
        return Endless(session, place.folders, mode.template, terms=place.settings.terms()).preview(now=place.clock())

    def heard(self, session_id: str, text: str | None) -> Iterator[Told]:
        """Say something (or ask again, for None), and what happens until it is answered.

        An answer that nobody waits for any more is still written into the log. Raises `ConflictError` if the chat is
        being answered already.
        """
        if text is not None and not text.strip():
            raise ConfigError("there is nothing to say: `text` is empty; write something")
        self.answering()
        self._enter(session_id)
        told: SimpleQueue[Told | None] = SimpleQueue()
        Thread(target=self._answer, args=(session_id, text, told), name=f"chat {session_id}", daemon=True).start()
        return iter(told.get, None)

    def _answer(self, session_id: str, text: str | None, told: SimpleQueue[Told | None]) -> None:
        try:
            with self._opened(session_id) as (chat, _):
                listening = _listening(told)
                asked = chat.say(text, listening) if text is not None else chat.go_on(listening)
                turn = asyncio.run(asked)
            facts = {"message_id": turn.message_id, "text": turn.text, "calls": list(turn.calls)}
            told.put(Told("done", facts))
        except FoveateError as error:
            said, _, remedy = str(error).partition("; ")
            told.put(Told("error", {"error": said, "remedy": remedy}))
        except Exception as error:
            told.put(Told("error", {"error": f"this is a defect of Foveate: {error!r}", "remedy": "please report it"}))
            raise
        finally:
            self._leave(session_id)
            told.put(None)

    @contextmanager
    def _opened(self, session_id: str) -> Generator[tuple[Conversation, Answering], None, None]:
        _, answering = self.answering()
        chat = self.chats.place.opened(session_id, answering)
        with chat.session:
            yield chat, answering

    @contextmanager
    def _alone(self, session_id: str) -> Generator[None, None, None]:
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


def _listening(told: SimpleQueue[Told | None]) -> Listening:
    def text(piece: str) -> None:
        told.put(Told("text", {"text": piece}))

    def called(call: ToolCall) -> None:
        told.put(Told("call", {"id": call.id, "name": call.name, "arguments": call.arguments}))

    def answered(call: ToolCall, answer: Answer) -> None:
        facts = {"id": call.id, "name": call.name, "text": answer.text[:4_000], "outcome": answer.outcome}
        told.put(Told("result", facts))

    def noted(diagnostic: DiagnosticRecorded) -> None:
        facts = {"code": diagnostic.code, "phase": diagnostic.phase, "text": diagnostic.text}
        told.put(Told("diagnostic", {**facts, "subject": diagnostic.subject}))

    return Listening(on_text=text, on_call=called, on_answer=answered, on_diagnostic=noted)
