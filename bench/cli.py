"""Foveate beside its peers, on recorded sessions: what requests hold, cost and take."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

import typer
from rich.console import Console
from rich.table import Table

from bench.comparing import Choice, compared, joined
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
from bench.continuing.cli import app as continue_app
from bench.engine import engine_outcome
from bench.evidence import (
    BUDGETS,
    POLICIES,
    Arm,
    Cell,
    Half,
    conversations_in,
    generated_conversations,
    recorded_folder,
    row_cells,
    rows_of,
    shown_in,
)
from bench.growth import growth_contestants, growth_outcome, with_curves
from bench.material import Collected
from bench.outcome import EngineOutcome, GrowthOutcome, RecallOutcome, ReplayOutcome, loaded, saved
from bench.overview import overview
from bench.peering import Peer, adapters, contestants, peer_of
from bench.reading.cli import app as read_app
from bench.recall import recall_outcome
from bench.rehearsal import rehearsed
from bench.report import refreshed, written
from bench.stamp import ROOT
from foveate.lab.contestants import Contestant

FOLDER: Final = ROOT / "docs" / "benchmarks"
app = typer.Typer(
    help=__doc__, cls=Refusing, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
app.add_typer(read_app, name="read")
app.add_typer(continue_app, name="continue")

Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the page and its results; by default docs/benchmarks, but ./foveate-bench-results for logs of "
        "your own and for a part of the benchmark.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        min=1,
        help="How many sessions at once. Times depend on it, and so does which calls of an arm that takes more than a "
        "quarter of an hour for one session are not measured; nothing else does.",
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="A small part of it, to see that it works.")]
Add = Annotated[
    bool, typer.Option("--add", help="Add to the results there are; their other arms stay as they were measured.")
]
WithPeers = Annotated[bool, typer.Option("--peers/--no-peers", help="Whether peers take part.")]


@app.command()
def replay(
    logs: Logs = None,
    *,
    budget: Annotated[list[int] | None, typer.Option(min=500, help="Tokens of a request; 8000 and 32000.")] = None,
    generated: Annotated[int, typer.Option(min=0, help="Budget on generated sessions; 0 for none.")] = 100_000,
    split: Annotated[
        Literal["tune", "report", "all"] | None,
        typer.Option(help="Which half of the sessions: `report`, of logs that you name `all`.", show_default=False),
    ] = None,
    source: Annotated[list[str] | None, typer.Option(help="Only sessions of this agent.")] = None,
    arm: Annotated[list[str] | None, typer.Option(help="Only arms whose names begin so.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many sessions, from all over.")] = None,
    peers: WithPeers = True,
    jobs: Jobs = 2,
    out: Out = None,
    quick: Quick = False,
    add: Add = False,
) -> None:
    """Requests, cost and fidelity of every arm at every recorded call."""
    choice = Choice(
        budgets=tuple(budget or (8_000, 32_000)),
        generated=(generated,) if generated and not quick else (),
        split=split or ("all" if logs else "report"),
        sources=tuple(source or ()),
        arms=tuple(arm or ()),
        limit=4 if quick else limit,
        jobs=jobs,
    )
    material = _material(logs)
    found = _peers() if peers else []
    with progress_bar("sessions") as progress:
        outcome = compared(material, found, choice, command=command_line(), progress=progress)
    for run in outcome.runs:
        Console(width=250 if not sys.stdout.isatty() else None).print(overview(run))
    whole = replace(Choice(), jobs=jobs, arms=choice.arms if add else ())
    path = _folder(out, is_part=bool(logs) or not peers or choice != whole) / "results" / "replay.json"
    earlier = loaded(path, ReplayOutcome) if add else None
    _save(joined(earlier, outcome) if earlier is not None else outcome, path)


@app.command()
def growth(*, peers: WithPeers = True, out: Out = None, quick: Quick = False, add: Add = False) -> None:
    """Time and memory of every arm, from 100 to 100,000 generated messages."""
    arms = growth_contestants(peers=peers and not quick)
    with progress_bar("lengths") as progress:
        outcome = growth_outcome(arms, quick=quick, progress=progress)
    path = _folder(out, is_part=quick or not (peers or add)) / "results" / "growth.json"
    earlier = loaded(path, GrowthOutcome) if add else None
    _save(with_curves(earlier, outcome) if earlier is not None else outcome, path)


@app.command()
def engine(
    logs: Logs = None,
    *,
    minutes: Annotated[int, typer.Option(min=1, help="What cannot be read by then is left out.")] = 30,
    threads: Annotated[int | None, typer.Option(min=1, help="Of the engine; as many as there are cores.")] = None,
    peers: WithPeers = True,
    out: Out = None,
    quick: Quick = False,
) -> None:
    """What a real engine reuses of its cache: llama.cpp with a small model, beside the simulation."""
    arms = [] if quick or not peers else _arms_of(["langchain"])
    material = _material(logs)
    with progress_bar("tokens") as progress:
        outcome = engine_outcome(
            material,
            peers=arms,
            limit_seconds=minutes * 60,
            threads=threads,
            command=command_line(),
            split="all" if logs else "report",
            quick=quick,
            progress=progress,
        )
    _save(outcome, _folder(out, is_part=bool(logs) or quick or not peers) / "results" / "engine.json")


@app.command()
def recall(
    logs: Logs = None,
    *,
    locomo: Annotated[Path | None, typer.Option(help="A file in the format of LoCoMo.")] = None,
    out: Out = None,
    quick: Quick = False,
) -> None:
    """Whether what a later action or question needs is found, at budgets of 500 to 8,000 tokens."""
    with progress_bar("conversations") as progress:
        outcome = recall_outcome(log_paths(logs), locomo, quick=quick, command=command_line(), progress=progress)
    _save(outcome, _folder(out, is_part=bool(logs) or quick) / "results" / "recall.json")


@app.command("evidence")
def evidence_shown(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Conversations with questions and evidence; by default ../shared/study/conversations.",
            show_default=False,
        ),
    ] = None,
    *,
    policy: Annotated[list[str] | None, typer.Option(help="Policies; default and chat.")] = None,
    arm: Annotated[
        Arm | None, typer.Option(help="Only first requests after an import, or only later ones.", show_default=False)
    ] = None,
    budget: Annotated[list[int] | None, typer.Option(min=200, help="Tokens of a request; 500 to 8000.")] = None,
    only: Annotated[list[str] | None, typer.Option("--set", help="Only these sets, such as locomo.")] = None,
    generated: Annotated[int, typer.Option(min=0, max=5, help="So many made-up talks beside them.")] = 2,
    split: Annotated[Half, typer.Option(help="The half of the questions.")] = "report",
    questions: Annotated[int | None, typer.Option(min=1, help="Only so many of each conversation.")] = None,
    vectors: Annotated[bool, typer.Option("--vectors", help="Search by meaning, too: foveate[embeddings].")] = False,
    kinds: Annotated[bool, typer.Option("--kinds", help="Also by the number of messages that answer.")] = False,
    jobs: Jobs = 2,
) -> None:
    """How much of what answers a question stands in the request: whole messages / sentences / tokens sent."""
    recorded = folder or recorded_folder()
    conversations = [*(conversations_in(recorded) if recorded else ()), *generated_conversations(generated)]
    cells = [
        Cell(one, name, tokens, which, split, questions, vectors)
        for name in policy or POLICIES
        for which in ((arm,) if arm is not None else get_args(Arm))
        for one in conversations
        if only is None or one.set in only
        for tokens in budget or BUDGETS
    ]
    with progress_bar("conversations") as progress:
        rows = list(rows_of(shown_in(cells, jobs, progress), kinds=kinds))
    if not rows:
        refuse(f"no conversations: there are {', '.join(sorted({one.set for one in conversations})) or 'none'}")
    table = Table("policy", "request", "set", "evidence", *(f"{tokens:,}" for tokens in rows[0].by_budget))
    for row in rows:
        table.add_row(*row_cells(row))
    Console(width=200 if not sys.stdout.isatty() else None).print(table)


@app.command()
def report(
    *,
    out: Annotated[Path, typer.Option(help="Folder of the page and its results.")] = FOLDER,
    readme: Annotated[Path | None, typer.Option(help="Its headline table.")] = None,
) -> None:
    """Write the page anew from the results that there are."""
    for path in written(out):
        console.print(f"written: {path}")
    measured = loaded(out / "results" / "replay.json", ReplayOutcome)
    if readme is not None and measured is not None:
        refreshed(readme, measured)
        console.print(f"written: {readme}")


@app.command("all")
def everything(
    logs: Logs = None, *, peers: WithPeers = True, jobs: Jobs = 2, out: Out = None, quick: Quick = False
) -> None:
    """Measure everything anew and write the page; takes about two hours and a half on two slow cores."""
    folder = _folder(out, is_part=bool(logs) or quick or not peers)
    replay(logs, peers=peers, jobs=jobs, out=folder, quick=quick)
    growth(peers=peers, out=folder, quick=quick)
    engine(logs, peers=peers, out=folder, quick=quick)
    recall(logs, out=folder, quick=quick)
    report(out=folder, readme=ROOT / "README.md" if folder == FOLDER else None)


@app.command("peers")
def list_peers() -> None:
    """Make the environments of all peers, and say which of them run and get through a session of every shape."""
    table = Table("peer", "versions", "arms", "rehearsal")
    went_wrong = False
    for peer in _peers():
        versions = ", ".join(f"{name} {version}" for name, version in peer.versions.items())
        said = rehearsed(peer)
        went_wrong = went_wrong or any(said.values())
        table.add_row(
            peer.name,
            versions,
            peer.reason or "\n".join(f"{arm.name}: {arm.call}" for arm in peer.arms),
            "\n".join(f"{name}: {trouble}" for name, trouble in said.items() if trouble) or ("answers" if said else ""),
        )
    Console().print(table)
    if went_wrong:
        refuse("some arms do not get through the rehearsal in bench/rehearsal.py; correct their adapters")


def _folder(out: Path | None, *, is_part: bool) -> Path:
    """Where results go; what is not the whole of the published benchmark does not take its place unasked."""
    return out if out is not None else OWN_FOLDER if is_part else FOLDER


def _material(logs: Sequence[Path] | None) -> Collected:
    return collect_sessions(log_paths(logs))


def _peers() -> list[Peer]:
    found: list[Peer] = []
    with progress_bar("peers") as progress:
        files = adapters()
        for number, adapter in enumerate(files, 1):
            found.append(peer_of(adapter))
            progress(number, len(files), found[-1].name)
    for peer in found:
        if peer.reason:
            console.print(f"{peer.name} does not run: {peer.reason}", style="yellow")
    return found


def _arms_of(names: Sequence[str]) -> list[Contestant]:
    """The arms of a few peers."""
    files = [adapter for adapter in adapters() if adapter.stem.removeprefix("with_") in names]
    return [arm for adapter in files for arm in contestants(peer_of(adapter))]


def _save(outcome: ReplayOutcome | GrowthOutcome | EngineOutcome | RecallOutcome, path: Path) -> None:
    saved(outcome, path)
    console.print(f"written: {path}")
    folder = path.parents[1]
    if folder != FOLDER:
        console.print(f"the page of it: foveate-bench report --out {shlex.quote(str(folder))}")
