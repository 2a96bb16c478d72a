"""pydantic-ai: its message objects, and a summarizer on any provider it knows (extra: `foveate[pydantic-ai]`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_core import PydanticSerializationError

from foveate.compiler.summaries import SummaryRequest
from foveate.errors import MessageError
from foveate.wire.format import Bridge, Request
from foveate.wire.formats import PYDANTIC_AI

_ASK: Final = """\
Pause the work here. Write a summary of the conversation above for yourself: it will take the place of the messages it \
covers, and nothing else of them will be seen again. Do not call tools and do not continue the task.

Keep: the goal and every constraint the user set; decisions and their reasons; what is done, in progress, blocked; \
what was tried and failed; exact names, paths, ids and numbers that will be needed; the next steps already decided.
Be brief: at most {words} words. Plain text, short lines, no preamble."""

_UPDATE: Final = """

This is the summary so far. Update it: keep what still holds, add what is new, mark what is done; newer facts win.
---
{previous}
---"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PydanticAISummarizer:
    """Summaries by a model; it is asked in the conversation as it was sent, most of which the provider has cached."""

    model: Model | str
    instructions: str = _ASK
    name: str = field(default="pydantic-ai")

    async def summarise(self, request: SummaryRequest, /) -> str:
        """The summary that the model writes."""
        ask = self.instructions.format(words=max(40, int(request.target_tokens * 0.6)))
        if request.previous:
            ask += _UPDATE.format(previous=request.previous)
        agent = Agent(self.model, output_type=str)
        # The answer is cut where it would be refused for its length anyway.
        settings = ModelSettings(max_tokens=request.target_tokens)
        result = await agent.run(ask, message_history=_history(request), model_settings=settings)
        return result.output.strip()


def _history(request: SummaryRequest) -> list[ModelMessage]:
    return _to_objects(PYDANTIC_AI.lower(Request(messages=tuple(request.messages), system=request.system)))


class _PydanticAIBridge:
    """Between `ModelMessage` objects and their data."""

    def recognises(self, raw: object, /) -> bool:
        """Whether an object is a request or a response."""
        return isinstance(raw, ModelRequest | ModelResponse)

    def to_data(self, objects: Sequence[Any], /) -> list[Any]:
        """The JSON data of messages."""
        try:
            dumped: list[Any] = ModelMessagesTypeAdapter.dump_python(list(objects), mode="json")
        except PydanticSerializationError as error:
            raise MessageError(f"only plain JSON can be stored: {error}") from error
        return dumped

    def to_objects(self, data: Any, /) -> list[ModelMessage]:
        """The messages of JSON data."""
        return _to_objects(data)


def _to_objects(data: Any) -> list[ModelMessage]:
    try:
        return ModelMessagesTypeAdapter.validate_python(data)
    except ValidationError as error:
        raise MessageError(f"pydantic-ai refuses a field that was recorded with a message: {error}") from error


BRIDGE: Final[Bridge] = _PydanticAIBridge()
