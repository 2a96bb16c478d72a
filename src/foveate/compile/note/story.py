"""The story: what was asked, done, found and answered, turn by turn, in the order in which it happened."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from foveate.compile.draft import Group, PassContext
from foveate.compile.facts.answers import Answer, AnswerSource
from foveate.compile.facts.user_words import UserWordsBuilder
from foveate.compile.ledger import DECISION
from foveate.compile.note.deeds import Deed, deeds_of, short_path, told
from foveate.compile.note.recent import Work
from foveate.compile.passes.digest import fitting, head_of
from foveate.log.items import Line, LineKind
from foveate.log.messages import Media, Message, Opaque, ToolCall, speaker_of
from foveate.log.quoting import quote_claim
from foveate.recall.readable import readable

# In tokens: who says it, and the reference.
_LABEL: Final = 8
# What no file at hand has comes before what a program can compute again.
_WORTH: Final[Mapping[AnswerSource, int]] = {"outside": 0, "program": 2, "look": 3}
_REFUSED: Final = 1
_ANSWER: Final = 700
# Where there is room: of a text, and of what was done in one line.
_LONG_ANSWER: Final = 2_000
_LONG_WORDS: Final = 700
_VALUES: Final = 0.6
_ANSWERS: Final = 0.35
_WORDS: Final = 260
_DEEDS: Final = 280
_LOOKS: Final = 200
# The place of a line among those of one message: what was only looked at comes last, and goes first.
_LOOKED: Final = 9
_OF_FILES: Final = frozenset({"read", "edited", "wrote", "deleted"})
_SENTENCE: Final = re.compile(r"(?<=[.!?:])\s+|\n+")
_ANNOUNCING: Final = re.compile(
    r"(?:(?:all )?(?:good|great|ok(?:ay)?|perfect|done|clean|right|thanks)[^.!:]{0,40}[.!:] ?)?"
    r"(?:now[, ]{1,2})?(?:let me|let['’]s|i['’]ll|i will|i['’]m going to|now|next,?|first,?|then)\b"
    r"[^.!?\n]{0,200}[.:…]?",
    re.IGNORECASE,
)
# A long line that goes on in small letters.
_WRAPPED: Final = re.compile(r"([^\n]{50})\n(?=[a-z(])")
_TELLING: Final = re.compile(
    r"\b(?:because|since|instead|root cause|caused?|turns out|actually|the (?:bug|problem|issue|fix|reason|cause)|"
    r"found|fails?|failed|failing|broken|wrong|works?|fixed|done|passes|passed|confirmed|conclusion|so the|therefore|"
    r"should)\b",
    re.IGNORECASE,
)


def story_lines(run: Iterable[Group], work: Work, ctx: PassContext, *, at_length: bool = False) -> Iterator[Line]:
    """What a stretch of the past leaves; `at_length` with more of each text, and with what edits changed."""
    done: list[tuple[Message, int, list[Deed]]] = []
    for group in run:
        head = group.head
        message = ctx.said(head.order)
        if head.message.meta.kind == "recall":
            continue
        words = _spoken(message, head.order, at_length=at_length)
        if words is not None or not message.calls:
            yield from _told(done)
            done = []
        if words is not None:
            yield words
        if message.calls:
            results = {
                item.message.result.call_id: ctx.said(item.order)
                for item in group.items
                if item.message.result is not None
            }
            calls = head.message.calls or message.calls
            deeds = [
                _shortened(deed, at_length=at_length)
                for call in calls
                if not message.meta.plan
                for deed in _deeds(call, message, results.get(call.id), work)
            ]
            done.append((message, head.order, deeds))
    yield from _told(done)


def _deeds(call: ToolCall, message: Message, result: Message | None, work: Work) -> Sequence[Deed]:
    found = work.deeds.get((message.id, call.id))
    if found is None:
        # Several drafts of a story are made of the same exchanges.
        found = work.deeds[message.id, call.id] = deeds_of(call, message, result)
    return found


def _shortened(deed: Deed, *, at_length: bool) -> Deed:
    what = short_path(deed.what) if deed.kind in _OF_FILES else deed.what
    return deed._replace(what=what, change=deed.change if at_length else "")


def _told(done: Sequence[tuple[Message, int, list[Deed]]]) -> Iterator[Line]:
    """Exchanges between two things that were said, as few lines."""
    for is_look, most in ((False, _DEEDS), (True, _LOOKS)):
        span: list[tuple[Message, int]] = []
        deeds: list[Deed] = []
        for message, order, all_of_it in done:
            own = [deed for deed in all_of_it if deed.is_look == is_look]
            if not own:
                continue
            if deeds and len("; ".join(told([*deeds, *own]))) > most:
                yield _deed_line(span, deeds, is_look=is_look)
                span, deeds = [], []
            span.append((message, order))
            deeds += own
        if deeds:
            yield _deed_line(span, deeds, is_look=is_look)


def _deed_line(span: Sequence[tuple[Message, int]], deeds: Sequence[Deed], *, is_look: bool) -> Line:
    (first, order), (last, _) = span[0], span[-1]
    text = "; ".join(told(deeds))
    text = text if len(text) <= 3 * _DEEDS else f"{text[: 3 * _DEEDS]}…"
    until = "" if last is first else f"to {last.id}: "
    return Line(kind="step", text=until + text, source=first.id, order=order, part=_LOOKED if is_look else 0)


def _spoken(message: Message, order: int, *, at_length: bool) -> Line | None:
    text = message.text.strip()
    if not text:
        return None
    if message.role != "assistant":
        # What the user said is chosen from all of it at once.
        return None
    if message.calls:
        most = _LONG_WORDS if at_length else _WORDS
        return _line("words", text, most, message, order) if not _announces(text) else None
    return _line("answer", text, _LONG_ANSWER if at_length else _ANSWER, message, order)


def _announces(text: str) -> bool:
    """Whether a text says no more than what is done next, which is told anyway."""
    return len(text) < _WORDS and _ANNOUNCING.fullmatch(text) is not None and _TELLING.search(text) is None


def _line(kind: LineKind, text: str, most: int, message: Message, order: int) -> Line:
    shown, label = _abridged(text, most, is_answer=kind == "answer")
    return Line(
        kind=kind,
        text=shown,
        source=message.id,
        order=order,
        speaker=speaker_of(message),
        left_out=max(0, len(text) - len(shown)),
        label=label,
    )


def _abridged(text: str, most: int, *, is_answer: bool) -> tuple[str, str]:
    """A text, or of a long one the sentences that count, in their order."""
    if len(text) <= most + 80:
        return text, ""
    sentences = [one for one in _SENTENCE.split(text[:40_000]) if one.strip()]
    ranked = sorted(
        range(len(sentences)),
        key=lambda at: (
            at > 0,
            not (_TELLING.search(sentences[at]) or DECISION.search(sentences[at])),
            -at if is_answer else at,
        ),
    )
    room, chosen = most, set[int]()
    for at in ranked:
        if len(sentences[at]) <= room:
            chosen.add(at)
            room -= len(sentences[at]) + 1
    if not chosen:
        return head_of(text, most), ""
    return " ".join(sentences[at] for at in sorted(chosen)), "parts with"


def fitting_tokens(lines: Iterable[Line], ctx: PassContext) -> int:
    """What lines take in all."""
    return sum(line.tokens for line in fitting(lines, sys.maxsize, ctx))


def user_lines(orders: Iterable[int], room: int, ctx: PassContext) -> list[Line]:
    """What the user said in messages, whole sentences, those that bind first, in `room` tokens."""
    builder = UserWordsBuilder()
    found: list[Line] = []
    for order in orders:
        message = ctx.said(order)
        builder.feed(message, order)
        attached = _attached(message)
        if attached:
            found += fitting([Line(kind="user", text=attached, source=message.id, order=order, part=1)], room, ctx)
            room -= found[-1].tokens if found and found[-1].order == order else 0
    for said, shown in builder.words().within(room, ctx.count, label=_LABEL):
        message = ctx.said(said.order)
        left_out = max(0, len(said.text) - len(shown)) if shown != said.text else 0
        speaker = "user" if message.role == "user" else "user refusing" if said.refusal else "user answering"
        found.append(
            Line(
                kind="user",
                text=_unwrapped(shown),
                source=said.message_id,
                order=said.order,
                speaker=speaker,
                left_out=left_out,
                label="parts with",
                tokens=ctx.count(shown) + shown.count("\n") + _LABEL,
            )
        )
    return found


def _attached(message: Message) -> str:
    """The pictures and files of a message of the user, by name; beside words, a part of unknown type has none."""
    if message.role != "user":
        return ""
    known = Media if message.text.strip() else Media | Opaque
    parts = tuple(part for part in message.parts if isinstance(part, known))
    return head_of(readable(msgspec.structs.replace(message, parts=parts)), _WORDS) if parts else ""


def _unwrapped(text: str) -> str:
    """A text whose long lines were broken by hand, without these breaks: each would take a mark."""
    return _WRAPPED.sub(r"\1 ", text)


def value_lines(answers: Iterable[Answer]) -> Iterator[Line]:
    """What only tools showed."""
    for one in answers:
        worth = _REFUSED if one.refused else _WORTH[one.source]
        label = f"on {quote_claim(one.question)}"
        yield Line(kind="value", text=one.text, source=one.message_id, order=one.order, part=worth, label=label)


def chosen_lines(lines: Sequence[Line], room: int, ctx: PassContext) -> list[Line]:
    """The lines besides the user's that get a place: values and answers, then what was done, newest first."""
    # Of values those come first that nobody can compute again, of all else the newest.
    newest = sorted(lines, key=lambda line: (line.part if line.kind == "value" else 0, -line.order))
    chosen: list[Line] = []
    for kinds, share in (({"user", "value", "summary"}, _VALUES), ({"answer"}, _ANSWERS), ({"step", "words"}, 1.0)):
        wanted = [line for line in newest if line.kind in kinds and line.part != _LOOKED]
        found = fitting(wanted, int(room * share), ctx)
        room -= sum(line.tokens for line in found)
        chosen += found
    chosen += fitting([line for line in newest if line.part == _LOOKED and line.kind == "step"], room, ctx)
    return chosen
