"""Replaying: a session whose calls were not recorded goes through Foveate once more, so that there are calls to see.

Runs in a process of its own, which imports neither pages nor server.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from foveate.budget.profiles import profile_for
from foveate.budget.tokens import counter_for
from foveate.compile.checkpoint import checkpoint_of
from foveate.compile.timeline import Projector
from foveate.errors import BudgetError, ConfigError
from foveate.importers.recording import Recording, recording_of
from foveate.inspect.call_views import CHECKPOINT_EVENTS, write_checkpoint, write_missing_checkpoints
from foveate.inspect.costs import CallCost, SessionCosts
from foveate.inspect.model_calls import model_calls
from foveate.inspect.rates import Unit
from foveate.inspect.session_costs import without_thinking
from foveate.lab.config import config_at
from foveate.lab.lanes import ChargedRequests
from foveate.lab.performance import Stage, staged
from foveate.lab.policies import policy_called
from foveate.lab.replay import replay
from foveate.lab.result import Result
from foveate.lab.script import Script, script_of
from foveate.lab.sessions import ShownRequests, policy_session
from foveate.lab.sources import Source
from foveate.session import Session
from foveate.session.replaying import next_view, taken
from foveate.store import Store
from foveate.store.arrivals import begun, write_log
from foveate.web.worker import Tell

_EVERY: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """What a session is looked at through: the policy, budget and model its calls are made with."""

    policy: str = "foveate"
    budget: int | None = 32_000
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A replay that is in a store of its own, with its costs; `refused` calls had no room for what must be sent.

    `recorded` is what the session itself cost, as far as its log tells.
    """

    session: str
    costs: SessionCosts
    recorded: SessionCosts
    refused: int = 0
    reason: str = ""


def replayed(tell: Tell, location: str, session: str, lens: Lens, aside: str, name: str, checkpoints: str) -> Replayed:
    """Replay a session of the store at `location` into the session `name` of the store at `aside`, with checkpoints."""
    tell("reading the log", None)
    recording = _recording(location, session)
    if not recording.messages:
        raise ConfigError(f"nothing was said in session {session!r} yet; there is no call to look at")
    script = script_of(recording)
    stage = staged(script, profile=profile_for(lens.model) if lens.model else None, budget=lens.budget)
    if stage.opening.budget is None:
        raise ConfigError("the log names no model whose window is known; give a budget")
    made = policy_session(policy_called(lens.policy, config_at()), stage.opening, recording.session)
    walk = _Walk(made, recording, script, stage, Path(checkpoints))
    walk.go(tell)
    tell("storing the calls", None)
    with Store(aside) as store, store.writing() as connection:
        write_log(connection, begun(connection, name, "replays"), iter(made.events), None)
    unit: Unit = "USD" if stage.terms.is_priced else "input tokens"
    costs = SessionCosts(unit=unit, calls=tuple(walk.costs), scale=stage.terms.scale)
    return Replayed(session=name, costs=costs, recorded=stage.costs, refused=walk.refused, reason=walk.reason)


def prepared(tell: Tell, location: str, session: str, folder: str) -> int:
    """Write the checkpoints of a session that are not there yet; returns how many there are then."""
    # A page that is waited for comes first.
    os.nice(10)
    with Store(location, create=False) as store:
        info = store.session(session)
        return write_missing_checkpoints(store, info, Path(folder), lambda share: tell("preparing", share))


def compared(
    tell: Tell, location: str, sessions: list[str], policies: list[str], budget: int | None, model: str | None
) -> Result:
    """Replay sessions of a store under several policies."""
    tell(f"replaying {len(sessions)} sessions under {len(policies)} policies", 0.0)
    sources = [Source(name=session, load=partial(_loaded, location, session)) for session in sessions]
    return replay(
        sources,
        policies=policies,
        budget=budget,
        model=model,
        config=config_at(),
        progress=lambda done, total, name: tell(f"replayed {done} of {total}: {name}", done / total),
    )


def _loaded(location: str, session: str) -> list[Recording]:
    return [_recording(location, session)]


def _recording(location: str, session: str) -> Recording:
    with Store(location, create=False) as store:
        info = store.session(session)
        return recording_of(session, store.reader(info).events(0, info.events))


class _Walk:
    """The way of a session through the calls of a recording, each charged as the lab charges it."""

    def __init__(self, session: Session, recording: Recording, script: Script, stage: Stage, checkpoints: Path) -> None:
        # At their places, although some have nothing left: positions of the log are those of the recording.
        self._recording = replace(recording, messages=[without_thinking(message) for message in recording.messages])
        self._session = session
        self._script = script
        self._stage = stage
        self._checkpoints = checkpoints
        self._projector = Projector(counter_for(session.context.model))
        self._shown = ShownRequests(stage.opening)
        self._charged = ChargedRequests(stage.opening, stage.terms)
        self._taken = self._known = self._checkpoint = 0
        self.costs: list[CallCost] = []
        self.refused = 0
        self.reason = ""

    def go(self, tell: Tell) -> None:
        """Make every call again."""
        told, total = 0.0, len(self._recording.messages)
        for place, recorded in enumerate(model_calls(self._recording)):
            self._take(recorded.place)
            self._call(place, recorded.at)
            self._write_checkpoint()
            if time.monotonic() - told > _EVERY:
                told = time.monotonic()
                tell(f"replaying: {recorded.place:,} of {total:,} messages", recorded.place / total)
        self._take(total)

    def _take(self, place: int) -> None:
        """Append the messages before a place."""
        taken(self._session, self._recording, self._taken, place)
        for position in range(self._taken, place):
            if self._recording.messages[position].parts:
                self._shown.said[self._session.messages[position].id] = self._script.chats[self._known]
                self._known += 1
        self._taken = place

    def _call(self, place: int, at: float | None) -> None:
        try:
            view = next_view(self._session, at)
        except BudgetError as error:
            self.refused, self.reason = self.refused + 1, self.reason or str(error)
            return
        _, cost = self._charged.send(self._script.calls[place], self._shown.made(view))
        self.costs.append(CallCost(number=view.number, sent=cost, untouched=self._stage.untouched[place]))

    def _write_checkpoint(self) -> None:
        context = self._session.context
        if context.length >= self._checkpoint + CHECKPOINT_EVENTS:
            self._checkpoint = context.length
            data = checkpoint_of(context, self._projector)
            write_checkpoint(self._checkpoints, context.length, data)
