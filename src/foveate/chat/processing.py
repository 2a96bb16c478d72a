"""A history processor: keeps a session beside somebody else's agent, and gives back what the model should see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from foveate.agents.driver import Driver
from foveate.chat.endless import Computed, Endless, Terms
from foveate.chat.finding import TemplateFolders
from foveate.chat.recording import note_alias
from foveate.compile.compiled import CompiledContext
from foveate.errors import BudgetError, FoveateError
from foveate.log.events import CallRecorded, DiagnosticRecorded, MessageAppended, Tagged
from foveate.log.messages import Message
from foveate.session import Session
from foveate.session.beside import Turns, run_beside
from foveate.store.location import located
from foveate.store.summaries import MODEL_ALIAS
from foveate.wire.formats import decode_any

_FORMAT: Final = "pydantic-ai"


class CompilingHistory:
    """Called with the history of an agent before each request; returns the messages to send instead.

    The session has the whole history, whatever the agent keeps of it. A history that is no continuation of it begins
    another session, in memory; the last is in `session` until then.
    """

    def __init__(
        self,
        *,
        budget: int,
        template: str,
        folders: TemplateFolders,
        terms: Terms,
        writer: Driver | None,
        computed: Computed | None,
        session: Session | None,
        model: str | None = None,
    ) -> None:
        self.session = session or Session(budget=budget, policy="chat")
        self.failure: str | None = None
        self._options: dict[str, Any] = {"terms": terms, "writer": writer, "computed": computed}
        self._budget, self._template, self._folders = budget, template, folders
        self._endless = self._made()
        # A session of one's own is expected to be gone on with: that another one begins is said.
        self._is_owned = session is not None
        self._failures: list[DiagnosticRecorded] = []
        self._turns = Turns()
        # What the agent had when it was last here, and what it was given: either may come back, with more behind it.
        self._known: tuple[list[Message], ...] = ()
        self._replied: list[Message] = []
        # The model that is recorded with each call, and the one that the session has last noted.
        self._model = model
        self._noted: tuple[str, str] | None = None
        if self.session.messages:
            self._resume()

    async def __call__(self, messages: list[Any]) -> list[Any]:
        """The messages to send; those given, if they cannot even be read."""
        return await self.view(messages)

    async def view(
        self, messages: list[Any], tools: Iterable[Mapping[str, Any]] | None = None, *, model: str | None = None
    ) -> list[Any]:
        """The messages to send; `tools` are sent along with them, and count; `model` is recorded with the call.

        Whatever waits for a store is done beside the event loop; several at once take turns.
        """
        if not messages:
            return messages
        async with self._turns:
            return await self._view(messages, tools, model)

    async def _view(
        self, messages: list[Any], tools: Iterable[Mapping[str, Any]] | None, model: str | None
    ) -> list[Any]:
        self.failure = None
        wanted = [dict(tool) for tool in tools] if tools is not None else None
        try:
            said = list(await run_beside(decode_any, messages))
        except FoveateError as error:
            self._fail(error, "read")
            return messages
        try:
            await run_beside(self._take, said)
            if wanted is not None and list(self.session.context.tools) != wanted:
                await run_beside(self.session.reframe, tools=wanted, hold=True)
            await run_beside(self._note_model, self._model or model)
            view = await self._endless.compile()
        except BudgetError:
            raise
        except FoveateError as error:
            self._fail(error, "record")
            view = await run_beside(self._without_session, said, wanted)
        return await run_beside(self._sent, view, said)

    def _sent(self, view: CompiledContext, said: list[Message]) -> list[Any]:
        """A view as the agent gets it; it may come back as the history."""
        sent: list[Any] = view.to(_FORMAT)
        self._known, self._replied = (said, list(decode_any(sent))), []
        return sent

    def heard(self, reply: object) -> None:
        """Keep what the model answered; without this it is kept with the next request."""
        try:
            replied = list(decode_any([reply]))
            self.session.extend(replied, hold=True)
        except FoveateError as error:
            self._fail(error, "record")
            return
        self._replied += replied

    @property
    def diagnostics(self) -> tuple[DiagnosticRecorded, ...]:
        """What went wrong so far; each cost a summary or a record, none a call."""
        noted = (event.body for event in self.session.events if isinstance(event.body, DiagnosticRecorded))
        return (*noted, *self._failures)

    def _note_model(self, model: str | None) -> None:
        if model is not None and (self.session.id, model) != self._noted:
            known = _tags_of(self.session).get(MODEL_ALIAS, "")
            note_alias(self.session, known, model)
            self._noted = (self.session.id, model)

    def _take(self, said: list[Message]) -> None:
        """Append what is new to the session, or begin another one."""
        for known in self._known:
            if known and _same(said[: len(known)], known):
                self.session.extend(_behind(said[len(known) :], self._replied), hold=True)
                return
        if self.session.messages:
            self._begin_another()
        self.session.extend(said, hold=True)

    def _begin_another(self) -> None:
        left, self.session = self.session, Session(budget=self._budget, policy="chat")
        self._endless = self._made()
        if not self._is_owned:
            return
        self._is_owned = False
        text = (
            f"the history is no continuation of session {left.id!r}: from here on it is kept in memory only; give the "
            "agent its `message_history`, or another conversation a processor and a session of its own"
        )
        noted = DiagnosticRecorded(code="history_unknown", phase="history", text=text, subject=left.id)
        for session in (left, self.session):
            session.note(noted)

    def _resume(self) -> None:
        """Know the history of a session that was begun before, as the agent had it and as it was sent."""
        context = self.session.context
        had, sent = list(context.messages), list[Message]()
        behind: list[Message] = []
        for index in reversed(range(context.length)):
            match context.log.event(index).body:
                case MessageAppended(message=message):
                    behind.insert(0, message)
                case CallRecorded(number=number):
                    sent = list(decode_any(self.session.call(number).to(_FORMAT)))
                    break
                case _:
                    continue
        self._known = (had, [*sent, *behind] if sent else [], sent)

    def _without_session(self, said: list[Message], tools: list[dict[str, Any]] | None) -> CompiledContext:
        """The history within its budget, though nothing can be kept of it."""
        session = Session(budget=self._budget, policy="chat", tools=tools or ())
        session.extend(said)
        return session.compile()

    def _fail(self, error: FoveateError, phase: str) -> None:
        self.failure = str(error)
        noted = DiagnosticRecorded(code="history_failed", phase=phase, text=self.failure)
        if noted not in self._failures:
            self._failures.append(noted)

    def _made(self) -> Endless:
        return Endless(self.session, self._folders, self._template, **self._options)


def build_compiling_history_processor(
    *,
    budget: int = 16_000,
    template: str = "chat",
    vault: Path | None = None,
    system: Path | None = None,
    terms: Terms | None = None,
    writer: Driver | None = None,
    computed: Computed | None = None,
    session: Session | None = None,
    model: str | None = None,
) -> CompilingHistory:
    """A history processor for pydantic-ai that sends the view a template asks for, in budget.

    Args:
        budget: the most input tokens of a request.
        template: the name of a template; those that come with Foveate are copied to the system folder.
        vault: a folder with templates of one's own in `AssistantMD/ContextTemplates`.
        system: the system folder; by default that of the store.
        terms: what the template does not say itself.
        writer: the model that writes summaries; without one, templates are filled from the log.
        computed: what is known for an input besides the chat.
        session: a session with a budget, such as one in a store, to keep the history in; one that was begun before is
            gone on with if the agent has its history.
        model: the name to record of the model that answers; `EndlessHistory` knows it by itself, unless you call it
            something else.

    """
    place = located()
    folder = system or (Path(place.store).parent if isinstance(place.store, Path) else Path.cwd())
    folders = TemplateFolders(vault, folder)
    folders.seed()
    return CompilingHistory(
        budget=budget,
        template=template,
        folders=folders,
        terms=terms or Terms(),
        writer=writer,
        computed=computed,
        session=session,
        model=model,
    )


def _tags_of(session: Session) -> dict[str, str]:
    found: dict[str, str] = {}
    for event in session.events:
        if isinstance(event.body, Tagged) and event.body.call is None:
            found |= event.body.tags
    return found


def _behind(new: list[Message], replied: list[Message]) -> list[Message]:
    """What of a history the session does not have: the reply is in it, if it was heard, also one that was changed."""
    if replied and new and new[0].role == "assistant":
        return new[len(replied) :]
    return new


def _same(messages: list[Message], known: list[Message]) -> bool:
    return len(messages) == len(known) and all(map(_are_same, messages, known))


def _are_same(one: Message, other: Message) -> bool:
    # Moments and the like beside what was said need not survive however an agent keeps its history.
    return one.role == other.role and (
        one.parts == other.parts
        or [replace(part, extra={}) for part in one.parts] == [replace(part, extra={}) for part in other.parts]
    )
