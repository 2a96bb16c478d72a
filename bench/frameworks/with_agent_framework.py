# /// script
# requires-python = ">=3.11"
# dependencies = ["foveate[agent-framework]", "agent-framework-core==1.23.0", "agent-framework-openai"]
# [tool.uv.sources]
# foveate = { path = "../..", editable = true }
# ///
"""agent-framework: an agent with the chat middleware."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from agent_framework import Agent, Message
from agent_framework.openai import OpenAIChatCompletionClient

import foveate
from bench.frameworks.trial import main
from bench.frameworks.work import SYSTEM, read
from foveate.integrations.agent_framework import FoveateMiddleware


class AgentFramework:
    name = "agent-framework"

    def budgeted(self, **options: Any) -> FoveateMiddleware:
        return FoveateMiddleware(**options)

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
        client = OpenAIChatCompletionClient(model="gpt-5", base_url=f"{address}/v1", api_key="none")
        client.function_invocation_configuration["max_iterations"] = 100
        middleware = [budgeted] if budgeted is not None else []
        agent = Agent(client=client, instructions=SYSTEM, tools=[read], middleware=middleware)
        messages = [*(history or ()), Message("user", [prompt])]
        with foveate.thread(thread):
            if streamed:
                stream = agent.run(messages, stream=True)
                async for _ in stream:
                    pass
                response = await stream.get_final_response()
            else:
                response = await agent.run(messages)
        return [*messages, *response.messages]

    def state(self, history: Any) -> list[Any]:
        # Calls get an id that is made up each time.
        contents = ([content.to_dict(exclude={"id"}) for content in message.contents] for message in history)
        return [{"role": message.role, "contents": found} for message, found in zip(history, contents, strict=True)]

    def cut(self, history: Any) -> Any:
        return history[:-3]


if __name__ == "__main__":
    main(AgentFramework())
