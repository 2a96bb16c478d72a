"""Carrying out a workflow for a command: who answers, what is told on the way, and what a dry run prints."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from foveate.agents.driver import Driver, OnText, Reply, Schema
from foveate.chat.opening import Answering
from foveate.cli.output import print_table, print_text, say
from foveate.cli.phrases import ago, shown
from foveate.cli.store import opened
from foveate.errors import ConfigError
from foveate.integrations.chats import Chats, chats_of
from foveate.integrations.models import chosen_for_chat, window_of
from foveate.log.messages import ToolCall
from foveate.scripts.previewing import Preview, previewed
from foveate.scripts.reading import read_script
from foveate.scripts.running import Done, Run
from foveate.scripts.script import Script, Step
from foveate.scripts.stage import Stage
from foveate.store import Store
from foveate.store.location import located
from foveate.wire.format import Request
from foveate.workflow.lock import held
from foveate.workflow.setting import lock_of


def carry_out(
    file: Path,
    vault: Path | None,
    given: Mapping[str, Any],
    *,
    store: str | None,
    system: str | None,
    only: str | None,
) -> bool:
    """Carry out a workflow; whether all of its steps went well."""
    script, root = _read(file, vault)
    with opened(store, system, create=True) as found, ExitStack() as stack:
        chats = _chats(found, system, root, script, given)
        models = _Models(chats, stack)
        stage = Stage(script=script, place=chats.place, root=root, answering=models.answering)
        stage.steps(only)
        _hold(stack, found, script)
        for note in script.notes:
            say(f"note: {shown(note)}")
        done = asyncio.run(Run(stage, _Screen()).run(only))
    asked = next((one for one in reversed(done) if one.calls), None)
    if asked is not None:
        say(f"look at a request with `foveate explain {shlex.quote(asked.session)} --call {asked.calls[-1]}`")
    return not any(one.error is not None for one in done)


def print_previews(
    file: Path,
    vault: Path | None,
    given: Mapping[str, Any],
    *,
    store: str | None,
    system: str | None,
    only: str | None,
) -> None:
    """Print the request of each step; no model is asked, and no session or file is written."""
    script, root = _read(file, vault)
    with _readable(store, system) as found:
        chats = _chats(found, system, root, script, given)

        def nobody(alias: str | None) -> Answering:
            name = _name_of(chats, alias)
            return Answering(driver=_Nobody(name), window=window_of(name))

        stage = Stage(script=script, place=chats.place, root=root, answering=nobody)

        async def printed() -> None:
            between = ""
            async for preview in previewed(stage, only):
                typer.echo(between, nl=False)
                between = "\n"
                _print_preview(preview, _name_of(chats, preview.step.model))

        asyncio.run(printed())


def print_steps(script: Script) -> None:
    """Print the steps of a workflow, one to a line."""
    typer.echo(shown(f"{script.name}: {script.description}" if script.description else script.name))
    rows = [
        [
            shown(step.name),
            "none" if step.copies else shown(step.model or ""),
            shown(step.helper or ""),
            shown(", ".join(one.label for one in step.inputs)),
            shown(", ".join(one.label for one in step.outputs)),
            ", ".join(step.tools),
            "" if step.recent_runs is None else str(step.recent_runs),
            _cache(step),
        ]
        for step in script.steps
    ]
    columns = ("step", "model", "helper", "inputs", "outputs", "tools", "runs", "cache")
    print_table(dict.fromkeys(columns, "name"), rows)


def _read(file: Path, vault: Path | None) -> tuple[Script, Path]:
    root = (vault or Path()).resolve()
    if not root.is_dir():
        raise ConfigError(f"`--vault` {str(vault)!r} is no folder; create it or name another")
    return read_script(file, root=root), root


def _chats(store: Store, system: str | None, root: Path, script: Script, given: Mapping[str, Any]) -> Chats:
    said = {name: value for name, value in given.items() if value is not None}
    return chats_of(store, vault=root, system=Path(system) if system else None, given={**script.settings, **said})


def _hold(stack: ExitStack, store: Store, script: Script) -> None:
    name = f"workflow:{script.name}"
    try:
        stack.enter_context(held(lock_of(store, name), name))
    except ConfigError as error:
        raise ConfigError(
            f"another process carries out the workflow {script.name!r}; wait for it, or end it"
        ) from error


@contextmanager
def _readable(store: str | None, system: str | None) -> Generator[Store, None, None]:
    """The store of a command, or one of the moment if there is none yet: a dry run makes nothing."""
    place = str(located(store, system=system).store)
    if "://" in place or Path(place).exists():
        with opened(store, system) as found:
            yield found
        return
    with TemporaryDirectory() as folder, Store(Path(folder) / "context.db") as found:
        yield found


class _Models:
    """The models of a workflow by their names, each begun when it is first asked."""

    def __init__(self, chats: Chats, stack: ExitStack) -> None:
        self._chats = chats
        self._stack = stack
        self._begun: dict[str | None, Answering] = {}

    def answering(self, alias: str | None) -> Answering:
        """Who answers a step that names this model; None is the one that is used without a name."""
        if alias not in self._begun:
            place = self._chats.place
            if alias is not None:
                place = replace(place, settings=replace(place.settings, model=alias))
            chosen, by = self._stack.enter_context(self._chats._replace(place=place).answering())
            say(f"  {chosen.name} answers: {chosen.why}")
            self._begun[alias] = by
        return self._begun[alias]


def _name_of(chats: Chats, alias: str | None) -> str:
    try:
        return chosen_for_chat(alias or chats.place.settings.model, chats.config.models, os.environ).name
    except ConfigError:
        # To look at a request nobody needs a model.
        return "no model"


class _Screen:
    """Tells how a workflow goes on, on standard error; what no directive sends elsewhere is printed."""

    def began(self, step: Step, /) -> None:
        say(f"▶ {shown(step.name)}")

    def noted(self, step: Step, note: str, /) -> None:
        say(f"  ! {shown(note)}")

    def called(self, call: ToolCall, /) -> None:
        say(f"  → {shown(call.name)} {shown(call.arguments)[:120]}")

    def ended(self, done: Done, /) -> None:
        where = f" → {', '.join(shown(one) for one in done.delivered)}" if done.delivered else ""
        if done.error is not None:
            say(f"✗ {shown(done.step.name)}: {done.error}{where}")
            return
        made = f", made {ago(datetime.fromtimestamp(done.made, UTC))}" if done.made is not None else ""
        status = "" if done.status == "done" else f" ({done.status}{made})"
        say(f"✓ {shown(done.step.name)}{status}{where}")
        if not done.step.outputs:
            print_text(done.output)


def _print_preview(preview: Preview, model: str) -> None:
    name = shown(preview.step.name)
    for note in preview.notes:
        say(f"! {name}: {shown(note)}")
    if preview.view is None:
        typer.echo(f"=== {name} · asks nobody")
        print_text(preview.copied)
        return
    tools = f" · tools: {', '.join(preview.tools)}" if preview.tools else ""
    typer.echo(f"=== {name} · {shown(model)} · {preview.view.tokens:,} tokens{tools}")
    print_text(preview.view.to("text"))


def _cache(step: Step) -> str:
    return f"{step.cache} s" if isinstance(step.cache, int) else step.cache or ""


class _Nobody:
    """Nobody is asked when requests are only printed."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: OnText | None = None) -> Reply:
        raise AssertionError("a request is printed without asking a model")


_: type[Driver] = _Nobody
