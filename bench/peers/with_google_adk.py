# /// script
# requires-python = ">=3.11"
# dependencies = ["google-adk==2.13.0", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""Google ADK: `ContextFilterPlugin` on the contents of each request, or event compaction, which adds to the session."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from functools import partial
from itertools import count as numbers

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.events import Event
from google.adk.flows.llm_flows import compaction, contents
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, FunctionCall, FunctionResponse, GenerateContentResponseUsageMetadata, Part
from worker import Arm, Chat, serve, timed_async, tokens

SUMMARY = "Summary of the earlier conversation: " + " ".join(
    ["the user asked for a change, files were read, commands were run, and some of their results were noted."] * 6
)


class Filtered:
    """The plugin sees all contents before every model call and changes that request alone."""

    def __init__(self, system: str, _budget: int, **options: int) -> None:
        self._head = head(system)
        self._plugin = ContextFilterPlugin(**options)
        self._contents: list[Content] = []
        self._form = Form()

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._contents += map(self._form.to_content, new)
        request = LlmRequest(contents=list(self._contents))
        timed_async(lambda: self._plugin.before_model_callback(callback_context=None, llm_request=request))
        return self._head + self._form.to_chats(request.contents)


class Compacted:
    """The two processors of ADK's flow that make a request of a session; usage is reported as a model would."""

    def __init__(self, system: str, budget: int) -> None:
        self._head = head(system)
        self._form = Form()
        self._time = numbers(1)
        service = InMemorySessionService()
        session = timed_async(lambda: service.create_session(app_name="app", user_id="user"))
        model = FixedModel(model="fixed")
        config = EventsCompactionConfig(
            summarizer=LlmEventSummarizer(llm=model), token_threshold=budget, event_retention_size=5
        )
        self._context = InvocationContext(
            session_service=service,
            session=session,
            invocation_id="0",
            agent=LlmAgent(name="agent", model=model),
            events_compaction_config=config,
        )
        self._prompt_tokens = 0

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._context.session.events += map(self._event, new)
        request = LlmRequest()
        timed_async(lambda: self._processed(request))
        chats = self._head + self._form.to_chats(request.contents)
        self._prompt_tokens = sum(map(tokens, chats))
        return chats

    async def _processed(self, request: LlmRequest) -> None:
        for processor in (compaction.request_processor, contents.request_processor):
            async for _ in processor.run_async(self._context, request):
                pass

    def _event(self, message: Chat) -> Event:
        time = next(self._time)
        is_reply = message["role"] == "assistant"
        if message["role"] == "user":
            self._context.invocation_id = str(time)
        return Event(
            author="agent" if message["role"] != "user" else "user",
            content=self._form.to_content(message),
            invocation_id=self._context.invocation_id,
            timestamp=time,
            usage_metadata=GenerateContentResponseUsageMetadata(prompt_token_count=self._prompt_tokens)
            if is_reply and self._prompt_tokens
            else None,
        )


class FixedModel(BaseLlm):
    """Writes the same summary of everything."""

    async def generate_content_async(
        self, _request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=Content(role="model", parts=[Part(text=SUMMARY)]))


class Form:
    """Contents and chat messages; keeps the text of arguments, which contents have parsed."""

    def __init__(self) -> None:
        # With the calls themselves, so that their identities never come to mean others.
        self._texts: dict[int, tuple[FunctionCall, str]] = {}

    def to_content(self, message: Chat) -> Content:
        if message["role"] == "tool":
            response = FunctionResponse(
                id=message["tool_call_id"], name=message["name"], response={"result": message["content"]}
            )
            return Content(role="user", parts=[Part(function_response=response)])
        calls = [Part(function_call=self._call(item)) for item in message.get("tool_calls") or ()]
        texts = [Part(text=message["content"])] if message["content"] or not calls else []
        return Content(role="model" if message["role"] == "assistant" else "user", parts=[*texts, *calls])

    def to_chats(self, given: Sequence[Content]) -> list[Chat]:
        return [chat for content in given for chat in self._chats(content)]

    def _call(self, item: Chat) -> FunctionCall:
        function = item["function"]
        call = FunctionCall(id=item["id"], name=function["name"], args=parsed(function["arguments"]))
        self._texts[id(call)] = call, function["arguments"]
        return call

    def _chats(self, content: Content) -> Iterator[Chat]:
        parts = content.parts or []
        for part in parts:
            if response := part.function_response:
                yield {"role": "tool", "content": response.response["result"], "tool_call_id": response.id}
        if parts and all(part.function_response for part in parts):
            return
        text = "".join(part.text or "" for part in parts)
        chat: Chat = {"role": "assistant" if content.role == "model" else "user", "content": text}
        if calls := [part.function_call for part in parts if part.function_call]:
            chat["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": self._texts[id(call)][1]},
                }
                for call in calls
            ]
        yield chat


def head(system: str) -> list[Chat]:
    return [{"role": "system", "content": system}] if system else []


def parsed(arguments: str) -> Chat:
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


if __name__ == "__main__":
    serve(
        "google-adk",
        ["google-adk"],
        [
            Arm(
                name="filter",
                call="await ContextFilterPlugin(num_invocations_to_keep=5).before_model_callback(...)",
                start=partial(Filtered, num_invocations_to_keep=5),
                knows_budget=False,
                note="It keeps whole invocations: all that follows the fifth user message from the end.",
            ),
            Arm(
                name="filter-steps",
                call="await ContextFilterPlugin(num_invocations_to_keep=5, remove_amount=5).before_model_callback(...)",
                start=partial(Filtered, num_invocations_to_keep=5, remove_amount=5),
                knows_budget=False,
                is_default=False,
                note="It waits for ten invocations, then goes down to five.",
            ),
            Arm(
                name="compaction",
                call="EventsCompactionConfig(summarizer=..., token_threshold=B, event_retention_size=5)",
                start=Compacted,
                note="The last five events stay; it looks at the tokens of the last prompt, and the summary of the rest"
                " comes from a fake model and says nothing.",
            ),
        ],
    )
