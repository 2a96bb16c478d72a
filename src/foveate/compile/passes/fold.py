"""Fold: old exchanges become one line each, under the user's words they served."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from foveate.compile.draft import Draft, Group, PassContext, groups, tail_start
from foveate.compile.facts.harness import part_text
from foveate.compile.ledger import BINDING, Failure
from foveate.compile.passes.digest import clipped, digest_item, fitting, head_of
from foveate.log.items import Item, Line, LineKind
from foveate.log.messages import Message, MessageMeta, ToolCall, speaker_of
from foveate.log.quoting import quote_name
from foveate.log.semantics import parsed_arguments, recorded_semantics
from foveate.recall.readable import readable

_USER_HEAD: Final = 360
_PROGRAM_HEAD: Final = 120
# So much of two texts of programs in common makes them of a kind.
_ALIKE: Final = 24
_ANSWER_HEAD: Final = 320
_STEP_HEAD: Final = 160
_ERROR_HEAD: Final = 160
_RESTART: Final = 0.6
_GENERATION: Final = 0.2


class Fold:
    """Fold everything before the protected tail.

    Each fold adds a digest behind the earlier ones, which keep their bytes; when they would take more than their share,
    one new digest takes the place of all.
    """

    name = "fold"
    recipe_name: ClassVar[str] = "fold@1"
    runs_on: ClassVar[str] = "reduction"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        start = tail_start(draft, ctx)
        return folded(draft, ctx, (group for group in groups(draft.items) if group.start < start), by=self.name)


def folded(draft: Draft, ctx: PassContext, scope: Iterable[Group], *, by: str) -> Draft:
    """The draft with each unbroken run of the groups in `scope` folded into a digest at its place."""
    runs = list(_runs(group for group in scope if _may_fold(group, ctx)))
    if not runs:
        return draft
    # A summary that stands with the instructions is none of these: it has its own time to be written anew.
    digests = [item for item in draft.items if item.is_digest and item.message.role != "system"]
    # What an earlier pass of this reduction folded has not been sent yet: it can be part of one digest for free.
    unsent = [item for item in digests if item.reduction == ctx.number]
    room, restart = _allotment([item for item in digests if item not in unsent], ctx)
    absorbed = digests if restart else unsent
    if absorbed:
        runs = [[group for run in runs for group in run]]
    standing = [item for item in digests if item not in absorbed]
    sizes = [sum(group.tokens for group in run) for run in runs]
    total = sum(sizes) or 1
    place: dict[str, Item] = {}
    for number, (run, size) in enumerate(zip(runs, sizes, strict=True), start=len(unsent)):
        share = room * size // total
        digest = _digest(run, absorbed, standing, ctx, id=f"r{ctx.number}.{number}", by=by, room=share)
        standing.append(digest)
        place.update((item.id, digest) for group in run for item in group.items)
        place.update((item.id, digest) for item in absorbed)
    return draft.with_items(_replaced(draft.items, place))


def digest_of(evicted: list[Group], absorbed: list[Item], ctx: PassContext, *, id: str, by: str) -> Item:
    """The one digest that stands for groups and for earlier digests, with all of the room that digests have."""
    return _digest(evicted, absorbed, [], ctx, id=id, by=by, room=ctx.part(ctx.shares.digests))


def _replaced(items: tuple[Item, ...], place: dict[str, Item]) -> Iterator[Item]:
    """The items with each digest at the place of the first one that it stands for."""
    placed: set[str] = set()
    for item in items:
        digest = place.get(item.id)
        if digest is None:
            yield item
        elif digest.id not in placed:
            placed.add(digest.id)
            yield digest


def _may_fold(group: Group, ctx: PassContext) -> bool:
    head = group.head
    return not head.is_digest and not ctx.must_keep(group) and head.id != ctx.timeline.first_input


def _runs(evicted: Iterable[Group]) -> Iterator[list[Group]]:
    run: list[Group] = []
    for group in evicted:
        if run and group.start != run[-1].start + len(run[-1].items):
            yield run
            run = []
        run.append(group)
    if run:
        yield run


def _allotment(digests: list[Item], ctx: PassContext) -> tuple[int, bool]:
    """How many tokens a new digest may take besides words, and whether it takes the place of the earlier ones."""
    cap = ctx.part(ctx.shares.digests)
    existing = sum(item.tokens - _words(item) for item in digests)
    least = int(cap * _GENERATION)
    words = sum(_words(item) for item in digests)
    crowded = words > 1.5 * ctx.part(ctx.shares.users + ctx.shares.answers)
    if digests and (crowded or existing + least > cap):
        return int(cap * _RESTART), True
    return max(least, (cap - existing) // 2), False


def _words(item: Item) -> int:
    """Tokens of what people said and what they were answered: these have shares of their own."""
    return sum(line.tokens for line in item.lines if line.kind in ("user", "answer"))


def _digest(
    evicted: list[Group],
    absorbed: list[Item],
    others: list[Item],
    ctx: PassContext,
    *,
    id: str,
    by: str,
    room: int,
) -> Item:
    """The digest that stands for groups and for earlier digests, with what room is left in it for evidence."""
    covers = [(item.order, item.order) for group in evicted for item in group.items]
    covers += [span for item in absorbed for span in item.covers]
    lines = [line for item in absorbed for line in item.lines]
    open_errors = ctx.ledger.open_errors
    lines += [line for group in evicted for line in _lines(group, open_errors, ctx)]
    digest = digest_item(_chosen(lines, others, room, open_errors, ctx), covers, ctx, id=id, by=by)
    return msgspec.structs.replace(digest, room=max(0, room - digest.tokens + _words(digest)))


def _chosen(
    lines: list[Line], others: list[Item], room: int, open_errors: Container[str], ctx: PassContext
) -> list[Line]:
    """The lines that get a place: open errors always, the rest by share, newest first."""
    shares = ctx.shares
    newest_first = lines[::-1]
    said = [line for line in newest_first if line.kind == "user" and line.speaker != "program"]
    # Of what programs put there, the newest of each kind.
    by_programs = {line.text[:_ALIKE]: line for line in lines if line.kind == "user" and line.speaker == "program"}
    # The newest words first, then what binds the agent, then what was merely asked.
    users = said[:2] + sorted(said[2:], key=lambda line: BINDING.search(line.text) is None)
    # However little room there is, an open error gets its line.
    chosen = fitting([line for line in lines if line.kind == "error" and line.source in open_errors], sys.maxsize, ctx)
    chosen += fitting([*users, *by_programs.values()], _left(shares.users, "user", others, ctx), ctx)
    answers = [line for line in newest_first if line.kind == "answer"]
    chosen += fitting(answers, _left(shares.answers, "answer", others, ctx), ctx)
    chosen += fitting([line for line in newest_first if line.kind == "step"], int(room * shares.steps), ctx)
    return chosen


def _left(share: float, kind: str, others: list[Item], ctx: PassContext) -> int:
    """What the other digests leave of a share, but never less than a third of it: the newest words matter most."""
    whole = ctx.part(share)
    taken = sum(line.tokens for item in others for line in item.lines if line.kind == kind)
    return max(whole // 3, whole - taken)


def _lines(group: Group, open_errors: Mapping[str, Failure], ctx: PassContext) -> Iterator[Line]:
    """What a group leaves in a digest."""
    head = group.head
    original = ctx.said(head.order)
    if head.message.meta.kind == "recall":
        return
    spoken = spoken_line(original, head.order)
    if spoken is not None:
        yield spoken
    else:
        yield from exchange_lines(group.items, original, open_errors)


def spoken_line(message: Message, order: int, *, head: int | None = None) -> Line | None:
    """The words of a user, or an answer without calls, as the line that a digest has of it; None for all else.

    Of a long text the first `head` characters are in it.
    """
    if message.role in ("user", "system"):
        return _spoken("user", message, order, head or _USER_HEAD)
    if message.role == "assistant" and not message.calls:
        return _spoken("answer", message, order, head or _ANSWER_HEAD)
    return None


def _spoken(kind: LineKind, message: Message, order: int, most: int) -> Line:
    """The beginning of what somebody said; how much more there is, is said beside it, where nobody can pretend it."""
    # What only one format understands has no words, and may be all that was sent.
    text = message.text.strip() or readable(message).strip()
    speaker = speaker_of(message)
    if message.role == "user" and speaker == "user":
        parted = part_text(text)
        if parted.harness or parted.command:
            # What a program put beside the user's words is none of them.
            words = parted.words or parted.command
            text, speaker, most = (words, speaker, most) if words else (text, "program", min(most, _PROGRAM_HEAD))
    shown = head_of(text, most)
    return Line(kind=kind, text=shown, source=message.id, order=order, speaker=speaker, left_out=len(text) - len(shown))


def exchange_lines(items: Sequence[Item], original: Message, open_errors: Mapping[str, Failure]) -> Iterator[Line]:
    """The lines that a digest has of an exchange, one for each call."""
    results = {result.call_id: item for item in items if (result := item.message.result) is not None}
    for part, call in enumerate(items[0].message.calls or original.calls):
        item = results.get(call.id)
        meta = item.message.meta if item is not None else None
        action = described(call, original.meta)
        if item is not None and item.id in open_errors:
            failure = open_errors[item.id]
            text = f"{action[:_ERROR_HEAD]} → {clipped(failure.text, _ERROR_HEAD, item.id)}"
            yield Line(kind="error", text=text, source=item.id, order=item.order)
        else:
            failed = meta is not None and meta.outcome not in (None, "ok")
            text = f"{action} → {meta.outcome}" if failed and meta is not None else action
            yield Line(kind="step", text=text, source=original.id, order=items[0].order, part=part)


def described(call: ToolCall, meta: MessageMeta) -> str:
    """A call of a message in one short line: the tool and what it was about."""
    arguments = parsed_arguments(call)
    semantics = recorded_semantics(call.name, meta)
    names = semantics.resource if semantics is not None else ()
    value = next((arguments[name] for name in names if arguments.get(name)), None)
    if value is None:
        value = next((one for one in arguments.values() if isinstance(one, str) and one), "")
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    line = " ".join(text.split())
    name = quote_name(call.name)
    return f"{name} {line}" if len(line) <= _STEP_HEAD else f"{name} {line[:_STEP_HEAD]}…"
