"""The desk: where an agent asks for what its view does not show, and where that is written down."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from foveate.agents.toolset import Answer
from foveate.budget.tokens import counter_for
from foveate.errors import FoveateError
from foveate.log.events import AccessRecorded
from foveate.log.messages import MessageMeta, text_message
from foveate.recall import excerpt
from foveate.recall.tool import RECALL_TOOL
from foveate.session import Session
from foveate.work.models import TaskOutcome

NAME: Final[str] = RECALL_TOOL["function"]["name"]
_LIST: Final = "list"
_HANDLE: Final = 16
# A part above it has a handle of its own.
_LARGE: Final = 500

_DESCRIPTION: Final = (
    "Get something that you were not shown. `reference` is `list` to see what there is; `task:ID` for what came of "
    "another task, `task:ID#PART` for a part of that, such as its diff; `artifact://…` for a large text by its handle; "
    "or a reference from your own work, such as m17. For long content give `query` to get the lines about something, "
    "or `lines` for a range."
)


class _Lines(msgspec.Struct, forbid_unknown_fields=True):
    start: int
    end: int


class _Asked(msgspec.Struct, forbid_unknown_fields=True):
    reference: str
    lines: _Lines | None = None
    query: str | None = None


class Desk:
    """Answers an agent from the outcomes of other tasks, artifacts, and its own session; each access is recorded."""

    def __init__(
        self,
        agent: str,
        session: Session,
        outcomes: tuple[TaskOutcome, ...] = (),
        *,
        clock: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._agent = agent
        self._session = session
        self._clock = clock
        self._outcomes = {outcome.task_id: outcome for outcome in outcomes}
        self._artifacts = {
            _handle(part, text): text
            for outcome in outcomes
            for part, text in outcome.parts.items()
            if len(text) > _LARGE
        }

    @property
    def definitions(self) -> tuple[dict[str, Any], ...]:
        """The one tool there is."""
        line = {"type": "integer", "minimum": 1}
        span = {
            "type": "object",
            "properties": {"start": line, "end": line},
            "required": ["start", "end"],
            "additionalProperties": False,
        }
        parameters = {
            "type": "object",
            "properties": {"reference": {"type": "string"}, "lines": span, "query": {"type": "string"}},
            "required": ["reference"],
            "additionalProperties": False,
        }
        function = {"name": NAME, "description": _DESCRIPTION, "parameters": parameters}
        return ({"type": "function", "function": function},)

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        """What was asked for, or what is wrong with the question."""
        try:
            asked = msgspec.convert(arguments, _Asked)
        except msgspec.ValidationError as error:
            return Answer(text=f"error: {error}; give `reference`, for example {_LIST!r}", outcome="error")
        reference = asked.reference.strip()
        try:
            text = self._listed() if reference == _LIST else self._found(reference, asked)
        except FoveateError as error:
            self._record(asked, "", found=False)
            return Answer(text=f"error: {error}; ask for {_LIST!r} to see what there is", outcome="error")
        self._record(asked, text, found=True)
        return Answer(text=text)

    def _listed(self) -> str:
        lines = [line for outcome in self._outcomes.values() for line in _parts(outcome)]
        return "\n".join(lines) or "nothing: no other task is finished yet"

    def _found(self, reference: str, asked: _Asked) -> str:
        lines = (asked.lines.start, asked.lines.end) if asked.lines is not None else None
        if reference in self._artifacts:
            return _excerpt(reference, self._artifacts[reference], lines, asked.query)
        if not reference.startswith("task:"):
            if reference.startswith("artifact://") and len(reference.rpartition("/")[2]) < _HANDLE:
                # A store finds shorter ones too, but then one could come upon texts that were shown to nobody.
                raise FoveateError(f"{reference!r} is no whole handle")
            return self._session.recall(reference, lines=lines, query=asked.query)
        task_id, _, part = reference.removeprefix("task:").partition("#")
        outcome = self._outcomes.get(task_id)
        if outcome is None:
            raise FoveateError(f"no finished task {task_id!r}")
        if part and part not in outcome.parts:
            raise FoveateError(f"{task_id!r} has no part {part!r}; it has {', '.join(outcome.parts) or 'none'}")
        text = outcome.parts[part] if part else _whole(outcome)
        return _excerpt(reference, text, lines, asked.query)

    def _record(self, asked: _Asked, text: str, *, found: bool) -> None:
        span = f"lines {asked.lines.start}–{asked.lines.end}" if asked.lines is not None else ""
        part = " ".join(piece for piece in (span, f"about {asked.query!r}" if asked.query else "") if piece)
        tokens = counter_for(None).count(text)
        self._session.record(
            AccessRecorded(agent=self._agent, reference=asked.reference, part=part, tokens=tokens, found=found),
            time=self._clock(),
        )


def _whole(outcome: TaskOutcome) -> str:
    return "\n".join([outcome.summary or "(no summary)", *_parts(outcome)])


def _parts(outcome: TaskOutcome) -> Iterator[str]:
    for part, text in outcome.parts.items():
        handle = f", {_handle(part, text)}" if len(text) > _LARGE else ""
        yield f"task:{outcome.task_id}#{part} ({len(text):,} characters{handle})"


def _handle(part: str, text: str) -> str:
    """The handle that a store has a text under."""
    return f"artifact://{part}/{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:_HANDLE]}"


def _excerpt(reference: str, text: str, lines: tuple[int, int] | None, query: str | None) -> str:
    return excerpt(text_message(reference, "tool", text, MessageMeta()), lines=lines, query=query)
