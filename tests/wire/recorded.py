"""Requests as agents send them: what of a body a session is given, and what of it comes back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import foveate
from foveate.wire.formats import format_named

Body = dict[str, Any]

FIXTURES = Path(__file__).parents[1] / "fixtures" / "requests"
_FOR_AN_ANSWER = ("anthropic", "openai", "responses", "gemini")


def agent_requests() -> dict[str, list[Body]]:
    """Requests in their order: each that was written by hand by its name, those that were recorded by their folder."""
    found = {path.stem: [json.loads(path.read_bytes())] for path in sorted(FIXTURES.glob("*.json"))}
    folder = os.environ.get("FOVEATE_RECORDED", "")
    recorded = sorted(path for path in Path(folder).glob("*/*.json") if _is_for_an_answer(path)) if folder else []
    assert recorded or not folder, f"FOVEATE_RECORDED={folder!r} has no requests in */*.json"
    for path in recorded:
        found.setdefault(f"recorded {path.parent.name}", []).append(json.loads(path.read_bytes()))
    return found


def _is_for_an_answer(path: Path) -> bool:
    """Whether a file is a request that wanted an answer: agents also ask for counts, with parts of a conversation."""
    meta = path.with_suffix(".meta.json")
    if path.name.endswith(".meta.json"):
        return False
    return not meta.exists() or json.loads(meta.read_bytes())["kind"] in _FOR_AN_ANSWER


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


def problems_of(sent: Body, body: Body) -> list[str]:
    """What the provider of a request would refuse of what is sent for it."""
    format = format_of(body)
    with_framing = key_of(format) != "messages" or "system" in body
    return format_named(format).problems(sent if with_framing else sent["messages"])


def least_budget(body: Body) -> int:
    """The tokens that must be sent of a request, whatever is reduced."""
    budget = 1
    while True:
        try:
            session_for(body, budget=budget).compile()
        except foveate.BudgetError as error:
            # The call of a pinned result is needed too, which is found out only when all else is gone.
            budget += error.needed - error.limit
        else:
            return budget


def unmarked(value: Any) -> Any:
    """A value without its cache marks."""
    if isinstance(value, dict):
        return {key: unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [unmarked(one) for one in value] if isinstance(value, list) else value
