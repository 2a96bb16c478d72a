"""Spans: stretches of one file whose text is known, kept up through reads and edits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from foveate.compile.facts.line_places import Lines, place_from, places_of

MAX_SPANS: Final = 64
MAX_LINES: Final = 20_000
_MAX_SOURCES: Final = 12
_LONGEST_OVERLAP: Final = 400
_SHORT: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Lines that stand together in a file.

    `start` is the number of the first one, if it is known; `seen` is the moment as of which the text is known to be
    right; `whole` if it is all of the file; `placed` unless a patch was applied to it that may have hit the same lines
    elsewhere; `sources` are the messages that it comes from, oldest first.
    """

    lines: Lines
    start: int | None
    seen: int
    sources: tuple[str, ...]
    whole: bool = False
    placed: bool = True

    @property
    def end(self) -> int:
        """The number behind the last line; of a span without numbers it means nothing."""
        return (self.start or 0) + len(self.lines)


class Spans:
    """The known stretches of one file.

    `doubted` is the moment of the last thing that may have written the file: what was not seen since is not current.
    """

    __slots__ = ("doubted", "items")

    def __init__(self) -> None:
        self.items: list[Span] = []
        self.doubted = -1

    def is_current(self, span: Span, doubted: int = -1) -> bool:
        """Whether nothing may have written the file since a span was seen."""
        return span.placed and span.seen > max(self.doubted, doubted)

    def doubt(self, now: int) -> None:
        """Something may have written the file."""
        self.doubted = now

    @property
    def size(self) -> int:
        """How many lines are kept."""
        return sum(len(span.lines) for span in self.items)

    def replace_all(self, lines: Lines, now: int, source: str) -> None:
        """The file has this text and no other."""
        self.items = [Span(lines=lines, start=1, seen=now, sources=(source,), whole=True)]
        self._limit()

    def show(self, lines: Lines, start: int | None, now: int, source: str, doubted: int = -1) -> None:
        """Some lines were shown: newer text wins, and what it adjoins becomes one with it."""
        if not lines:
            return
        new = Span(lines=lines, start=start, seen=now, sources=(source,))
        if any(self.is_current(one, doubted) and _holds(one, new) for one in self.items):
            return
        if any(self.is_current(one, doubted) and _contradicts(one, new) for one in self.items):
            # Somebody wrote the file whom the log does not name.
            self.doubt(now - 1)
        kept = [rest for one in self.items for rest in _without(one, new)]
        for one in [one for one in kept if self.is_current(one, doubted)]:
            merged = _joined(one, new)
            if merged is not None:
                kept.remove(one)
                new = merged
        self.items = [*kept, new]
        self._limit()

    def confirm(self, now: int, since: int) -> None:
        """The file has not changed since a moment: what was right then is right now."""
        self.items = [replace(one, seen=now) if one.seen >= since else one for one in self.items]

    def edit(self, old: str, new: str, now: int, source: str, *, everywhere: bool, doubted: int = -1) -> bool:
        """Replace a text that stands once in the file, or wherever it stands; False if what is known forbids it."""
        if not old:
            return False
        counts = [("\n".join(one.lines) + "\n").count(old) for one in self.items]
        current = [self.is_current(one, doubted) for one in self.items]
        for one, count, sure in zip(self.items, counts, current, strict=True):
            if sure and ((one.whole and not count) or (count > 1 and not everywhere)):
                return False
        located = not everywhere and any(
            count == 1 and sure and one.start is not None
            for one, count, sure in zip(self.items, counts, current, strict=True)
        )
        grown = new.count("\n") - old.count("\n")
        edits: list[_Edit] = []
        for one, count in zip(self.items, counts, strict=True):
            # A text that stands once in the file stands nowhere else: not half in another numbered span.
            elsewhere = not everywhere and (count or (located and one.start is not None))
            cut = one if elsewhere or one.whole else _uncovered(one, old)
            if cut is not None:
                edits.append(_edited(cut, old, new, source, everywhere=everywhere) if count else _Edit(cut))
        self._renumber(edits, _line_of(edits, doubted, self) if located else None, grown)
        if not any(counts):
            self._show_middle(new, now, source)
        self._limit()
        return True

    def replace_lines(
        self, old: Lines, new: Lines, now: int, source: str, *, after: int = 0, doubted: int = -1
    ) -> int | None:
        """Put whole lines in the place of others, as a patch does: in the first place from the line `after` on.

        The line behind the new ones, 0 if nobody knows it; None if what is known speaks against the patch.
        """
        current = [self.is_current(one, doubted) for one in self.items]
        first = next((one for one, sure in zip(self.items, current, strict=True) if sure and one.start == 1), None)
        at = None if first is None else place_from(first.lines, old, max(0, after - 1))
        if first is not None and first.whole and at is None:
            return None
        edits: list[_Edit] = []
        found = False
        for one in self.items:
            places = self._places_of_hunk(one, first, at, old)
            if not places:
                cut = one if at is not None and one.start is not None else _without_overlap(one, old)
                edits += [_Edit(cut)] if cut is not None else []
                continue
            place, found = places[0], True
            lines = one.lines[:place] + new + one.lines[place + len(old) :]
            # The same lines may stand further up, where nobody has looked: then the patch has changed those.
            placed = one.placed and one is first and len(places) == 1
            changed = _resourced(replace(one, lines=lines, placed=placed), source)
            edits.append(_Edit(changed, (one.start or 0) + place))
        self._renumber(edits, None if at is None else at + 1, len(new) - len(old))
        if not found:
            self.items.append(Span(lines=new, start=None, seen=now, sources=(source,)))
        self._limit()
        return 0 if at is None else at + 1 + len(new)

    def replace_at(self, line: int, old: Lines, new: Lines, source: str, *, doubted: int = -1) -> int | None:
        """Put whole lines in the place of others at a line, as a patch with numbers does.

        The line behind the new ones; None unless they are known to stand there, for then it may have gone elsewhere.
        """
        numbered = (one for one in self.items if one.start is not None and self.is_current(one, doubted))
        there = next((one for one in numbered if one.start is not None and one.start <= line < one.end), None)
        at = line - (there.start or 0) if there is not None else 0
        if there is None or there.lines[at : at + len(old)] != old:
            return None
        edits: list[_Edit] = []
        for one in self.items:
            if one is there:
                changed = replace(one, lines=one.lines[:at] + new + one.lines[at + len(old) :])
                edits.append(_Edit(_resourced(changed, source), line))
            elif one.start is not None or not places_of(one.lines, old):
                cut = one if one.start is not None else _without_overlap(one, old)
                edits += [_Edit(cut)] if cut is not None else []
            else:
                # Without numbers it may be the same lines, or others like them.
                edits.append(_Edit(replace(one, placed=False)))
        self._renumber(edits, line, len(new) - len(old))
        return line + len(new)

    @staticmethod
    def _places_of_hunk(one: Span, first: Span | None, at: int | None, old: Lines) -> list[int]:
        """Where a span has the lines of a hunk that was found at a place of the first span, or nowhere in it."""
        if one is first:
            return [at] if at is not None else []
        return places_of(one.lines, old) if at is None or one.start is None else []

    def change_lines(self, change: Callable[[int | None, Lines], Lines], source: str, *, numbered: bool) -> None:
        """Change the lines of every span; a change that goes by numbers leaves those without numbers out."""
        edits: list[_Edit] = []
        grown = False
        for one in self.items:
            if numbered and one.start is None:
                continue
            lines = change(one.start, one.lines)
            grown = grown or len(lines) != len(one.lines)
            edits.append(_Edit(one if lines == one.lines else _resourced(replace(one, lines=lines), source)))
        self._renumber(edits, None, int(grown))

    def delete_lines(self, first: int, last: int, source: str) -> None:
        """Take lines out by their numbers; what has no number may have been among them."""
        self._splice(first, last, (), source)

    def insert_lines(self, after: int, lines: Lines, now: int, source: str) -> None:
        """Put lines in behind one with a number."""
        self._splice(after + 1, after, lines, source)
        if not any(one.start is not None and one.start <= after + 1 < one.end for one in self.items):
            self.items.append(Span(lines=lines, start=after + 1, seen=now, sources=(source,)))
        self._limit()

    def _splice(self, first: int, last: int, lines: Lines, source: str) -> None:
        removed = last - first + 1
        kept: list[Span] = []
        for one in self.items:
            if one.start is None:
                # Where it stands nobody knows, so the change may be in it.
                continue
            if last < one.start - (0 if removed else 1):
                kept.append(replace(one, start=one.start + len(lines) - removed))
            elif first > one.end or (removed and first >= one.end):
                kept.append(one)
            elif first >= one.start and last < one.end:
                at = first - one.start
                text = one.lines[:at] + lines + one.lines[at + removed :]
                kept.append(_resourced(replace(one, lines=text), source))
            else:
                before = one.lines[: max(0, first - one.start)]
                after = one.lines[max(0, last + 1 - one.start) :]
                kept += [replace(one, lines=before, whole=False)] if before else []
                kept += [replace(one, lines=after, start=first, whole=False)] if after else []
        self.items = [one for one in kept if one.lines]

    def _renumber(self, edits: Iterable[_Edit], line: int | None, grown: int) -> None:
        """Take over edited spans; numbers behind the edit shift, and are lost if nobody knows where it was."""
        spans: list[Span] = []
        for edit in edits:
            span = edit.span
            if not grown or span.start is None or span.start == 1 or (edit.line is not None and line is not None):
                spans.append(span)
            elif line is None:
                spans.append(replace(span, start=None))
            else:
                spans.append(replace(span, start=span.start + grown) if span.start > line else span)
        self.items = [one for one in spans if one.lines]

    def _show_middle(self, text: str, now: int, source: str) -> None:
        """Of a text that was put somewhere the lines are known that begin and end in it."""
        lines = tuple(text.split("\n")[1:-1])
        if lines:
            self.items.append(Span(lines=lines, start=None, seen=now, sources=(source,)))

    def _limit(self) -> None:
        while len(self.items) > MAX_SPANS or (self.size > MAX_LINES and len(self.items) > 1):
            # What a search showed of a file goes before what was read.
            self.items.remove(min(self.items, key=lambda one: (len(one.lines) > _SHORT, one.seen)))
        if self.size > MAX_LINES:
            one = self.items[0]
            self.items = [replace(one, lines=one.lines[:MAX_LINES], whole=False)]


@dataclass(frozen=True, slots=True)
class _Edit:
    """What an edit leaves of a span, and the line it took place at if it did in this span."""

    span: Span
    line: int | None = None


def _line_of(edits: Iterable[_Edit], doubted: int, spans: Spans) -> int | None:
    """The line at which a text was found in a span that is current and has numbers."""
    sure = (one.line for one in edits if one.span.start is not None and spans.is_current(one.span, doubted))
    return next((line for line in sure if line is not None), None)


def _resourced(span: Span, source: str) -> Span:
    sources = tuple(dict.fromkeys((*span.sources, source)))
    return replace(
        span, sources=sources if len(sources) <= _MAX_SOURCES else (sources[0], *sources[1 - _MAX_SOURCES :])
    )


def _holds(one: Span, new: Span) -> bool:
    """Whether a span has lines already that are shown."""
    if new.start is None:
        return bool(places_of(one.lines, new.lines))
    if one.start is None or one.start > new.start or one.end < new.end:
        return False
    at = new.start - one.start
    return one.lines[at : at + len(new.lines)] == new.lines


def _contradicts(one: Span, new: Span) -> bool:
    """Whether a span has another text in lines that are shown."""
    if new.start is None:
        return one.whole and not places_of(one.lines, new.lines)
    if one.start is None:
        return False
    first, end = max(one.start, new.start), min(one.end, new.end)
    if one.whole and new.end > one.end and any(new.lines[max(0, one.end - new.start) :]):
        return True
    return first < end and (
        one.lines[first - one.start : end - one.start] != new.lines[first - new.start : end - new.start]
    )


def _without(one: Span, new: Span) -> Iterable[Span]:
    """What newer lines leave of an older span."""
    if one.start is not None and new.start is not None:
        if one.end <= new.start or new.end <= one.start:
            yield one
            return
        before = one.lines[: max(0, new.start - one.start)]
        after = one.lines[max(0, new.end - one.start) :]
        if before:
            yield replace(one, lines=before, whole=False)
        if after:
            yield replace(one, lines=after, start=new.end, whole=False)
        return
    if places_of(new.lines, one.lines):
        return
    inner = places_of(one.lines, new.lines)
    if inner:
        at = inner[0]
        pieces = (one.lines[:at], one.lines[at + len(new.lines) :])
        starts = (one.start, None if one.start is None else one.start + at + len(new.lines))
        yield from (
            replace(one, lines=text, start=start, whole=False)
            for text, start in zip(pieces, starts, strict=True)
            if text
        )
        return
    rest = _without_overlap(one, new.lines)
    if rest is not None:
        yield rest


def _joined(one: Span, new: Span) -> Span | None:
    """Two spans as one, if the one begins where the other ends."""
    if one.start is None or new.start is None:
        return None
    if one.end == new.start:
        first, second = one, new
    elif new.end == one.start:
        first, second = new, one
    else:
        return None
    sources = tuple(dict.fromkeys((*one.sources, *new.sources)))[-_MAX_SOURCES:]
    seen = min(one.seen, new.seen)
    return Span(lines=first.lines + second.lines, start=first.start, seen=seen, sources=sources)


def _without_overlap(one: Span, lines: Lines) -> Span | None:
    """A span without lines at its ends that may be the beginning or the end of other lines."""
    if places_of(lines, one.lines):
        return None
    if len(lines) > _LONGEST_OVERLAP:
        return None
    most = min(len(lines), len(one.lines))
    head = max((count for count in range(1, most + 1) if one.lines[:count] == lines[-count:]), default=0)
    tail = max((count for count in range(1, most + 1) if one.lines[-count:] == lines[:count]), default=0)
    return _trimmed(one, head, tail)


def _uncovered(one: Span, old: str) -> Span | None:
    """A span without lines at its ends that a text may reach into which stands elsewhere; None if it covers all."""
    text = "\n".join(one.lines) + "\n"
    breaks = [at for at, character in enumerate(old) if character == "\n"]
    if len(breaks) > _LONGEST_OVERLAP or (len(old) >= len(text) - 1 and text[:-1] in old):
        return None
    head = tail = 0
    for at in breaks:
        # What stands before a span ends with a line break, so the text begins a line of the span behind one of its own.
        rest = old[at + 1 :]
        if rest and text.startswith(rest):
            head = rest.count("\n") + (0 if rest.endswith("\n") else 1)
            break
    for at in reversed(breaks):
        if at + 1 < len(old) and text.endswith(old[: at + 1]):
            tail = old.count("\n", 0, at + 1)
            break
    return _trimmed(one, head, tail)


def _trimmed(one: Span, head: int, tail: int) -> Span | None:
    if not head and not tail:
        return one
    lines = one.lines[head : len(one.lines) - tail]
    start = None if one.start is None else one.start + head
    return replace(one, lines=lines, start=start, whole=False) if lines else None


def _edited(one: Span, old: str, new: str, source: str, *, everywhere: bool) -> _Edit:
    """A span with a text replaced in it."""
    text = "\n".join(one.lines) + "\n"
    at = text.find(old)
    line = (one.start or 0) + text.count("\n", 0, at)
    changed = text.replace(old, new) if everywhere else text[:at] + new + text[at + len(old) :]
    if changed.endswith("\n"):
        lines = tuple(changed[:-1].split("\n"))
    else:
        # The line break behind it is gone, so the last line goes on with text that is not known.
        lines = tuple(changed.split("\n"))
        lines = lines if one.whole else lines[:-1]
    if not changed:
        lines = ()
    return _Edit(_resourced(replace(one, lines=lines), source), line)
