"""Replies: what goes back over HTTP, at once or as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from bench.provider.script import Json, Refusal, Request, Step, Tool


@dataclass(frozen=True, slots=True)
class Reply:
    """A status and a body; a stream is sent chunk by chunk."""

    status: int
    content_type: str
    chunks: tuple[bytes, ...]

    @property
    def is_stream(self) -> bool:
        """Whether it is sent as server-sent events."""
        return self.content_type == "text/event-stream"


class Dialect(Protocol):
    """One wire format: how requests name their tools, and how answers look."""

    @property
    def name(self) -> str:
        """As in `Request.dialect`."""
        ...

    def speaks(self, path: str) -> bool:
        """Whether requests to this path, without its query, are in this format."""
        ...

    def tools(self, body: Json) -> list[Tool]:
        """Every tool that the request offers."""
        ...

    def answer(self, request: Request, step: Step) -> Reply:
        """The step as an answer to the request; its calls name tools."""
        ...

    def refuse(self, request: Request, refusal: Refusal) -> Reply:
        """The error that the real provider would send."""
        ...


def json_reply(value: Any, status: int = 200) -> Reply:
    """A JSON body."""
    return Reply(status, "application/json", (json.dumps(value).encode(),))


def stream_reply(events: Iterable[Json | str], *, named: bool = False) -> Reply:
    """Server-sent events; `named` ones repeat their `type` on a line of its own."""
    return Reply(200, "text/event-stream", tuple(_event(event, named=named).encode() for event in events))


def _event(event: Json | str, *, named: bool) -> str:
    if isinstance(event, str):
        return f"data: {event}\n\n"
    head = f"event: {event['type']}\n" if named else ""
    return f"{head}data: {json.dumps(event)}\n\n"
