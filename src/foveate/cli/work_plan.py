"""Plans of runs on the command line: printed, changed in an editor, or read from a file."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import msgspec
import typer

from foveate.cli.output import print_json, print_text, say
from foveate.cli.phrases import count, shown
from foveate.cli.work_run import progress_of
from foveate.errors import ConfigError
from foveate.named_files import read_named_text
from foveate.session import Session
from foveate.store import Store
from foveate.work import TaskDAG, read_plan, written_plan
from foveate.work.plan import revised_plan
from foveate.workflow.lock import held
from foveate.workflow.running import record_plan
from foveate.workflow.setting import lock_of


def plan_of(store: Store, run: str) -> TaskDAG:
    """The plan of a run, with the state of each task."""
    plan = progress_of(store, run).plan
    if plan is None:
        raise ConfigError(f"the run {run!r} has no plan yet; `foveate work resume {shlex.quote(run)}` makes one")
    return plan


def print_plan(plan: TaskDAG, *, as_json: bool) -> None:
    """Print a plan as YAML, in the form that `--from` and `foveate work run --plan` read, or as JSON."""
    if as_json:
        print_json(msgspec.to_builtins(plan))
    else:
        print_text(written_plan(plan).rstrip("\n"))


def change_plan(store: Store, run: str, text: str, where: str) -> None:
    """Have a run go on with the plan in a text; all mistakes in it are named, and then nothing is changed."""
    current = plan_of(store, run)
    edited = read_plan(text, where)
    if not edited.tasks:
        raise ConfigError(f"{where}: the plan has no tasks; give it some")
    try:
        revised = revised_plan(current, edited)
    except ConfigError as error:
        raise ConfigError("\n".join(f"{where}: {one}" for one in str(error).split("\n"))) from None
    hint = f"go on with `foveate work resume {shlex.quote(run)}`"
    if revised == current:
        say(f"the plan is as it was; {hint}")
        return
    with held(lock_of(store, run), run), Session.open(store, run) as session:
        record_plan(session, revised)
    say(f"the plan of {shown(run)} has {count(len(revised.tasks), 'task')} now; {hint}")


def edited_plan(store: Store, run: str) -> None:
    """Open the plan of a run in the user's editor; a text that is refused is kept in a file."""
    before = written_plan(plan_of(store, run))
    # In a file of its own that stays if the plan is refused: nobody writes it twice.
    descriptor, name = tempfile.mkstemp(prefix="foveate-plan-", suffix=".yaml")
    path = Path(name)
    os.close(descriptor)
    path.write_text(before, encoding="utf-8")
    _edit(path)
    text = read_named_text(path)
    try:
        change_plan(store, run, text, str(path))
    except ConfigError:
        again = f"foveate work plan {shlex.quote(run)} --from {shlex.quote(name)}"
        say(f"nothing was changed; your text is in {name}: correct it, then `{again}`")
        raise
    path.unlink()


def _edit(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        ended = subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603  the user's own editor
    except (OSError, ValueError) as error:
        path.unlink()
        raise ConfigError(f"the editor {editor!r} cannot be started: {error}; set EDITOR, or use `--from`") from error
    if ended.returncode:
        say(f"the editor {editor!r} ended with code {ended.returncode}; nothing was changed")
        path.unlink()
        raise typer.Exit(1)
