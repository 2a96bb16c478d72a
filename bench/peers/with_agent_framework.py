# /// script
# requires-python = ">=3.11"
# dependencies = ["agent-framework-core==1.23.0", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""Microsoft Agent Framework: `apply_compaction` on one list, which keeps the flags and summaries it was given."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence

# Read at import.
os.environ["AGENT_FRAMEWORK_USER_AGENT_DISABLED"] = "true"

from agent_framework import (
    CompactionStrategy,
    Content,
    ContextWindowCompactionStrategy,
    Message,
    TruncationStrategy,
    apply_compaction,
)
from worker import MESSAGE_OVERHEAD, Arm, Chat, Lane, count, serve, timed_async


class Compaction:
    def __init__(self, system: str, strategy: CompactionStrategy) -> None:
        self._strategy = strategy
        self._history = [Message("system", [system])] if system else []

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._history += map(to_framework, new)
        included = timed_async(lambda: apply_compaction(self._history, strategy=self._strategy, tokenizer=Tokens()))
        return list(map(to_chat, included))


class Tokens:
    """The benchmark's tokens of a message, which the framework hands over as JSON."""

    def count_tokens(self, text: str) -> int:
        # Only what a model reads: the JSON around it would take a quarter of the budget.
        fields = ("text", "name", "arguments", "result")
        parts = json.loads(text)["contents"]
        return MESSAGE_OVERHEAD + sum(count(part[field]) for part in parts for field in fields if field in part)


def truncation(budget: int) -> CompactionStrategy:
    return TruncationStrategy(max_n=budget, compact_to=max(1, budget // 2), tokenizer=Tokens())


def truncation_first(budget: int) -> CompactionStrategy:
    return TruncationStrategy(
        max_n=budget, compact_to=max(1, budget // 2), tokenizer=Tokens(), preserve_first_user_group=True
    )


def context_window(budget: int) -> CompactionStrategy:
    return ContextWindowCompactionStrategy(max_context_window_tokens=budget, max_output_tokens=0, tokenizer=Tokens())


def started(strategy: Callable[[int], CompactionStrategy]) -> Callable[[str, int], Lane]:
    return lambda system, budget: Compaction(system, strategy(budget))


def to_framework(message: Chat) -> Message:
    if message["role"] == "tool":
        return Message("tool", [Content.from_function_result(message["tool_call_id"], result=message["content"])])
    calls = [
        Content.from_function_call(item["id"], item["function"]["name"], arguments=item["function"]["arguments"])
        for item in message.get("tool_calls") or ()
    ]
    texts = [message["content"]] if message["content"] or not calls else []
    # It knows no developer; what it does for instructions it does for the role of system.
    role = "system" if message["role"] == "developer" else message["role"]
    return Message(role, [*texts, *calls])


def to_chat(message: Message) -> Chat:
    if message.role == "tool":
        result = message.contents[0]
        return {"role": "tool", "content": result.result, "tool_call_id": result.call_id}
    calls = [
        {
            "id": content.call_id,
            "type": "function",
            "function": {"name": content.name, "arguments": content.arguments},
        }
        for content in message.contents
        if content.type == "function_call"
    ]
    return {"role": message.role, "content": message.text, **({"tool_calls": calls} if calls else {})}


if __name__ == "__main__":
    serve(
        "agent-framework",
        ["agent-framework-core"],
        [
            Arm(
                name="truncation",
                call="apply_compaction(history, strategy=TruncationStrategy(max_n=B, compact_to=B // 2, tokenizer=T))",
                start=started(truncation),
                note="`compact_to` has no default; half of the budget is what its documentation shows.",
            ),
            Arm(
                name="truncation-first",
                call="apply_compaction(history, strategy=TruncationStrategy(max_n=B, compact_to=B // 2, tokenizer=T, "
                "preserve_first_user_group=True))",
                start=started(truncation_first),
                is_default=False,
                note="As truncation, with the first user message kept.",
            ),
            Arm(
                name="context-window",
                call="apply_compaction(history, strategy=ContextWindowCompactionStrategy(max_context_window_tokens=B, "
                "max_output_tokens=0, tokenizer=T))",
                start=started(context_window),
                note="Above half of the budget a text of at most 4,096 characters stands for each older tool exchange; "
                "above four fifths it truncates to half.",
            ),
        ],
    )
