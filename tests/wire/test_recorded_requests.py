"""Requests of agents: what goes in comes out byte for byte, and after a reduction every kept item still does.

Those of `tests/fixtures/requests` are written by hand. `FOVEATE_RECORDED` names a folder of recorded ones besides, with
one folder for each agent and in it one JSON file for each request: they hold the prompts of the agents and are not part
of this repository.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

import foveate
from foveate.budget.profiles import CacheRules, ModelProfile
from foveate.wire.formats import format_named

from .recorded import (
    Body,
    agent_requests,
    format_of,
    key_of,
    least_budget,
    marks_in,
    pieces_of,
    problems_of,
    sent_for,
    session_for,
    unmarked,
)

REQUESTS = agent_requests()
FRAMING = ("system", "systemInstruction", "instructions", "tools")
RULES = {
    "marks": CacheRules(minimum_tokens=64, ttl_seconds=900, breakpoints=2, lookback_blocks=5, write=2.0, read=0.25),
    "automatic": CacheRules(minimum_tokens=1_024, ttl_seconds=600, breakpoints=0, lookback_blocks=0, write=1, read=0.5),
}


@pytest.mark.parametrize("agent", REQUESTS)
def test_a_request_comes_out_as_it_went_in(agent: str) -> None:
    """Messages, system prompt and tools, marks included, and the validator has nothing to say."""
    for body in REQUESTS[agent]:
        format = format_of(body)
        sent = sent_for(session_for(body, model="anthropic:claude-sonnet-4-5").compile(), format)
        key = key_of(format)

        assert json.dumps(sent[key]) == json.dumps(body[key])
        for name in FRAMING:
            if name in sent:
                assert json.dumps(sent[name]) == json.dumps(body[name]), name
        assert problems_of(sent, body) == []
        assert marks_in(sent) <= 4


@pytest.mark.parametrize("agent", REQUESTS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_what_a_reduction_keeps_comes_out_as_it_went_in(agent: str, share: float) -> None:
    """Every message that is kept, of as many tokens as the share is between what must be sent and the whole."""
    body = max(REQUESTS[agent], key=lambda one: len(one[key_of(format_of(one))]))
    format = format_of(body)
    whole, least = session_for(body, budget=10_000_000).compile(), least_budget(body)
    assert least < whole.tokens, "there is something to reduce"
    session = session_for(body, budget=least + int((whole.tokens - least) * share))
    view = session.compile()
    sent = sent_for(view, format)

    assert any(not item.is_unreduced for item in view.items) or len(view.items) < len(whole.items)
    assert not missing(session, view, format)
    assert problems_of(sent, body) == []
    assert marks_in(sent) <= 4


@pytest.mark.parametrize("agent", REQUESTS)
def test_a_session_that_grows_sends_what_the_agent_sends(agent: str) -> None:
    """Only what is new is given to it, call by call; up to the marks, which a client moves."""
    for session, body, format in played(agent):
        sent = unmarked(sent_for(session.compile(), format)[key_of(format)])
        assert list(map(as_block, sent)) == list(map(as_block, unmarked(body[key_of(format)])))


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("share", [None, 0.2])
@pytest.mark.parametrize("agent", REQUESTS)
def test_past_calls_are_what_was_sent(agent: str, share: float | None, rules: str) -> None:
    """Whatever the rules of the cache were, in the session and in one that is read from its log."""
    model = ModelProfile(name="m", window=10_000_000, cache=RULES[rules])
    calls: list[str] = []
    session, format = None, ""
    for session, body, format in played(agent, share=share, model=model):
        sent = sent_for(session.compile(), format)
        calls.append(json.dumps(sent))
        assert problems_of(sent, body) == []
        assert marks_in(sent) <= 4
    assert session is not None
    again = foveate.Session.from_events(foveate.load_events(session.dump()))
    for number, sent in enumerate(calls, 1):
        assert json.dumps(sent_for(session.call(number), format)) == sent
        assert json.dumps(sent_for(again.call(number), format)) == sent


def played(agent: str, *, share: float | None = None, **options: Any) -> Any:
    """A session that is given the requests of an agent, call by call as long as they only go on, and each request.

    A `share` bounds it, between what must be sent of the last request and all of it.
    """
    bodies = _growing(REQUESTS[agent])
    format, last = format_of(bodies[0]), bodies[-1]
    key = key_of(format)
    if share is not None:
        least = max(least_budget(body) for body in bodies)
        most = session_for(last, budget=10_000_000).compile().tokens
        options["budget"] = least + int(max(0, most - least) * share)
    session = session_for(bodies[0], **options)
    yield session, bodies[0], format
    for before, after in pairwise(bodies):
        session.extend(after[key][len(before[key]) :], format=format)
        yield session, after, format


def _growing(bodies: list[Body]) -> list[Body]:
    """The first requests of a run that only append; those of a single request are made of it, one for each call."""
    format = format_of(bodies[0])
    key = key_of(format)
    if len(bodies) == 1:
        items = bodies[0][key]
        cuts = [at for at in range(1, len(items)) if is_the_models(items[at]) and not is_the_models(items[at - 1])]
        return [{**bodies[0], key: items[:cut]} for cut in [*cuts, len(items)]]
    grown = [bodies[0]]
    for body in bodies[1:]:
        plain, more = (list(map(as_block, unmarked(one.get(key, [])))) for one in (grown[-1], body))
        if format_of(body) != format or plain != more[: len(plain)]:
            break
        grown.append(body)
    return grown


def is_the_models(item: Body) -> bool:
    kind = item.get("type", "message")
    return item.get("role") in ("assistant", "model") or kind == "reasoning" or kind.endswith("_call")


def missing(session: foveate.Session, view: foveate.CompiledContext, format: str) -> list[str]:
    """Pieces of the messages that a view keeps that are not what was sent of it."""
    there = Counter(as_block(piece) for message in sent_for(view, format)[key_of(format)] for piece in pieces(message))
    kept = [one for one in session.messages if view_keeps(view, one.id)]
    came = [piece for message in format_named(format).encode(kept) for piece in pieces(message)]
    return [piece for piece in map(as_block, came) if piece not in there]


def view_keeps(view: foveate.CompiledContext, message_id: str) -> bool:
    return any(item.id == message_id and item.fate == "verbatim" for item in view.items)


def pieces(message: Body) -> list[Any]:
    content = message.get("content")
    role = message.get("role")
    if isinstance(content, str) and role == "user" and "type" not in message:
        return [{"type": "text", "text": content}]
    return pieces_of(unmarked(message))


def as_block(message: Body) -> str:
    """A message as text, a text alone as the block of it: clients write the one they mark as a block."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return json.dumps({**message, "content": blocks} if "content" in message else message)
