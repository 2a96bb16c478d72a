"""A study: which worker goes on with which scenario from which arm's request, as a folder that anybody can fill.

    study.json                          arms, budgets, runs, scenarios, who works on what
    ask/worker-1/c01/request.md         what a worker gets, beside the repository
    ask/worker-1/c01/repository/        the repository as the session left it
    done/worker-1/c01/                  what the worker made: `files/` to be laid over the repository, or
                                        `changes.patch`, or `run.sh` that makes the changes; `by.txt` says who
    results/worker-1/c01.json           which checks passed

Names say nothing of arms. Each worker does each scenario once, and each arm has each scenario as often as there are
runs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from bench.continuing.requests import Begun
from bench.continuing.sandbox import run_checks, run_command, sandbox, write_files
from bench.continuing.scenario import Scenario
from bench.continuing.scenarios import SCENARIOS
from bench.outcome import Stamp
from bench.reading.rendering import request_text
from foveate.errors import ConfigError

STUDY: Final = "study.json"
BY: Final = "by.txt"
_PROMPT: Final = Path(__file__).parent / "worker.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmOfStudy:
    """An arm: its name, as `--arm` takes it, says what makes its requests and at which budget."""

    name: str
    budget: int
    description: str


@dataclass(frozen=True, kw_only=True)
class ContinuationStudy:
    """What was decided before anybody worked; `scenarios` by their neutral names."""

    stamp: Stamp
    split: str
    seed: int
    runs: int
    arms: tuple[ArmOfStudy, ...]
    scenarios: dict[str, str]

    @cached_property
    def workers(self) -> tuple[str, ...]:
        """As many as arms, times the runs."""
        return tuple(f"worker-{number}" for number in range(1, len(self.arms) * self.runs + 1))

    @cached_property
    def arm_of(self) -> Mapping[tuple[str, str], str]:
        """The arm from whose request a worker does a scenario."""
        random = Random(f"continue square {self.seed}")
        arms = [arm.name for arm in self.arms]
        names = list(self.scenarios)
        random.shuffle(arms)
        random.shuffle(names)
        return {
            (worker, name): arms[(row + column) % len(arms)]
            for row, worker in enumerate(self.workers)
            for column, name in enumerate(names)
        }

    def cells(self) -> Iterable[tuple[str, str]]:
        """All workers and scenarios."""
        return ((worker, name) for worker in self.workers for name in self.scenarios)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run: for each check why it failed, "" if it passed; what is not known of a run in files is None."""

    worker: str
    scenario: str
    arm: str
    by: str
    checks: dict[str, str]
    steps: int | None = None
    read_again: tuple[str, ...] | None = None
    recalls: int | None = None
    ended: str = ""


def neutral_names(scenarios: Sequence[Scenario], seed: int) -> dict[str, str]:
    """Scenarios under names that say nothing of them."""
    names = [one.name for one in scenarios]
    Random(f"continue order {seed}").shuffle(names)
    return {f"c{number:02}": name for number, name in enumerate(names, 1)}


def write_study(folder: Path, study: ContinuationStudy, begun: Mapping[tuple[str, str], Begun]) -> None:
    """Write what workers get; `begun` by arm and scenario, without those that made no request."""
    for worker, name in study.cells():
        scenario = scenario_called(study.scenarios[name])
        start = begun.get((study.arm_of[worker, name], scenario.name))
        if start is None:
            continue
        place = folder / "ask" / worker / name
        write_files(place / "repository", scenario.recorded().files)
        text = f"{_PROMPT.read_text(encoding='utf-8')}\n---\n\n{request_text(start.chats)}\n"
        (place / "request.md").write_text(text, encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STUDY).write_bytes(msgspec.json.format(msgspec.json.encode(study), indent=1) + b"\n")


def load_study(folder: Path) -> ContinuationStudy:
    """The study in a folder."""
    path = folder / STUDY
    if not path.exists():
        raise ConfigError(f"{folder} has no {STUDY}; `foveate-bench continue make --out {folder}` makes a study")
    try:
        return msgspec.json.decode(path.read_bytes(), type=ContinuationStudy)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path} is not a study: {error}") from error


def scenario_called(name: str) -> Scenario:
    """A scenario by name."""
    return next(one for one in SCENARIOS if one.name == name)


def due_cells(folder: Path, study: ContinuationStudy) -> list[tuple[str, str]]:
    """Workers and scenarios that can be worked on and have no result yet."""
    return [
        (worker, name)
        for worker, name in study.cells()
        if (folder / "ask" / worker / name).exists() and not result_path(folder, worker, name).exists()
    ]


def check_done(folder: Path, study: ContinuationStudy, worker: str, name: str) -> Result | None:
    """Apply what a worker made to a fresh repository and run the checks; None if nothing is there yet."""
    done = folder / "done" / worker / name
    made = [path for path in (done / "files", done / "changes.patch", done / "run.sh") if path.exists()]
    if not made:
        return None
    if len(made) > 1:
        raise ConfigError(f"{done} has {' and '.join(path.name for path in made)}; leave one of them")
    scenario = scenario_called(study.scenarios[name])
    by = (done / BY).read_text(encoding="utf-8").strip() if (done / BY).exists() else ""
    with sandbox(scenario.recorded().files) as place:
        ended = _apply(made[0], place)
        checks = run_checks(place, scenario.checks)
    arm = study.arm_of[worker, name]
    return Result(worker=worker, scenario=scenario.name, arm=arm, by=by, checks=checks, ended=ended)


def result_path(folder: Path, worker: str, name: str) -> Path:
    """Where the result of a run is."""
    return folder / "results" / worker / f"{name}.json"


def save_result(folder: Path, name: str, result: Result) -> None:
    """Keep the result of a run."""
    path = result_path(folder, result.worker, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")


def load_results(folder: Path, study: ContinuationStudy) -> list[Result]:
    """All results that there are."""
    paths = (result_path(folder, worker, name) for worker, name in study.cells())
    return [msgspec.json.decode(path.read_bytes(), type=Result) for path in paths if path.exists()]


def _apply(made: Path, place: Path) -> str:
    """Make the changes; how that ended, "" if well."""
    if made.is_dir():
        shutil.copytree(made, place, dirs_exist_ok=True)
        return ""
    command = ["bash", str(made.resolve())] if made.suffix == ".sh" else ["patch", "-p1", "-i", str(made.resolve())]
    ran = run_command(place, command)
    return "" if ran.code == 0 else f"{made.name} ended with {ran.code}: {ran.output[-300:]}"
