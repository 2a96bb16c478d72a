# /// script
# requires-python = ">=3.11"
# dependencies = ["foveate[litellm]", "litellm==1.106.2", "mcp>=1.30"]
# [tool.uv.sources]
# foveate = { path = "../..", editable = true }
# ///
"""LiteLLM: a bare loop on its SDK with the logger as a callback."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

# Prices are not fetched: nothing here leaves the machine.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

import foveate
from bench.frameworks.trial import main
from bench.frameworks.work import READ_ABOUT, READ_SCHEMA, SYSTEM, read
from foveate.integrations.litellm import FoveateLogger

TOOLS = [{"type": "function", "function": {"name": "read", "description": READ_ABOUT, "parameters": READ_SCHEMA}}]


class LiteLLM:
    name = "litellm"

    def budgeted(self, **options: Any) -> FoveateLogger:
        return FoveateLogger(**options)

    async def run(
        self,
        address: str,
        budgeted: Any,
        prompt: str,
        history: Any = None,
        *,
        thread: str = "1",
        streamed: bool = False,
    ) -> Any:
        litellm.logging_callback_manager._reset_all_callbacks()  # noqa: SLF001  one of a class stays otherwise
        litellm.callbacks = [budgeted] if budgeted is not None else []
        messages = list(history or [{"role": "system", "content": SYSTEM}])
        messages.append({"role": "user", "content": prompt})
        call: dict[str, Any] = {"model": "openai/gpt-5", "tools": TOOLS, "api_base": f"{address}/v1", "api_key": "none"}
        with foveate.thread(thread):
            while True:
                answer: Any = await litellm.acompletion(messages=messages, stream=streamed, **call)
                if streamed:
                    answer = litellm.stream_chunk_builder([chunk async for chunk in answer])
                message = answer.choices[0].message
                messages.append(message.model_dump(exclude_none=True))
                if not message.tool_calls:
                    break
                for called in message.tool_calls:
                    said = read(**json.loads(called.function.arguments))
                    messages.append({"role": "tool", "tool_call_id": called.id, "content": said})
        # Callbacks of success run behind the answer.
        async with asyncio.timeout(30):
            while budgeted is not None and budgeted._calls:  # noqa: ASYNC110, SLF001  LiteLLM has no event for it
                await asyncio.sleep(0.02)
        return messages

    def state(self, history: Any) -> list[Any]:
        return list(history)

    def cut(self, history: Any) -> Any:
        return history[:-3]


if __name__ == "__main__":
    main(LiteLLM())
