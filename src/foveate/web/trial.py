"""Trials: a template filled from a session as it is now, without a model; nothing of it is recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final, NamedTuple

from foveate.budget.window import TokenBudget
from foveate.chat.endless import Terms, composed
from foveate.chat.templates import Template
from foveate.chat.working_view import Keeping, endless_policy
from foveate.compile.compiled import CompiledContext
from foveate.compile.draft import Draft, PassContext
from foveate.compile.pass_protocol import Pass, PlainPass
from foveate.compile.passes import Summarise
from foveate.compile.passes.compose import HEADING, Compose
from foveate.compile.projection import Projection
from foveate.log.items import Item
from foveate.log.sections import ContextSection
from foveate.session import Session
from foveate.store import Store

_REASON: Final = "somebody wants to see what the template makes of it"


class Trial(NamedTuple):
    """The summary that a template gives, the messages it stands for, and the size of the request it is in.

    `runs` are the finished turns that stay as they were said (None: all of them, so that there is no summary).
    """

    text: str
    tokens: int
    covered: int
    request: int
    limit: int | None
    runs: int | None


def tried(store: Store, session_id: str, template: Template, terms: Terms, budget: int) -> Trial | None:
    """What a template makes of a session; if too few turns are finished, none of them stays; None if there is none."""
    # What would fit stays in a chat; here the form is to be seen.
    keeping = replace(terms.keeping(template), every_turn=True, threshold=None, fill=None)
    # A name that is not there must not become a new session.
    store.session(session_id)
    with Session.open(store, session_id, budget=budget) as session:
        for runs in dict.fromkeys((keeping.runs, 0)):
            view = _viewed(session, template, replace(keeping, runs=runs))
            item = composed(view)
            if item is not None:
                return _trial(view, item, runs)
    return None


def _viewed(session: Session, template: Template, keeping: Keeping) -> CompiledContext:
    policy = endless_policy(template, keeping)
    session.use(replace(policy, passes=tuple(map(_tried, policy.passes)), when=_now))
    return session.preview(sections=_sections(template))


def _tried(one: Pass | PlainPass) -> Pass | PlainPass:
    if isinstance(one, Compose):
        return _Composed(stage=one)
    return _Unwritten(stage=one) if isinstance(one, Summarise) else one


@dataclass(frozen=True, slots=True, kw_only=True)
class _Composed:
    """Composes now, though no turn begins: it is the form that is to be seen."""

    stage: Compose
    name: str = "compose"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, _draft: Draft, _ctx: PassContext, /) -> bool:
        return True

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return self.stage(draft, ctx)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unwritten:
    """Summarises without what a model wrote: the form is to be seen, filled."""

    stage: Summarise
    name: str = "summarise"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        return self.stage.needed(draft, ctx)

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return self.stage(draft, replace(ctx, timeline=replace(ctx.timeline, summary=None)))


def _now(_timeline: Projection, _budget: TokenBudget) -> str:
    return _REASON


def _sections(template: Template) -> tuple[ContextSection, ...]:
    if not template.chat_instructions:
        return ()
    content, source = template.chat_instructions, template.pointer
    return (ContextSection(name="chat instructions", content=content, source=source, tier="instructions"),)


def _trial(view: CompiledContext, item: Item, runs: int | None) -> Trial:
    return Trial(
        text=item.message.text.removeprefix(HEADING).strip(),
        tokens=item.tokens,
        covered=sum(last - first + 1 for first, last in item.covers),
        request=view.tokens,
        limit=view.budget.limit if view.budget is not None else None,
        runs=runs,
    )
