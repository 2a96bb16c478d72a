"""A history processor: keeps a session beside somebody else's agent, and gives back what the model should see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from foveate.agents.driver import Driver
from foveate.chat.endless import Computed, Endless, Terms
from foveate.chat.finding import TemplateFolders
from foveate.errors import BudgetError, FoveateError
from foveate.log.events import DiagnosticRecorded
from foveate.log.messages import Message
from foveate.session import Session
from foveate.store.location import located
from foveate.wire.formats import decode_any

_FORMAT: Final = "pydantic-ai"


class CompilingHistory:
    """Called with the history of an agent before each request; returns the messages to send instead.

    The session has the whole history, whatever the agent keeps of it. A history that is no continuation of the last
    one begins another session; the last is in `session` until then.
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
    ) -> None:
        self.session = session or Session(budget=budget, policy="chat")
        self.failure: str | None = None
        self._options: dict[str, Any] = {"terms": terms, "writer": writer, "computed": computed}
        self._budget, self._template, self._folders = budget, template, folders
        self._endless = self._made()
        # What the agent had when it was last here, and what it was given: either may come back, with more behind it.
        self._had: list[Message] = []
        self._given: list[Message] = []

    async def __call__(self, messages: list[Any]) -> list[Any]:
        """The messages to send; those given, if a view of them cannot be made."""
        return await self.view(messages)

    async def view(self, messages: list[Any], tools: Iterable[Mapping[str, Any]] | None = None) -> list[Any]:
        """The messages to send; `tools` are sent along with them, and count."""
        if not messages:
            return messages
        self.failure = None
        try:
            said = list(decode_any(messages))
            self._take(said)
            if tools is not None and list(self.session.context.tools) != (wanted := [dict(tool) for tool in tools]):
                self.session.reframe(tools=wanted)
            view = await self._endless.compile()
        except BudgetError:
            raise
        except FoveateError as error:
            self.failure = str(error)
            return messages
        sent: list[Any] = view.to(_FORMAT)
        self._had, self._given = said, list(decode_any(sent))
        return sent

    @property
    def diagnostics(self) -> tuple[DiagnosticRecorded, ...]:
        """What went wrong so far; each cost a summary, none a call."""
        return tuple(event.body for event in self.session.events if isinstance(event.body, DiagnosticRecorded))

    def _take(self, said: list[Message]) -> None:
        for known in (self._had, self._given):
            if known and _same(said[: len(known)], known):
                self.session.extend(said[len(known) :])
                return
        if self.session.messages:
            self.session = Session(budget=self._budget, policy="chat")
            self._endless = self._made()
        self.session.extend(said)

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
        session: an empty session with a budget, such as one in a store, to keep the history in.

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
    )


def _same(messages: list[Message], known: list[Message]) -> bool:
    return len(messages) == len(known) and all(
        one.role == other.role and one.parts == other.parts for one, other in zip(messages, known, strict=True)
    )
