"""Requests as agents send them: what of a body a session is given, and what of it comes back."""

from __future__ import annotations

from typing import Any

import foveate

Body = dict[str, Any]


def format_of(body: Body) -> str:
    """The format of a request, by what its messages are called."""
    if "input" in body:
        return "openai-responses"
    if "contents" in body:
        return "gemini"
    return "anthropic" if isinstance(body.get("system"), list | str) else "openai-compatible"


def key_of(format: str) -> str:
    """What a request of a format calls its messages."""
    return {"openai-responses": "input", "gemini": "contents"}.get(format, "messages")


def session_for(body: Body, **options: Any) -> foveate.Session:
    """A session that was given the request of an agent."""
    format = format_of(body)
    system = body.get({"gemini": "systemInstruction", "openai-responses": "instructions"}.get(format, "system"))
    session = foveate.Session(system=system, tools=body.get("tools", ()), **options)
    session.extend(body[key_of(format)], format=format)
    return session


def sent_for(view: foveate.CompiledContext, format: str) -> Body:
    """The parts of a request that a view gives."""
    sent = view.to(format)
    return {"messages": sent} if isinstance(sent, list) else sent


def marks_in(value: Any) -> int:
    """How many cache marks stand anywhere in a request."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marks_in, value.values()))
    return sum(map(marks_in, value)) if isinstance(value, list) else 0


def pieces_of(message: Body) -> list[Any]:
    """What of a message is kept or left out as one: blocks and parts; an item, or a message of text, alone."""
    inner = message.get("content", message.get("parts"))
    if message.get("type", "message") != "message" or not isinstance(inner, list):
        return [message]
    return inner
