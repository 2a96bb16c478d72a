# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.24.0", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""OpenAI Agents SDK: `ToolOutputTrimmer` as `call_model_input_filter`, which sees all items before every model call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agents.extensions import ToolOutputTrimmer
from agents.run_config import CallModelData, ModelInputData
from worker import Arm, Chat, serve, timed

Item = Chat
"""An input item of the Responses API."""


class Trimmer:
    def __init__(self, system: str, budget: int) -> None:
        self._instructions = system or None
        self._items: list[Item] = []
        # For each item the message that it came from: an assistant message is several items.
        self._messages: list[Chat] = []
        self._trimmer = ToolOutputTrimmer()

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        for message in new:
            items = list(to_items(message))
            self._items += items
            self._messages += [message] * len(items)
        # An agent hands its filter a list of its own.
        asked = ModelInputData(input=self._items.copy(), instructions=self._instructions)
        kept = timed(lambda: self._trimmer(CallModelData(model_data=asked, agent=None, context=None)))
        head = [{"role": "system", "content": kept.instructions}] if kept.instructions else []
        return [*head, *self._chats(kept.input)]

    def _chats(self, items: Sequence[Item]) -> Iterator[Chat]:
        last: Chat | None = None
        # The filter changes items and leaves out none.
        for item, message in zip(items, self._messages, strict=True):
            if item.get("type") == "function_call_output":
                yield {"role": "tool", "content": item["output"], "tool_call_id": item["call_id"]}
            elif message is not last:
                yield message
            last = message


def to_items(message: Chat) -> Iterator[Item]:
    if message["role"] == "tool":
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
        return
    calls = message.get("tool_calls") or ()
    if message["content"] or not calls:
        yield {"role": message["role"], "content": message["content"]}
    for called in calls:
        yield {"type": "function_call", "call_id": called["id"], **called["function"]}


if __name__ == "__main__":
    serve(
        "openai-agents",
        ["openai-agents"],
        [
            Arm(
                name="trimmer",
                call="RunConfig(call_model_input_filter=ToolOutputTrimmer())",
                start=Trimmer,
                knows_budget=False,
                note="Only tool outputs before the last two user messages are shortened, however much follows.",
            ),
        ],
    )
