"""The commands of the reading test: `foveate-bench read`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from bench.console import (
    OWN_FOLDER,
    Logs,
    Refusing,
    collect_sessions,
    command_line,
    console,
    log_paths,
    progress_bar,
    refuse,
)
from bench.logs import long_sessions
from bench.material import Material
from bench.reading.arms import DEFAULT_ARMS, ReadingArm, arms_by_name
from bench.reading.asking import BY, ask_graders, ask_readers
from bench.reading.edits import edit_rows, session_edits
from bench.reading.elsewhere import compile_elsewhere
from bench.reading.grading import load_grades, missing_answers, write_judgments_to_make
from bench.reading.reporting import report_of
from bench.reading.requests import CompiledRequest, by_session, compile_requests
from bench.reading.situations import (
    DEPTH,
    PINNED_BUDGETS,
    SEED,
    Situation,
    chosen_situations,
    pin_situations,
    pinned_situations,
)
from bench.reading.study import Study, arms_in_study, load_study, neutral_names, study_folder, write_study
from bench.reading.tables import agreement_table, difference_table, edits_table, reading_table
from bench.replay import each_session
from bench.stamp import stamp
from foveate.errors import ConfigError
from foveate.integrations.models import driver_for

app = typer.Typer(
    help="The reading test: what a capable reader can do with each policy's request, and how much of it is right.",
    cls=Refusing,
    no_args_is_help=True,
)

Budget = Annotated[int, typer.Option(min=500, help="Tokens of a request.")]
Split = Annotated[
    Literal["tune", "report", "all"] | None,
    typer.Option(
        help="Which half of the sessions: `tune` is for developing, `report` for quoting; by default `tune`, of logs "
        "that you name `all`.",
        show_default=False,
    ),
]
Arms = Annotated[
    list[str] | None,
    typer.Option(
        help="A policy, baseline, peer's arm, `module:object` or `ceiling`; NAME@TOKENS has another budget, "
        "NAME=FOLDER was made by `read compile`. May be repeated.",
        show_default=False,
    ),
]
Jobs = Annotated[int, typer.Option(min=1, help="How many sessions or prompts at once.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only so many situations, drawn from all over.")]
StudyFolder = Annotated[Path, typer.Argument(help="The folder of the study.")]
Model = Annotated[
    str | None,
    typer.Option(help="Ask this model, such as `anthropic:claude-sonnet-4-5`; otherwise files are waited for."),
]
Seed = Annotated[int, typer.Option(help="Of situations, reading order and names.")]


@app.command()
def make(
    logs: Logs = None,
    *,
    budget: Budget = 8_000,
    split: Split = None,
    arm: Arms = None,
    seed: Seed = SEED,
    limit: Limit = None,
    jobs: Jobs = 1,
    out: Annotated[
        Path | None, typer.Option(help="A new folder; by default in foveate-bench-results.", show_default=False)
    ] = None,
) -> None:
    """Compile the requests of all arms at deep steps of sessions, and write what readers get."""
    begun = time.perf_counter()
    half = _half(logs, split)
    folder = study_folder(out or OWN_FOLDER / f"reading-{budget}-{half}", is_new=True)
    arms = arms_by_name(arm or DEFAULT_ARMS, budget)
    materials, situations = _situations(logs, half, budget, seed, limit)
    requests = _requests(materials, situations, arms, jobs)
    names = neutral_names(situations, seed)
    study = Study(
        stamp=stamp(command_line(), begun),
        budget=budget,
        split=half,
        seed=seed,
        situations={names[one.id]: one for one in sorted(situations, key=lambda one: names[one.id])},
        arms=arms_in_study(arms, requests, names),
    )
    write_study(folder, study, requests, materials)
    for one in study.arms:
        for name, problem in one.problems.items():
            console.print(f"{one.name}, {name}: {problem}", style="yellow", markup=False)
    sessions = len({one.session for one in situations})
    console.print(f"{len(situations)} situations of {sessions} sessions, {len(arms)} arms: {folder}")
    console.print(f"next: foveate-bench read answer {folder}")


@app.command()
def situations(
    *, pin: Annotated[bool, typer.Option("--pin", help="Fix them anew in the repository, before a study.")] = False
) -> None:
    """The situations of the recorded sessions, beside those that are fixed in the repository."""
    materials = recorded_sessions()
    if pin:
        pin_situations(materials)
    fixed = pinned_situations()
    table = Table("budget", "split", "situations", "sessions", "as fixed")
    for budget in PINNED_BUDGETS:
        now = chosen_situations(materials, budget)
        for half in ("tune", "report"):
            own = [one for one in now if one.split == half]
            same = [one for one in own if one in fixed[budget]]
            sessions = len({one.session for one in own})
            table.add_row(f"{budget:,}", half, str(len(own)), str(sessions), str(len(same)))
    Console().print(table)


@app.command("compile")
def compile_with(
    checkout: Annotated[Path, typer.Argument(help="The folder of another checkout of Foveate.")],
    logs: Logs = None,
    *,
    to: Annotated[Path, typer.Option(help="Folder for the requests.")],
    budget: Budget = 8_000,
    policy: Annotated[str, typer.Option(help="A policy of that checkout.")] = "default",
    split: Split = None,
    seed: Seed = SEED,
    limit: Limit = None,
) -> None:
    """Compile the requests of a study with another checkout of Foveate, such as an earlier version."""
    folder = study_folder(to, is_new=False)
    materials, situations = _situations(logs, _half(logs, split), budget, seed, limit)
    grouped = by_session(situations)
    folder.mkdir(parents=True, exist_ok=True)
    with progress_bar("sessions") as progress:
        for number, material in enumerate(materials, 1):
            found = compile_elsewhere(
                checkout.resolve(), material, grouped[material.name], budget=budget, policy=policy
            )
            for one in found:
                (folder / f"{one.situation}.json").write_bytes(msgspec.json.encode(one) + b"\n")
            progress(number, len(materials), material.name)
    console.print(f"{len(situations)} requests: {folder}; read them with `read make --arm NAME={folder}`")


@app.command()
def answer(study: StudyFolder, *, model: Model = None, jobs: Jobs = 4) -> None:
    """Have a model read, or say which answers are still to be written."""
    folder, made = study_folder(study, is_new=False), load_study(study)
    due = missing_answers(folder, made)
    problems: list[str] = []
    if model and due:
        with driver_for(model) as driver, progress_bar("answers") as progress:
            problems = ask_readers(folder, due, driver, jobs=jobs, told=progress)
        due = missing_answers(folder, made)
    _tell(due, problems, "answers", f"{folder}/ask/READER/SITUATION.md", f"{folder}/answers/READER/SITUATION.md")
    if not due:
        console.print(f"all answers are there; next: foveate-bench read grade {study}")


@app.command()
def grade(study: StudyFolder, *, model: Model = None, jobs: Jobs = 4) -> None:
    """Write what graders get, and have a model grade or say which grades are still to be written."""
    folder, made = study_folder(study, is_new=False), load_study(study)
    due = write_judgments_to_make(folder, made)
    problems: list[str] = []
    if model and due:
        with driver_for(model) as driver, progress_bar("grades") as progress:
            problems = ask_graders(folder, made, due, driver, jobs=jobs, told=progress)
        due = write_judgments_to_make(folder, made)
    unanswered = missing_answers(folder, made)
    if unanswered:
        console.print(f"{len(unanswered)} answers are missing; situations without all answers are not graded yet")
    _tell(due, problems, "grades", f"{folder}/judge/GRADER/SITUATION.md", f"{folder}/grades/GRADER/SITUATION.json")
    if not due and not unanswered:
        console.print(f"all grades are there; next: foveate-bench read report {study}")


@app.command()
def report(
    study: StudyFolder,
    *,
    to: Annotated[Path | None, typer.Option(help="Also write grades and counts as JSON, without any text.")] = None,
) -> None:
    """Means with intervals over sessions, differences between arms, agreement of graders, and what is missing."""
    folder, made = study_folder(study, is_new=False), load_study(study)
    grades = load_grades(folder, made)
    unanswered = missing_answers(folder, made)
    graded = {(one.grader, one.situation) for one in grades}
    ungraded = len(made.grader_names) * len(made.situations) - len(graded)
    if unanswered or ungraded:
        console.print(f"missing: {len(unanswered)} answers, {ungraded} of a grader's situations", style="yellow")
    if not grades:
        refuse(f"there are no grades in {folder}; `foveate-bench read grade {study}` says what is due")
    made_by = {path.parent.name: path.read_text().strip() for path in sorted(folder.glob(f"*/*/{BY}"))}
    found = report_of(made, grades, missing_answers=len(unanswered), missing_grades=ungraded, readers=made_by)
    shown = Console(width=160)
    for table in (reading_table(found), difference_table(found), agreement_table(found)):
        shown.print(table)
    if to is not None:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
        console.print(f"written: {to}")


@app.command()
def edits(
    logs: Logs = None,
    *,
    budget: Annotated[list[int] | None, typer.Option(min=500, help="Tokens of a request; 8000 and 32000.")] = None,
    depth: Annotated[float, typer.Option(min=0, help="Only edits with so many budgets of history before.")] = DEPTH,
    split: Split = None,
    arm: Arms = None,
    jobs: Jobs = 1,
) -> None:
    """The share of the next edit's old lines that each arm shows; nobody needs to read."""
    names = arm or (*DEFAULT_ARMS, "foveate-thorough", "untouched")
    half = _half(logs, split)
    materials = collect_sessions(_paths(logs)).chosen(half)
    for tokens in budget or (8_000, 32_000):
        arms = arms_by_name(names, tokens)
        elsewhere = [one.name for one in arms if one.contestant is None]
        if elsewhere:
            raise ConfigError(f"`--arm` {elsewhere[0]}: edits are looked at in every call, not in a folder of requests")
        work = partial(session_edits, arms=arms, budget=tokens, depth=depth)
        with progress_bar("sessions") as progress:
            found = []
            for number, one in enumerate(each_session(work, materials, jobs), 1):
                found += one
                progress(number, len(materials), f"at {tokens:,}")
        found.sort(key=lambda one: one.session)
        Console(width=120).print(edits_table(edit_rows(found, arms), tokens, depth, half))


def recorded_sessions() -> list[Material]:
    """All recorded sessions, the long ones among them."""
    return collect_sessions(_paths(None)).chosen()


def _half(logs: Sequence[Path] | None, split: str | None) -> str:
    return split or ("all" if logs else "tune")


def _paths(logs: Sequence[Path] | None) -> list[Path]:
    """What was named, else all recorded sessions, the long ones among them."""
    beside = None if logs else long_sessions()
    return [*log_paths(logs), *([beside] if beside is not None else [])]


def _situations(
    logs: Sequence[Path] | None, split: str, budget: int, seed: int, limit: int | None
) -> tuple[list[Material], list[Situation]]:
    """The situations of a study, and the sessions that they are of."""
    chosen = collect_sessions(_paths(logs)).chosen(split)
    situations = chosen_situations(chosen, budget, seed=seed)
    if not situations:
        raise ConfigError(
            f"none of {len(chosen)} sessions (`--split` {split}) has more than {DEPTH * budget:,.0f} tokens before a "
            f"tool call; lower `--budget` {budget}, or name longer logs"
        )
    if limit:
        count = min(limit, len(situations))
        situations = [situations[at * len(situations) // count] for at in range(count)]
    needed = {one.session for one in situations}
    return [one for one in chosen if one.name in needed], situations


def _requests(
    materials: Sequence[Material], situations: Sequence[Situation], arms: Sequence[ReadingArm], jobs: int
) -> list[CompiledRequest]:
    made: list[CompiledRequest] = []
    work = partial(_of_session, grouped=dict(by_session(situations)), arms=arms)
    with progress_bar("sessions") as progress:
        for number, found in enumerate(each_session(work, materials, jobs), 1):
            made += found
            progress(number, len(materials), "")
    return made


def _of_session(
    material: Material, *, grouped: dict[str, list[Situation]], arms: Sequence[ReadingArm]
) -> list[CompiledRequest]:
    return compile_requests(material, grouped[material.name], arms)


def _tell(due: Sequence[tuple[str, str]], problems: Sequence[str], what: str, given: str, wanted: str) -> None:
    for problem in problems:
        console.print(problem, style="red", markup=False)
    if not due:
        return
    groups: dict[str, list[str]] = {}
    for name, situation in due:
        groups.setdefault(name, []).append(situation)
    console.print(f"{len(due)} {what} are missing. Give each of them {given}, and nothing else; write {wanted}:")
    for name, missing in groups.items():
        console.print(f"  {name}: {' '.join(missing)}", highlight=False)
    console.print("or have a model do it: `--model anthropic:claude-sonnet-4-5`")
