# /// script
# requires-python = ">=3.11"
# dependencies = ["strands-agents==1.62.0", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""Strands: an `Agent` whose model has the budget for a window; it rewrites its own messages, and goes on from them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any

from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException
from worker import SUMMARY, Arm, Chat, serve, timed, timed_async, tokens


class Loop:
    """What the agent's own loop does around a call to the model, without the call."""

    def __init__(self, system: str, budget: int, **options: Any) -> None:
        self._system = [{"role": "system", "content": system}] if system else []
        self._budget = budget
        self._agent = Agent(Window(budget), system_prompt=system or None, callback_handler=None, **options)

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        messages = list(to_strands(new))
        timed_async(lambda: self._add(messages))
        self._fire(BeforeModelCallEvent(self._agent, projected_input_tokens=self._size()))
        while self._size() > self._budget:
            self._recover(ContextWindowOverflowException(f"more than {self._budget} tokens"))
            self._fire(BeforeModelCallEvent(self._agent, projected_input_tokens=self._size()))
        self._fire(AfterModelCallEvent(self._agent))
        return self._request()

    async def _add(self, messages: Sequence[Chat]) -> None:
        for message in messages:
            if is_prompt(message) and self._agent.messages and not is_prompt(self._agent.messages[-1]):
                # At the end of every invocation, so between its answer and the next prompt.
                self._agent.conversation_manager.apply_management(self._agent)
            await self._agent._append_messages(message)  # noqa: SLF001  as the loop does

    def _recover(self, refusal: ContextWindowOverflowException) -> None:
        event = AfterModelCallEvent(self._agent, exception=refusal)
        self._fire(event)
        if not event.retry:
            timed(lambda: self._agent.conversation_manager.reduce_context(self._agent, e=refusal))

    def _fire(self, event: BeforeModelCallEvent | AfterModelCallEvent) -> None:
        timed_async(lambda: self._agent.hooks.invoke_callbacks_async(event))

    def _size(self) -> int:
        return sum(map(tokens, self._request()))

    def _request(self) -> list[Chat]:
        return [*self._system, *(chat for message in self._agent.messages for chat in to_chats(message))]


class Window(Model):
    """A model with a window, which gives the same summary whatever it is asked."""

    def __init__(self, window: int) -> None:
        self._window = window

    def get_config(self) -> dict[str, int]:
        return {"context_window_limit": self._window}

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Chat]:
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": SUMMARY}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}

    async def count_tokens(self, messages: Iterable[Chat], *_: Any, **__: Any) -> int:
        return sum(tokens(chat) for message in messages for chat in to_chats(message))

    # Asked for by the class; nothing here calls them.
    update_config = structured_output = None


def is_prompt(message: Chat) -> bool:
    return message["role"] == "user" and not any("toolResult" in block for block in message["content"])


def to_strands(messages: Iterable[Chat]) -> Iterator[Chat]:
    results: list[Chat] = []
    for message in messages:
        if message["role"] == "tool":
            text = {"text": message["content"]}
            result = {"toolUseId": message["tool_call_id"], "status": "success", "content": [text]}
            results.append({"toolResult": result})
            continue
        if results:
            yield {"role": "user", "content": results}
            results = []
        calls = [
            # Arguments stay text, to go back byte for byte; neither manager looks into them.
            {"toolUse": {"toolUseId": item["id"], "name": called["name"], "input": called["arguments"]}}
            for item in message.get("tool_calls") or ()
            for called in [item["function"]]
        ]
        texts = [{"text": message["content"]}] if message["content"] or not calls else []
        # Messages of Strands are of `user` or `assistant`: instructions in mid-conversation can only be the user's.
        role = "assistant" if message["role"] == "assistant" else "user"
        yield {"role": role, "content": [*texts, *calls]}
    if results:
        yield {"role": "user", "content": results}


def to_chats(message: Chat) -> Iterator[Chat]:
    """In the order in which Strands writes them for OpenAI: results first, then text and calls."""
    for result in (block["toolResult"] for block in message["content"] if "toolResult" in block):
        text = "\n".join(item["text"] for item in result["content"])
        yield {"role": "tool", "content": text, "tool_call_id": result["toolUseId"]}
    texts = [block["text"] for block in message["content"] if "text" in block]
    calls = [
        {"id": use["toolUseId"], "type": "function", "function": {"name": use["name"], "arguments": use["input"]}}
        for use in (block["toolUse"] for block in message["content"] if "toolUse" in block)
    ]
    if texts or calls:
        yield {"role": message["role"], "content": "\n".join(texts), **({"tool_calls": calls} if calls else {})}


if __name__ == "__main__":
    serve(
        "strands",
        ["strands-agents"],
        [
            Arm(
                name="window",
                call="Agent(model, conversation_manager=SlidingWindowConversationManager())",
                start=lambda *given: Loop(*given, conversation_manager=SlidingWindowConversationManager()),
                note="It learns of the budget when the model refuses a request, here above B; refusals do not count.",
            ),
            Arm(
                name="window-first",
                call="Agent(model, conversation_manager=SlidingWindowConversationManager(pin_first=1))",
                start=lambda *given: Loop(*given, conversation_manager=SlidingWindowConversationManager(pin_first=1)),
                is_default=False,
                note="As window, with the first message kept.",
            ),
            Arm(
                name="auto",
                call='Agent(model, context_manager="auto")',
                start=lambda *given: Loop(*given, context_manager="auto"),
                note="The model's `context_window_limit` is B; its summaries are a fixed text that says nothing real.",
            ),
        ],
    )
