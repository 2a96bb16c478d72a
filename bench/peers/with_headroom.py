# /// script
# requires-python = ">=3.11"
# dependencies = ["headroom-ai==0.42.0", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""Headroom: `compress` or `densify`, called on the whole history, or on what was sent before and the new messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

# No connections, nothing written to the home folder, and after a failure no pause, which would fall on other sessions.
os.environ.update(
    HEADROOM_OFFLINE="1",
    HEADROOM_STATELESS="1",
    HEADROOM_TELEMETRY="off",
    HEADROOM_PIPELINE_BREAKER_THRESHOLD="0",
    HF_HUB_OFFLINE="1",
)

from headroom import compress, densify
from headroom.tokenizers import BaseTokenizer, register_tokenizer
from worker import Arm, Chat, count, serve, timed

MODEL = "o200k"


class Projected:
    """The history stays as it is; each request is made of all of it."""

    def __init__(self, system: str, budget: int, call: Callable[..., Any]) -> None:
        self._history: list[Chat] = [{"role": "system", "content": system}] if system else []
        self._call = partial(call, model=MODEL, model_limit=budget)

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._history += new
        return timed(lambda: self._call(self._history)).messages


class Frozen:
    """The history is what was sent, and only what came since may be rewritten."""

    def __init__(self, system: str, budget: int) -> None:
        self._sent: list[Chat] = [{"role": "system", "content": system}] if system else []
        self._budget = budget

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        messages = [*self._sent, *new]
        frozen = len(self._sent)
        result = timed(lambda: compress(messages, model=MODEL, model_limit=self._budget, frozen_message_count=frozen))
        self._sent = result.messages
        return list(self._sent)


class Counter(BaseTokenizer):
    def count_text(self, text: str) -> int:
        return count(text)


def warmed() -> None:
    """Load what Headroom loads at its first call, which took more than a second."""
    register_tokenizer(MODEL, Counter())
    for call in (compress, densify):
        call([{"role": "user", "content": "Begin."}, {"role": "user", "content": "word " * 600}], model=MODEL)


if __name__ == "__main__":
    warmed()
    serve(
        "headroom",
        ["headroom-ai"],
        [
            Arm(
                name="compress",
                call="compress(messages, model=model, model_limit=B)",
                start=partial(Projected, call=compress),
                note="It shortens texts and drops no message, so it keeps to no budget; its model for prose is a"
                " download apart and did not take part.",
            ),
            Arm(
                name="densify",
                call="densify(messages, model=model, model_limit=B)",
                start=partial(Projected, call=densify),
                note="Without loss, such as tables for JSON lists; it keeps to no budget.",
            ),
            Arm(
                name="frozen",
                call="compress([*sent, *new], model=model, model_limit=B, frozen_message_count=len(sent))",
                start=Frozen,
                is_default=False,
                note="As it asks loops to call it for the cache's sake: what was sent once is not compressed later.",
            ),
        ],
    )
