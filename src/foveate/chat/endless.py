"""Endless mode: before each call of a chat its view is compiled from a template; whatever fails, the call goes out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from foveate.agents.driver import Driver, DriverError
from foveate.agents.loop import ask
from foveate.chat.asking import conversation_text, reply_text, summary_request
from foveate.chat.contract import violations
from foveate.chat.finding import TemplateFolders
from foveate.chat.recording import by_model, by_rules
from foveate.chat.reflecting import is_due, reflection
from foveate.chat.templates import Template
from foveate.chat.working_view import SHARES, Keeping, endless_policy
from foveate.compile.compiled import CompiledContext
from foveate.compile.draft import part_of
from foveate.compile.policy import Policy
from foveate.errors import BudgetError, ConfigError, FoveateError, TemplateError
from foveate.log.events import DiagnosticRecorded, Placed, ReductionRecorded
from foveate.log.items import Item
from foveate.log.quoting import quote_lines
from foveate.log.sections import ContextSection
from foveate.log.text import encodable
from foveate.session import Session
from foveate.session.beside import Turns, run_beside
from foveate.wire.format import Request

# Said of a template as it is, which may be the same for months; in so many events it is written down once.
_LASTING: Final = frozenset({"template_note", "template_failed"})
_RECENT: Final = 60
_RECENT_MESSAGES: Final = 40
Computed = Callable[[str], str]
"""What is known for an input besides the chat itself; it may fail, and then there is none."""
Named = Callable[[str], Driver]
"""The model that a name or an alias means."""
Told = Callable[[DiagnosticRecorded], None]


AUTO: Final = "auto"
Runs = int | Literal["auto"] | None
"""How many finished turns stay: a number, all of them (None), or as many as the budget has room for."""
LEAST_RUNS: Final = 3
"""Those that stay even if they take more than their share, as far as there is room."""
# Of the budget, what a new summary and the turns beside it may take: the rest is for what comes before the next one.
_FILL: Final = 0.6


class Asked(NamedTuple):
    """A summary that a model wrote: who, asked for what, its words, and the tokens it may have."""

    writer: Driver
    request: Request
    raw: str
    room: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a chat goes on endlessly; what its template says itself comes first.

    `runs` are the finished turns that stay as they were said (`auto`: as many as the budget has room for). Of the older
    ones a template gets `recent_turns` and `recent_results`. Below `threshold` tokens nothing is summarised (None:
    until there is no more room; 0: at every turn).
    A reflection is made after every `reflect_every` turns (0: never) and after tools failed.
    """

    runs: Runs = AUTO
    recent_turns: int = 3
    recent_results: int = 3
    threshold: int | None = None
    reflect_every: int = 10
    timeout: float = 60.0

    def keeping(self, template: Template) -> Keeping:
        """What stays of a chat under a template."""
        given = template.passthrough_runs
        runs = self.runs if given is None else None if given == "all" else given
        threshold = self.threshold if template.token_threshold is None else template.token_threshold
        every_turn = template.refresh == "every-turn" or threshold == 0
        # A number of turns, a threshold, and a summary at every turn are obeyed; else the budget is for recent turns.
        fills = runs == AUTO and threshold is None and not every_turn
        return Keeping(
            runs=LEAST_RUNS if runs == AUTO else runs,
            fill=_FILL if fills else None,
            threshold=threshold,
            every_turn=every_turn,
            turns=self.recent_turns,
            results=self.recent_results,
        )


class Endless:
    """Compiles the calls of a session by a template: at most one summary to a turn, and none that nobody needs.

    Args:
        session: the chat; it needs a budget.
        folders: where templates are.
        template: the name of one of them.
        terms: what the template does not say itself.
        writer: the model that writes summaries; without one the template is filled from the log.
        named: the model of a name or an alias, for templates that name one.
        computed: what is known for an input besides the chat, such as a project's knowledge.
        sections: what every request shows besides the history, whatever its template says.
        fallback: the policy of a call that no template can be compiled for.

    """

    def __init__(
        self,
        session: Session,
        folders: TemplateFolders,
        template: str,
        *,
        terms: Terms | None = None,
        writer: Driver | None = None,
        named: Named | None = None,
        computed: Computed | None = None,
        sections: tuple[ContextSection, ...] = (),
        fallback: str | Policy = "chat",
    ) -> None:
        if session.summarizer is not None:
            raise ConfigError(
                f"`summarizer` {session.summarizer.name!r} of session {session.id!r} is not asked in endless mode; "
                "leave it out, and give the model as `writer`"
            )
        self.session = session
        self.folders = folders
        self.name = template
        self.terms = terms or Terms()
        self.writer = writer
        self.named = named
        self.computed = computed
        self.sections = sections
        self.fallback = fallback
        self.template: Template | None = None
        # Who is told what the log says already; who listens to the session hears all else.
        self.tell: Told = _to_nobody
        self._begun: str | None = None
        # The turn of the last reflection that came to nothing; none has.
        self._reflected = -1_000_000
        # What a template's notes are is said again when it changes, why it failed at each turn.
        self._read = self._failed = ""
        self._turns = Turns()

    async def compile(self, *, now: float | None = None) -> CompiledContext:
        """The request to send now; what goes wrong on the way is recorded, and costs the call nothing.

        Whatever waits for a store is done beside the event loop; several at once take turns.
        """
        async with self._turns:
            newest = await run_beside(_newest_input, self.session)
            if newest != self._begun:
                self._begun = newest
                await self._begin(now)
            elif self.template is not None and self.session.messages[-1].id == newest:
                # Asked again, perhaps for less than before: there may be a summary to write that there was not.
                await self._again(self.template, now)
            return await run_beside(self._compiled, now)

    def _compiled(self, now: float | None) -> CompiledContext:
        try:
            return self._recorded(self.session.compile(now=now, sections=self._sections()), now)
        except BudgetError:
            # What must be sent does not fit; no template is to blame, and no other view would.
            raise
        except FoveateError as error:
            self._fail(error, "compile", now)
            return self.session.compile(now=now, sections=self._sections())

    def _recorded(self, view: CompiledContext, now: float | None) -> CompiledContext:
        """A view that was compiled; the summary that rules made for it is in the log like one that a model wrote."""
        item = composed(view)
        made = by_rules(view, self.template, item) if item is not None and self.template is not None else None
        if made is not None:
            self.session.note(made, time=now)
        return view

    def preview(self, *, now: float | None = None) -> CompiledContext:
        """The request that `compile` would give if no model wrote a summary, with nothing recorded."""
        try:
            if self.template is None or _newest_input(self.session) != self._begun:
                self.template = template = self.folders.load(self.name)
                self.session.use(endless_policy(template, self.terms.keeping(template), computed=self._computed(now)))
            return self.session.preview(now=now, sections=self._sections())
        except BudgetError:
            raise
        except FoveateError:
            # The next call says why; here it is only shown what it would be.
            self.template = None
            self.session.use(self.fallback)
            return self.session.preview(now=now)

    async def _begin(self, now: float | None) -> None:
        """What is done once to a turn, before its first call."""
        try:
            view, template = await run_beside(self._prepared, now)
            if is_due(view, self.terms.reflect_every):
                await self._reflect(view, now)
            await self._summarise(view, template, now)
        except BudgetError:
            raise
        except FoveateError as error:
            await run_beside(self._fail, error, "compile", now)

    def _prepared(self, now: float | None) -> tuple[CompiledContext, Template]:
        """The request as it would be without a summary, by the template as it is now."""
        self._failed = ""
        template = self.folders.load(self.name)
        if self._read != template.sha256:
            self._read = template.sha256
            for note in template.notes:
                self._note("template_note", "template_load", note, template.pointer, now)
        self.template = template
        self.session.use(endless_policy(template, self.terms.keeping(template), computed=self._computed(now)))
        return self.session.preview(now=now, sections=self._sections()), template

    async def _again(self, template: Template, now: float | None) -> None:
        try:
            view = await run_beside(self.session.preview, now=now, sections=self._sections())
            await self._summarise(view, template, now)
        except BudgetError:
            raise
        except FoveateError as error:
            await run_beside(self._fail, error, "compile", now)

    def _sections(self) -> tuple[ContextSection, ...]:
        """What the template tells the chat's model; no change of the session's own instructions."""
        template = self.template
        if template is None or not template.chat_instructions:
            return self.sections
        content, source = template.chat_instructions, template.pointer
        return (
            *self.sections,
            ContextSection(name="chat instructions", content=content, source=source, tier="instructions"),
        )

    async def _summarise(self, view: CompiledContext, template: Template, now: float | None) -> None:
        """Have the model write the summary that this call needs, if it needs one."""
        item = composed(view)
        writer = await run_beside(self._writer, template, now) if item is not None else None
        if item is None or writer is None:
            return
        room = part_of(SHARES.digests + SHARES.users + SHARES.answers, view.budget.limit if view.budget else 8_000)
        request = await run_beside(summary_request, template, view, item, room)
        try:
            raw = await self._asked(writer, request)
        except FoveateError as error:
            await run_beside(self._note, "summary_failed", "summarise", f"{error}", template.pointer, now)
            return
        await run_beside(self._record_summary, view, template, item, Asked(writer, request, raw, room), now)

    def _record_summary(
        self, view: CompiledContext, template: Template, item: Item, asked: Asked, now: float | None
    ) -> None:
        writer, request, raw, room = asked
        text, whole = _within(raw, room, view)
        if not whole:
            cut = f"the summary was cut to {room} tokens; have the template ask for less"
            self._note("summary_shortened", "summarise", cut, template.pointer, now)
        for problem in violations(template, raw):
            self._note("contract_violated", "contract", problem, template.pointer, now)
        written = by_model(view, template, item, writer=writer, asked=request, raw=raw, text=text, room=room)
        self.session.note(written, time=now)

    async def _asked(self, writer: Driver, request: Request) -> str:
        """What a model writes; nothing, or nothing in time, is an error too."""
        try:
            reply = await asyncio.wait_for(ask(writer, request), self.terms.timeout)
        except TimeoutError as error:
            raise DriverError(f"{writer.name} wrote no summary within {self.terms.timeout:g} s") from error
        except FoveateError:
            raise
        except Exception as error:
            # Somebody else's code, on the way to an answer that needs no summary.
            raise DriverError(f"{writer.name} wrote no summary: {error!r}") from error
        raw = encodable(reply_text(reply))
        if not raw.strip():
            raise DriverError(f"{writer.name} wrote nothing")
        return raw

    def _writer(self, template: Template, now: float | None) -> Driver | None:
        """Who writes the summary: the template's own model, else the chat's."""
        if template.model is None or self.named is None:
            return self.writer
        try:
            return self.named(template.model)
        except FoveateError as error:
            self._note("summary_model_failed", "summarise", f"{error}", template.pointer, now)
            return self.writer

    async def _reflect(self, view: CompiledContext, now: float | None) -> None:
        recent = await run_beside(self._recent_text, view)
        turn = view.state.context.turn
        # A model that had nothing to say is not asked at every turn from there on.
        writer = self.writer if turn - self._reflected >= max(1, self.terms.reflect_every) else None
        try:
            made = await reflection(view, recent, writer, timeout=self.terms.timeout)
        except FoveateError as error:
            await run_beside(self._note, "reflection_failed", "reflect", f"{error}", self.name, now)
            made = await reflection(view, recent, None, timeout=self.terms.timeout)
        if made is not None:
            await run_beside(self.session.note, made, time=now)
        elif writer is not None:
            self._reflected = turn

    def _recent_text(self, view: CompiledContext) -> str:
        # As requests show it: a pass may have taken something out that no model is to read.
        newest = [item.message for item in view.requested[-_RECENT_MESSAGES:]]
        return conversation_text(newest, view.count_text, 1_500)

    def _computed(self, now: float | None) -> str:
        if self.computed is None or not self.session.messages:
            return ""
        try:
            return self.computed(self.session.messages[-1].text)
        except FoveateError as error:
            said = f"{error}"
        except Exception as error:  # noqa: BLE001  (somebody else's code, which a call must not fail for)
            said = f"{error!r}"
        self._note("computed_failed", "computed context", said, self.name, now)
        return ""

    def _fail(self, error: FoveateError, phase: str, now: float | None) -> None:
        """Go on with the history as it is, in budget, and say why."""
        pointer = self.name
        if isinstance(error, TemplateError):
            phase, pointer = error.phase, error.pointer or pointer
        self.template = None
        self.session.use(self.fallback)
        if self._failed != f"{error}":
            self._failed = f"{error}"
            self._note("template_failed", phase, f"{error}", pointer, now)

    def _note(self, code: str, phase: str, text: str, subject: str, now: float | None) -> None:
        noted = DiagnosticRecorded(code=code, phase=phase, text=encodable(text), subject=subject)
        context = self.session.context
        if code in _LASTING and any(
            event.body == noted for event in context.log.events(max(0, context.length - _RECENT), context.length)
        ):
            self.tell(noted)
            return
        self.session.note(noted, time=now)


def _to_nobody(_told: DiagnosticRecorded) -> None:
    """Tell nobody."""


def composed(view: CompiledContext) -> Item | None:
    """The summary that a view proposes to make."""
    for body in view.proposed:
        if isinstance(body, ReductionRecorded):
            for entry in body.layout:
                if isinstance(entry, Placed) and entry.item.fate == "summarised":
                    return entry.item
    return None


def _newest_input(session: Session) -> str | None:
    for message in reversed(session.messages):
        if message.role == "user":
            return message.id
    return None


def _within(raw: str, room: int, view: CompiledContext) -> tuple[str, bool]:
    """As many lines of a text as fit with their marks, and whether that is all of it."""
    text = raw.strip()
    if view.count_text(quote_lines(text)) <= room:
        return text, True
    lines = text.split("\n")
    while len(lines) > 1 and view.count_text(quote_lines("\n".join(lines))) > room:
        lines.pop()
    text = "\n".join(lines)
    while text and view.count_text(quote_lines(text)) > room:
        text = text[: len(text) * 3 // 4]
    return text.strip(), False
