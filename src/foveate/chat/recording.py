"""Recording: what the log keeps of a summary, whether a model wrote it or rules made it."""

from __future__ import annotations

from typing import Any

from foveate.chat.templates import Template
from foveate.compiler.compiled import CompiledContext
from foveate.log.events import SummaryRecorded
from foveate.log.items import Item
from foveate.store.summaries import NOBODY
from foveate.transforms.compose import HEADING
from foveate.wire.format import Request


def by_model(
    view: CompiledContext,
    template: Template,
    item: Item,
    *,
    writer: str,
    asked: Request,
    raw: str,
    text: str,
    room: int,
) -> SummaryRecorded:
    """What a model wrote for the summary that a view proposes, and what it was asked."""
    prompt = "\n\n".join(part for part in (asked.system, *(message.text for message in asked.messages)) if part)
    return SummaryRecorded(
        text=text,
        summarizer=writer,
        tokens=view.count_text(text),
        raw=raw,
        prompt=prompt,
        **_of(view, template, item, room),
    )


def by_rules(view: CompiledContext, template: Template, item: Item) -> SummaryRecorded | None:
    """The summary that a view makes, unless a model wrote it."""
    if any(line.kind == "summary" for line in item.lines):
        return None
    text = item.message.text.removeprefix(HEADING).strip()
    return SummaryRecorded(
        text=text,
        summarizer=NOBODY,
        tokens=view.count_text(text),
        by_rules=True,
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
    }
