"""Requests: what each arm would send at each situation, made by taking it through the session call by call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from bench.lanes import Prices
from bench.material import Material
from bench.peering import PeerError, end_lanes
from bench.reading.arms import ReadingArm
from bench.reading.situations import Situation
from bench.replay import opening_of
from foveate.errors import BudgetError, ConfigError
from foveate.lab.chat import Chat
from foveate.lab.contestants import Contestant, Feed, Opening, Step
from foveate.lab.script import Script


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRequest:
    """One arm's request at one situation, with its tokens; `problem` says why there is none."""

    situation: str
    arm: str
    chats: tuple[Chat, ...] = ()
    tokens: int = 0
    problem: str = ""


class ElsewhereRequest(msgspec.Struct, kw_only=True):
    """A request that another checkout made, as a file."""

    situation: str
    history_sha256: str
    budget: int
    policy: str
    chats: list[dict[str, Any]]
    problem: str = ""


def compile_requests(
    material: Material, situations: Sequence[Situation], arms: Sequence[ReadingArm]
) -> list[CompiledRequest]:
    """The requests of all arms at the situations of one session."""
    opening = opening_of(material.script)
    wanted = {one.call: one for one in situations}
    made: list[CompiledRequest] = []
    for arm in arms:
        if arm.contestant is None:
            made += [_read_elsewhere(arm, one, opening) for one in situations]
            continue
        for number, chats in requests_of(arm.contestant, material.script, opening, arm.budget, wanted):
            made.append(_compiled(arm, wanted[number], chats, opening))
    end_lanes()
    return made


def requests_of(
    contestant: Contestant, script: Script, opening: Opening, budget: int, calls: Iterable[int]
) -> Iterator[tuple[int, Sequence[Chat] | str]]:
    """An arm's requests at some calls, in order; a text in the place of one says why there is none."""
    wanted = set(calls)
    last = max(wanted, default=-1)
    feed: Feed | None = None
    for number, step in enumerate(steps_of(script)):
        if number > last:
            return
        if feed is None:
            feed = contestant.start(replace(opening, budget=budget, profile=Prices.usual().profiles[0]))
        try:
            chats: Sequence[Chat] | str = feed(step).chats
        except (BudgetError, PeerError) as error:
            chats = f"no request: {error}"
        if number in wanted:
            yield number, chats


def steps_of(script: Script) -> Iterator[Step]:
    """What came in before each recorded call."""
    done = 0
    for call in script.calls:
        yield Step(chats=script.chats[done : call.place], messages=script.messages[done : call.place], at=call.at)
        done = call.place


def _compiled(arm: ReadingArm, situation: Situation, chats: Sequence[Chat] | str, opening: Opening) -> CompiledRequest:
    if isinstance(chats, str):
        return CompiledRequest(situation=situation.id, arm=arm.name, problem=chats)
    tokens = opening.reserved + opening.sizes.total(chats)
    return CompiledRequest(situation=situation.id, arm=arm.name, chats=tuple(chats), tokens=tokens)


def _read_elsewhere(arm: ReadingArm, situation: Situation, opening: Opening) -> CompiledRequest:
    assert arm.folder is not None
    path = arm.folder / f"{situation.id}.json"
    if not path.exists():
        raise ConfigError(
            f"`--arm` {arm.name}={arm.folder}: {path.name} is missing; compile the same situations there, "
            "with the same `--budget`, `--split` and logs"
        )
    found = read_elsewhere(path)
    if found.history_sha256 != situation.history_sha256 or found.budget != arm.budget:
        raise ConfigError(
            f"{path} was compiled from another history or at {found.budget:,} tokens instead of {arm.budget:,}; "
            "compile it anew with `foveate-bench read compile`"
        )
    return _compiled(arm, situation, found.problem or found.chats, opening)


def read_elsewhere(path: Path) -> ElsewhereRequest:
    """A request that another checkout made."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ElsewhereRequest)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path} is not a request of `foveate-bench read compile`: {error}") from error


def by_session(situations: Iterable[Situation]) -> Mapping[str, list[Situation]]:
    """Situations by the session they are of."""
    grouped: dict[str, list[Situation]] = {}
    for one in situations:
        grouped.setdefault(one.session, []).append(one)
    return grouped
