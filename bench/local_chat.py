"""Twenty turns with a real model: how many prompt tokens llama.cpp finds in its cache, by what it is sent.

The same inputs go to SmolLM2 in endless mode, with the untouched history, and with a window that slides by what each
input needs. Run it as `uv run --group bench python -m bench.local_chat`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from foveate.agents.driver import Driver
from foveate.chat.conversation import Conversation
from foveate.chat.endless import Endless
from foveate.chat.finding import TemplateFolders
from foveate.compile.compiled import CompiledContext
from foveate.integrations.llama_cpp import start
from foveate.integrations.pydantic_ai import local_model_driver
from foveate.log.events import UsageReported
from foveate.session import Session

TURNS: Final = 20
BUDGET: Final = 600
ARMS: Final = ("endless", "untouched", "sliding")
_WINDOW: Final = 8_192
_SYSTEM: Final = "You are a friendly assistant. Answer in two or three sentences."
_INPUTS: Final = (
    "My name is Ada and I am planning a garden behind my house.",
    "The plot is eight metres long and five metres wide, and it lies in the shade until noon.",
    "Which vegetables would grow well there?",
    "I must not plant nuts, because my brother is allergic to them.",
    "How often should I water tomatoes in summer?",
    "Please remember that my budget is two hundred euros for the whole year.",
    "What tools do I need at the beginning?",
    "My neighbour Tom offered me his old shed. Should I take it?",
    "How do I keep snails away without poison?",
    "Tell me something about compost.",
)


class Sliding(Conversation):
    """Sends the newest messages that fit, whatever was sent before."""

    most = BUDGET

    async def compiled(self) -> CompiledContext:
        """The request of a window that slides at every call."""
        messages = list(self.session.messages)
        while len(messages) > 1:
            view = self.session.preview(override=messages)
            if view.tokens <= self.most:
                break
            messages = messages[1:]
        return self.session.compile(override=messages)


def shares(arms: Sequence[str] = ARMS, turns: int = TURNS, budget: int = BUDGET) -> dict[str, tuple[int, int, int]]:
    """For each arm the prompt tokens of all its requests, those reused, and the largest request."""
    return {arm: asyncio.run(_held(arm, turns, budget)) for arm in arms}


async def _held(arm: str, turns: int, budget: int) -> tuple[int, int, int]:
    # An engine for each, or one would find what another left.
    running = start(window=_WINDOW)
    driver = local_model_driver(running.address, running.name, most_tokens=70)
    with tempfile.TemporaryDirectory() as folder:
        chat = _chat(arm, driver, Path(folder), budget)
        for turn in range(turns):
            await chat.say(f"{_INPUTS[turn % len(_INPUTS)]} (This is my message number {turn + 1}.)")
    usages = [event.body for event in chat.session.events if isinstance(event.body, UsageReported)]
    read = [usage.input_tokens for usage in usages]
    return sum(read), sum(usage.cached_tokens or 0 for usage in usages), max(read)


def _chat(arm: str, driver: Driver, folder: Path, budget: int) -> Conversation:
    if arm == "untouched":
        return Conversation(Session(), driver, system=_SYSTEM)
    if arm == "sliding":
        sliding = Sliding(Session(), driver, system=_SYSTEM)
        sliding.most = budget
        return sliding
    folders = TemplateFolders(None, folder)
    folders.seed()
    session = Session(budget=budget)
    # Its instructions are half of so small a budget, and not what is measured.
    template = folder / "ContextTemplates" / "short.md"
    template.write_text("{{ topic }}\n\n{{ constraints }}\n\n{{ ledger }}\n\n{{ recent_turns }}\n")
    return Conversation(session, driver, system=_SYSTEM, endless=Endless(session, folders, "short"))


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--budget", type=int, default=BUDGET, help="tokens of a request, for endless and sliding")
    given = parser.parse_args()
    print(f"{given.turns} turns; a budget of {given.budget:,} tokens for endless and sliding")
    for arm, (read, reused, most) in shares(turns=given.turns, budget=given.budget).items():
        print(f"{arm:<10} {read:>7,} prompt tokens, {reused / read:.3f} of them reused; largest request {most:,}")


if __name__ == "__main__":
    main()
