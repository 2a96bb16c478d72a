"""The comparison: all arms that can run, over all sessions of a split."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.arms import ARMS, described
from bench.generated import generated_scripts
from bench.material import Collected, Material
from bench.outcome import ArmInfo, PeerInfo, ReplayOutcome, Run
from bench.peering import Peer, PeerArm, contestants
from bench.replay import Progress, Setup, runs
from bench.stamp import stamp
from foveate.errors import ConfigError
from foveate.lab.contestants import Contestant
from foveate.lab.script import Script


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is compared.

    Args:
        budgets: tokens of a request on recorded sessions; `generated` on generated ones.
        split: which half of the recorded sessions, or `all`.
        sources: only sessions of these agents; empty for all.
        arms: only arms whose name begins so; empty for all.
        limit: only so many sessions.
        jobs: how many sessions at once.

    """

    budgets: tuple[int, ...] = (8_000, 32_000)
    generated: tuple[int, ...] = (100_000,)
    split: str = "report"
    sources: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    limit: int | None = None
    jobs: int = 2


def compared(
    material: Collected, peers: Sequence[Peer], choice: Choice, *, command: str, progress: Progress | None = None
) -> ReplayOutcome:
    """Replay everything that was chosen."""
    begun = time.perf_counter()
    arms = _arms(peers, choice.arms)
    if not arms:
        known = ", ".join(arm.name for arm, _ in _arms(peers, ()))
        raise ConfigError(f"no arm has a name that begins with {_or(choice.arms)} (`--arm`); there are {known}")
    setup = Setup(arms=tuple(arm for arm, _ in arms), budgets=choice.budgets)
    found = material.chosen(choice.split, choice.sources, choice.limit)
    if not found:
        known = ", ".join(sorted({one.source for one in material.sessions})) or "none"
        asked = f" of {_or(choice.sources)} (`--source`)" if choice.sources else ""
        raise ConfigError(
            f"no session{asked} is in the split {choice.split!r} (`--split`); of {len(material.sessions)} sessions the "
            f"sources are {known}; choose among them, or the split 'all'"
        )
    done = runs(found, setup, split=choice.split, jobs=choice.jobs, progress=progress)
    if choice.generated:
        long = [_generated(number, script) for number, script in enumerate(generated_scripts())]
        wide = replace(setup, budgets=choice.generated)
        done += runs(long, wide, material="generated", split="all", jobs=choice.jobs, progress=progress)
    return ReplayOutcome(
        stamp=stamp(command, begun),
        arms=tuple(info for _, info in arms),
        peers=tuple(PeerInfo(name=peer.name, versions=peer.versions, reason=peer.reason) for peer in peers),
        runs=tuple(done),
        files=material.files,
        duplicates=material.duplicates,
        left_out=material.left_out,
        prices=setup.prices.described(),
    )


def joined(earlier: ReplayOutcome, added: ReplayOutcome) -> ReplayOutcome:
    """An outcome with more arms, measured later on the same sessions."""
    runs = {(run.budget, run.material): run for run in added.runs}
    if {(run.budget, run.material, run.split, run.sessions) for run in earlier.runs} != {
        (run.budget, run.material, run.split, run.sessions) for run in added.runs
    }:
        raise ConfigError("`--add` needs the sessions and budgets of the earlier results; measure all arms anew")
    names = {info.name for info in added.arms}
    infos = {info.name: info for info in (*earlier.arms, *added.arms)}
    order = [arm.name for arm in ARMS if arm.name in infos]
    return replace(
        earlier,
        later={**earlier.later, **dict.fromkeys(sorted(names), added.stamp)},
        arms=tuple(infos[name] for name in dict.fromkeys((*order, *infos))),
        runs=tuple(_merged(run, runs[run.budget, run.material], names) for run in earlier.runs),
    )


def _or(names: Sequence[str]) -> str:
    return " or ".join(map(repr, names))


def _merged(run: Run, added: Run, names: set[str]) -> Run:
    return replace(
        run,
        tallies=run.tallies | added.tallies,
        times=run.times | added.times,
        problems={name: said for name, said in run.problems.items() if name not in names} | added.problems,
    )


def _arms(peers: Sequence[Peer], chosen: Sequence[str]) -> list[tuple[Contestant, ArmInfo]]:
    ours = [(arm, described(arm)) for arm in ARMS]
    theirs = [
        (arm, _info(peer, told, arm.name))
        for peer in peers
        for arm, told in zip(contestants(peer), peer.arms, strict=True)
    ]
    # The prefix may name an arm whole, or a peer with all its arms.
    return [pair for pair in (*ours, *theirs) if not chosen or pair[0].name.startswith(tuple(chosen))]


def _info(peer: Peer, arm: PeerArm, name: str) -> ArmInfo:
    return ArmInfo(
        name=name,
        family="peer",
        peer=peer.name,
        call=arm.call,
        knows_budget=arm.knows_budget,
        is_default=arm.is_default,
        note=arm.note,
    )


def _generated(number: int, script: Script) -> Material:
    return Material(name=f"generated-{number}", source="generated", split="report", script=script)
