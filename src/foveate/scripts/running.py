"""Running: the steps of a script, one after the other, each a call of its own session."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, Protocol

from foveate.agents.loop import Listening
from foveate.chat.conversation import Turn
from foveate.errors import BudgetError, FoveateError, StoreError
from foveate.log.events import WorkRecorded
from foveate.log.messages import ToolCall
from foveate.log.text import encodable
from foveate.scripts.dates import dated, day_of
from foveate.scripts.inputs import Gathered, gathered
from foveate.scripts.kept import Kept, executed, finished, kept_output, lasting_variables
from foveate.scripts.script import Step
from foveate.scripts.stage import Stage, settle_errors
from foveate.session import Session
from foveate.session.beside import run_beside

Status = Literal["done", "cached", "copied", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of a step: its output, where that went, the calls that were sent for it, or why it failed."""

    step: Step
    status: Status
    session: str
    output: str = ""
    delivered: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()
    # When an output was made that is used again.
    made: float | None = None
    error: FoveateError | None = None


class Watcher(Protocol):
    """Who is told how a script goes on."""

    def began(self, step: Step, /) -> None:
        """A step began."""
        ...

    def noted(self, step: Step, note: str, /) -> None:
        """Something was odd, and the step goes on."""
        ...

    def called(self, call: ToolCall, /) -> None:
        """The model calls a tool."""
        ...

    def ended(self, done: Done, /) -> None:
        """A step came to its end."""
        ...


class Run:
    """One run of a script; context and variables are its own, and gone when it ends, unless they say that they last."""

    def __init__(self, stage: Stage, watcher: Watcher) -> None:
        self._stage = stage
        self._watcher = watcher
        self._files = stage.files()
        now = stage.place.clock()
        # One moment for the whole run, or a run at midnight would read one note and write another.
        self._now = time.time() if now is None else now
        self._variables = lasting_variables(stage.place.store, stage.script)
        self._context: dict[str, str] = {}

    async def run(self, only: str | None = None) -> list[Done]:
        """Carry out all steps, or one, for which earlier steps give what they gave last time; a failure ends it."""
        steps = self._stage.steps(only)
        done: list[Done] = []
        for step in steps:
            if only is not None and step is not steps[-1]:
                await run_beside(self._remember, step)
                continue
            self._watcher.began(step)
            one = await self._tried(step)
            done.append(one)
            self._watcher.ended(one)
            if one.error is not None:
                break
        return done

    @property
    def _day(self) -> date:
        return day_of(self._now)

    def _kept(self, step: Step) -> Kept | None:
        return kept_output(self._stage.place.store, self._stage.script.session_of(step))

    def _remember(self, step: Step) -> None:
        kept = self._kept(step)
        if kept is not None:
            self._hand_on(step, kept.text)
        elif any(one.kind != "file" for one in step.outputs):
            self._watcher.noted(step, "it has not been carried out yet, so what it gives is missing")

    async def _tried(self, step: Step) -> Done:
        written: dict[str, str] = {}
        session = self._stage.script.session_of(step)
        try:
            done = await self._carried_out(step)
            await run_beside(self._deliver, step, done, written)
            if done.status != "cached" or written:
                await run_beside(self._record, step, finished(step.name, list(written)))
        except FoveateError as error:
            await run_beside(self._record_failure, step, list(written), error)
            return Done(step=step, status="failed", session=session, delivered=tuple(written.values()), error=error)
        shared = [one.label for one in step.outputs if one.kind != "file"]
        return replace(done, delivered=(*shared, *written.values()))

    async def _carried_out(self, step: Step) -> Done:
        script = self._stage.script
        found, key, kept = await run_beside(self._gathered, step)
        for missing in found.missing:
            self._watcher.noted(step, f"there is no {missing}; the step goes on without")
        session = script.session_of(step)
        if kept is not None and kept.is_good(key, step.cache, self._now, script.week_start):
            return Done(step=step, status="cached", session=session, output=kept.text, made=kept.made)
        if step.copies:
            done = Done(step=step, status="copied", session=session, output=found.copied() or step.text)
        else:
            await run_beside(self._check_outputs, step)
            turn = await self._asked(step, found)
            output = encodable(turn.text).strip()
            done = Done(step=step, status="done", session=session, output=output, calls=turn.calls)
        if not done.output:
            raise FoveateError(f"the step {step.name!r} gave no text, so nothing was written; say more of what to do")
        await run_beside(self._record, step, executed(step.name, done.output, key))
        return done

    def _gathered(self, step: Step) -> tuple[Gathered, str, Kept | None]:
        """What a step is given, its key, and what it gave the last time."""
        found = gathered(self._stage.script, step, self._files, self._day, self._variables, self._context)
        return found, self._stage.key(step, found), self._kept(step)

    def _check_outputs(self, step: Step) -> None:
        for one in step.outputs:
            if one.kind == "file":
                self._files.check(dated(one.name, self._day, self._stage.script.week_start))

    async def _asked(self, step: Step, found: Gathered) -> Turn:
        stage = self._stage
        by = await run_beside(stage.answering, step.model)
        name, vault = stage.script.session_of(step), stage.place.vault_name
        listening = Listening(
            on_call=self._watcher.called,
            on_diagnostic=lambda told: self._watcher.noted(step, f"{told.phase}: {told.text}"),
        )
        session = await run_beside(Session.open, stage.place.store, name, vault=vault, **stage.options(by))
        try:
            await run_beside(stage.claim, step, session)
            await run_beside(settle_errors, session)
            chat = stage.conversation(step, session, by, found.sections(readable="vault" in step.tools))
            try:
                return await chat.say(step.text, listening)
            except BudgetError as error:
                if chat.endless is None:
                    raise
                self._watcher.noted(step, await run_beside(stage.drop_helper, step, chat, error))
                return await chat.go_on(listening)
        finally:
            await run_beside(session.close)

    def _deliver(self, step: Step, done: Done, written: dict[str, str]) -> None:
        """Put an output where it belongs; `written` gets each file, and the name that it was given."""
        self._hand_on(step, done.output)
        week_start = self._stage.script.week_start
        before = self._kept(step) if done.status == "cached" else None
        header = dated(step.header, self._day, week_start) if step.header else ""
        lead = "" if not header else f"{header}\n\n" if header.startswith("#") else f"# {header}\n\n"
        for output in step.outputs:
            path = dated(output.name, self._day, week_start)
            # An output that is used again stands in its file already, unless somebody took it away.
            if output.kind == "file" and not (before and path in before.files and self._files.exists(path)):
                name = self._files.write(path, f"{lead}{done.output}\n", step.write_mode)
                written[path] = f"file:{name}"

    def _hand_on(self, step: Step, output: str) -> None:
        for one in step.outputs:
            if one.kind == "variable":
                self._variables[one.name] = output
            elif one.kind == "context":
                self._context[step.name] = output

    def _record(self, step: Step, body: WorkRecorded) -> None:
        with self._stage.opened(step) as session:
            session.note(body, time=self._stage.place.clock())

    def _record_failure(self, step: Step, written: list[str], error: FoveateError) -> None:
        try:
            self._record(step, finished(step.name, written, reason=encodable(str(error))))
        except StoreError as other:
            # The first failure is the one to tell of.
            self._watcher.noted(step, f"the failure could not be written down: {other}")
