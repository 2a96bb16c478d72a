"""The session that weighs most: how much of all numbers is its own, and what they are without it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.outcome import SessionInfo
from bench.standings import Contest, share


@dataclass(frozen=True, slots=True, kw_only=True)
class Heaviest:
    """The session whose untouched history costs most, with its share of that cost and of all references due."""

    place: int
    session: SessionInfo
    cost: float
    references: float


def heaviest(contest: Contest) -> Heaviest | None:
    """The heaviest session of a run; None where there are fewer than two, or nothing was measured."""
    rows = contest.run.tallies.get("untouched", ())
    if len(rows) < 2:
        return None
    place = max(range(len(rows)), key=lambda place: rows[place].raw_cost[0])
    cost = share(rows[place].raw_cost[0], sum(row.raw_cost[0] for row in rows))
    references = share(rows[place].references, sum(row.references for row in rows))
    if cost is None or references is None:
        return None
    return Heaviest(place=place, session=contest.run.sessions[place], cost=cost, references=references)


def without(contest: Contest, place: int) -> Contest:
    """A run without one of its sessions; the arms stay in their order."""
    arms = (replace(one, rows=one.rows[:place] + one.rows[place + 1 :]) for one in contest.arms)
    return Contest(contest.run, tuple(arms))
