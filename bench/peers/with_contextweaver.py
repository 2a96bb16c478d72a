# /// script
# requires-python = ">=3.11"
# dependencies = ["contextweaver==0.18.2", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""contextweaver: a `ContextManager` keeps all events; before every call `build_sync` writes one prompt from them."""

from __future__ import annotations

import os
from collections.abc import Sequence

# For its diagnostics it counts with tiktoken, which would fetch a file; refused, it estimates instead.
os.environ["HTTPS_PROXY"] = os.environ["https_proxy"] = "http://127.0.0.1:9"

from contextweaver.context.manager import ContextManager
from contextweaver.tokens import get_token_counter
from contextweaver.types import ContextItem, ItemKind, Phase
from worker import MESSAGE_OVERHEAD, Arm, Chat, count, serve, timed, tokens

KINDS = {
    "user": ItemKind.user_turn,
    "assistant": ItemKind.agent_msg,
    "system": ItemKind.policy,
    "developer": ItemKind.policy,
}
# A build writes a heading above each event, which it does not count.
HEADING = 8


class Prompt:
    """The system prompt is held apart, since a build may drop it; a request is that and the prompt."""

    def __init__(self, system: str, budget: int) -> None:
        self._system = [{"role": "system", "content": system}] if system else []
        self._room = max(1, budget - MESSAGE_OVERHEAD - sum(map(tokens, self._system)))
        self._manager = ContextManager(estimator=Tokens())
        self._events = 0
        # The events of calls that wait for a result, by the recorded id.
        self._calls: dict[str, str] = {}
        self._query = ""

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        for message in new:
            if message["role"] == "tool":
                self._add_result(message)
            else:
                self._add_said(message)
        pack = timed(lambda: self._manager.build_sync(phase=Phase.answer, query=self._query, budget_tokens=self._room))
        return [*self._system, {"role": "user", "content": pack.prompt}]

    def _add_said(self, message: Chat) -> None:
        calls = message.get("tool_calls") or ()
        if message["role"] == "user":
            self._query = message["content"]
        if message["content"] or not calls:
            self._add(ContextItem(id=self._name(), kind=KINDS[message["role"]], text=message["content"]))
        for item in calls:
            self._calls[item["id"]] = name = self._name()
            function = item["function"]
            metadata = {"function_name": function["name"]}
            self._add(ContextItem(id=name, kind=ItemKind.tool_call, text=function["arguments"], metadata=metadata))

    def _add(self, item: ContextItem) -> None:
        timed(lambda: self._manager.ingest_sync(item))

    def _add_result(self, message: Chat) -> None:
        call = self._calls.pop(message["tool_call_id"], None) or self._name()
        timed(lambda: self._manager.ingest_tool_result_sync(call, message["content"], message["name"]))

    def _name(self) -> str:
        """A short name of its own for every event: recorded ids may come twice, and headings repeat them."""
        self._events += 1
        return f"e{self._events}"


class Tokens:
    def estimate(self, text: str) -> int:
        return count(text) + HEADING


if __name__ == "__main__":
    # Where it finds out that there is no tiktoken.
    get_token_counter()
    serve(
        "contextweaver",
        ["contextweaver"],
        [
            Arm(
                name="build",
                call="manager.build_sync(phase=Phase.answer, query=last_user_text, budget_tokens=B).prompt",
                start=Prompt,
                note="Writes one text, which goes into a user message; results above 2,000 characters become a short "
                "preview, whose tokens it estimates itself.",
            ),
        ],
    )
