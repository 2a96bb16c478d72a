"""`foveate handoff`, `foveate journal` and `foveate map`: what tasks leave behind, and where things are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from foveate.cli.knowledge import Project, Tags, domains_here, known, plain, text_of, today
from foveate.cli.output import AsJson, print_json, print_table, print_text, say, shown_progress
from foveate.cli.phrases import count, shown
from foveate.cli.source import DEFECTS, reported
from foveate.cli.store import StorePlace, SystemPlace

handoff_app = typer.Typer(help="What an agent hands over when its task ends.", no_args_is_help=True)
map_app = typer.Typer(help="Where things are in the code.", no_args_is_help=True)

HandoffFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A handoff, or a text with one; - for standard input.")
]


Changed = Annotated[
    list[str] | None,
    typer.Option("--changed", metavar="PATH", help="A file that the task changed: the handoff must name files then."),
]


@handoff_app.command("check")
def check_command(file: HandoffFile, changed: Changed = None) -> None:
    """Say whether a handoff keeps the rules, and which it breaks; exit code 4 if it breaks any.

    Example: foveate handoff check handoff.yaml
    """
    with reported():
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.knowledge.handoff import HandoffError, parse_handoff

        try:
            handoff = parse_handoff(text_of(file), changed=changed or ())
        except HandoffError as error:
            for problem in error.problems:
                print_text(problem)
            raise typer.Exit(DEFECTS) from None
        typer.echo(f"the handoff is right: {handoff.outcome}")


@handoff_app.command("ingest")
def ingest_command(
    file: HandoffFile,
    task: Annotated[str, typer.Option("--task", metavar="ID", help="The task that hands over.")],
    name: Annotated[str, typer.Option("--name", help="The name of the task; else its first sentence.")] = "",
    summary: Annotated[str, typer.Option("--summary", help="What was done; else what the text says.")] = "",
    tag: Tags = None,
    changed: Changed = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Save what can be saved of a handoff that breaks rules, or is none.")
    ] = False,
    project: Project = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Take a handoff into graph, map and journal; a second time changes nothing.

    Example: foveate handoff ingest handoff.yaml --task T1
    """
    with known(store, system, project, create=True) as knowledge:
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.knowledge.handoff import parse_handoff, read_handoff
        from foveate.knowledge.handoff_text import told_in
        from foveate.knowledge.models import ContextTask, JournalTask
        from foveate.knowledge.signals import extract_signals

        text = text_of(file)
        read = read_handoff(text, changed=changed or ()) if lenient else None
        handoff = read.handoff if read is not None else parse_handoff(text, changed=changed or ())
        for problem in read.problems if read is not None else ():
            say(f"salvaged: {shown(problem)}")
        told, before = told_in(text), knowledge.task(task)
        # A name that somebody gave stays.
        name = name or (before.name if before is not None else "") or told.name
        summary = summary or told.summary
        about = extract_signals(ContextTask(name=name, objective=summary), domains=domains_here())
        given = JournalTask(id=task, name=name, summary=summary, tags=tuple(tag or about.domains), handoff=handoff)
        done = knowledge.ingest(given, handoff, today=today())
        if done.repeated:
            typer.echo(f"this handoff of {shown(task)} was taken in already; nothing changed")
            return
        typer.echo(
            f"{handoff.outcome}: {count(len(done.added), 'node')} added, {len(done.merged)} merged, "
            f"{count(len(done.entries), 'place')} on the map, {count(done.blockers, 'blocker')}"
        )


def journal_command(
    project: Project = None, as_json: AsJson = False, store: StorePlace = None, system: SystemPlace = None
) -> None:
    """List the tasks of a project with what came of them, and what stands in the way.

    Example: foveate journal
    """
    with known(store, system, project) as knowledge:
        tasks, blockers = knowledge.tasks(), knowledge.blockers()
        if as_json:
            blocked = [{"task": task, **plain(one)} for task, one in blockers]
            print_json({"tasks": [plain(task) for task in tasks], "blockers": blocked})
            return
        if not tasks:
            say(f"no task of project {shown(knowledge.project)} has handed anything over yet")
            return
        rows = [[shown(one.id), one.status, shown(one.name), shown(one.summary)] for one in tasks]
        print_table({"task": "name", "status": "name", "name": "words", "summary": "words"}, rows)
        for task, blocker in blockers:
            print_text(f"! {task}: {blocker.blocker}")


@map_app.command("build")
def build_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A repository, or any folder with code.")] = Path(),
    project: Project = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Put the files of a repository on the map, with what they define; unchanged files are not read again.

    Example: foveate map build .
    """
    with known(store, system, project, create=True) as knowledge:
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.knowledge.charting import chart
        from foveate.knowledge.project import root_of

        with shown_progress(None, worth=sys.stderr.isatty()) as tell:
            made = chart(
                knowledge, folder, lambda done, total: tell(f"reading {total:,} files", done), within=root_of(Path())
            )
        left = ", ".join(f"{number} {reason}" for reason, number in made.left_out.items())
        typer.echo(
            f"{count(len(made.entries), 'place')} on the map, {count(made.parsed, 'file')} read"
            f"{f', left out: {left}' if left else ''}"
        )


@map_app.command("show")
def map_show_command(
    words: Annotated[list[str] | None, typer.Argument(metavar="WORD", help="Only what is about this.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The most places.")] = 20,
    project: Project = None,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Show the map, or the places of it that some words are about.

    Example: foveate map show recall ranking
    """
    with known(store, system, project) as knowledge:
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.knowledge.models import ContextTask
        from foveate.knowledge.signals import extract_signals
        from foveate.knowledge.sources import ProjectSource

        if words:
            signals = extract_signals(ContextTask(objective=" ".join(words)), domains=domains_here())
            entries = [entry for entry, _ in ProjectSource(knowledge=knowledge).code(signals).ranked]
        else:
            entries = knowledge.entries()
        if as_json:
            print_json([plain(entry) for entry in entries[:limit]])
            return
        rows = [[shown(one.location), shown(one.component), shown(one.notes)] for one in entries[:limit]]
        if not rows:
            where = f"the map of project {shown(knowledge.project)}"
            if words and knowledge.map_near(()).total:
                say(f"nothing on {where} is about {shown(' '.join(words))}")
            else:
                say(f"nothing is on {where}; `foveate map build DIR` puts a repository on it")
            return
        print_table({"location": "name", "component": "words", "notes": "words"}, rows)
        if len(entries) > limit:
            say(f"{len(entries) - limit:,} more; see them with `--limit`")
