"""The user's words: what was said in each message, to be shown sentence by sentence in the room there is.

Rules, wishes that are put off, and decisions come before requests, requests before names and numbers, and all of them
before prose; what is shown stands in its order and is never cut within a sentence. Answers to an agent's questions, and
the reason with which a call was refused, are the user's words too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from foveate.compile.facts.harness import HarnessText, part_text, program_text, reminders_in
from foveate.compile.facts.prose import Unit, units_of
from foveate.compile.facts.run_summaries import telling_lines
from foveate.log.messages import Message, Text

Measure = Callable[[str], int]

GAP: Final = "…"
_MAX_MESSAGE: Final = 8_000
_MAX_ALL: Final = 200_000
_MAX_MESSAGES: Final = 1_000
_LEAST_KEPT: Final = 400
# What was said is chosen from anew whenever a story is written.
_REMEMBERED: Final = 512
_MAX_KINDS: Final = 64
_SHORT_CODE: Final = 400
_PASTED: Final = 6
_REPEATED: Final = 7
_ATTACHED: Final = 1_000

_RULE: Final = re.compile(
    r"\b(?:must(?:n['’]t)?|never|always|do ?n['’]t|do not|dont|not allowed|forget|forbidden|only|"
    r"no (?!idea|problem|matter|longer|need|worries)\w+|at (?:most|least)|"
    r"avoid|instead of|rather than|without|except|unless|make sure|ensure|keep in mind|remember|important|from now on|"
    r"required?|should(?:n['’]t| not)|deadline|due|budget|limit|allergic|prefer|insists?|we (?:call|count|use|say)|"
    r"(?:is|are) called|named|our word|agreed|decided|nowhere|everywhere|(?-i:NOT|NO|NEVER|ONLY|MUST))\b|"
    r"必须|必需|不要|不能|不得|不可|不许|禁止|务必|只能|只用|最多|至少|一律|千万|别(?:忘|动|改|用|再|碰|删|提|管)|统一|记住|"
    r"预算|叫做|称为|始终|永远|规定|要求",
    re.IGNORECASE,
)
_PUT_OFF: Final = re.compile(
    r"\b(?:at the (?:very )?end|later|when .{1,60}\b(?:done|finished|ready|runs|works|completed?)|"
    r"once (?:you|it|that|everything|all)|afterwards?|after(?: that| this| you)|before you|not yet|for now|"
    r"only (?:then|when)|until|don['’]?t forget|in the end|finally|last(?:ly| of all)|next time|follow[- ]?ups?|"
    r"as a next)\b|最后|以后|之后|完成后|做完|等.{1,20}(?:再|后)|再说|稍后|待会|回头|暂时|先不|到时",
    re.IGNORECASE,
)
_DECISION: Final = re.compile(
    r"\b(?:let['’]?s|we(?:['’]ll| will)|i(?:['’]ll| will| want|['’]d (?:like|rather))|go (?:with|for|ahead)|"
    r"option \w{1,3}|do \d|yes|no|ok(?:ay)?|instead|revert|keep|leave|drop|skip|switch to|stick (?:to|with)|then)\b|"
    r"决定|改用|改成|换成|采用|保留|好的|可以|选",
    re.IGNORECASE,
)
# What is asked once, and done afterwards.
_ASKING: Final = re.compile(
    r"(?:(?:please|now|then|and|also|ok(?:ay)?|yes|so|next|great|good)\b[,.]? ){0,3}(?:please|can you|could you|"
    r"would you|have a look|look|add|fix|make|write|create|remove|delete|change|update|implement|check|run|explain|"
    r"review|find|show|tell|rename|move|commit|push|test|read|print|see|start|continue|go on|try|open|list|"
    r"summari[sz]e)\b|"
    r"请|帮|麻烦|加|改|修|写|删|查|看|做|实现|更新|运行|解释",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(
    r"\d|`[^`\n]{1,200}`|[\"“‘'«「][^\n]{1,80}[\"”’'»」]|\w[/._]\w|\s/\w|\w\(\)|[a-z][A-Z]|[A-Z]{3}|https?:|@\w"
)
_LETTERS: Final = re.compile(r"[^\W\d_]+")
# Tags alone, and politeness.
_IDLE: Final = re.compile(
    r"</?[\w-]{1,60}>|(?:hi|hello|hey|thanks?|thank you|great|cool|nice)\b[^.!?,]{0,24}[.!]{0,3}", re.IGNORECASE
)
_ANSWERED: Final = re.compile(
    r"\s{0,8}(?:User has answered your questions|Your questions have been answered): (?P<said>.{1,8000}?)"
    r"\.? You can now continue with",
    re.DOTALL,
)
_ANSWERED_HEAD: Final = re.compile(r"\s{0,8}(?:User has answered|Your questions have been answered)")
_REFUSED: Final = "the user said:\n"


def has_words_of_user(message: Message) -> bool:
    """Whether the user may have said something in a message: in one of theirs, in an answer, in a refusal."""
    if message.role == "user":
        return message.meta.kind == "message"
    return message.role == "tool" and (
        message.meta.outcome == "denied" or _ANSWERED_HEAD.match(message.text) is not None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the user said in one message; `refusal` if it is the reason for which a call was refused."""

    message_id: str
    order: int
    text: str
    refusal: bool = False

    def within(self, room: int, measure: Measure = len) -> str:
        """As much of it as there is room for, whole sentences, those that bind first."""
        return excerpt(self.text, room, measure)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserWords:
    """What the user said, oldest first, and the newest of each kind of text that programs put beside it."""

    said: tuple[Said, ...] = ()
    harness: tuple[HarnessText, ...] = ()

    def within(self, room: int, measure: Measure = len, *, label: int = 0) -> tuple[tuple[Said, str], ...]:
        """Each message with what is shown of it, all of them together within the room.

        Binding sentences come first, whichever message they are in; `label` the size of the text before each.
        """
        drafts = [_Draft(one.text) for one in self.said]
        for one, draft in zip(self.said, drafts, strict=True):
            # What is in force is the newest message, and what was refused.
            if one.refusal or one is self.said[-1]:
                draft.ranks = tuple(0 if rank < _PASTED else rank for rank in draft.ranks)
        _fill(drafts, room, measure, label)
        return tuple((one, draft.joined()) for one, draft in zip(self.said, drafts, strict=True) if draft.shown)


class UserWordsBuilder:
    """Collects the user's words message by message; its size is bounded however long the log is."""

    __slots__ = ("_harness", "_said", "_size")

    def __init__(self) -> None:
        self._said: list[Said] = []
        self._harness: dict[str, HarnessText] = {}
        self._size = 0

    def feed(self, message: Message, order: int) -> None:
        """Take one recorded message."""
        if message.meta.kind != "message":
            return
        match message.role:
            case "user":
                self._take_user(message, order)
            case "tool":
                self._take_result(message, order)
            case "system":
                self._note(part_text(message.text).harness)
            case _:
                return

    def words(self) -> UserWords:
        """What was said so far."""
        return UserWords(said=tuple(self._said), harness=tuple(self._harness.values()))

    def _take_user(self, message: Message, order: int) -> None:
        said: list[str] = []
        # Each part for itself: what agents attach to a message is a part of its own.
        for number, text in enumerate(part.text for part in message.parts if isinstance(part, Text)):
            if number and _is_attachment(text):
                head = text.strip().partition("\n")[0][:200]
                self._note([HarnessText(kind="attachment", key=f"attachment {head}", text=head)])
                continue
            parted = part_text(text)
            written = parted.words
            if message.meta.extra.get("program"):
                self._note(program_text(text))
                written = ""
            else:
                self._note(parted.harness)
            said += [one for one in (parted.command, written) if one]
        self._add(Said(message_id=message.id, order=order, text="\n".join(said)))

    def _take_result(self, message: Message, order: int) -> None:
        text = message.text
        if "<system-reminder>" in text[-40_000:]:
            self._note(reminders_in(text))
        if message.meta.outcome == "denied" and _REFUSED in text[:2_000]:
            said = text[text.index(_REFUSED) + len(_REFUSED) :]
            self._add(Said(message_id=message.id, order=order, text=said.strip(), refusal=True))
            return
        answered = _ANSWERED.match(text[:10_000])
        if answered is not None:
            self._add(Said(message_id=message.id, order=order, text=answered.group("said")))

    def _note(self, found: Sequence[HarnessText]) -> None:
        for one in found:
            self._harness.pop(one.key, None)
            self._harness[one.key] = one
        for key in list(self._harness)[: max(0, len(self._harness) - _MAX_KINDS)]:
            del self._harness[key]

    def _add(self, said: Said) -> None:
        if not said.text:
            return
        if self._said and self._said[-1].text == said.text and not said.refusal:
            # Said again, such as a command that is typed several times.
            self._size -= len(self._said.pop().text)
        said = replace(said, text=excerpt(said.text, _MAX_MESSAGE))
        self._said.append(said)
        self._size += len(said.text)
        if self._size > _MAX_ALL or len(self._said) > _MAX_MESSAGES:
            self._shorten()

    def _shorten(self) -> None:
        """Of what was said long ago the sentences that bind stay; what binds nothing goes, then the oldest.

        There is room for more afterwards, so that this is seldom done.
        """
        room, most = _MAX_ALL * 3 // 4, _MAX_MESSAGES * 3 // 4
        for index, one in enumerate(self._said[:-1]):
            if self._size <= room:
                break
            shorter = replace(one, text=one.within(_LEAST_KEPT))
            self._size -= len(one.text) - len(shorter.text)
            self._said[index] = shorter
        idle = [one for one in self._said if not _binds(one.text)]
        for one in (*idle, *(one for one in self._said if _binds(one.text))):
            if self._size <= room and len(self._said) <= most:
                break
            self._said.remove(one)
            self._size -= len(one.text)


def _binds(words: str) -> bool:
    """Whether words hold a rule, or a wish that is put off."""
    return _RULE.search(words) is not None or _PUT_OFF.search(words) is not None


def _is_attachment(text: str) -> bool:
    """Whether a further part of a message is the content of a file."""
    units = units_of(text)
    pasted = sum(unit.end - unit.start for unit in units if unit.kind in ("code", "paste"))
    return pasted > _ATTACHED and pasted > 0.7 * sum(unit.end - unit.start for unit in units)


def excerpt(text: str, room: int, measure: Measure = len) -> str:
    """As much of a text as there is room for: whole sentences in their order, with a mark where some are left out.

    Of one long sentence that is all there is, whole clauses; of pasted output that is too long, its first and last
    lines and those that tell what is wrong.
    """
    if measure(text) <= room:
        return text
    draft = _Draft(text)
    _fill([draft], room, measure, 0)
    if draft.shown or not draft.units:
        return draft.joined()
    # Not even the shortest sentence fits.
    first = draft.units[min(range(len(draft.units)), key=lambda index: (draft.ranks[index], index))]
    return _clauses(text[first.start : first.end], room, measure)


class _Draft:
    """What is shown of a text: units by their numbers, each in one of its forms."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.units, self.ranks = _ranked(text)
        self.shown: dict[int, str] = {}

    def joined(self) -> str:
        """The units that are shown, in their order, as they are parted in the text where nothing is left out."""
        pieces: list[str] = []
        before = -1
        for index in sorted(self.shown):
            if index != before + 1:
                pieces.append(f"{GAP} " if before < 0 else f" {GAP} ")
            elif before >= 0:
                pieces.append(self.text[self.units[before].end : self.units[index].start])
            pieces.append(self.shown[index])
            before = index
        shown = "".join(pieces) + (f" {GAP}" if before != len(self.units) - 1 else "")
        return shown.replace(f"{GAP} {GAP}", GAP)


def _fill(drafts: Sequence[_Draft], room: int, measure: Measure, label: int) -> None:
    """Choose units, those that bind the most first, and of equal ones the newest."""
    gap = measure(f" {GAP} ")
    left = room
    taken: list[tuple[_Draft, int]] = []
    for _, number, index in sorted(_choices(drafts)):
        draft = drafts[-number]
        for piece in _forms(draft.text, draft.units[index]):
            size = measure(piece) + (0 if index - 1 in draft.shown else gap) + (0 if draft.shown else label)
            if size <= left:
                draft.shown[index] = piece
                taken.append((draft, index))
                left -= size
                break
    sizes = {id(draft): measure(draft.joined()) + label for draft in drafts if draft.shown}
    while taken and sum(sizes.values()) > room:
        # The blanks between the units count as well.
        draft, index = taken.pop()
        del draft.shown[index]
        sizes[id(draft)] = measure(draft.joined()) + label if draft.shown else 0


def _choices(drafts: Sequence[_Draft]) -> Iterator[tuple[int, int, int]]:
    """The rank of each unit, its message counted backwards, and its number; what is said again counts once."""
    said: set[str] = set()
    for number in range(len(drafts) - 1, -1, -1):
        draft = drafts[number]
        for index, unit in enumerate(draft.units):
            plain = " ".join(_LETTERS.findall(draft.text[unit.start : unit.end].lower()))
            yield _REPEATED if plain in said else draft.ranks[index], -number, index
            if plain:
                said.add(plain)


@lru_cache(_REMEMBERED)
def _ranked(text: str) -> tuple[tuple[Unit, ...], tuple[int, ...]]:
    """The units of a text, each with its rank."""
    units = units_of(text)
    return units, tuple(_ranks(text, units))


def _ranks(text: str, units: Sequence[Unit]) -> list[int]:
    """How much each unit binds, the most first.

    Rules come in company, so what stands with one counts more. What somebody tells stays true, what is asked is done.
    """
    words = [text[unit.start : unit.end] for unit in units]
    pasted = [
        unit.kind == "paste" or (unit.kind == "code" and len(one) > _SHORT_CODE)
        for unit, one in zip(units, words, strict=True)
    ]
    idle = [_IDLE.fullmatch(one) is not None for one in words]
    said = [index for index in range(len(units)) if not pasted[index] and not idle[index]]
    binding = {index for index in said if _binds(words[index])}
    ranks: list[int] = []
    for index, one in enumerate(words):
        named = _NAMED.search(one) is not None
        asked = units[index].kind == "sentence" and _is_asked(one)
        if index in binding:
            ranks.append(0)
        elif pasted[index] or idle[index]:
            ranks.append(_PASTED if pasted[index] else _REPEATED)
        elif asked:
            ranks.append(4 if named or index == said[0] else 5)
        elif _DECISION.search(one) is not None or (named and binding):
            ranks.append(1)
        else:
            ranks.append(2 if named or index == said[0] else 3)
    return ranks


def _is_asked(sentence: str) -> bool:
    return sentence.rstrip("\"'”’)*_ ").endswith(("?", "？")) or _ASKING.match(sentence) is not None


def _forms(text: str, unit: Unit) -> Iterator[str]:
    """A unit as it may be shown: whole, or what was pasted in short."""
    words = text[unit.start : unit.end]
    yield words
    lines = [line for line in words.split("\n") if line.strip()]
    if unit.kind in ("code", "paste") and len(lines) > 4:
        telling = [line for line in telling_lines(words) if line not in (lines[0].strip(), lines[-1].strip())]
        yield "\n".join([lines[0], *telling, f"{GAP} {len(lines) - 2 - len(telling)} more lines pasted", lines[-1]])
        yield "\n".join([*(telling or lines[-1:]), f"{GAP} {len(lines) - max(1, len(telling))} more lines pasted"])


_CLAUSE: Final = re.compile(r"[,;:—–，；：、](?=\s|[^\x00-\x7f]|$)|\s")


def _clauses(words: str, room: int, measure: Measure) -> str:
    """The beginning of a sentence that alone is too long, up to the end of a clause, else of a word."""
    ends = [found.end() for found in _CLAUSE.finditer(words)]
    fitting = _last_fitting(words, ends, room, measure)
    clauses = [end for end in ends if end <= fitting and not words[end - 1].isspace()]
    end = clauses[-1] if clauses and clauses[-1] * 3 >= fitting else fitting
    return f"{words[:end].rstrip()} {GAP}" if end else ""


def _last_fitting(words: str, ends: Sequence[int], room: int, measure: Measure) -> int:
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if measure(f"{words[: ends[middle]].rstrip()} {GAP}") <= room:
            low = middle + 1
        else:
            high = middle
    return ends[low - 1] if low else 0
