"""`foveate knowledge` and `foveate context`: what a project knows, and what a task is told of it."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from foveate.cli.output import AsJson, print_json, print_table, print_text, say
from foveate.cli.phrases import count, shown
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import ConfigError, NoStoreError, StoreError
from foveate.named_files import read_named_text

if TYPE_CHECKING:
    from foveate.knowledge.base import Knowledge

_HERE: Final = Path()
# In bytes: some hundred thousand nodes.
_MOST_GRAPH: Final = 100_000_000

knowledge_app = typer.Typer(help="What a project knows: decisions, patterns, gotchas, insights.", no_args_is_help=True)

Project = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        envvar="FOVEATE_PROJECT",
        help="Whose knowledge: that of the project with this name, else with the name of the git repository, "
        "else with the name of the directory.",
        show_default=False,
    ),
]
NodeKind = Literal["task", "decision", "pattern", "gotcha", "insight"]
Kind = Annotated[NodeKind, typer.Argument(metavar="TYPE", help="What it is.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="What it is about; several times.")]


@contextmanager
def known(
    store: str | None, system: str | None, project: str | None, *, create: bool = False, folder: Path = _HERE
) -> Generator[Knowledge, None, None]:
    """The knowledge of the project that a command is about; nowhere is it made unless `create` says so."""
    with reported(), known_if_any(store, system, project, create=create, folder=folder) as knowledge:
        if knowledge is None:
            # Not on top: `--help` must not wait for SQLAlchemy.
            from foveate.store.location import located

            place = located(store, system=system)
            raise StoreError(
                f"nothing is known yet: no store at {str(place.store)!r} ({place.rule}); `foveate knowledge add`, "
                "`foveate map build` and `foveate handoff ingest` make one, or name another with `--store`"
            )
        yield knowledge


@contextmanager
def known_if_any(
    store: str | None, system: str | None, project: str | None, *, create: bool = False, folder: Path = _HERE
) -> Generator[Knowledge | None, None, None]:
    """The same, or None if there is no store yet: no file for it, or a database without our tables."""
    # Not on top: `--help` must not wait for SQLAlchemy.
    from foveate.knowledge.base import Knowledge
    from foveate.knowledge.project import project_of
    from foveate.store.engine import url_of
    from foveate.store.location import located

    url = url_of(located(store, system=system).store)
    file = url.database if url.get_backend_name() == "sqlite" else None
    # `file:…` is an address of SQLite's own, which says itself what is to be made.
    if not create and file and not file.startswith((":", "file:")) and not Path(file).exists():
        yield None
        return
    with ExitStack() as closing:
        try:
            found = closing.enter_context(opened(store, system, create=create))
        except NoStoreError:
            yield None
            return
        yield Knowledge(found, project_of(folder, project))


def domains_here() -> Mapping[str, Sequence[str]]:
    """The domains that the nearest `foveate.toml` adds to those that are known."""
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.lab.config import config_at

    return config_at().domains


def today() -> str:
    """The date that new knowledge gets."""
    return datetime.now(UTC).date().isoformat()


def context_command(
    task: Annotated[
        Path,
        typer.Argument(
            metavar="TASK", help="A task in YAML or JSON, - for standard input; or a context that `--json` printed."
        ),
    ],
    complexity: Annotated[
        Literal["easy", "normal", "complex"] | None,
        typer.Option("--complexity", help="How much the task is told; as the task says, else normal."),
    ] = None,
    budget: Annotated[int, typer.Option("--budget", metavar="TOKENS", help="The most tokens, 200 or more.")] = 2_000,
    debug: Annotated[
        bool, typer.Option("--debug", help="Also print how the context came about; so does DEBUG_CONTEXT=true.")
    ] = False,
    project: Project = None,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Print what a task should know of what earlier ones learned; no model is asked.

    Example: foveate context TASK.yaml --debug
    """
    with reported(), known_if_any(store, system, project) as knowledge:
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.knowledge import context_of, rendered
        from foveate.knowledge.checked import read_task
        from foveate.knowledge.context_data import context_data, context_from_data, is_context_data
        from foveate.knowledge.debugging import VARIABLE, is_asked_for

        # Nor this.
        from foveate.knowledge.render import debug_report, shortened
        from foveate.work.reading import parsed

        data = parsed(read_named_text(task, standard_input=True), str(task))
        if is_context_data(data):
            # One that was computed before, as JSON: it is only printed.
            context = context_from_data(data, name=str(task))
        else:
            given = read_task(data, name=str(task))
            context = context_of(given, knowledge, today=today(), complexity=complexity, domains=domains_here())
        if as_json:
            print_json(context_data(shortened(context, budget=budget)))
            return
        print_text(rendered(context, budget=budget).rstrip("\n"))
        if debug or is_asked_for(os.environ.get(VARIABLE, "")):
            print_text(f"\n{debug_report(context)}".rstrip("\n"))


@knowledge_app.command("add")
def add_command(
    type: Kind,
    summary: Annotated[str, typer.Argument(metavar="SUMMARY", help="In one sentence.")],
    tag: Tags = None,
    file: Annotated[str | None, typer.Option("--file", metavar="PATH", help="Where it shows.")] = None,
    severity: Annotated[
        Literal["high", "medium", "low"] | None, typer.Option("--severity", help="How bad a gotcha is.")
    ] = None,
    rationale: Annotated[str | None, typer.Option("--rationale", metavar="TEXT", help="Why.")] = None,
    connect: Annotated[
        list[str] | None, typer.Option("--connect", metavar="ID", help="A node it belongs to; several times.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="Its name; made up if it is left out.")] = None,
    project: Project = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Add a node and print its id.

    Example: foveate knowledge add gotcha "The tests need a database" --tag testing --severity high
    """
    with known(store, system, project, create=True) as knowledge:
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.knowledge.models import Node

        for one in connect or ():
            # Who is not there is refused by name, with those that are spelt alike.
            knowledge.node(one)
        node = Node(
            id=id or knowledge.new_id(type),
            type=type,
            summary=summary,
            tags=tuple(tag or ()),
            file=file,
            severity=severity,
            rationale=rationale,
            connections=tuple(connect or ()),
        )
        typer.echo(knowledge.add(node, now=today()))


@knowledge_app.command("update")
def update_command(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a node; `foveate knowledge query` finds it.")],
    summary: Annotated[str | None, typer.Option("--summary", metavar="TEXT", help="In one sentence.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="All its tags anew; several times.")
    ] = None,
    file: Annotated[str | None, typer.Option("--file", metavar="PATH", help="Where it shows; '' for nowhere.")] = None,
    severity: Annotated[
        Literal["high", "medium", "low"] | None, typer.Option("--severity", help="How bad a gotcha is.")
    ] = None,
    rationale: Annotated[str | None, typer.Option("--rationale", metavar="TEXT", help="Why; '' for nothing.")] = None,
    connect: Annotated[
        list[str] | None, typer.Option("--connect", metavar="ID", help="One more node it belongs to; several times.")
    ] = None,
    project: Project = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Change what a node says; what is not given stays as it is.

    Example: foveate knowledge update gotcha-003 --severity low --tag testing
    """
    with known(store, system, project) as knowledge:
        changes: dict[str, Any] = {
            name: value for name, value in (("summary", summary), ("severity", severity)) if value is not None
        }
        changes |= {
            name: value or None for name, value in (("file", file), ("rationale", rationale)) if value is not None
        }
        if tag:
            changes["tags"] = tuple(tag)
        if connect:
            # Who is not there is refused by name, with those that are spelt alike.
            changes["connections"] = (*knowledge.node(id).connections, *(knowledge.node(one).id for one in connect))
        if not changes:
            raise ConfigError(f"nothing to change of {id!r}; give `--summary`, `--tag` or another option")
        knowledge.update(id, **changes)
        typer.echo(f"{shown(id)} is changed")


@knowledge_app.command("query")
def query_command(
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Tags, or words of a summary.")],
    type: Annotated[NodeKind | None, typer.Option("--type", help="Only nodes of this type.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The most nodes.")] = 10,
    project: Project = None,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Find nodes by tags and words, best first.

    Example: foveate knowledge query database migration
    """
    with known(store, system, project) as knowledge:
        found = knowledge.query_by_tags(
            words, words=words, types=(type,) if type is not None else (), limit=limit, today=today()
        )
        if as_json:
            print_json([{**plain(one.node), "score": round(one.score, 3)} for one in found])
        elif not found:
            say(f"nothing is known about {shown(' '.join(words))} in project {shown(knowledge.project)}")
        else:
            rows = [
                [
                    shown(one.node.id),
                    one.node.type,
                    f"{one.score:.2f}",
                    shown(", ".join(one.node.tags)),
                    shown(one.node.summary),
                ]
                for one in found
            ]
            print_table({"id": "name", "type": "name", "score": "number", "tags": "words", "summary": "words"}, rows)


@knowledge_app.command("show")
def show_command(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a node; `foveate knowledge query` finds it.")],
    depth: Annotated[int, typer.Option("--depth", min=1, help="How far to follow connections.")] = 1,
    project: Project = None,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Show a node, and what it is connected to.

    Example: foveate knowledge show pattern-001 --depth 2
    """
    with known(store, system, project) as knowledge:
        node, near = knowledge.node(id), knowledge.connected(id, depth)
        if as_json:
            print_json({**plain(node), "connected": [plain(one) for one in near]})
            return
        for name, value in plain(node).items():
            said = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
            print_text(f"{name}: {said}")
        for one in near:
            print_text(f"→ {one.id} ({one.type}): {one.summary}")


@knowledge_app.command("retire")
def retire_command(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a node.")],
    undo: Annotated[bool, typer.Option("--undo", help="Let it be found again.")] = False,
    project: Project = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Let a node be found no more, also if it is said again; it stays in the store.

    Example: foveate knowledge retire gotcha-003
    """
    with known(store, system, project) as knowledge:
        if undo:
            knowledge.restore(id)
        else:
            knowledge.retire(id)
        typer.echo(f"{shown(id)} is {'found again' if undo else 'retired'}")


@knowledge_app.command("merge")
def merge_command(
    keep: Annotated[str | None, typer.Argument(metavar="ID", help="The node to keep.", show_default=False)] = None,
    others: Annotated[list[str] | None, typer.Argument(metavar="OTHER", help="Nodes that say the same.")] = None,
    project: Project = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Make nodes that say the same one; without ids, list such nodes.

    Example: foveate knowledge merge pattern-001 pattern-007
    """
    with known(store, system, project) as knowledge:
        if keep is None:
            groups = knowledge.duplicates()
            for group in groups:
                typer.echo(" ".join(group))
            say(f"{count(len(groups), 'group')} of nodes that say the same")
            return
        if not others:
            raise ConfigError(f"name the nodes to merge into {keep!r}")
        node = knowledge.merge(keep, *others)
        typer.echo(f"{shown(node.id)} stands for {count(len(others), 'node')} more")


@knowledge_app.command("import")
def import_command(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A knowledge_graph.json, a memory (*.md), or a folder of memories."),
    ],
    project: Project = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Take in a knowledge graph or hand-written memories; all of it or nothing.

    Example: foveate knowledge import knowledge_graph.json
    """
    with known(store, system, project, create=True) as knowledge:
        if path.is_dir() or (path.suffix.lower() in (".md", ".markdown") and path.is_file()):
            read = knowledge.read_memories(path)
            for one in read.left_out:
                say(f"left out, as it has no front matter: {shown(str(one))}")
            for one, reason in read.not_read:
                say(f"left out, as {reason}: {shown(str(one))}")
            typer.echo(f"{count(len(read.nodes), 'memory file')} taken in")
            return
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.work.reading import parsed

        text = read_named_text(path, most=_MOST_GRAPH, standard_input=True)
        taken = knowledge.import_graph(parsed(text, str(path)), lambda note: say(shown(note)))
        typer.echo(f"{count(taken, 'node')} taken in")


@knowledge_app.command("export")
def export_command(project: Project = None, store: StorePlace = None, system: SystemPlace = None) -> None:
    """Print all nodes as a knowledge_graph.json.

    Example: foveate knowledge export > knowledge_graph.json
    """
    with known(store, system, project) as knowledge:
        print_json(knowledge.export_graph())


def plain(value: Any) -> Any:
    # Not on top: `--help` and other commands need not wait for it.
    import msgspec

    return msgspec.to_builtins(value)
