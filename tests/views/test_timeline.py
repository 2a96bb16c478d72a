"""The timeline of a log, which grows with it."""

from __future__ import annotations

import pytest

from foveate.budget.tokens import SplintrCounter
from foveate.session import Session


def test_a_compile_that_is_interrupted_leaves_nothing_half_done() -> None:
    class Interrupting:
        name = "interrupting"
        left = 30

        def count(self, text: str) -> int:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return SplintrCounter().count(text)

    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"message {n}"} for n in range(40)]
    interrupted, untroubled = Session(budget=2_000, counter=Interrupting()), Session(budget=2_000)
    untroubled.extend(messages)
    interrupted.extend(messages)
    with pytest.raises(KeyboardInterrupt):
        interrupted.compile()
    assert interrupted.compile().to("openai") == untroubled.compile().to("openai")
