"""A rehearsal: a short session with every role and shape of content that recorded logs have, given to each adapter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.arms import Measure
from bench.peering import FOLDER, AdapterError, Peer, PeerError, contestants
from foveate.lab.chat import Chat, call
from foveate.lab.contestants import Contestant, Opening, Step

_BUDGET: Final = 2_000
# Long enough that the budget does not hold all of it.
_LONG: Final = "src/app/models.py: class Invoice has no field named total\n" * 60

STEPS: Final[tuple[tuple[Chat, ...], ...]] = (
    (
        {"role": "developer", "content": "Answer in English."},
        {"role": "user", "content": [{"type": "text", "text": "Look at "}, {"type": "text", "text": "the tests."}]},
    ),
    (
        {
            "role": "assistant",
            "content": "Two at once.",
            "tool_calls": [call("c1", "ls", '{"path":  "."}'), call("c2", "cat", "no JSON {")],
        },
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": _LONG}]},
    ),
    (
        {"role": "assistant", "content": None, "tool_calls": [call("c1", "ls", "[]")]},
        # Some logs repeat the ids of calls, and some have results that nobody asked for.
        {"role": "tool", "tool_call_id": "c1", "content": _LONG},
        {"role": "tool", "tool_call_id": "c9", "content": "stray", "is_error": True},
    ),
    (
        {"role": "assistant", "content": ""},
        {"role": "system", "content": "The time is up soon."},
        {"role": "user", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {}}]},
    ),
    (
        {"role": "assistant", "content": "Done, 沉默是金."},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Thanks. What is left?"},
    ),
)


def rehearsed(peer: Peer, folder: Path = FOLDER) -> dict[str, str]:
    """For each arm of a peer what went wrong at the rehearsal, "" if it answered every call."""
    return {arm.name: _trouble(arm) for arm in contestants(peer, folder)}


def _trouble(arm: Contestant, steps: Sequence[Sequence[Chat]] = STEPS) -> str:
    done = 0
    try:
        feed = arm.start(Opening(system="You mend programs.", budget=_BUDGET, sizes=Measure()))
        for chats in steps:
            feed(Step(chats=chats, messages=()))
            done += 1
    except (PeerError, AdapterError) as error:
        return f"call {done + 1}: {error}"
    return ""
