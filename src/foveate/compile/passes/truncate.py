"""Truncate: the last resort, without a model, that always fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Final

from foveate.compile.draft import Draft, Group, PassContext, groups
from foveate.compile.passes.digest import clipped, digest_item, fitting, with_lines
from foveate.compile.passes.fold import exchange_lines
from foveate.compile.passes.mask import mask_output
from foveate.compile.passes.placeholders import with_short_calls, with_text
from foveate.errors import BudgetError
from foveate.log.items import Item

# The least tokens that the calls of an exchange get which was too large.
_TRACE: Final = 60


class Truncate:
    """Bring a draft under the limit by giving up protection, least dear first."""

    name = "truncate"
    recipe_name: ClassVar[str] = "truncate@2"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether the draft is still too large to send."""
        return draft.tokens > ctx.limit

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        given, draft = draft, _shortened(draft, ctx)
        newest = _free_groups(given, ctx)[-1:]
        if newest and newest[0].head.message.calls and newest[0].head.id not in {item.id for item in draft.items}:
            # All else was given up for it, and in vain.
            draft = _shortened(_without_exchange(given, newest[0], ctx), ctx)
        if draft.tokens > ctx.limit:
            raise BudgetError(
                f"leading system messages, pinned ones and the newest input need {draft.tokens} tokens but messages "
                f"have {ctx.limit}; raise `budget`, unpin, or shorten instructions or input",
                needed=draft.tokens,
                limit=ctx.limit,
            )
        return draft


def _shortened(draft: Draft, ctx: PassContext) -> Draft:
    # The order in which protection yields; each step is tried item by item until the draft fits.
    enough = ctx.limit - reserve(ctx.limit, len(ctx.ledger.open_errors))
    for step in (_mask_tail, _thin_digests, _shorten_first, _drop_old, _mask_hard, _drop_all):
        for change in step(draft, ctx):
            if draft.tokens <= enough:
                break
            draft = draft.with_items(change(draft.items))
    return draft


def _without_exchange(draft: Draft, group: Group, ctx: PassContext) -> Draft:
    """The draft with a digest in the place of an exchange: its first calls in a line each."""
    found = exchange_lines(group.items, ctx.said(group.head.order), ctx.ledger.open_errors)
    lines = fitting(found, max(_TRACE, ctx.limit // 10), ctx)
    covers = [(item.order, item.order) for item in group.items]
    trace = digest_item(lines, covers, ctx, id=f"r{ctx.number}.dropped", by="truncate")
    end = group.start + len(group.items)
    return draft.with_items((*draft.items[: group.start], trace, *draft.items[end:]))


def reserve(limit: int, errors: int) -> int:
    """Room for a line of each open error, which is put back when its exchange had to go."""
    return min(limit // 6, 60 + 70 * errors) if errors else 0


Change = Callable[[tuple[Item, ...]], Iterator[Item]]


def _replacing(old: Item, new: Item | None) -> Change:
    def change(items: tuple[Item, ...]) -> Iterator[Item]:
        for item in items:
            if item.id != old.id:
                yield item
            elif new is not None:
                yield new

    return change


def _dropping(group: Group) -> Change:
    return lambda items: (item for item in items if item.group != group.id)


def _free_groups(draft: Draft, ctx: PassContext) -> list[Group]:
    return [group for group in groups(draft.items) if not ctx.must_keep(group)]


def _mask_tail(draft: Draft, ctx: PassContext) -> Iterator[Change]:
    """Large outputs, largest first, with a preview; the newest exchange last."""
    free = _free_groups(draft, ctx)
    newest = draft.items[-1].group if draft.items else ""
    outputs = [
        item
        for item in draft.items
        if item.message.result is not None and item.tokens > 200 and not ctx.must_keep_item(item)
    ]
    for item in sorted(outputs, key=lambda item: (item.group == newest, -item.tokens)):
        size = max(400, ctx.limit // (4 if item.group == newest else 16))
        yield _replacing(item, mask_output(item, ctx, by="truncate", why="large output, no room", chars=size, lines=60))
    for group in free:
        if group.head.message.calls:
            yield _replacing(group.head, with_short_calls(group.head, ctx, by="truncate"))


def _thin_digests(draft: Draft, ctx: PassContext) -> Iterator[Change]:
    """Digests keep user words, open errors and the ledger."""
    for item in draft.items:
        kept = [line for line in item.lines if line.kind not in ("evidence", "step", "answer")]
        if item.is_digest and item.message.role == "user" and len(kept) < len(item.lines):
            yield _replacing(item, with_lines(item, kept, ctx))


def _shorten_first(draft: Draft, ctx: PassContext) -> Iterator[Change]:
    for group in _free_groups(draft, ctx):
        item = group.head
        if item.message.role in ("user", "system") and not item.is_digest and item.tokens > 200:
            size = max(400, ctx.limit // 4)
            text = clipped(ctx.said(item.order).text, size, item.id)
            yield _replacing(
                item, with_text(item, text, ctx, fate="trimmed", by="truncate", why="long message, no room")
            )


def _drop_old(draft: Draft, ctx: PassContext) -> Iterator[Change]:
    """Whole exchanges and messages, oldest first, but not the first request, digests or the newest exchange."""
    free = _free_groups(draft, ctx)
    for group in free[:-1]:
        if group.head.id != ctx.timeline.first_input and not group.head.is_digest:
            yield _dropping(group)


def _mask_hard(draft: Draft, ctx: PassContext) -> Iterator[Change]:
    """What is left of the newest exchange, to its bones."""
    for group in _free_groups(draft, ctx)[-1:]:
        for item in group.items:
            if item.message.result is not None:
                yield _replacing(item, mask_output(item, ctx, by="truncate", why="no room", chars=60, lines=1))
            elif item.message.calls:
                yield _replacing(item, with_short_calls(item, ctx, by="truncate", longest=80))
            if item.message.role == "assistant":
                text = clipped(item.message.text, 200, item.id)
                yield _replacing(item, with_text(item, text, ctx, fate="trimmed", by="truncate", why="no room"))


def _drop_all(draft: Draft, ctx: PassContext) -> Iterator[Change]:
    """Everything that is not pinned, framing or the newest input; what was asked first goes last, a few words of it."""
    free = _free_groups(draft, ctx)
    first = [group for group in free if group.head.id == ctx.timeline.first_input]
    # A summary that stands with the instructions is all that is left of the past: it goes after everything else.
    for group in sorted(free, key=lambda group: group.head.is_digest and group.head.message.role == "system"):
        if group not in first:
            yield _dropping(group)
    for group in first:
        text = clipped(ctx.said(group.head.order).text, 300, group.head.id)
        yield _replacing(group.head, with_text(group.head, text, ctx, fate="trimmed", by="truncate", why="no room"))
        yield _dropping(group)
