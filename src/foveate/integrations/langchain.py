"""LangChain: its message objects (extra: `foveate[langchain]`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage, messages_from_dict
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from foveate.errors import MessageError
from foveate.wire.format import Bridge


class _LangChainBridge:
    """Between `BaseMessage` objects and their data."""

    def recognises(self, raw: object, /) -> bool:
        """Whether an object is a message."""
        return isinstance(raw, BaseMessage)

    def to_data(self, objects: Sequence[Any], /) -> list[Any]:
        """The JSON data of messages."""
        try:
            return [{"type": message.type, "data": message.model_dump(mode="json")} for message in objects]
        except PydanticSerializationError as error:
            raise MessageError(f"only plain JSON can be stored: {error}") from error

    def to_objects(self, data: Any, /) -> list[Any]:
        """The messages of JSON data."""
        try:
            return messages_from_dict(data)
        except ValidationError as error:
            raise MessageError(f"LangChain refuses a field that was recorded with a message: {error}") from error


BRIDGE: Final[Bridge] = _LangChainBridge()
