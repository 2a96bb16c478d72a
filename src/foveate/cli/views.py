"""Views: the calls of a source, as they were sent or as they would be under other options."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import shown_progress
from foveate.cli.source import Material
from foveate.errors import ConfigError, UnknownModelError, UnknownReferenceError

if TYPE_CHECKING:
    from foveate.compile.compiled import CompiledContext
    from foveate.compile.policy import Policy
    from foveate.session import Session

_LONG = 1_000

Budget = Annotated[
    int | None,
    typer.Option("--budget", "-b", min=1, help="The most input tokens a request may have.", show_default=False),
]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", help="A model name: gives the window, prices and tokenizer. [default: as recorded]"),
]
PolicyName = Annotated[
    str | None,
    typer.Option("--policy", "-p", metavar="NAME", help="How the past is reduced; `foveate policies` lists them."),
]
Config = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="A foveate.toml, instead of the nearest one.", show_default=False),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How requests are to be compiled."""

    budget: int | None = None
    model: str | None = None
    policy: str | None = None
    config: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether something was asked for."""
        return (self.budget, self.model, self.policy) != (None, None, None)


def last_view(material: Material, how: How, *, replay: bool) -> CompiledContext:
    """The request that comes after everything that was said."""
    if replay:
        *_, view = _replayed(material, how)
        return view
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.session.replaying import next_view, taken

    session = _session(material, how)
    taken(session, material.recording)
    return next_view(session)


def view_before(material: Material, how: How, step: int, *, replay: bool) -> CompiledContext:
    """The request that response number `step` would have answered."""
    recording = material.recording
    calls = [*recording.calls(), len(recording.messages)]
    if step > len(calls):
        raise ConfigError(
            f"`--at` {step} is behind the end; the log has {len(calls) - 1} responses, and one may follow"
        )
    if replay:
        return next(islice(_replayed(material, how), step - 1, None))
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.session.replaying import next_view, taken

    end = calls[step - 1]
    session = _session(material, how)
    taken(session, recording, 0, end)
    return next_view(session, recording.times[end] if end < len(recording.times) else None)


def views_of_calls(material: Material, how: How, numbers: list[int]) -> list[CompiledContext]:
    """Calls by their numbers: those that the session recorded, else as a replay makes them."""
    store, info = material.store, material.info
    if store is not None and info is not None and info.calls and not how.is_given:
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.session.durable import recorded_call

        return [recorded_call(store, info, number) for number in numbers]
    calls = sum(1 for _ in material.recording.calls()) + 1
    for number in numbers:
        if number > calls:
            raise UnknownReferenceError(f"no call {number}; a replay of this log makes {calls}")
    views = enumerate(islice(_replayed(material, how), max(numbers)), start=1)
    found = {number: view for number, view in views if number in numbers}
    return [found[number] for number in numbers]


def _replayed(material: Material, how: How) -> Iterator[CompiledContext]:
    """Compile before each response, so that reductions fall where they would have fallen."""
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.session.replaying import replayed

    recording = material.recording
    total = len(recording.messages)
    views = replayed(_session(material, how), recording)
    calls = [*recording.calls(), total]
    with shown_progress(total, worth=total >= _LONG and sys.stderr.isatty()) as tell:
        for done, view in zip(calls, views, strict=True):
            tell("replaying", done)
            yield view


def _session(material: Material, how: How) -> Session:
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.session import Session

    recording = material.recording
    return Session(
        budget=how.budget,
        model=how.model or _known(recording.model),
        policy=_policy(how),
        system=recording.system,
        tools=recording.tools,
        session_id=recording.session,
    )


def _policy(how: How) -> Policy | None:
    if how.policy is None and how.config is None:
        return None
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.lab.config import config_at
    from foveate.lab.policies import policy_called

    config = config_at(Path(how.config) if how.config is not None else None)
    return policy_called(how.policy, config) if how.policy is not None else None


def _known(model: str | None) -> str | None:
    """A recorded model, if its window and prices are known: a log may name any."""
    if model is None:
        return None
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.budget.profiles import profile_for

    try:
        return model if profile_for(model).window is not None else None
    except UnknownModelError:
        return None
