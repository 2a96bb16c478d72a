# /// script
# requires-python = ">=3.11"
# dependencies = ["foveate[strands]", "strands-agents[openai]==1.62.0"]
# [tool.uv.sources]
# foveate = { path = "../..", editable = true }
# ///
"""Strands: an agent with a model around its model."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from strands import Agent, tool
from strands.agent.conversation_manager import NullConversationManager
from strands.models.openai import OpenAIModel

import foveate
from bench.frameworks.trial import main
from bench.frameworks.work import SYSTEM, read
from foveate.integrations.strands import BudgetedModel


class Budgeted:
    """The options of a model that is made when its address is known."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.model: BudgetedModel | None = None

    @property
    def threads(self) -> foveate.Threads:
        assert self.model is not None
        return self.model.threads

    def around(self, model: OpenAIModel) -> BudgetedModel:
        if self.model is None:
            self.model = BudgetedModel(model, **self.options)
        return self.model


class Strands:
    name = "strands"

    def budgeted(self, **options: Any) -> Budgeted:
        return Budgeted(**options)

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
        client = {"base_url": f"{address}/v1", "api_key": "none", "max_retries": 0}
        inner = OpenAIModel(client_args=client, model_id="gpt-5")
        agent = Agent(
            model=budgeted.around(inner) if budgeted is not None else inner,
            system_prompt=SYSTEM,
            tools=[tool(read)],
            messages=copy.deepcopy(history) if history else [],
            conversation_manager=NullConversationManager(),
            callback_handler=None,
        )
        with foveate.thread(thread):
            if streamed:
                async for _ in agent.stream_async(prompt):
                    pass
            else:
                await agent.invoke_async(prompt)
        return agent.messages

    def state(self, history: Any) -> list[Any]:
        return [{"role": message["role"], "content": message["content"]} for message in history]

    def cut(self, history: Any) -> Any:
        return history[:-3]


if __name__ == "__main__":
    main(Strands())
