"""The state: how the work stands, from what is not in view any more: lists, open errors, outputs in use, code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import commonpath
from typing import Final

from foveate.compile.draft import PassContext
from foveate.compile.facts.known_files import FileChange
from foveate.compile.facts.plans import PlanList
from foveate.compile.note.interest import Interest
from foveate.compile.note.quotes import quoted_lines
from foveate.compile.note.recent import Work
from foveate.compile.passes.digest import digest_item, fitting
from foveate.log.items import Item, Line
from foveate.log.quoting import flatten_text, quote_attempt, quote_claim

_CHANGES: Final = 10
_TITLE: Final = 100
# In tokens: the first line, which says what it is.
_HEADER: Final = 60
_FIXED: Final = 0.4


def state_item(
    shown: Sequence[Item], work: Work, last: int, interest: Interest, room: int, ctx: PassContext
) -> Item | None:
    """How the work stands, of what `shown` does not show, in `room` tokens; None if nothing is to be said of it."""
    visible = {item.id for item in shown if not item.is_digest}
    lines = fitting(_fixed_lines(visible, work, ctx), max(int(room * _FIXED), _HEADER), ctx)
    lines += quoted_lines(shown, work, interest, room - _HEADER - sum(line.tokens for line in lines), ctx)
    if not lines:
        return None
    newest = Line(kind="state", text=ctx.said(ctx.timeline.message_count - 1).id, order=last)
    item = _item(newest, lines, last, ctx)
    while item.tokens > room and len(lines) > 1:
        lines.pop()
        item = _item(newest, lines, last, ctx)
    return item


def _item(newest: Line, lines: Sequence[Line], last: int, ctx: PassContext) -> Item:
    return digest_item([newest, *lines], [(last, last)], ctx, id=f"r{ctx.number}.state", by="note")


def _fixed_lines(visible: set[str], work: Work, ctx: PassContext) -> Iterator[Line]:
    """What is not quoted from code or an output: files, lists, open errors."""
    if work.code.changes:
        yield Line(kind="ledger", text=f"files changed{_changed_files(work.code.changes[-_CHANGES:])}")
    for part, one in enumerate(work.lists):
        if one.message_id not in visible or one.answer:
            yield _plan_line(one, part)
    for failure in ctx.ledger.open_errors.values():
        if failure.message_id not in visible:
            text = f"{quote_attempt(failure.attempt)} → {quote_claim(failure.text)}"
            yield Line(kind="error", text=text, source=failure.message_id, order=failure.order)


def _plan_line(one: PlanList, part: int) -> Line:
    by = "" if one.by == "agent" else f" of {one.by}"
    notes = (one.title[:_TITLE], one.verdict, "may have changed since" if one.unsure else "")
    label = f"({one.kind}{by}{''.join(f'; {note}' for note in notes if note)})"
    text = "\n".join(one.lines()[1:])
    return Line(kind="plan", text=text, source=one.message_id, order=one.order, part=part, label=label)


def _changed_files(changes: Sequence[FileChange]) -> str:
    """The files, below the folder that they have in common."""
    paths = [flatten_text(one.path) for one in changes]
    folder = commonpath(paths) if len(paths) > 1 and len({path.startswith("/") for path in paths}) == 1 else ""
    cut = len(folder) + 1 if len(folder) > 1 and all(len(path) > len(folder) for path in paths) else 0
    names = (f"{path[cut:]} ({one.kind} {one.message_id})" for path, one in zip(paths, changes, strict=True))
    return f"{f' below {folder}' if cut else ''}, newest last: {', '.join(names)}"
