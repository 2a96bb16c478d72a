"""Carrying out a workflow for a command: who answers, what is told on the way, and what a dry run prints."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Generator, Iterator, Mapping
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
from foveate.errors import ConfigError, TemplateError
from foveate.integrations.chats import Chats, chats_of
from foveate.integrations.models import LOCAL, chosen_for_chat, window_of
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
    script, root = _read(file, vault, given)
    with opened(store, system, create=True) as found, ExitStack() as stack:
        chats = _chats(found, system, root, script, given)
        stage = _stage(script, chats, root, _Models(chats, stack).answering)
        stage.steps(only)
        _hold(stack, found, stage.script)
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
    script, root = _read(file, vault, given)
    with _readable(store, system) as found:
        chats = _chats(found, system, root, script, given)

        def nobody(alias: str | None) -> Answering:
            name = _name_of(chats, alias)
            return Answering(driver=_Nobody(name), window=window_of(name))

        stage = _stage(script, chats, root, nobody)

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


def print_check(file: Path, vault: Path | None, *, system: str | None) -> None:
    """Print the steps of a workflow and what is odd about it, such as models and templates that nobody knows."""
    script, root = _read(file, vault, {})
    print_steps(script)
    with _readable(None, system) as found:
        chats = _chats(found, system, root, script, {})
        for note in (*script.notes, *_unknown(script, chats)):
            say(f"note: {shown(note)}")


def _unknown(script: Script, chats: Chats) -> Iterator[str]:
    for step in script.steps:
        if step.model is not None and ":" not in step.model and step.model not in (LOCAL, *chats.config.models):
            known = ", ".join((LOCAL, *chats.config.models))
            yield (
                f"line {step.line}, {step.name!r}: `@model {step.model}` is no alias of foveate.toml and no "
                f"`provider:model`; known are {known}"
            )
        if step.helper is not None:
            try:
                chats.place.folders.load(step.helper)
            except TemplateError as error:
                yield f"line {step.line}, {step.name!r}: `@context-helper`: {error}"


def _read(file: Path, vault: Path | None, given: Mapping[str, Any]) -> tuple[Script, Path]:
    """A workflow and its vault; who names a model on the command line means it for every step that asks one."""
    root = (vault or Path()).resolve()
    if not root.is_dir():
        raise ConfigError(f"`--vault` {str(vault)!r} is no folder; create it or name another")
    script = read_script(file, root=root)
    if given.get("model") is not None:
        script = replace(script, steps=tuple(replace(step, model=None) for step in script.steps))
    return script, root


def _stage(script: Script, chats: Chats, root: Path, answering: Callable[[str | None], Answering]) -> Stage:
    return Stage(
        script=script,
        place=chats.place,
        root=root,
        answering=answering,
        called=lambda alias: _name_of(chats, alias),
    )


def _chats(store: Store, system: str | None, root: Path, script: Script, given: Mapping[str, Any]) -> Chats:
    said = {name: value for name, value in given.items() if value is not None}
    # Not a setting of chats: whose knowledge the steps with a helper are shown.
    project = said.pop("project", None)
    settings = {**script.settings, **said}
    return chats_of(store, vault=root, system=Path(system) if system else None, given=settings, project=project)


def _hold(stack: ExitStack, store: Store, script: Script) -> None:
    name = f"workflow:{script.name}{script.owner}"
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
            for problem in by.problems:
                say(f"  ! {problem.text}")
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
    if preview.made is not None:
        tools += f" · cached, made {ago(datetime.fromtimestamp(preview.made, UTC))}: not sent"
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
