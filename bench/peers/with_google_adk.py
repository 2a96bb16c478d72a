# /// script
# requires-python = ">=3.11"
# dependencies = ["google-adk==2.13.0", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""Google ADK: `ContextFilterPlugin` on the contents of each request, or event compaction, which adds to the session."""

from __future__ import annotations

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
from worker import SUMMARY, Arm, Chat, head, serve, timed_async, tokens


class Filtered:
    """The plugin sees all contents before every model call and changes that request alone."""

    def __init__(self, system: str, _budget: int, **options: int) -> None:
        self._head = head(system)
        self._plugin = ContextFilterPlugin(**options)
        self._contents: list[Content] = []

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._contents += map(to_content, new)
        request = LlmRequest(contents=list(self._contents))
        timed_async(lambda: self._plugin.before_model_callback(callback_context=None, llm_request=request))
        return self._head + [chat for content in request.contents for chat in to_chats(content)]


class Compacted:
    """The two processors of ADK's flow that make a request of a session; usage is reported as a model would."""

    def __init__(self, system: str, budget: int) -> None:
        self._head = head(system)
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
        chats = self._head + [chat for content in request.contents for chat in to_chats(content)]
        self._prompt_tokens = sum(map(tokens, chats))
        return chats

    async def _processed(self, request: LlmRequest) -> None:
        for processor in (compaction.request_processor, contents.request_processor):
            async for _ in processor.run_async(self._context, request):
                pass

    def _event(self, message: Chat) -> Event:
        time = next(self._time)
        if message["role"] == "user":
            self._context.invocation_id = str(time)
        event = Event(
            author="user" if message["role"] == "user" else "agent",
            content=to_content(message),
            invocation_id=self._context.invocation_id,
            timestamp=time,
        )
        if message["role"] == "assistant" and self._prompt_tokens:
            event.usage_metadata = GenerateContentResponseUsageMetadata(prompt_token_count=self._prompt_tokens)
        return event


class FixedModel(BaseLlm):
    """Writes the same summary of everything."""

    async def generate_content_async(
        self, _request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=Content(role="model", parts=[Part(text=SUMMARY)]))


def to_content(message: Chat) -> Content:
    if message["role"] == "tool":
        response = FunctionResponse(
            id=message["tool_call_id"], name=message["name"], response={"result": message["content"]}
        )
        return Content(role="user", parts=[Part(function_response=response)])
    calls = [Part(function_call=to_call(item)) for item in message.get("tool_calls") or ()]
    texts = [Part(text=message["content"])] if message["content"] or not calls else []
    # Contents know `user` and `model` only, so instructions in mid-conversation can be nothing but the user's.
    return Content(role="model" if message["role"] == "assistant" else "user", parts=[*texts, *calls])


def to_call(item: Chat) -> FunctionCall:
    # Nothing here looks into arguments, so they stay the text that they were.
    return FunctionCall(id=item["id"], name=item["function"]["name"], args={"text": item["function"]["arguments"]})


def to_chats(content: Content) -> Iterator[Chat]:
    """ADK puts the results of parallel calls into one content; chat has a message for each."""
    parts = content.parts or []
    results = [part.function_response for part in parts if part.function_response]
    for result in results:
        yield {"role": "tool", "content": result.response["result"], "tool_call_id": result.id}
    if results and len(results) == len(parts):
        return
    text = "".join(part.text or "" for part in parts)
    chat: Chat = {"role": "assistant" if content.role == "model" else "user", "content": text}
    if calls := [part.function_call for part in parts if part.function_call]:
        chat["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args["text"]}}
            for call in calls
        ]
    yield chat


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
                note="It keeps whole invocations: all from the last but fourth user message on; there is no default.",
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
                note="As its documentation has it: five events stay, and the last prompt is what it measures; summaries"
                " come from a fake model and say nothing.",
            ),
        ],
    )
