# /// script
# requires-python = ">=3.11"
# dependencies = ["foveate[google-adk]", "google-adk==2.13.0"]
# [tool.uv.sources]
# foveate = { path = "../..", editable = true }
# ///
"""Google ADK: a runner with the plugin."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from bench.frameworks.trial import main
from bench.frameworks.work import SYSTEM, read
from foveate.integrations.google_adk import FoveatePlugin


class GoogleADK:
    name = "google-adk"

    def budgeted(self, **options: Any) -> FoveatePlugin:
        return FoveatePlugin(**options)

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
        os.environ.update(GOOGLE_API_KEY="none", GOOGLE_GEMINI_BASE_URL=address)
        service = InMemorySessionService()
        session = await service.create_session(app_name="trial", user_id="user", session_id=thread)
        for event in history or ():
            await service.append_event(session, event)
        agent = LlmAgent(name="reader", model="gemini-2.5-pro", instruction=SYSTEM, tools=[read])
        plugins = [budgeted] if budgeted is not None else []
        runner = Runner(app_name="trial", agent=agent, session_service=service, plugins=plugins)
        config = RunConfig(streaming_mode=StreamingMode.SSE if streamed else StreamingMode.NONE)
        message = types.Content(role="user", parts=[types.Part(text=prompt)])
        async for _ in runner.run_async(user_id="user", session_id=thread, new_message=message, run_config=config):
            pass
        found = await service.get_session(app_name="trial", user_id="user", session_id=thread)
        return list(found.events)

    def state(self, history: Any) -> list[Any]:
        return [event.content.model_dump(mode="json") for event in history]

    def cut(self, history: Any) -> Any:
        return history[:-3]


if __name__ == "__main__":
    main(GoogleADK())
