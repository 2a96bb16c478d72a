"""Reflections: now and then, and after tools failed, a look at how the conversation goes."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from foveate.agents.driver import Driver, DriverError
from foveate.agents.loop import ask
from foveate.chat.asking import reply_text
from foveate.compile.compiled import CompiledContext
from foveate.compile.ledger import Failure
from foveate.errors import FoveateError
from foveate.log.events import ReflectionRecorded
from foveate.log.messages import MessageMeta, text_message
from foveate.log.quoting import quote_attempt
from foveate.log.text import encodable
from foveate.wire.format import Request

PROGRAM: Final = "foveate"
_ASK: Final = (
    "Below is the end of a conversation between a user and an assistant. In two lines: what went wrong or well in how "
    "the assistant worked, and what it should do differently from here on. Answer in this form and nothing else:\n"
    "Observation: …\nAdjustment: …"
)
_OBSERVATION: Final = re.compile("observation:", re.IGNORECASE)
_ADJUSTMENT: Final = re.compile(r"\n[^\S\n]*+adjustment:", re.IGNORECASE)
_LONGEST: Final = 300


def is_due(view: CompiledContext, every: int) -> bool:
    """Whether tools failed since the last reflection, or so many turns have passed."""
    last = view.reflections[-1] if view.reflections else None
    if _unseen(view):
        return True
    turn = view.state.context.turn
    return every > 0 and turn - (last.turn if last is not None else 0) > every


async def reflection(
    view: CompiledContext, recent: str, driver: Driver | None, *, timeout: float
) -> ReflectionRecorded | None:
    """A reflection by a model, or of what failed by rule; None if there is nothing to be said.

    Raises `DriverError`.
    """
    failures = _unseen(view)
    observation, adjustment = _of(failures[-1], view) if failures else ("", "")
    by = PROGRAM
    if driver is not None:
        text = f"{_ASK}\n\n{recent}"
        request = Request(messages=(text_message("ask", "user", text, MessageMeta()),))
        try:
            said = encodable(reply_text(await asyncio.wait_for(ask(driver, request), timeout)))
        except TimeoutError as error:
            raise DriverError(f"{driver.name} made no reflection within {timeout:g} s") from error
        except FoveateError:
            raise
        except Exception as error:
            # Somebody else's code; an answer needs no reflection.
            raise DriverError(f"{driver.name} made no reflection: {error!r}") from error
        observation, adjustment, by = *_parted(said), driver.name
    if not observation:
        return None
    context = view.state.context
    return ReflectionRecorded(
        observation=observation[:_LONGEST],
        adjustment=adjustment[:_LONGEST],
        turn=context.turn,
        messages=context.message_count,
        by=by,
    )


def _unseen(view: CompiledContext) -> list[Failure]:
    last = view.reflections[-1].messages if view.reflections else 0
    return [failure for failure in view.failures if failure.order >= last]


def _of(failure: Failure, view: CompiledContext) -> tuple[str, str]:
    count = sum(one.attempt == failure.attempt for one in view.failures)
    times = f" {count} times" if count > 1 else ""
    observation = f"{quote_attempt(failure.attempt)} failed{times} ({failure.message_id}): {failure.text}"
    return observation, "Do not try the same again unchanged; look at what it said, or ask."


def _parted(said: str) -> tuple[str, str]:
    start = _OBSERVATION.search(said)
    if start is None:
        return said.strip(), ""
    observed = said[start.end() :].strip()
    between = _ADJUSTMENT.search(observed)
    if between is None:
        return observed, ""
    return observed[: between.start()].strip(), observed[between.end() :].strip()
