"""Chats of a store, put together for whoever opens them: settings, templates, models, tools, knowledge."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_data_path

from foveate.agents.driver import Driver
from foveate.agents.toolset import Toolset
from foveate.chat.conversation import RecallAlone
from foveate.chat.endless import Computed, Named
from foveate.chat.finding import TemplateFolders
from foveate.chat.opening import Answering, ChatPlace
from foveate.chat.settings import settings_of
from foveate.errors import ConfigError, FoveateError, TemplateError
from foveate.integrations.models import LOCAL, Chosen, called, chosen_for_chat, driver_for, window_of
from foveate.knowledge.base import Knowledge
from foveate.knowledge.debugging import debug_printer
from foveate.knowledge.models import ContextTask
from foveate.knowledge.render import debug_report, rendered
from foveate.knowledge.sources import context_of
from foveate.lab.config import Config, config_at
from foveate.log.events import DiagnosticRecorded
from foveate.log.text import encodable
from foveate.store import Store
from foveate.workflow.workspace import Workspace

_COMPUTED = 800
_WRITER = "context_compiler_model"


class Chats(NamedTuple):
    """Where chats are, and what `foveate.toml` says besides.

    `named` are the settings that a command was given: what is wrong with one is refused, since who named it is there to
    correct it. What file and environment say is gone on without.
    """

    place: ChatPlace
    config: Config
    named: frozenset[str] = frozenset()
    problems: tuple[DiagnosticRecorded, ...] = ()

    @contextmanager
    def answering(self) -> Generator[tuple[Chosen, Answering], None, None]:
        """The model that answers, by the settings, the environment and what is installed."""
        settings, aliases, vault = self.place.settings, self.config.models, self.place.folders.vault
        chosen = chosen_for_chat(settings.model, aliases, os.environ)
        with ExitStack() as stack:
            driver = stack.enter_context(driver_for(chosen.name, talks=True, alias=chosen.alias))
            writer, problems = self._writer(chosen.name, driver, stack)
            # The small model takes a tool for a suggestion, and neither its calls nor its summaries are of use.
            tools = () if chosen.name == LOCAL else (_reading(vault),)
            named = _named({chosen.name: driver}, aliases, stack)
            window = window_of(chosen.name)
            by = Answering(driver=driver, writer=writer, named=named, window=window, tools=tools, problems=problems)
            yield chosen, by

    def _writer(
        self, chosen: str, driver: Driver, stack: ExitStack
    ) -> tuple[Driver | None, tuple[DiagnosticRecorded, ...]]:
        """Who writes summaries, and what is wrong with who should."""
        own = driver if chosen != LOCAL else None
        wanted = self.place.settings.context_compiler_model
        if not wanted:
            return own, self.problems
        name = self.config.models.get(wanted, wanted)
        try:
            if name == chosen:
                return called(driver, wanted), self.problems
            return stack.enter_context(driver_for(name, alias=wanted)), self.problems
        except FoveateError as error:
            if _WRITER in self.named:
                raise
            instead = "the chat's own model writes" if own is not None else "rules make"
            text = f"`{_WRITER}` is {wanted!r}: {error}; {instead} summaries until it is corrected"
            return own, (*self.problems, _problem("summary_model_failed", "summarise", text, wanted))


def chats_of(
    store: Store,
    *,
    vault: Path | None = None,
    system: Path | None = None,
    given: Mapping[str, Any] | None = None,
    project: str | None = None,
) -> Chats:
    """The chats of a store; `given` are settings that come before those of file and environment."""
    if vault is not None and not vault.is_dir():
        raise ConfigError(f"`--vault` {str(vault)!r} is no folder; create it or name another")
    # A vault has the name of its folder, which `.` does not say.
    vault = vault.resolve() if vault is not None else None
    config = config_at()
    settings = settings_of(config.chat, place=str(config.path or "foveate.toml"), environ=os.environ, given=given)
    folders = TemplateFolders(vault, system or _beside(store), settings.templates_folder)
    problems: tuple[DiagnosticRecorded, ...] = ()
    try:
        folders.seed()
    except TemplateError as error:
        # Those of the vault are there all the same, and without any the history is sent.
        problems = (_problem("template_failed", error.phase, f"{error}", error.pointer or "system"),)
    computed = _known(Knowledge(store, project), config) if project else None
    named = frozenset(name for name, value in (given or {}).items() if value is not None)
    place = ChatPlace(store=store, folders=folders, settings=settings, computed=computed)
    return Chats(place, config, named, problems)


def _reading(vault: Path | None) -> Toolset:
    """What a model may look things up in: the vault, if there is one, and in any case what was said before."""
    return RecallAlone() if vault is None else Workspace(vault, writable=False)


def _problem(code: str, phase: str, text: str, subject: str) -> DiagnosticRecorded:
    return DiagnosticRecorded(code=code, phase=phase, text=encodable(text), subject=encodable(subject))


def _named(known: dict[str, Driver], aliases: Mapping[str, str], stack: ExitStack) -> Named:
    def named(name: str) -> Driver:
        model = aliases.get(name, name)
        if model not in known:
            known[model] = stack.enter_context(driver_for(model, alias=name))
        return called(known[model], name)

    return named


def _beside(store: Store) -> Path:
    """The system folder: where the store is, or with the user's data if that is a server."""
    return store.file.parent if store.file is not None else user_data_path("foveate", appauthor=False)


def _known(knowledge: Knowledge, config: Config) -> Computed:
    on_debug = debug_printer(os.environ)

    def computed(text: str) -> str:
        today = datetime.now(UTC).date().isoformat()
        task = ContextTask(objective=text[:2_000])
        context = context_of(task, knowledge, today=today, domains=config.domains)
        if on_debug is not None:
            on_debug(debug_report(context))
        # A placeholder with nothing to fill in stays empty.
        return rendered(context, budget=_COMPUTED) if context.says_something else ""

    return computed
