"""Note: everything before the tail becomes a story by turn, and how the work stands is said behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from foveate.compile.draft import Draft, Group, PassContext, groups
from foveate.compile.note.interest import Interest, interest_of
from foveate.compile.note.recent import Work, work_of
from foveate.compile.note.state import state_item
from foveate.compile.note.story import chosen_lines, fitting_tokens, story_lines, user_lines, value_lines
from foveate.compile.note.tail import level, shortened, size_in_tail, tail_from
from foveate.compile.passes.digest import digest_item, merged, state_of
from foveate.compile.passes.truncate import reserve
from foveate.errors import ConfigError
from foveate.log.items import Item, Line

# Of the room that tail and note have together: what an output in the tail may take, and one that is new.
_LARGE: Final = 0.3
_NEWEST: Final = 0.6
_LEAST: Final = 0.12
# Of what instructions leave: what messages come down to, where these take little of the budget and where nearly all.
_HALF: Final = 0.5
_MOST: Final = 0.9
# The budget in which the low mark is what it says, and how fast it falls beyond: at four times as much by a fifteenth.
_REFERENCE: Final = 8_000
_SHRINKS: Final = 0.05
# In tokens: in less room what was done and how it ended says more than how things stand.
_STATE_NEEDS: Final = 240
# Of the room that stories have: what one that takes the place of all may take, and what a further one needs.
_RESTART: Final = 0.8
_GENERATION: Final = 0.15
_WORDS: Final = 0.6
_SHORT: Final = 120
# What a summary stands for: the user's words, values and rules stay beside it.
_SUMMARIZED: Final = frozenset({"step", "words", "answer", "summary"})
# Of the budget, what a note and its tail come down to in a mere talk.
_IN_TALK: Final = 0.25


class _Division(NamedTuple):
    """What stands before the tail, the ids of those groups in it that go, the tail, and the room for a note."""

    before: Sequence[Group]
    gone: frozenset[str]
    tail: Sequence[Item]
    room: int


@dataclass(slots=True)
class _Run:
    """A stretch of the past that gets a story: groups, and earlier stories that it takes the place of."""

    groups: list[Group] = field(default_factory=list)
    old: list[Item] = field(default_factory=list)

    def covers(self) -> list[tuple[int, int]]:
        """Where its messages stand in the log."""
        own = [(item.order, item.order) for group in self.groups for item in group.items if item.fate != "recalled"]
        return own + [span for item in self.old for span in item.covers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Write a note of everything before the tail.

    The tail takes the share `tail` of what a reduction comes down to, at most `tail_cap`; of the rest `state` is for
    how the work stands, what remains for the story. Each note adds a story behind the earlier ones, which keep their
    bytes, until they take more than their share; the state is written anew.
    """

    tail: float = 0.46
    tail_cap: float = 0.76
    state: float = 0.55
    name: str = "note"
    recipe_name: ClassVar[str] = "note@1"
    runs_on: ClassVar[str] = "reduction"

    def __post_init__(self) -> None:
        for option in ("tail", "tail_cap", "state"):
            value = getattr(self, option)
            if not 0 < value < 1:
                raise ConfigError(f"`{option}` is a share between 0 and 1, got {value!r}")

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        interest = interest_of(ctx)
        division = self._divided(draft, interest, ctx)
        if not any(group.id in division.gone and group.head.fate != "recalled" for group in division.before):
            return draft.with_items([*_items(division.before), *division.tail])
        work = work_of(ctx)
        written = self._written(division, interest, work, ctx)
        free = _low(ctx) - sum(item.tokens for item in written)
        next_up = division.before[-1]
        # A summary was written for just this stretch.
        fixed = any(line.kind == "summary" for item in written for line in item.lines if item.reduction == ctx.number)
        if next_up.id in division.gone and free > next_up.tokens and not fixed:
            # The note needs less than its part: then more stays as it was said.
            longer = self._divided(draft, interest, ctx, more=free)
            written = self._written(longer, interest, work, ctx) if longer.gone else written
        return draft.with_items(written)

    def _divided(self, draft: Draft, interest: Interest, ctx: PassContext, more: int = 0) -> _Division:
        found = list(groups(draft.items))
        fixed = sum(group.tokens for group in found if _stays(group, ctx) and not group.head.is_digest)
        # Where instructions take most of the budget, the mark leaves nothing; then most of what there is. Where they
        # take up to half of it, room for the next calls counts for more: a full window is rewritten at every call.
        spare = ctx.limit - fixed
        crowded = min(1.0, max(0.0, 2 * fixed / max(1, ctx.limit) - 1))
        low, least = _low(ctx), int(spare * (_HALF + (_MOST - _HALF) * crowded))
        room = max(low - fixed, min(least, low) if _is_looked_up(ctx) else least)
        large = int(room * _LARGE)
        wanted, cap = int(room * self.tail), int(room * self.tail_cap)
        if more:
            first = tail_from(found, wanted, cap, large, ctx)
            wanted = cap = sum(size_in_tail(group, large) for group in found[first:]) + more
        start = tail_from(found, wanted, cap, large, ctx)
        whole = _running_from(found, ctx) if ctx.spares_running else len(found)
        start = min(start, whole)
        tail: list[Item] = []
        for index in range(start, len(found)):
            most = large if index < len(found) - 1 else level(found[index], int(room * _NEWEST))
            own = found[index].items
            tail += own if index >= whole else [shortened(item, most, interest, ctx) for item in own]
        before = found[:start]
        gone = frozenset(group.id for group in before if not group.head.is_digest and not _stays(group, ctx))
        if gone:
            # How the work stood before is of no use beside how it stands.
            before = [group for group in before if state_of(group.head.lines) is None]
        taken = sum(item.tokens for item in tail)
        taken += sum(group.tokens for group in before if group.id not in gone and not group.head.is_digest)
        # No more than there is room for; a tail that does not fit by itself will be cut short, the note not with it.
        least = int(_LEAST * (spare + crowded * fixed))
        left = ctx.limit - reserve(ctx.limit, len(ctx.ledger.open_errors)) - taken
        return _Division(before, gone, tail, max(fixed + room - taken, least if left < 0 else min(least, left)))

    def _written(self, division: _Division, interest: Interest, work: Work, ctx: PassContext) -> list[Item]:
        gone = [group for group in division.before if group.id in division.gone]
        whole = [item for group in division.before if group.id not in division.gone for item in group.items]
        stories = [item for item in whole if _is_story(item)]
        standing = sum(item.tokens for item in stories)
        last = max(
            *(item.order for group in gone for item in group.items if item.fate != "recalled"),
            *(span[1] for item in stories for span in item.covers),
            0,
        )
        need = fitting_tokens(list(story_lines(gone, work, ctx)), ctx) + _words_need(gone)
        share = int(division.room * (1 - self.state))
        # What the story does not need is for the state, and what the state does not need is for the story.
        least = min(standing + need, max(share, standing + int(share * _GENERATION)))
        state = None
        if division.room >= _STATE_NEEDS:
            state = state_item([*whole, *division.tail], work, last, interest, division.room - least, ctx)
        room = division.room - (state.tokens if state is not None else 0)
        written: list[Item] = []
        number = 0
        for piece in _pieces(division, room, ctx):
            if isinstance(piece, Item):
                written.append(piece)
                continue
            run, own_room = piece
            if not run.covers():
                # Nothing but passages that were looked up for an earlier input.
                continue
            written.append(_story(run, own_room, work, number, ctx))
            number += 1
        # Behind all stories: what it says is of the moment.
        at = max((at for at, item in enumerate(written, start=1) if _is_story(item)), default=0)
        return [*written[:at], *((state,) if state is not None else ()), *written[at:], *division.tail]


def _low(ctx: PassContext) -> int:
    """The tokens to come down to: of a large budget a smaller part, as work does not grow with it."""
    low = int(ctx.low * math.pow(_REFERENCE / max(ctx.limit, _REFERENCE), _SHRINKS))
    return min(low, int(ctx.limit * _IN_TALK)) if _is_looked_up(ctx) else low


def _is_looked_up(ctx: PassContext) -> bool:
    """Whether older words are of most use where an input asks for them: then room is left for looking them up."""
    return ctx.timeline.is_talk and ctx.shares.recall > 0


def _is_story(item: Item) -> bool:
    """Whether an item stands for older messages; a summary beside the instructions has a place of its own."""
    return item.is_digest and item.message.role != "system"


def _running_from(found: Sequence[Group], ctx: PassContext) -> int:
    """The number of the group that the running turn begins with."""
    return next((at for at, group in enumerate(found) if group.head.id == ctx.newest_input), len(found))


def _items(found: Sequence[Group]) -> list[Item]:
    return [item for group in found for item in group.items]


def _stays(group: Group, ctx: PassContext) -> bool:
    return ctx.must_keep(group) or group.head.id == ctx.timeline.first_input


def _words_need(gone: Sequence[Group]) -> int:
    return sum(group.tokens for group in gone if group.head.message.role == "user")


def _pieces(division: _Division, room: int, ctx: PassContext) -> list[Item | tuple[_Run, int]]:
    """What stays before the tail, with the stretches that get a story at their places, each with its room."""
    digests = [group.head for group in division.before if group.head.is_digest and group.head.message.role != "system"]
    unsent = [item for item in digests if item.reduction == ctx.number]
    standing = sum(item.tokens for item in digests if item not in unsent)
    restart = len(digests) > len(unsent) and standing + int(room * _GENERATION) > room
    absorbed = digests if restart else unsent
    found: list[Item | _Run] = []
    for group in division.before:
        if group.id in division.gone or group.head in absorbed:
            run = found[-1] if found and isinstance(found[-1], _Run) else _Run()
            if not (found and run is found[-1]):
                found.append(run)
            if group.head.is_digest:
                run.old.append(group.head)
            else:
                run.groups.append(group)
        else:
            found += group.items
    if restart:
        found = _joined(found, ctx)
        room = int(room * _RESTART)
    else:
        found = _without_lone_inputs(found)
        room = max(int(room * _GENERATION), room - standing)
    sizes = {id(run): _size(run) for run in found if isinstance(run, _Run)}
    total = sum(sizes.values()) or 1
    return [one if isinstance(one, Item) else (one, room * sizes[id(one)] // total) for one in found]


def _without_lone_inputs(found: Sequence[Item | _Run]) -> list[Item | _Run]:
    """What stays and what gets a story; a short message of the user between two stories stays as it was said."""
    result: list[Item | _Run] = []
    for at, one in enumerate(found):
        if (
            isinstance(one, _Run)
            and _is_lone_input(one)
            and _is_digest(found[:at][-1:])
            and _is_digest(found[at + 1 :][:1])
        ):
            result += one.groups[0].items
        else:
            result.append(one)
    return result


def _is_lone_input(run: _Run) -> bool:
    return len(run.groups) == 1 and run.groups[0].head.message.role == "user" and run.groups[0].tokens <= _SHORT


def _is_digest(found: Sequence[Item | _Run]) -> bool:
    return any(isinstance(one, Item) and one.is_digest for one in found)


def _size(run: _Run) -> int:
    """What a stretch may claim of the room: the more the longer it is, but less than in proportion."""
    tokens = sum(group.tokens for group in run.groups) + 4 * sum(item.tokens for item in run.old)
    return int(tokens**0.7) + 1


def _joined(found: Sequence[Item | _Run], ctx: PassContext) -> list[Item | _Run]:
    """One stretch on each side of the newest input: what serves it stands behind it."""
    result: list[Item | _Run] = []
    run: _Run | None = None
    for one in found:
        if isinstance(one, Item):
            result.append(one)
            run = None if one.id == ctx.newest_input else run
        elif run is None:
            run = one
            result.append(one)
        else:
            run.groups += one.groups
            run.old += one.old
    return result


def _story(run: _Run, room: int, work: Work, number: int, ctx: PassContext) -> Item:
    """The story of a stretch: what the user said and what tools answered is chosen anew from all of it."""
    covers = merged(run.covers())
    orders = [order for order in ctx.timeline.inputs if _is_covered(order, covers)]
    ctx.timeline.prefetch(orders)
    words = user_lines(orders, int(room * _WORDS), ctx)
    values = [line for line in value_lines(work.answers) if _is_covered(line.order, covers)]
    known = {*orders, *(line.order for line in values)}
    # Older words and values are known by the stories that they stood in; what is open is said where the work stands.
    earlier = [
        line
        for item in run.old
        for line in item.lines
        if line.kind != "error" and not (line.kind in ("user", "value") and line.order in known)
    ]
    room -= sum(line.tokens for line in words)
    told = list(story_lines(run.groups, work, ctx, at_length=True))
    if fitting_tokens([*earlier, *values, *told], ctx) > room:
        told = list(story_lines(run.groups, work, ctx))
    lines = [*earlier, *values, *told]
    summary = ctx.timeline.summary
    if summary is not None and summary.through == covers[-1][1]:
        # A summarizer wrote for exactly this stretch: that stands for what was done and answered.
        words.append(Line(kind="summary", text=summary.text, order=covers[0][0]))
        room -= ctx.count(summary.text)
        lines = [line for line in lines if line.kind not in _SUMMARIZED]
    return digest_item([*words, *chosen_lines(lines, room, ctx)], covers, ctx, id=f"r{ctx.number}.{number}", by="note")


def _is_covered(order: int, covers: Sequence[tuple[int, int]]) -> bool:
    return any(first <= order <= last for first, last in covers)
