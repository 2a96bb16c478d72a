"""The commands of the continuation test: `foveate-bench continue`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer
from rich.console import Console

from bench.console import OWN_FOLDER, Refusing, command_line, console, progress_bar, refuse
from bench.continuing.agent import NAME, work_with_agent
from bench.continuing.reporting import facts_table, report_of, report_table
from bench.continuing.requests import Begun, begin, facts_shown
from bench.continuing.sandbox import run_checks, sandbox
from bench.continuing.scenario import Scenario
from bench.continuing.scenarios import SCENARIOS, half_of
from bench.continuing.study import (
    ArmOfStudy,
    ContinuationStudy,
    Result,
    check_done,
    due_cells,
    load_results,
    load_study,
    neutral_names,
    save_result,
    scenario_called,
    write_study,
)
from bench.continuing.work import MOST_STEPS, work
from bench.peering import end_lanes
from bench.reading.arms import ReadingArm, arms_by_name
from bench.reading.situations import SEED
from bench.stamp import stamp
from foveate.errors import BudgetError, ConfigError
from foveate.integrations.models import driver_for

app = typer.Typer(
    help="The continuation test: whether a follow-up that depends on early facts can be done from each policy's "
    "request. What workers make is run on this machine, in a folder and with time limits, but with your rights.",
    cls=Refusing,
    no_args_is_help=True,
)

_ARMS = ("foveate", "foveate-thorough", "drop-steps", "mask-steps", "untouched")

Budgets = Annotated[list[int] | None, typer.Option(min=500, help="Tokens of a request; 8000 and 32000.")]
Arms = Annotated[
    list[str] | None,
    typer.Option(help="A policy, baseline, peer's arm, `module:object` or `ceiling`. May be repeated."),
]
Split = Annotated[
    Literal["tune", "report", "all"], typer.Option(help="Four scenarios are for tuning, eight for reporting.")
]
StudyFolder = Annotated[Path, typer.Argument(help="The folder of the study.")]


@app.command()
def facts(*, budget: Budgets = None, arm: Arms = None, split: Split = "tune") -> None:
    """Which of the facts that the follow-ups need each arm's requests show; nobody needs to work."""
    scenarios = _scenarios(split)
    arms = _arms(arm, budget)
    found = []
    with progress_bar("arms") as progress:
        for number, one in enumerate(arms, 1):
            found += [facts_shown(scenario, one) for scenario in scenarios]
            progress(number, len(arms), one.name)
    end_lanes()
    Console(width=120).print(facts_table(found, split))


@app.command()
def make(
    *,
    budget: Budgets = None,
    arm: Arms = None,
    split: Split = "tune",
    runs: Annotated[int, typer.Option(min=1, help="How often each arm does each scenario.")] = 1,
    seed: Annotated[int, typer.Option(help="Of names and of who works on what.")] = SEED,
    out: Annotated[Path | None, typer.Option(help="A new folder.", show_default=False)] = None,
) -> None:
    """Compile the requests of all arms, and write what workers get."""
    started = time.perf_counter()
    folder = out or OWN_FOLDER / f"continue-{split}"
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"`--out` {folder} is not empty, and results in it would be mixed up; choose a new folder")
    arms = _arms(arm, budget)
    scenarios = _scenarios(split)
    begun: dict[tuple[str, str], Begun] = {}
    for one in arms:
        for scenario in scenarios:
            start = _begun(scenario, one)
            if isinstance(start, str):
                console.print(f"{one.name}, {scenario.name}: {start}", style="yellow", markup=False)
            else:
                begun[one.name, scenario.name] = start
    end_lanes()
    study = ContinuationStudy(
        stamp=stamp(command_line(), started),
        split=split,
        seed=seed,
        runs=runs,
        arms=tuple(ArmOfStudy(name=one.name, budget=one.budget, description=one.description) for one in arms),
        scenarios=neutral_names(scenarios, seed),
    )
    write_study(folder, study, begun)
    console.print(f"{len(scenarios)} scenarios, {len(arms)} arms, {len(study.workers)} workers: {folder}")
    console.print(f"next: foveate-bench continue run {folder} --model MODEL, or files and foveate-bench continue check")


@app.command()
def run(
    study: StudyFolder,
    *,
    model: Annotated[str, typer.Option(help="A model such as `anthropic:claude-sonnet-4-5`.")],
    agent: Annotated[
        Literal["own", "mini-swe-agent"],
        typer.Option(help="A plain loop in which each request is the arm's, or mini-swe-agent in its own loop."),
    ] = "own",
    steps: Annotated[int, typer.Option(min=1, help="Requests of a run at most.")] = MOST_STEPS,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many runs now.")] = None,
) -> None:
    """Have a model do what has not been done yet."""
    made = load_study(study)
    due = due_cells(study, made)[:limit]
    with progress_bar("runs") as progress:
        for number, (worker, name) in enumerate(due, 1):
            save_result(study, name, _run(made, worker, name, model, agent, steps))
            progress(number, len(due), name)
    console.print(f"{len(due_cells(study, made))} runs are left; foveate-bench continue report {study}")


@app.command()
def check(study: StudyFolder) -> None:
    """Apply what workers wrote as files to fresh repositories, and run the checks."""
    made = load_study(study)
    for worker, name in due_cells(study, made):
        result = check_done(study, made, worker, name)
        if result is not None:
            save_result(study, name, result)
            if result.ended:
                console.print(f"{worker}, {name}: {result.ended}", style="yellow", markup=False)
    due = due_cells(study, made)
    if due:
        console.print(
            f"{len(due)} are missing. Give each worker {study}/ask/WORKER/SCENARIO, and nothing else; put what it made "
            f"into {study}/done/WORKER/SCENARIO as `files`, `changes.patch` or `run.sh`:"
        )
        for worker in dict.fromkeys(worker for worker, _ in due):
            console.print(f"  {worker}: {' '.join(name for one, name in due if one == worker)}", highlight=False)
    else:
        console.print(f"all are there; next: foveate-bench continue report {study}")


@app.command()
def report(
    study: StudyFolder,
    *,
    to: Annotated[Path | None, typer.Option(help="Also write results as JSON.")] = None,
) -> None:
    """Checks passed by where their fact stood, rules broken, files read again and steps, by arm."""
    made = load_study(study)
    results = load_results(study, made)
    if not results:
        refuse(f"there are no results in {study}; `foveate-bench continue check {study}` says what is due")
    found = report_of(made, results, len(due_cells(study, made)))
    if found.missing:
        console.print(f"missing: {found.missing} runs", style="yellow")
    Console(width=180).print(report_table(found))
    if to is not None:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
        console.print(f"written: {to}")


def _run(
    study: ContinuationStudy, worker: str, name: str, model: str, agent: Literal["own", "mini-swe-agent"], steps: int
) -> Result:
    """One run of a model, in a sandbox of its own."""
    arm = next(one for one in study.arms if one.name == study.arm_of[worker, name])
    scenario = scenario_called(study.scenarios[name])
    (contestant,) = arms_by_name([arm.name], arm.budget)
    begun = begin(scenario, contestant)
    recording = scenario.recorded()
    with sandbox(recording.files) as folder:
        if agent == NAME:
            worked = work_with_agent(begun, model, folder, recording.read, steps)
        else:
            with driver_for(model) as driver:
                worked = asyncio.run(work(begun, driver, folder, recording.read, steps))
        checks = run_checks(folder, scenario.checks)
    end_lanes()
    return Result(
        worker=worker,
        scenario=scenario.name,
        arm=arm.name,
        by=f"{model}, {agent} loop",
        checks=checks,
        steps=worked.steps,
        read_again=tuple(sorted(worked.read_again)),
        recalls=worked.recalls,
        ended=worked.ended,
    )


def _scenarios(split: str) -> list[Scenario]:
    return [one for one in SCENARIOS if split in ("all", half_of(one))]


def _arms(names: Sequence[str] | None, budgets: Sequence[int] | None) -> list[ReadingArm]:
    """The arms at each budget; one that names its own budget comes once."""
    arms = arms_by_name(_calls(names, budgets), 8_000)
    for one in arms:
        if one.contestant is None:
            raise ConfigError(f"`--arm` {one.name}: a folder of requests cannot go on; name a policy or baseline")
    return arms


def _calls(names: Sequence[str] | None, budgets: Sequence[int] | None) -> list[str]:
    wanted = [
        name if "@" in name or "=" in name else f"{name}@{budget}"
        for budget in budgets or (8_000, 32_000)
        for name in names or _ARMS
    ]
    return list(dict.fromkeys(wanted))


def _begun(scenario: Scenario, arm: ReadingArm) -> Begun | str:
    try:
        return begin(scenario, arm)
    except BudgetError as error:
        return f"no request: {error}"
