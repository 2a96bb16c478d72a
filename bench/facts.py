"""Facts that actions need: what the gold actions of tau-bench runs take from the conversation before them.

A fact is an argument value of a gold action, of four characters or more, that stands neither in the system prompt nor
in the tool definitions, and that the conversation had shown before the call at which the recorded agent took that
action; if it never did, before its last call. It is kept in a request that shows it amid the same characters as the
conversation did, as `foveate.lab.references` has it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from bench.messages import Message, calls_of
from foveate.errors import FoveateError
from foveate.importers.finding import LogFile, logs_in
from foveate.importers.recording import recordings
from foveate.importers.tau_bench import TAU_BENCH
from foveate.lab.references import Lexicon
from foveate.lab.script import Script, script_of
from foveate.log.messages import Message as Logged
from foveate.log.text import encodable

SHORTEST: Final = 4
TAKEN: Final = "the agent took the action"
NEVER_TAKEN: Final = "the agent never took it"

_LETTER_OR_DIGIT: Final = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A call before which facts have been shown that an action takes; `place` is the number of messages so far."""

    place: int
    facts: frozenset[str]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A conversation with its points; `group` are those whose facts are alike, such as trials of one task.

    `chats` and `messages` go together one for one, `calls` are the places of the recorded model calls.
    """

    name: str
    domain: str
    group: str
    chats: tuple[Message, ...]
    messages: tuple[Logged, ...]
    calls: tuple[int, ...]
    points: tuple[Point, ...]


class Shown:
    """Knows where a conversation shows each fact, and whether a request still does."""

    def __init__(self, facts: Iterable[str], history: Sequence[Message]) -> None:
        self._lexicon = Lexicon(facts)
        self._windows: dict[str, set[str]] = {}
        for message in history:
            for fact, mentions in self._lexicon.in_message(message).items():
                self._windows.setdefault(fact, set()).update(mentions.windows)

    def __contains__(self, fact: str) -> bool:
        return fact in self._windows

    def kept(self, fact: str, request: Iterable[Message]) -> bool:
        """Whether a request shows a fact in surroundings that it had in the conversation."""
        found = (self._lexicon.in_message(message).get(fact) for message in request)
        return any(not self._windows[fact].isdisjoint(one.windows) for one in found if one is not None)


def dialogues_in(paths: Iterable[Path]) -> list[Dialogue]:
    """The tau-bench runs of all logs in some folders, those without a fact left out; what is there twice is one."""
    found: dict[bytes, list[Dialogue]] = {}
    for log in logs_in(list(paths)).logs:
        if log.importer is TAU_BENCH:
            digest = sha256(log.paths[0].read_bytes()).digest()
            if digest not in found:
                found[digest] = list(_dialogues(log))
    return [dialogue for some in found.values() for dialogue in some if dialogue.points]


def joined(dialogues: Sequence[Dialogue], *, length: int = 5, seed: int = 7) -> list[Dialogue]:
    """Threads of several dialogues of one domain, no task twice: a customer who comes back with something new."""
    rounds: dict[tuple[str, int], list[Dialogue]] = {}
    trials: Counter[str] = Counter()
    for one in dialogues:
        rounds.setdefault((one.domain, trials[one.group]), []).append(one)
        trials[one.group] += 1
    threads: list[Dialogue] = []
    for number, some in enumerate(rounds.values()):
        mixed = _shuffled(some, f"{seed} {number}")
        for start in range(0, len(mixed), length):
            parts = [_Part(one, 0, len(one.chats)) for one in mixed[start : start + length]]
            if len(parts) > 1:
                name = f"joined-{number}-{start // length}"
                threads.append(_thread(name, name, parts))
    return threads


def interrupted(dialogues: Sequence[Dialogue], *, others: int = 4, seed: int = 7) -> list[Dialogue]:
    """Each dialogue with others of its domain in its middle: a customer who comes back to the same matter."""
    threads: list[Dialogue] = []
    for one in dialogues:
        foreign = [other for other in dialogues if other.domain == one.domain and other.group != one.group]
        # Of each task one trial, or the same facts would be there twice.
        between = list({other.group: other for other in _shuffled(foreign, f"{seed} {one.name}")}.values())[:others]
        cut = _middle(one)
        if cut and between:
            parts = (
                _Part(one, 0, cut, is_asked=False),
                *(_Part(other, 0, len(other.chats), is_asked=False) for other in between),
                _Part(one, cut, len(one.chats)),
            )
            threads.append(_thread(f"interrupted-{one.name}", one.group, parts))
    return threads


def argument_facts(arguments: object) -> Iterator[str]:
    """The values inside the arguments of an action that can be known again: texts and numbers, no flags."""
    waiting = [arguments]
    while waiting:
        match waiting.pop():
            case bool():
                continue
            case str() | int() | float() as scalar:
                value = encodable(str(scalar)).strip()
                if len(value) >= SHORTEST and _LETTER_OR_DIGIT.search(value):
                    yield value
            case dict() as fields:
                waiting.extend(fields.values())
            case list() as items:
                waiting.extend(items)


class _Part(NamedTuple):
    """A stretch of a dialogue; only one that is asked about brings its points."""

    dialogue: Dialogue
    start: int
    stop: int
    is_asked: bool = True


def _dialogues(log: LogFile) -> Iterator[Dialogue]:
    try:
        with log.open(lenient=True) as recorded:
            scripts = [script_of(one) for one in recordings(TAU_BENCH.read(recorded), TAU_BENCH.name)]
            document: Any = recorded.document()
    except FoveateError:
        # The replay of the same logs says what is wrong with this one.
        return
    runs = [run for run in document if isinstance(run, dict) and isinstance(run.get("traj"), list)]
    for script, run in zip(scripts, runs, strict=True):
        yield Dialogue(
            name=script.name,
            domain=script.system,
            group=script.name.split("/")[0],
            chats=script.chats,
            messages=script.messages,
            calls=tuple(call.place for call in script.calls),
            points=tuple(_points(script, list(_gold(run)))),
        )


def _gold(run: Any) -> Iterator[tuple[str, Any]]:
    match run:
        case {"info": {"task": {"actions": list() as actions}}}:
            for action in actions:
                match action:
                    case {"name": str() as name, "kwargs": dict() as arguments}:
                        yield name, arguments


def _points(script: Script, gold: Sequence[tuple[str, Any]]) -> Iterator[Point]:
    framing = script.system + json.dumps(script.tools, ensure_ascii=False)
    wanted: dict[int, set[str]] = {}
    missed: set[int] = set()
    for name, arguments in gold:
        facts = {fact for fact in argument_facts(arguments) if fact not in framing}
        place = _taken(script, name, arguments)
        if place is None and script.calls:
            place = script.calls[-1].place
            missed.add(place)
        if place is not None:
            wanted.setdefault(place, set()).update(facts)
    for place, facts in sorted(wanted.items()):
        shown = Shown(facts, script.chats[:place])
        known = frozenset(fact for fact in facts if fact in shown)
        if known:
            yield Point(place=place, facts=known, kind=NEVER_TAKEN if place in missed else TAKEN)


def _taken(script: Script, name: str, arguments: Any) -> int | None:
    """The place of the call at which the recorded agent took an action."""
    for call in script.calls:
        for made in calls_of(call.answer or {}):
            if made["function"]["name"] == name and _decoded(made["function"]["arguments"]) == arguments:
                return call.place
    return None


def _decoded(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


def _middle(dialogue: Dialogue) -> int:
    """The user message nearest to half of the way to the last point; 0 if there is none but the first."""
    last = dialogue.points[-1].place
    places = [place for place in range(1, last) if dialogue.chats[place]["role"] == "user"]
    return min(places, key=lambda place: abs(place - last / 2), default=0)


def _thread(name: str, group: str, parts: Sequence[_Part]) -> Dialogue:
    chats: list[Message] = []
    messages: list[Logged] = []
    calls: list[int] = []
    points: list[Point] = []
    for one, start, stop, is_asked in parts:
        moved = len(chats) - start
        calls += [place + moved for place in one.calls if start < place <= stop]
        if is_asked:
            points += [replace(p, place=p.place + moved) for p in one.points if start < p.place <= stop]
        chats += one.chats[start:stop]
        messages += one.messages[start:stop]
    return Dialogue(
        name=name,
        domain=parts[0].dialogue.domain,
        group=group,
        chats=tuple(chats),
        messages=tuple(messages),
        calls=tuple(calls),
        points=tuple(points),
    )


def _shuffled(dialogues: Sequence[Dialogue], seed: str) -> list[Dialogue]:
    return Random(seed).sample(dialogues, len(dialogues))
