"""Arms that only the engine has: the history cut at the window, and Foveate counting in the model's own tokens."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Final

import msgspec

from bench.model_tokens import ModelTokens
from foveate.lab.chat import Chat
from foveate.lab.contestants import Contestant, Feed, Made, Opening, Step
from foveate.session import Session


def cut_at(window: int) -> Contestant:
    """The untouched history, of which the oldest messages are left out once the window is full."""
    return Contestant(
        name="untouched",
        kind="baseline",
        description="the history untouched; the oldest messages are left out until the rest fits into the window",
        start=partial(_start_cut, window),
        is_bounded=False,
    )


def _start_cut(window: int, opening: Opening) -> Feed:
    head = opening.head()
    log: deque[Chat] = deque()
    size = opening.sizes.total(head) + opening.reserved

    def feed(step: Step) -> Made:
        nonlocal size
        log.extend(step.chats)
        size += opening.sizes.total(step.chats)
        while size >= window and len(log) > 1:
            size -= opening.sizes.of(log.popleft())
        return Made(chats=[*head, *log])

    return feed


def _start_foveate(opening: Opening) -> Feed:
    """As it is, without a model's prices; the time is not told, since the engine's cache does not age."""
    assert isinstance(opening.sizes, ModelTokens)
    session = Session(budget=opening.budget, system=opening.system or None, counter=opening.sizes)

    def feed(step: Step) -> Made:
        session.extend(msgspec.structs.replace(message, id="") for message in step.messages)
        return Made(chats=session.compile().to("openai"))

    return feed


FOVEATE: Final = Contestant(
    name="foveate", kind="policy", description="Foveate as it is, counting in the model's tokens", start=_start_foveate
)
