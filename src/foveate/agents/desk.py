"""The desk: where an agent asks for what its view does not show, and where that is written down."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

import msgspec

from foveate.agents.toolset import Answer
from foveate.budget.tokens import counter_for
from foveate.errors import FoveateError
from foveate.log.events import AccessRecorded
from foveate.log.messages import MessageMeta, text_message
from foveate.log.quoting import flatten_text, quote_lines
from foveate.recall import excerpt
from foveate.recall.tool import RECALL_TOOL
from foveate.session import Session
from foveate.session.beside import run_beside
from foveate.work.models import TaskOutcome

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


_LINE: Final = {"type": "integer", "minimum": 1}
_SPAN: Final = {
    "type": "object",
    "properties": {"start": _LINE, "end": _LINE},
    "required": ["start", "end"],
    "additionalProperties": False,
}
_PARAMETERS: Final = {
    "type": "object",
    "properties": {"reference": {"type": "string"}, "lines": _SPAN, "query": {"type": "string"}},
    "required": ["reference"],
    "additionalProperties": False,
}
_FUNCTION: Final = {"name": RECALL_TOOL["function"]["name"], "description": _DESCRIPTION, "parameters": _PARAMETERS}


class _Lines(msgspec.Struct, forbid_unknown_fields=True):
    start: int
    end: int


class _Asked(msgspec.Struct, forbid_unknown_fields=True):
    reference: str
    lines: _Lines | tuple[int, int] | None = None
    query: str | None = None

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last line that are asked for."""
        return (self.lines.start, self.lines.end) if isinstance(self.lines, _Lines) else self.lines


class Recall:
    """The tool that gives an agent back what its session had to leave out; each access is recorded."""

    definitions: tuple[dict[str, Any], ...] = (RECALL_TOOL,)
    _example: ClassVar[str] = "m17"
    _hint: ClassVar[str] = ""

    def __init__(self, agent: str, session: Session, *, clock: Callable[[], float | None] = lambda: None) -> None:
        self._agent = agent
        self._session = session
        self._clock = clock

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        """What was asked for, or what is wrong with the question."""
        try:
            asked = msgspec.convert(arguments, _Asked)
        except msgspec.ValidationError as error:
            return Answer(text=f"error: {error}; give `reference`, for example {self._example!r}", outcome="error")
        # A store may be asked for it.
        return await run_beside(self._given, asked)

    def _given(self, asked: _Asked) -> Answer:
        try:
            text = self._found(asked.reference.strip(), asked)
        except FoveateError as error:
            self._record(asked, "", found=False)
            return Answer(text=f"error: {error}{self._hint}", outcome="error")
        self._record(asked, text, found=True)
        return Answer(text=text)

    def _found(self, reference: str, asked: _Asked) -> str:
        if reference.startswith("artifact://") and len(reference.rpartition("/")[2]) < _HANDLE:
            # A store finds shorter ones too, but then one could come upon texts that were shown to nobody.
            raise FoveateError(f"{reference!r} is no whole handle")
        return self._session.recall(reference, lines=asked.span, query=asked.query)

    def _record(self, asked: _Asked, text: str, *, found: bool) -> None:
        span = f"lines {asked.span[0]}–{asked.span[1]}" if asked.span is not None else ""
        part = " ".join(piece for piece in (span, f"about {asked.query!r}" if asked.query else "") if piece)
        tokens = counter_for(None).count(text)
        self._session.note(
            AccessRecorded(agent=self._agent, reference=asked.reference, part=part, tokens=tokens, found=found),
            time=self._clock(),
        )


class Desk(Recall):
    """Answers an agent also from the outcomes of other tasks and from their artifacts."""

    definitions: tuple[dict[str, Any], ...] = ({"type": "function", "function": _FUNCTION},)
    _example = _LIST
    _hint = f"; ask for {_LIST!r} to see what there is"

    def __init__(
        self,
        agent: str,
        session: Session,
        outcomes: tuple[TaskOutcome, ...] = (),
        *,
        clock: Callable[[], float | None] = lambda: None,
    ) -> None:
        super().__init__(agent, session, clock=clock)
        self._outcomes = {outcome.task_id: outcome for outcome in outcomes}
        self._artifacts = {
            _handle(part, text): text
            for outcome in outcomes
            for part, text in outcome.parts.items()
            if len(text) > _LARGE
        }

    def _listed(self) -> str:
        lines = [line for outcome in self._outcomes.values() for line in _parts(outcome)]
        return "\n".join(lines) or "nothing: no other task is finished yet"

    def _found(self, reference: str, asked: _Asked) -> str:
        if reference == _LIST:
            return self._listed()
        if reference in self._artifacts:
            return _excerpt(reference, self._artifacts[reference], asked)
        if not reference.startswith("task:"):
            return super()._found(reference, asked)
        task_id, _, part = reference.removeprefix("task:").partition("#")
        outcome = self._outcomes.get(task_id)
        if outcome is None:
            raise FoveateError(f"no finished task {task_id!r}")
        if part and part not in outcome.parts:
            raise FoveateError(f"{task_id!r} has no part {part!r}; it has {', '.join(outcome.parts) or 'none'}")
        return _excerpt(reference, outcome.parts[part] if part else _whole(outcome), asked)


def _whole(outcome: TaskOutcome) -> str:
    return "\n".join([quote_lines(outcome.summary) if outcome.summary else "(no summary)", *_parts(outcome)])


def _parts(outcome: TaskOutcome) -> Iterator[str]:
    for part, text in outcome.parts.items():
        handle = f", {_handle(part, text)}" if len(text) > _LARGE else ""
        yield flatten_text(f"task:{outcome.task_id}#{part} ({len(text):,} characters{handle})")


def _handle(part: str, text: str) -> str:
    """The handle that a store has a text under."""
    return f"artifact://{part}/{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:_HANDLE]}"


def _excerpt(reference: str, text: str, asked: _Asked) -> str:
    return excerpt(text_message(reference, "tool", text, MessageMeta()), lines=asked.span, query=asked.query)
