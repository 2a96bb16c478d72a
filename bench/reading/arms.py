"""Arms of the reading test: policies by name, each at a budget; the ceiling; and requests that were made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.arms import ARMS
from bench.peering import adapters, contestants, peer_of
from foveate.errors import ConfigError
from foveate.lab.contestants import Contestant
from foveate.lab.policies import contestant

CEILING: Final = "ceiling"
# The ceiling is the verbatim end of the history, as much as so many budgets hold.
CEILING_BUDGETS: Final = 4
DEFAULT_ARMS: Final = ("foveate", "drop-steps", "mask-steps", CEILING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingArm:
    """A way to make requests: a contestant and its budget, or a folder in which they are already."""

    name: str
    budget: int
    description: str
    contestant: Contestant | None = None
    folder: Path | None = None


def arms_by_name(names: Sequence[str], budget: int) -> list[ReadingArm]:
    """The arms of a study at a budget.

    `NAME` is a policy, a baseline, a peer's arm, `module:object`, or `ceiling`; `NAME@TOKENS` gives it another budget;
    `NAME=FOLDER` takes requests that `foveate-bench read compile` made with another checkout.
    """
    arms = [_arm(name, budget) for name in names]
    twice = {arm.name for arm in arms if sum(other.name == arm.name for other in arms) > 1}
    if twice:
        raise ConfigError(f"`--arm` names {', '.join(sorted(twice))} more than once; name each arm once")
    return arms


def _arm(text: str, budget: int) -> ReadingArm:
    name, is_external, folder = text.partition("=")
    if is_external:
        return _external(name, Path(folder), budget)
    name, has_budget, tokens = text.partition("@")
    if has_budget and not (tokens.isdecimal() and int(tokens)):
        raise ConfigError(f"`--arm` {text!r}: {tokens!r} is not a number of tokens; write for example {name}@32000")
    own = int(tokens) if has_budget else budget
    if name == CEILING:
        described = f"the last {CEILING_BUDGETS * own:,} tokens of the history verbatim, all of it where it is shorter"
        found = replace(contestant("drop-exact"), name=text, description=described)
        return ReadingArm(name=text, budget=CEILING_BUDGETS * own, description=described, contestant=found)
    found = contestant_called(name)
    return ReadingArm(name=text, budget=own, description=found.description, contestant=found)


def contestant_called(name: str) -> Contestant:
    """An arm of the benchmark, one of its peers' arms, or anything that `foveate replay --policy` knows."""
    for one in ARMS:
        if one.name == name:
            return one
    for adapter in adapters():
        peer_name = adapter.stem.removeprefix("with_").replace("_", "-")
        if name.startswith(f"{peer_name}-"):
            return _peer_arm(adapter, name)
    return contestant(name)


def _peer_arm(adapter: Path, name: str) -> Contestant:
    peer = peer_of(adapter)
    if peer.reason:
        raise ConfigError(f"`--arm` {name!r}: {peer.name} does not run: {peer.reason}; see `foveate-bench peers`")
    offered = contestants(peer)
    found = next((one for one in offered if one.name == name), None)
    if found is None:
        raise ConfigError(f"`--arm` {name!r}: {peer.name} offers {', '.join(one.name for one in offered)}")
    return found


def _external(name: str, folder: Path, budget: int) -> ReadingArm:
    if not name:
        raise ConfigError(f"`--arm` ={folder}: an arm made elsewhere needs a name; write NAME={folder}")
    if not folder.is_dir():
        raise ConfigError(
            f"`--arm` {name}={folder}: {folder} is not a folder; `foveate-bench read compile CHECKOUT --to {folder}` "
            "makes one"
        )
    return ReadingArm(name=name, budget=budget, description="requests compiled by another checkout", folder=folder)
