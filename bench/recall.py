"""Recall: whether a request of so many tokens holds what the next action or question needs.

In tau-bench runs that are facts of gold actions, in talks the turns that answer a question. The budget is for messages:
a system prompt is given to no method. Every method sees the same messages and may use the whole budget; what it does
with it is in the column of tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import Final, NamedTuple

from bench.arms import Measure
from bench.facts import Dialogue, Shown, dialogues_in, interrupted, joined
from bench.intervals import ratio_interval
from bench.locomo import Talk, read_talks, talks_of
from bench.messages import Message, content_of
from bench.outcome import RecallOutcome, RecallRow, RecallTable
from bench.selection import Bm25, Passages, Recency, Selection
from bench.stamp import stamp
from bench.talks import generated_talks
from bench.tokens import message_tokens, request_tokens
from foveate.compile.policy import Policy, policy_named
from foveate.errors import BudgetError
from foveate.lab.contestants import Opening, Step
from foveate.lab.sessions import start_policy
from foveate.session import Session

BUDGETS: Final = (500, 1_000, 2_000, 4_000, 8_000)
KINDS_AT: Final = 2_000

SELECTIONS: Final[Mapping[str, Callable[[Sequence[Message]], Selection]]] = {
    "recency": Recency,
    "bm25": Bm25,
    "foveate-recall": Passages,
}
POLICIES: Final[Mapping[str, Policy]] = {"foveate": policy_named("default"), "foveate-chat": policy_named("chat")}
METHODS: Final[Mapping[str, str]] = {
    "recency": "the newest whole messages that fit",
    "bm25": "bm25s with its defaults, English stop words and stems: the best messages, each with its neighbours, then "
    "the newest; asked with the question, or with the last words of user and agent",
    "foveate": "Session(budget=B).compile()",
    "foveate-chat": 'Session(budget=B, policy="chat").compile(); its shares were chosen among five settings on a '
    "generated talk of another seed with the same sentences, so they are not independent of the generated talks",
    "foveate-recall": "the ranking behind Foveate's recall with the whole budget, without a compile; asked as bm25 is",
}

Progress = Callable[[int, int, str], None]


def recall_outcome(
    paths: Iterable[Path],
    locomo: Path | None = None,
    *,
    quick: bool = False,
    jobs: int = 2,
    command: str = "",
    progress: Progress = lambda _done, _total, _name: None,
) -> RecallOutcome:
    """Ask every method on all material: tau-bench runs among some logs, generated talks, and a file of LoCoMo's format.

    `quick` takes a small part of each. The numbers, times aside, do not depend on `jobs`.
    """
    begun = time.perf_counter()
    talks = read_talks(locomo) if locomo is not None else []
    materials = [*_recorded(dialogues_in(paths), quick=quick), _generated(quick=quick)]
    if locomo is not None:
        materials.append(_given(locomo, talks, quick=quick))
    budgets = (500, KINDS_AT) if quick else BUDGETS
    units = [unit for material in materials for unit in material.units(budgets)]
    found: list[list[Found]] = []
    for unit, some in zip(units, _measured(units, jobs), strict=True):
        found.append(some)
        progress(len(found), len(units), unit.name)
    tables: list[RecallTable] = []
    for material in materials:
        count = len(material.units(budgets))
        tables.append(_table(material, [one for some in found[:count] for one in some]))
        del found[:count]
    return RecallOutcome(
        stamp=stamp(command, begun, ("bm25s", "PyStemmer")), tables=tuple(tables), methods=dict(METHODS)
    )


class Found(NamedTuple):
    """What one method found for one question; `group` are questions that are not independent of each other."""

    method: str
    budget: int
    group: str
    kind: str
    any: bool
    all: bool
    tokens: int
    milliseconds: float


def asked_of_dialogue(dialogue: Dialogue, budget: int) -> list[Found]:
    """What every method keeps of the facts at each point of a dialogue."""
    shown = [Shown(point.facts, dialogue.chats[: point.place]) for point in dialogue.points]
    found: list[Found] = []
    for method, requests in _dialogue_requests(dialogue, budget):
        for point, known, (request, seconds) in zip(dialogue.points, shown, requests, strict=True):
            kept = [known.kept(fact, request) for fact in point.facts]
            found.append(_found(method, budget, dialogue.group, point.kind, kept, request, seconds))
    return found


def asked_of_talk(talk: Talk, budget: int) -> list[Found]:
    """What every method keeps of the evidence for each question of a talk: turns count with their whole text."""
    found: list[Found] = []
    for method, ask in _talk_methods(talk, budget):
        for question in talk.questions:
            request, seconds = ask(question.text)
            said = [content_of(message) for message in request]
            kept = [any(talk.texts[place] in text for text in said) for place in question.evidence]
            found.append(_found(method, budget, talk.name, question.kind, kept, request, seconds))
    return found


class _Unit(NamedTuple):
    """A piece of work for one process."""

    name: str
    work: Callable[[], list[Found]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    name: str
    note: str
    dialogues: Sequence[Dialogue] = ()
    talks: Sequence[Talk] = ()

    def units(self, budgets: Sequence[int]) -> list[_Unit]:
        works = [
            *(partial(asked_of_dialogue, one, budget) for budget in budgets for one in self.dialogues),
            *(partial(asked_of_talk, one, budget) for budget in budgets for one in self.talks),
        ]
        return [_Unit(self.name, work) for work in works]


def _recorded(dialogues: Sequence[Dialogue], *, quick: bool) -> list[_Material]:
    dialogues = dialogues[:4] if quick else dialogues
    facts = "Facts that gold actions take from the conversation before them; intervals over"
    materials = (
        _Material(name="tau-bench", note=f"{facts} tasks.", dialogues=dialogues),
        _Material(
            name="tau-bench, joined",
            note=f"Five dialogues after one another, joined by us (seed 7). {facts} threads.",
            dialogues=joined(dialogues),
        ),
        _Material(
            name="tau-bench, interrupted",
            note=f"Each dialogue with four others in its middle, joined by us (seed 7). {facts} tasks.",
            dialogues=interrupted(dialogues),
        ),
    )
    return [material for material in materials if material.dialogues]


def _generated(*, quick: bool) -> _Material:
    talks = _few(talks_of(generated_talks(1, sessions=4))) if quick else talks_of(generated_talks())
    return _Material(
        name="generated talks",
        note="Made up by us in the format of LoCoMo (seed 7), and easy for methods that match words: the texts were "
        "worded so that BM25 finds about as much as it does in LoCoMo. Intervals over so few talks say little.",
        talks=talks,
    )


def _given(path: Path, talks: Sequence[Talk], *, quick: bool) -> _Material:
    left_out = [reason for talk in talks for reason in talk.left_out]
    count = "1 question" if len(left_out) == 1 else f"{len(left_out):,} questions"
    some = f" {count} left out, such as {left_out[0]}." if left_out else ""
    return _Material(
        name=f"talks of {path.name}",
        note=f"Evidence turns with their whole text; intervals over talks.{some}",
        talks=_few(talks) if quick else talks,
    )


def _few(talks: Sequence[Talk]) -> list[Talk]:
    return [replace(talk, questions=talk.questions[:12]) for talk in talks[:1]]


def _measured(units: Sequence[_Unit], jobs: int) -> Iterator[list[Found]]:
    if jobs == 1:
        yield from map(_worked, units)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_worked, units)


def _worked(unit: _Unit) -> list[Found]:
    return unit.work()


Request = tuple[list[Message], float]


def _dialogue_requests(dialogue: Dialogue, budget: int) -> Iterator[tuple[str, list[Request]]]:
    """For each method the request at each point, and the seconds it took; indexes are made anew, as histories grow."""
    for method, make in SELECTIONS.items():
        requests: list[Request] = []
        for point in dialogue.points:
            history = dialogue.chats[: point.place]
            begun = time.perf_counter()
            request = make(history)(_last_words(history), budget)
            requests.append((request, time.perf_counter() - begun))
        yield method, requests
    for method, policy in POLICIES.items():
        yield method, list(_compiled(dialogue, policy, budget))


def _compiled(dialogue: Dialogue, policy: Policy, budget: int) -> Iterator[Request]:
    """The requests at the points, in a session that compiled at every recorded call before."""
    feed = start_policy(policy, Opening(budget=budget, sizes=Measure()))
    points = {point.place for point in dialogue.points}
    places = sorted({0, *points, *(place for place in dialogue.calls if place <= max(points))})
    for start, stop in pairwise(places):
        step = Step(chats=dialogue.chats[start:stop], messages=dialogue.messages[start:stop])
        begun = time.perf_counter()
        try:
            request = feed(step).chats
        except BudgetError:
            request = []
        if stop in points:
            yield request, time.perf_counter() - begun


def _last_words(history: Sequence[Message]) -> str:
    """What the user said last, and the agent."""
    said = {message["role"]: content_of(message) for message in history if content_of(message).strip()}
    return "\n".join(said[role] for role in ("user", "assistant") if role in said)


Ask = Callable[[str], Request]


def _talk_methods(talk: Talk, budget: int) -> Iterator[tuple[str, Ask]]:
    for method, make in SELECTIONS.items():
        yield method, partial(_selected, make(talk.chats), budget)
    for method, policy in POLICIES.items():
        yield method, _session_asked(talk, policy, budget)


def _selected(selection: Selection, budget: int, question: str) -> Request:
    asked: Message = {"role": "user", "content": question}
    room = budget - message_tokens(asked)
    if room < 0:
        return [], 0.0
    begun = time.perf_counter()
    return [*selection(question, room), asked], time.perf_counter() - begun


def _session_asked(talk: Talk, policy: Policy, budget: int) -> Ask:
    """Ask a session that took in the talk and sent a request before; each question gets a copy of it."""
    session = Session(budget=budget, policy=policy)
    session.extend(talk.chats)
    # If the last turn alone is too large, a question behind it may still be asked.
    with suppress(BudgetError):
        session.compile()
    events = session.events

    def ask(question: str) -> Request:
        copy = Session.from_events(events, budget=budget, policy=policy)
        copy.append({"role": "user", "content": question})
        try:
            # Reads the copied log and fills the index, which a session that goes on has done already.
            copy.preview()
            begun = time.perf_counter()
            request = copy.compile().to("openai")
        except BudgetError:
            return [], 0.0
        return request, time.perf_counter() - begun

    return ask


def _found(
    method: str, budget: int, group: str, kind: str, kept: list[bool], request: list[Message], seconds: float
) -> Found:
    return Found(method, budget, group, kind, any(kept), all(kept), request_tokens(request), seconds * 1_000)


def _table(material: _Material, found: Sequence[Found]) -> RecallTable:
    budgets = sorted({one.budget for one in found})
    rows = [
        _row(method, budget, [one for one in found if (one.method, one.budget) == (method, budget)])
        for method in METHODS
        for budget in budgets
    ]
    kinds: dict[str, dict[str, float]] = {}
    for kind in sorted({one.kind for one in found}):
        kinds[kind] = {
            method: fmean(one.all for one in found if (one.method, one.kind, one.budget) == (method, kind, KINDS_AT))
            for method in METHODS
        }
    return RecallTable(
        name=material.name,
        conversations=len(material.dialogues) + len(material.talks),
        questions=rows[0].questions,
        rows=tuple(rows),
        kinds=kinds,
        kinds_budget=KINDS_AT,
        note=material.note,
    )


def _row(method: str, budget: int, found: Sequence[Found]) -> RecallRow:
    groups: dict[str, list[Found]] = {}
    for one in found:
        groups.setdefault(one.group, []).append(one)
    low, high = ratio_interval([(sum(one.all for one in some), len(some)) for some in groups.values()])
    return RecallRow(
        method=method,
        budget=budget,
        questions=len(found),
        any=fmean(one.any for one in found),
        all=fmean(one.all for one in found),
        all_low=low,
        all_high=high,
        tokens=fmean(one.tokens for one in found),
        milliseconds=median(one.milliseconds for one in found),
    )
