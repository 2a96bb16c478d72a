"""The stage: where a script is carried out, and the conversation that each of its steps is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from foveate.agents.toolset import Toolset
from foveate.budget.profiles import known_profile
from foveate.chat.conversation import Conversation, RecallAlone
from foveate.chat.endless import AUTO, LEAST_RUNS, Endless, Terms
from foveate.chat.opening import Answering, ChatPlace
from foveate.compile.policy import Policy
from foveate.errors import BudgetError, ConfigError, FoveateError, TemplateError
from foveate.log.events import DiagnosticRecorded, Tagged
from foveate.log.sections import ContextSection
from foveate.scripts.files import VaultFiles
from foveate.scripts.inputs import Gathered
from foveate.scripts.kept import key_of
from foveate.scripts.recent import StepTerms, recent_policy
from foveate.scripts.script import Script, Step
from foveate.session import Session
from foveate.workflow.workspace import Workspace

# The tag of a session that says whose it is: folders of one name in two places are two vaults.
_VAULT: Final = "vault_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where a script is carried out: chats with their store and templates, a vault, and who answers.

    `answering` gives the model of a name or alias, None being the one of the settings; it is asked only when needed.
    `called` gives the name of that model, and begins nothing.
    """

    script: Script
    place: ChatPlace
    root: Path
    answering: Callable[[str | None], Answering]
    called: Callable[[str | None], str]

    def __post_init__(self) -> None:
        # Before anything is read: what another vault has in its sessions is nobody's business here.
        object.__setattr__(self, "script", _owned(self.script, self.place, self.root))

    def files(self) -> VaultFiles:
        """The files of the vault."""
        return VaultFiles(self.root, self._hidden())

    def steps(self, only: str | None) -> tuple[Step, ...]:
        """All steps, or those up to the one of a name."""
        if only is None:
            return self.script.steps
        names = [step.name.casefold() for step in self.script.steps]
        if only.strip().casefold() not in names:
            known = ", ".join(repr(step.name) for step in self.script.steps)
            raise ConfigError(f"no `--step` {only!r} in {self.script.path}; there are {known}")
        return self.script.steps[: names.index(only.strip().casefold()) + 1]

    def opened(self, step: Step) -> Session:
        """The session of a step, to write down what came of it."""
        name, vault = self.script.session_of(step), self.place.vault_name
        session = Session.open(self.place.store, name, vault=vault, budget=self.place.settings.budget)
        self.claim(step, session)
        return session

    def claim(self, step: Step, session: Session) -> None:
        """Write down whose session this is, if nobody has."""
        if _VAULT not in self.place.store.tags_of(session.id):
            session.note(Tagged(tags={"workflow": self.script.name, "step": step.name, _VAULT: _identity(self.root)}))

    def options(self, by: Answering) -> dict[str, Any]:
        """What the session of a step compiles with when a model answers."""
        return {"budget": self.place.budget(by), "model": known_profile(by.driver.name)}

    def conversation(
        self, step: Step, session: Session, by: Answering, inputs: tuple[ContextSection, ...]
    ) -> Conversation:
        """The conversation of a step with its model, as its directives ask; every request shows its inputs."""
        session.use(self.policy(step))
        return Conversation(
            session,
            by.driver,
            system=self.script.instructions,
            tools=self._tools(step),
            endless=self._helper(step, session, by, inputs),
            sections=inputs,
            clock=self.place.clock,
            steps=self.place.settings.steps,
        )

    def policy(self, step: Step) -> Policy:
        """How a step goes on without a helper: with the earlier runs that it asks for."""
        return recent_policy(self._runs(step))

    def drop_helper(self, step: Step, chat: Conversation, error: BudgetError) -> str:
        """Go on without the helper, for which there is no room; returns why. The workflow's own words come first."""
        name = chat.endless.name if chat.endless is not None else ""
        text = f"there is no room for `@context-helper {name}`, so the step goes on without: {error}"
        noted = DiagnosticRecorded(code="helper_dropped", phase="compile", text=text, subject=name)
        chat.session.note(noted, time=chat.clock())
        chat.endless = None
        chat.session.use(self.policy(step))
        return text

    def key(self, step: Step, found: Gathered) -> str:
        """What an output is made from, as a hash; an alias or no model at all may mean another one tomorrow."""
        template = ""
        if step.helper is not None:
            try:
                template = self.place.folders.load(step.helper).sha256
            except FoveateError:
                # It is said when the step is carried out; without a template it is another request.
                template = "missing"
        model = "none" if step.copies else self.called(step.model)
        shown = (found.context, found.texts, found.references)
        return key_of(
            self.script.instructions, step.text, shown, model, step.helper, template, step.tools, step.recent_runs
        )

    def _hidden(self) -> tuple[Path, ...]:
        """What may lie in the vault and is nobody's note."""
        return (self.place.store.file,) if self.place.store.file is not None else ()

    def _runs(self, step: Step) -> int | None:
        """How many earlier runs are shown without a helper, or if it fails; None is all that fit."""
        if step.recent_runs is None:
            runs = self.place.settings.context_compiler_passthrough_runs
            return 0 if step.helper is None else LEAST_RUNS if runs == AUTO else runs
        return None if step.recent_runs == "all" else step.recent_runs

    def _helper(
        self, step: Step, session: Session, by: Answering, inputs: tuple[ContextSection, ...]
    ) -> Endless | None:
        if step.helper is None:
            return None
        folders = self.place.folders
        helper = Endless(
            session,
            folders,
            step.helper,
            terms=self._terms(step),
            writer=by.writer,
            named=by.named,
            computed=self.place.computed,
            sections=inputs,
            fallback=self.policy(step),
        )
        # Its instructions belong to the first request already; a template that cannot be read is told of with that.
        with suppress(TemplateError):
            helper.template = folders.load(step.helper)
        return helper

    def _terms(self, step: Step) -> Terms:
        terms = self.place.settings.terms()
        given = {one.name: getattr(terms, one.name) for one in fields(Terms)}
        return StepTerms(**given, recent_runs=step.recent_runs)

    def _tools(self, step: Step) -> Sequence[Toolset]:
        if "vault" in step.tools:
            return (Workspace(self.root, writable=False, without=self._hidden()),)
        return (RecallAlone(),) if "recall" in step.tools else ()


def _owned(script: Script, place: ChatPlace, root: Path) -> Script:
    """A script with sessions of its own, if those of its name are another vault's; once it has some, it keeps them."""
    other = replace(script, owner=f"@{_identity(root)}")
    for step in script.steps:
        if place.store.find(other.session_of(step)) is not None:
            return other
        info = place.store.find(script.session_of(step))
        if info is not None and (info.vault_name, info.tags.get(_VAULT, _identity(root))) != (
            place.vault_name,
            _identity(root),
        ):
            return other
    return script


def _identity(root: Path) -> str:
    """A few characters for a folder; its path need not be in a store that others read."""
    return hashlib.sha256(str(root.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def settle_errors(session: Session) -> None:
    """Let the failed tool calls of the last run be: a new run begins anew."""
    messages = session.messages
    last = messages[-1].meta.execution_id if messages else None
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.meta.execution_id != last:
            return
        if message.meta.outcome not in (None, "ok"):
            session.resolve(message.id)
