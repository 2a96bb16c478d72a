"""Replaying: a session whose calls were not recorded goes through Foveate once more, so that there are calls to see.

Runs in a process of its own, which imports neither pages nor server.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from foveate.budget.profiles import profile_for
from foveate.budget.tokens import counter_for
from foveate.errors import BudgetError, ConfigError, UnknownModelError
from foveate.importers.recording import Recording, recording_of
from foveate.lab.config import config_at
from foveate.lab.policies import policy_called
from foveate.lab.replay import replay
from foveate.lab.result import Result
from foveate.lab.sources import Source
from foveate.session import Session
from foveate.session.replaying import taken
from foveate.store import Store
from foveate.store.arrivals import begun, write_log
from foveate.views.checkpoint import checkpoint_of
from foveate.views.timeline import timeline_of
from foveate.web.stations import EVERY, save_station
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
    """A replay that is in a store of its own; `refused` calls had no room for what must be sent."""

    session: str
    refused: int = 0
    reason: str = ""


def replayed(tell: Tell, location: str, session: str, lens: Lens, aside: str, name: str, stations: str) -> Replayed:
    """Replay a session of the store at `location`, into the session `name` of the store at `aside`, with stations."""
    tell("reading the log", None)
    recording = _recording(location, session)
    if not recording.messages:
        raise ConfigError(f"nothing was said in session {session!r} yet; there is no call to look at")
    made = _session(recording, lens)
    refused, reason = _through(tell, made, recording, Path(stations))
    tell("storing the calls", None)
    with Store(aside) as store, store.writing() as connection:
        write_log(connection, begun(connection, name, "replays"), iter(made.events), None)
    return Replayed(session=name, refused=refused, reason=reason)


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


def _session(recording: Recording, lens: Lens) -> Session:
    model = lens.model or _known(recording.model)
    if lens.budget is None and model is None:
        raise ConfigError("the log names no model whose window is known; give a budget")
    return Session(
        budget=lens.budget,
        model=model,
        policy=policy_called(lens.policy, config_at()),
        system=recording.system,
        tools=recording.tools,
        session_id=recording.session,
    )


def _through(tell: Tell, session: Session, recording: Recording, stations: Path) -> tuple[int, str]:
    """Compile before each recorded response and once at the end; how often there was no room, and the first reason."""
    done = refused = station = 0
    reason, told = "", 0.0
    counter = counter_for(session.context.model)
    for index in (*recording.calls(), len(recording.messages)):
        taken(session, recording, done, index)
        try:
            session.compile(now=recording.times[index] if index < len(recording.times) else None)
        except BudgetError as error:
            refused, reason = refused + 1, reason or str(error)
        done = index
        context = session.context
        if context.length >= station + EVERY:
            station = context.length
            save_station(stations, station, checkpoint_of(context, timeline_of(context, counter)))
        if time.monotonic() - told > _EVERY:
            told = time.monotonic()
            tell(f"replaying: {done:,} of {len(recording.messages):,} messages", done / len(recording.messages))
    return refused, reason


def _known(model: str | None) -> str | None:
    """A recorded model, if its window is known: a log may name any."""
    if model is None:
        return None
    try:
        return model if profile_for(model).window is not None else None
    except UnknownModelError:
        return None
