"""Recording: what the log keeps of a summary, whether a model wrote it or rules made it."""

from __future__ import annotations

from typing import Any, Final

from foveate.agents.driver import Driver, alias_of
from foveate.chat.contract import parsed_contract
from foveate.chat.sections import sections_in
from foveate.chat.templates import Template
from foveate.compile.compiled import CompiledContext
from foveate.log.events import SummaryRecorded, Tagged
from foveate.log.items import Item
from foveate.session import Session
from foveate.store.summaries import MODEL_ALIAS, NOBODY
from foveate.wire.format import Request

# A template without headings has one section, by this name.
_WHOLE: Final = "Template"


def by_model(
    view: CompiledContext,
    template: Template,
    item: Item,
    *,
    writer: Driver,
    asked: Request,
    raw: str,
    text: str,
    room: int,
) -> SummaryRecorded:
    """What a model wrote for the summary that a view proposes, and what it was asked."""
    prompt = "\n\n".join(part for part in (asked.system, *(message.text for message in asked.messages)) if part)
    return SummaryRecorded(
        text=text,
        summarizer=writer.name,
        alias=alias_of(writer) if alias_of(writer) != writer.name else None,
        parsed=parsed_contract(template, raw),
        tokens=view.count_text(text),
        raw=raw,
        prompt=prompt,
        **_of(view, template, item, room),
    )


def by_rules(view: CompiledContext, template: Template, item: Item) -> SummaryRecorded | None:
    """The summary that a view makes, unless a model wrote it."""
    if any(line.kind == "summary" for line in item.lines):
        return None
    text = item.words
    return SummaryRecorded(
        text=text,
        summarizer=NOBODY,
        tokens=view.count_text(text),
        by_rules=True,
        parsed=parsed_contract(template, text),
        **_of(view, template, item, None),
    )


def _of(view: CompiledContext, template: Template, item: Item, room: int | None) -> dict[str, Any]:
    earlier = view.previous_summary
    inputs: dict[str, Any] = {"first": item.covers[0][0]}
    if earlier is not None:
        inputs["earlier"] = earlier.through
    if room is not None:
        inputs["room"] = room
    return {
        "through": item.covers[-1][1],
        "template": template.name,
        "template_source": template.source,
        "template_sha256": template.sha256,
        "turn": view.state.context.turn,
        "call": view.number,
        "budget": view.budget.limit if view.budget is not None else None,
        "inputs": inputs,
        "sections": template_sections(template),
    }


def template_sections(template: Template) -> tuple[str, ...]:
    """The headings of what a template has filled in; one without headings is one section."""
    return tuple(one.heading for one in sections_in(template.form.split("\n")) if one.heading) or (_WHOLE,)


def note_alias(session: Session, known: str, chosen: str, *, time: float | None = None) -> None:
    """Write down by what name the model of a session was chosen, if that is not known; its own name says itself."""
    alias = chosen if chosen != session.context.model else ""
    if alias != known:
        session.note(Tagged(tags={MODEL_ALIAS: alias}), time=time)
