"""`foveate handoff`, `foveate journal` and `foveate map`: what tasks leave behind, and where things are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.knowledge import Project, Tags, domains_here, known, plain, today
from foveate.cli.output import AsJson, print_json, print_table, print_text, say, shown_progress
from foveate.cli.phrases import count, shown
from foveate.cli.source import DEFECTS, reported
from foveate.cli.store import StorePlace, SystemPlace
from foveate.named_files import read_named_text

if TYPE_CHECKING:
    from foveate.knowledge.base import Knowledge
    from foveate.knowledge.ingestion import Ingested
    from foveate.knowledge.models import Handoff, JournalTask

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
            handoff = parse_handoff(read_named_text(file, standard_input=True), changed=changed or ())
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
    depends_on: Annotated[
        list[str] | None, typer.Option("--depends-on", metavar="ID", help="A task it built upon; several times.")
    ] = None,
    changed: Changed = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Save what can be saved of a handoff that breaks rules, or is none.")
    ] = False,
    project: Project = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Take a handoff into graph, map and journal; a second time changes nothing but name, summary and tags.

    Example: foveate handoff ingest handoff.yaml --task T1
    """
    with known(store, system, project, create=True) as knowledge:
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.knowledge.models import JournalTask

        text = read_named_text(file, standard_input=True)
        handoff = _handoff_in(text, changed or (), lenient=lenient)
        given = JournalTask(
            id=task, name=name, summary=summary, tags=tuple(tag or ()), dependencies=tuple(depends_on or ())
        )
        done = knowledge.ingest(_described(knowledge, given, text, handoff), handoff, today=today())
        _tell(done, handoff)


def journal_command(
    project: Project = None, as_json: AsJson = False, store: StorePlace = None, system: SystemPlace = None
) -> None:
    """List the tasks of a project with what came of them, what stands in the way and what is to be done next.

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
        rows = [[shown(one.id), _status(one), shown(one.name), shown(one.summary)] for one in tasks]
        print_table({"task": "name", "status": "name", "name": "words", "summary": "words"}, rows)
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.knowledge.journal_text import journal_lines

        for line in journal_lines(tasks, blockers):
            print_text(line)


def _handoff_in(text: str, changed: Sequence[str], *, lenient: bool) -> Handoff:
    """The handoff in a text; what was salvaged, and why, is said."""
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.knowledge.handoff import parse_handoff, read_handoff

    if not lenient:
        return parse_handoff(text, changed=changed)
    read = read_handoff(text, changed=changed)
    for problem in read.problems:
        say(f"salvaged: {shown(problem)}")
    return read.handoff


def _described(knowledge: Knowledge, given: JournalTask, text: str, handoff: Handoff) -> JournalTask:
    """The task with what is not given of it: as the journal has it, else as its words say."""
    from msgspec.structs import replace

    # Not on top: `--help` and other commands need not wait for it.
    from foveate.knowledge.handoff_text import told_in
    from foveate.knowledge.models import ContextTask
    from foveate.knowledge.signals import extract_signals

    before = knowledge.task(given.id)
    if before is not None and before.handoff == handoff:
        # The same again: only what is said anew is changed.
        return given
    told = told_in(text, handoff)
    # A name that somebody gave stays.
    name = given.name or (before.name if before is not None else "") or told.name
    summary = given.summary or told.summary
    about = extract_signals(ContextTask(name=name, objective=summary), domains=domains_here())
    return replace(given, name=name, summary=summary, tags=given.tags or about.domains)


def _tell(done: Ingested, handoff: Handoff) -> None:
    if done.repeated:
        what = "name, summary, tags or dependencies were changed" if done.corrected else "nothing changed"
        typer.echo(f"this handoff of {shown(done.task_id)} was taken in already; {what}")
        return
    typer.echo(
        f"{handoff.outcome}: {count(len(done.added), 'node')} added, {len(done.merged)} merged, "
        f"{count(len(done.entries), 'place')} on the map, {count(done.blockers, 'blocker')}"
    )
    if done.retired:
        say(f"said again, but retired: {shown(', '.join(done.retired))}; `foveate knowledge retire ID --undo` revives")


def _status(task: JournalTask) -> str:
    return f"{task.status} (salvaged)" if task.handoff is not None and task.handoff.salvaged else task.status


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
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.knowledge.project import home_of

    home = home_of(folder) if project is None else home_of(Path())
    with known(store, system, project, create=True, folder=home) as knowledge:
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.knowledge.charting import chart

        with shown_progress(None, worth=sys.stderr.isatty()) as tell:
            made = chart(knowledge, folder, lambda done, total: tell(f"reading {total:,} files", done), within=home)
        left = ", ".join(f"{number} {reason}" for reason, number in made.left_out.items())
        typer.echo(
            f"{count(len(made.entries), 'place')} on the map of project {shown(knowledge.project)}, "
            f"{count(made.parsed, 'file')} read{f', left out: {left}' if left else ''}"
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
