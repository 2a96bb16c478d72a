"""Previewing: the request of each step, without a model and with nothing written."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from foveate.chat.conversation import Conversation
from foveate.compile.compiled import CompiledContext
from foveate.errors import BudgetError
from foveate.scripts.dates import day_of
from foveate.scripts.inputs import Gathered, gathered
from foveate.scripts.kept import kept_output, lasting_variables
from foveate.scripts.script import Step
from foveate.scripts.stage import Stage, settle_errors
from foveate.session import Session
from foveate.session.beside import run_beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a step would send; for one that asks nobody, what it would give."""

    step: Step
    view: CompiledContext | None = None
    tools: tuple[str, ...] = ()
    copied: str = ""
    notes: tuple[str, ...] = ()
    # When the output was made that would be used again, so that nothing would be sent.
    made: float | None = None


async def previewed(stage: Stage, only: str | None = None) -> AsyncIterator[Preview]:
    """The request of every step, or of one, as if it were carried out now.

    Earlier steps give what they gave last time, or a few words in its place.
    """
    steps, files = stage.steps(only), stage.files()
    told = stage.place.clock()
    now = time.time() if told is None else told
    day = day_of(now)
    variables = await run_beside(lasting_variables, stage.place.store, stage.script)
    context: dict[str, str] = {}
    for step in steps:
        kept = await run_beside(kept_output, stage.place.store, stage.script.session_of(step))
        if only is None or step is steps[-1]:
            found = await run_beside(gathered, stage.script, step, files, day, variables, context)
            preview = await _preview(stage, step, found)
            is_good = kept is not None and kept.is_good(
                stage.key(step, found), step.cache, now, stage.script.week_start
            )
            yield replace(preview, made=kept.made) if kept is not None and is_good else preview
        given = kept.text if kept is not None else f"(what {step.name} gives, once it is carried out)"
        for one in step.outputs:
            if one.kind == "variable":
                variables[one.name] = given
            elif one.kind == "context":
                context[step.name] = given


async def _preview(stage: Stage, step: Step, found: Gathered) -> Preview:
    notes = [f"there is no {missing}" for missing in found.missing]
    if step.copies:
        return Preview(step=step, copied=found.copied() or step.text, notes=tuple(notes))
    by = await run_beside(stage.answering, step.model)
    session = await run_beside(_in_memory, stage, step)
    settle_errors(session)
    chat = stage.conversation(step, session, by, found.sections(readable="vault" in step.tools))
    chat.listen(lambda told: notes.append(f"{told.phase}: {told.text}"))
    session.append({"role": "user", "content": step.text}, time=chat.clock())
    view = await _compiled(stage, step, chat)
    tools = tuple(one["function"]["name"] for one in session.context.tools)
    return Preview(step=step, view=view, tools=tools, notes=tuple(notes))


async def _compiled(stage: Stage, step: Step, chat: Conversation) -> CompiledContext:
    try:
        return await chat.compiled()
    except BudgetError as error:
        if chat.endless is None:
            raise
        await run_beside(stage.drop_helper, step, chat, error)
        return await chat.compiled()


def _in_memory(stage: Stage, step: Step) -> Session:
    """The session of a step as it stands, going on in memory alone."""
    options = stage.options(stage.answering(step.model))
    store, name = stage.place.store, stage.script.session_of(step)
    if store.find(name) is None:
        return Session(**options, session_id=name)
    with Session.open(store, name, budget=stage.place.settings.budget) as stored:
        return Session.continued(stored.context, None, options)
