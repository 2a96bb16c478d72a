"""Requests of real agents: what goes in comes out byte for byte, and after a reduction every kept item still does.

The recordings hold the prompts of the agents and are not part of this repository. `FOVEATE_RECORDED` names a folder
with one folder for each agent, and in it one JSON file for each request.
"""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import foveate
from foveate.wire.formats import format_named

from .recorded import format_of, key_of, marks_in, pieces_of, sent_for, session_for

FOLDER = os.environ.get("FOVEATE_RECORDED", "")
FILES = sorted(path for path in Path(FOLDER).glob("*/*.json") if not path.name.endswith(".meta.json")) if FOLDER else []
AGENTS = sorted({path.parent.name for path in FILES})
FRAMING = ("system", "systemInstruction", "instructions", "tools")

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="FOVEATE_RECORDED is not set; it names a folder of recorded requests, which are not kept here"
)


def bodies(agent: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in FILES if path.parent.name == agent]


def test_the_folder_has_requests() -> None:
    """A folder that is empty would make every other test here pass."""
    assert AGENTS, f"FOVEATE_RECORDED={FOLDER!r} has no */*.json"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_request_comes_out_as_it_went_in(agent: str) -> None:
    """Messages, system prompt and tools, marks included, and the validator has nothing to say."""
    for body in bodies(agent):
        format = format_of(body)
        sent = sent_for(session_for(body, model="anthropic:claude-sonnet-4-5").compile(), format)
        key = key_of(format)

        assert json.dumps(sent[key]) == json.dumps(body[key])
        for name in FRAMING:
            if name in sent:
                assert json.dumps(sent[name]) == json.dumps(body[name]), name
        assert (
            format_named(format).problems(sent if key in ("contents", "input") or "system" in body else sent[key]) == []
        )
        assert marks_in(sent) <= 4


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_what_a_reduction_keeps_comes_out_as_it_went_in(agent: str, share: float) -> None:
    """Whatever is not new, is what was there; at most four marks."""
    body = max(bodies(agent), key=lambda one: len(one[key_of(format_of(one))]))
    format = format_of(body)
    whole = session_for(body, budget=10_000_000).compile()
    framing = whole.framing.tokens
    try:
        session = session_for(body, budget=framing + int((whole.tokens - framing) * share))
        view = session.compile()
    except foveate.BudgetError:
        pytest.skip(f"{agent}: what must be kept does not fit into {share:.0%} of the request")
    sent = sent_for(view, format)
    came = [json.dumps(unmarked(piece)) for message in body[key_of(format)] for piece in pieces_of(message)]
    kept = [json.dumps(unmarked(piece)) for message in sent[key_of(format)] for piece in pieces_of(message)]

    assert marks_in(sent) <= 4
    assert any(not item.is_unreduced for item in view.items)
    unreduced = sum(item.fate == "verbatim" for item in view.items)
    assert sum(piece in came for piece in kept) >= unreduced


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_that_grows_sends_what_the_agent_sends(agent: str) -> None:
    """Only what is new is given to it, call by call; up to the marks, which a client moves."""
    runs = bodies(agent)
    body = runs[0]
    format, session = format_of(body), session_for(body)
    for before, after in pairwise(runs):
        key = key_of(format)
        plain, more = unmarked(before[key]), unmarked(after[key])
        if plain != more[: len(plain)] or format_of(after) != format:
            break
        session.compile()
        session.extend(after[key][len(plain) :], format=format)
        sent = unmarked(sent_for(session.compile(), format)[key])
        assert [_one(piece) for piece in sent] == [_one(piece) for piece in more]


def unmarked(value: Any) -> Any:
    """A value without its cache marks."""
    if isinstance(value, dict):
        return {key: unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [unmarked(one) for one in value] if isinstance(value, list) else value


def _one(message: dict[str, Any]) -> str:
    """A message as text, a text alone as the block of it: clients write the one they mark as a block."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return json.dumps({**message, "content": blocks} if "content" in message else message)
