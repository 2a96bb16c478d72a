"""Replays one recorded session through all arms in step, and tallies what each request held."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields

from bench.arms import BASELINE, Measure
from bench.cost import Charge, Purse
from bench.logs import RecordedSession, calls
from bench.messages import Message
from bench.tokens import count, message_tokens, request_tokens
from foveate.budget.profiles import CacheRules
from foveate.errors import BudgetError
from foveate.lab.contestants import Contestant, Opening, Step
from foveate.lab.references import History, Reference, is_visible
from foveate.lab.validity import Validity
from foveate.lab.walk import says_something, users_shown
from foveate.wire.openai_chat import decode

TOLERANCE = 1.05


@dataclass(slots=True)
class Tally:
    """Sums over calls; `base_*` are those of the untouched history at the same calls."""

    calls: int = 0
    invalid: int = 0
    over: int = 0
    refused: int = 0
    tokens: int = 0
    hit: int = 0
    cost: float = 0.0
    base_tokens: int = 0
    base_cost: float = 0.0
    judged: int = 0
    references: int = 0
    kept: int = 0
    visible: int = 0
    far: int = 0
    far_kept: int = 0
    observed: int = 0
    observed_kept: int = 0
    user_share: float = 0.0
    first_kept: int = 0
    seconds: float = 0.0

    def add(self, other: "Tally") -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


Key = tuple[str, int]
"""An arm's name and its budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a replay compares, and at which prices."""

    arms: tuple[Contestant, ...]
    budgets: tuple[int, ...]
    prices: CacheRules
    expires: bool


def replay(setup: Setup, session: RecordedSession) -> dict[Key, Tally]:
    """Run every arm at every budget over one session."""
    history = History(session.system, session.messages, message_tokens)
    # Tokenizing is the benchmark's own work; done here, it does not show up as an arm's.
    request_tokens(session.messages)
    count(session.system)
    base = _Lane(BASELINE, 0, session, setup)
    lanes = [_Lane(arm, budget, session, setup) for arm in setup.arms for budget in setup.budgets]
    users: list[Message] = []
    done = 0
    for index in calls(session):
        new = session.messages[done:index]
        for message in new:
            history.append(message)
        users += filter(says_something, new)
        step = _Step(
            new=new,
            at=session.timestamps[index],
            history=history,
            references=history.references(session.messages[index]),
            users=users,
        )
        standard = base.send(step)
        for lane in lanes:
            lane.take(step, standard.charge)
        done = index
    return {(lane.arm.name, lane.budget): lane.tally for lane in lanes}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A recorded call: what came in since the last, and what its action will refer to."""

    new: Sequence[Message]
    at: float | None
    history: History
    references: Sequence[Reference]
    users: Sequence[Message]


@dataclass(frozen=True, slots=True)
class _Sent:
    request: list[Message]
    charge: Charge
    seconds: float


class _Lane:
    """One arm at one budget on its way through a session."""

    def __init__(self, arm: Contestant, budget: int, session: RecordedSession, setup: Setup) -> None:
        self.arm = arm
        self.budget = budget
        self.tally = Tally()
        self._feed = arm.start(Opening(system=session.system, budget=budget, sizes=Measure()))
        self._validity = Validity()
        self._purse = Purse(setup.prices, expires=setup.expires)

    def send(self, step: _Step) -> _Sent:
        # Time is the recorded sessions' own affair: the arms are compared on a cache that stays warm.
        given = Step(chats=step.new, messages=[decode(message) for message in step.new])
        begun = time.perf_counter()
        request = self._feed(given).chats
        seconds = time.perf_counter() - begun
        return _Sent(request, self._purse.charge(request, step.at), seconds)

    def take(self, step: _Step, standard: Charge) -> None:
        try:
            sent = self.send(step)
        except BudgetError:
            self.tally.refused += 1
            return
        tally = self.tally
        tally.calls += 1
        tally.invalid += bool(self._validity.problems(sent.request))
        tally.tokens += sent.charge.tokens
        tally.hit += sent.charge.hit
        tally.cost += sent.charge.cost
        tally.base_tokens += standard.tokens
        tally.base_cost += standard.cost
        tally.seconds += sent.seconds
        is_over = sent.charge.tokens > TOLERANCE * self.budget
        tally.over += is_over
        if not is_over or not self.arm.is_bounded:
            self._judge(step, sent.request)

    def _judge(self, step: _Step, request: Sequence[Message]) -> None:
        tally = self.tally
        tally.judged += 1
        shown = step.history.kept([reference.text for reference in step.references], request)
        for reference in step.references:
            kept = reference.text in shown
            is_far = reference.distance > self.budget / 2
            tally.references += 1
            tally.kept += kept
            tally.visible += kept or is_visible(reference.text, request)
            tally.far += is_far
            tally.far_kept += is_far and kept
            tally.observed += reference.observed_only
            tally.observed_kept += reference.observed_only and kept
        present = users_shown(step.users, request)
        tally.user_share += sum(present) / len(present) if present else 1.0
        tally.first_kept += present[0] if present else True
