"""Interest: the names that the agent's latest words and actions use, by which the parts of a long text are chosen."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Final

from foveate.compile.draft import PassContext
from foveate.compile.facts.word_set import word_set
from foveate.compile.working_set import is_entity
from foveate.log.messages import Message
from foveate.log.semantics import argument_texts

_WORD: Final = re.compile(r"[^\W\d]\w{2,}")
# What follows a path in tracebacks, compiler messages and searches.
_PLACE: Final = re.compile(r"([\w.-]{1,120}\.\w{1,8}):(\d{1,6})\b")
_NUMBERED: Final = re.compile(r"\w:\d")
_FILE: Final = re.compile(r"[\w-]{1,120}(?:\.[\w-]{1,40}){0,3}\.\w{1,8}\b")
_QUOTED: Final = re.compile(r"`([^`\n]{2,120})`")
_NAME: Final = 4.0
_LOOKED_AT: Final = 32
_HALF_LIFE: Final = 3.0
# A request counts as much as a step of so many messages ago.
_AS_OLD: Final = 9
_MAX_TEXT: Final = 20_000
_PROSE: Final = word_set("""
    and are but can could did does done for from had has have how into its just let more must need next not now off one
    only out over own same see should since some such than that the their them then there these they this those too two
    under use used using very was way were what when where which while who why will with would yet you your return self
    none true false import def class func const var null type string int public private static void else elif
    """)


class Interest:
    """Names with weights: of code four times as much as plain words, newer uses more than older ones."""

    __slots__ = ("places", "weights")

    def __init__(self, weights: Mapping[str, float], places: Mapping[str, frozenset[int]]) -> None:
        self.weights = weights
        # Lines that were named, by the last part of the path.
        self.places = places

    def names_in(self, text: str) -> set[str]:
        """The names of interest in a text."""
        return self.weights.keys() & _WORD.findall(text)

    def in_file(self, path: str) -> float:
        """How much a file is in use, by its name."""
        name = path.rpartition("/")[2]
        stem = name.partition(".")[0]
        return self.weights.get(f"{name}.", 0.0) + 0.2 * self.weights.get(stem, 0.0)


def interest_of(ctx: PassContext) -> Interest:
    """What the agent is at: its last steps, and the newest input."""
    weights: dict[str, float] = {}
    places: dict[str, set[int]] = {}
    for age, message in (*enumerate(_latest(ctx)), *((_AS_OLD, one) for one in _inputs(ctx))):
        fade = math.exp2(-age / _HALF_LIFE)
        found = _named(message)
        total = math.sqrt(sum(found.values()) or 1.0)
        for name, weight in found.items():
            weights[name] = weights.get(name, 0.0) + fade * weight / total
        for path, line in _places(message):
            places.setdefault(path, set()).add(line)
    return Interest(weights, {path: frozenset(lines) for path, lines in places.items()})


def _inputs(ctx: PassContext) -> Iterable[Message]:
    """What was asked for: of long work, the newest steps do not say it."""
    timeline = ctx.timeline
    asked = dict.fromkeys(one for one in (timeline.newest_input, timeline.first_input) if one is not None)
    for one in asked:
        order = timeline.position(one)
        if order is not None and order < timeline.message_count - _LOOKED_AT:
            yield ctx.said(order)


def _latest(ctx: PassContext) -> Iterable[Message]:
    """The newest messages first; results only as far as they name places."""
    count = ctx.timeline.message_count
    for order in range(count - 1, max(-1, count - 1 - _LOOKED_AT), -1):
        yield ctx.said(order)


def _named(message: Message) -> dict[str, float]:
    found: dict[str, float] = {}
    if message.role == "tool":
        return found
    text = message.text[:_MAX_TEXT]
    for word in _WORD.findall(text):
        lowered = word.lower()
        if lowered not in _PROSE and (len(word) > 3 or is_entity(word)):
            found[word] = _NAME if is_entity(word) else 1.0
    for quoted in _QUOTED.findall(text):
        for word in _WORD.findall(quoted):
            found[word] = _NAME
    for call in message.calls:
        for word in _WORD.findall(argument_texts(call.arguments[:_MAX_TEXT])):
            if word.lower() not in _PROSE:
                found[word] = _NAME if is_entity(word) else max(found.get(word, 0.0), 2.0)
    for name in _FILE.findall(f"{text} {' '.join(call.arguments[:4_000] for call in message.calls)}"):
        found[f"{name}."] = 2 * _NAME
    return found


def _places(message: Message) -> Iterable[tuple[str, int]]:
    text = message.text[-_MAX_TEXT:]
    if _NUMBERED.search(text) is None:
        return
    for line in text.split("\n"):
        # A long line without any takes a while to look through.
        if _NUMBERED.search(line) is not None:
            yield from ((path, int(number)) for path, number in _PLACE.findall(line))
