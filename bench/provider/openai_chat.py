"""OpenAI chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.provider.reply import Reply, json_reply, stream_reply
from bench.provider.script import Call, Json, Refusal, Request, Step, Tool

OUTPUT_TOKENS = 30


class OpenAIChat:
    """`POST /v1/chat/completions`."""

    name = "openai"

    def speaks(self, path: str) -> bool:
        """Whatever stands before it."""
        return path.endswith("/chat/completions")

    def tools(self, body: Json) -> list[Tool]:
        """Functions only: agents that offer custom tools speak Responses."""
        functions = [one["function"] for one in body.get("tools") or [] if one.get("type") == "function"]
        return [Tool(one["name"], one.get("parameters") or {}) for one in functions]

    def answer(self, request: Request, step: Step) -> Reply:
        """One choice; a step without text has null as its content, as the API sends it."""
        message: Json = {"role": "assistant", "content": step.text or None}
        for fields in step.own.get(self.name, ()):
            message |= fields
        if step.calls:
            message["tool_calls"] = [_tool_call(request, place, call) for place, call in enumerate(step.calls)]
        usage = {
            "prompt_tokens": request.tokens,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": request.tokens + OUTPUT_TOKENS,
            "prompt_tokens_details": {"cached_tokens": request.cached},
        }
        head = {"id": f"chatcmpl-{request.number:04}", "created": 1, "model": request.body.get("model")}
        finish = "tool_calls" if step.calls else "stop"
        if request.body.get("stream"):
            return stream_reply(_events(head, message, finish, usage))
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return json_reply({**head, "object": "chat.completion", "choices": [choice], "usage": usage})

    def refuse(self, request: Request, refusal: Refusal) -> Reply:
        """An overflow has a code of its own."""
        code = "context_length_exceeded" if refusal.is_overflow else None
        error = {"message": refusal.message, "type": "invalid_request_error", "param": "messages", "code": code}
        return json_reply({"error": error}, 400)


def _tool_call(request: Request, place: int, call: object) -> Json:
    assert isinstance(call, Call)
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": f"call_{request.number:04}{place:02}", "type": "function", "function": function}


def _events(head: Json, message: Json, finish: str, usage: Json) -> Iterator[Json | str]:
    def chunk(delta: Json, finish: str | None = None) -> Json:
        return {**chunk_head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    chunk_head = {**head, "object": "chat.completion.chunk"}
    told = {key: value for key, value in message.items() if key != "tool_calls"}
    yield chunk({**told, "content": message["content"] or ""})
    for place, call in enumerate(message.get("tool_calls") or []):
        yield chunk({"tool_calls": [{"index": place, **call}]})
    yield chunk({}, finish)
    yield {**chunk_head, "choices": [], "usage": usage}
    yield "[DONE]"
