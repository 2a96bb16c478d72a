"""Summarise: each new digest gets its ledger; a recorded summary takes the place of folded steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Final

from foveate.compile.draft import Draft, PassContext
from foveate.compile.ledger import Note
from foveate.compile.passes.digest import fitting, is_covered, state_of, with_lines
from foveate.log.items import Item, Line
from foveate.log.messages import speaker_of
from foveate.log.quoting import flatten_text, quote_attempt

SUMMARISED: Final = ("step", "answer", "words")
"""The lines of a digest that a summary takes the place of; all others stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise:
    """Write what must outlive every reduction into the new digests.

    The ledger (files, decisions, failed attempts, plan) needs no model. A summary that a summarizer wrote for exactly
    this stretch stands for the steps and answers in it.
    """

    name: str = "summarise"
    recipe_name: ClassVar[str] = "summarise@2"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether this reduction made a digest."""
        return any(_is_new(item, ctx) for item in draft.items)

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        digests = [item for item in draft.items if item.is_digest]
        last = max((item for item in digests if _is_new(item, ctx)), key=lambda item: item.covers[-1][1])
        summary = ctx.timeline.summary
        items = []
        for item in draft.items:
            if _is_new(item, ctx):
                lines = [*item.lines, *_ledger_lines(item, ctx)]
                if item is last and summary is not None and summary.through == item.covers[-1][1]:
                    lines = _summarised(lines, summary.text, item)
                item = with_lines(item, lines, ctx)
            items.append(item)
        return draft.with_items(items)


class PlaceSummary:
    """Put a summary that a summarizer wrote for exactly the newest story in the place of its deeds and answers."""

    name = "place_summary"
    recipe_name: ClassVar[str] = "place_summary@1"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether there is one."""
        return self._story(draft, ctx) is not None

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        story, summary = self._story(draft, ctx), ctx.timeline.summary
        if story is None or summary is None:
            return draft
        lines = _summarised(list(story.lines), summary.text, story)
        shorter = with_lines(story, lines, ctx)
        return draft.with_items(shorter if item is story else item for item in draft.items)

    def _story(self, draft: Draft, ctx: PassContext) -> Item | None:
        summary = ctx.timeline.summary
        stories = [item for item in draft.items if _is_new(item, ctx) and state_of(item.lines) is None]
        if summary is None or not stories:
            return None
        last = max(stories, key=lambda item: item.covers[-1][1])
        return last if last.covers[-1][1] == summary.through else None


def _is_new(item: Item, ctx: PassContext) -> bool:
    return item.is_digest and item.reduction == ctx.number


def _summarised(lines: list[Line], text: str, item: Item) -> list[Line]:
    kept = [line for line in lines if line.kind not in SUMMARISED]
    return [Line(kind="summary", text=text, order=item.covers[0][0]), *kept]


def _ledger_lines(item: Item, ctx: PassContext) -> list[Line]:
    room = int(ctx.part(ctx.shares.digests) * ctx.shares.ledger)
    return fitting(_facts(item, room, ctx), room * 2, ctx)


def _facts(item: Item, room: int, ctx: PassContext) -> Iterator[Line]:
    """What the ledger knows of the messages that a digest stands for, most important first."""
    ledger = ctx.ledger
    order = item.covers[-1][1]
    shown = {line.text for line in item.lines}

    def inside(message_id: str) -> bool:
        position = ctx.timeline.position(message_id)
        return position is not None and is_covered(position, item.covers)

    written = [path for path, source in _newest(ledger.written) if inside(source)]
    if written:
        yield Line(kind="ledger", text=_listed("files modified", written, room, ctx), order=order)
    for failure in reversed(ledger.failures):
        if inside(failure.message_id) and failure.message_id not in ledger.open_errors:
            text = f"failed before ({failure.message_id}): {quote_attempt(failure.attempt)}: {failure.text}"
            yield Line(kind="ledger", text=text, order=order)
    for note in reversed(ledger.decisions):
        if inside(note.message_id) and not any(note.text in text for text in shown):
            yield Line(kind="ledger", text=f"{_noted(note, ctx)}: {note.text}", order=order)
    if ledger.plan is not None and inside(ledger.plan.message_id):
        yield Line(kind="ledger", text=f"plan ({ledger.plan.message_id}): {ledger.plan.text[:600]}", order=order)
    read = [path for path, source in _newest(ledger.read) if path not in ledger.written and inside(source)]
    if read:
        yield Line(kind="ledger", text=_listed("files read", read, room // 2, ctx), order=order)


def _noted(note: Note, ctx: PassContext) -> str:
    """Whose sentence it is: a decision of the assistant is none of the user."""
    return f"noted by {speaker_of(ctx.said(note.order))} {note.message_id}"


_LISTED: Final = 24
_LOOKED_AT: Final = 400


def _newest(files: Mapping[str, str]) -> list[tuple[str, str]]:
    """The files touched last, oldest of them first; a long log has more than any list could show."""
    return list(islice(reversed(tuple(files.items())), _LOOKED_AT))[::-1]


def _listed(label: str, names: list[str], room: int, ctx: PassContext) -> str:
    """The newest names that fit; the number of the others."""
    count = min(len(names), _LISTED)
    names = list(map(flatten_text, names))
    while True:
        more = f" and {len(names) - count} earlier" if len(names) > count else ""
        text = f"{label}: {', '.join(names[len(names) - count :])}{more}"
        if count <= 1 or ctx.count(text) + 6 <= room:
            return text
        count -= max(1, count // 4)
