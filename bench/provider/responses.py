"""OpenAI Responses."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from bench.provider.reply import Reply, json_reply, stream_reply
from bench.provider.script import Call, Json, Refusal, Request, Step, Tool

OUTPUT_TOKENS = 30


class Responses:
    """`POST /v1/responses`."""

    name = "responses"

    def speaks(self, path: str) -> bool:
        """Whatever stands before it."""
        return path.endswith("/responses")

    def tools(self, body: Json) -> list[Tool]:
        """Of the request itself, and of items that add some; both may have namespaces."""
        items = body.get("input")
        added = [one for one in (items if isinstance(items, list) else []) if one.get("type") == "additional_tools"]
        return list(_flat([*(body.get("tools") or []), *(tool for one in added for tool in one.get("tools") or [])]))

    def answer(self, request: Request, step: Step) -> Reply:
        """A request whose last item is a `compaction_trigger` gets one `compaction` item and nothing else."""
        items = request.body.get("input")
        if isinstance(items, list) and items and items[-1].get("type") == "compaction_trigger":
            output = [{"type": "compaction", "id": f"cmp_{request.number:04}", "encrypted_content": _sealed(request)}]
        else:
            output = list(_output(request, step))
        response = {
            "id": f"resp_{request.number:04}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": request.body.get("model"),
            "output": output,
            "error": None,
            "usage": {
                "input_tokens": request.tokens,
                "input_tokens_details": {"cached_tokens": request.cached},
                "output_tokens": OUTPUT_TOKENS,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": request.tokens + OUTPUT_TOKENS,
            },
        }
        return stream_reply(_events(response), named=True) if request.body.get("stream") else json_reply(response)

    def refuse(self, request: Request, refusal: Refusal) -> Reply:
        """A stream that has begun cannot change its status, so its error is an event."""
        code = "context_length_exceeded" if refusal.is_overflow else "invalid_request_error"
        error = {"code": code, "message": refusal.message}
        if not request.body.get("stream"):
            return json_reply({"error": {**error, "type": "invalid_request_error", "param": "input"}}, 400)
        response = {"id": f"resp_{request.number:04}", "object": "response", "status": "failed", "error": error}
        return stream_reply(
            [{"type": "response.failed", "sequence_number": 0, "response": {**response, "output": []}}], named=True
        )


def _flat(tools: list[Json], namespace: str = "") -> Iterator[Tool]:
    for tool in tools:
        match tool.get("type"):
            case "function":
                yield Tool(tool["name"], tool.get("parameters") or {}, namespace)
            case "custom":
                yield Tool(tool["name"], None, namespace)
            case "namespace":
                yield from _flat(tool.get("tools") or [], tool["name"])
            case _:
                # A hosted tool: the provider runs it itself.
                continue


def _output(request: Request, step: Step) -> Iterator[Json]:
    wants_reasoning = "reasoning.encrypted_content" in (request.body.get("include") or ())
    if wants_reasoning:
        summary = [{"type": "summary_text", "text": step.thinking}] if step.thinking else []
        identifier = f"rs_{request.number:04}"
        yield {"type": "reasoning", "id": identifier, "summary": summary, "encrypted_content": _sealed(request)}
    yield from step.own.get(Responses.name, ())
    if step.text:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        head = {"type": "message", "id": f"msg_{request.number:04}", "status": "completed", "role": "assistant"}
        yield {**head, "content": content}
    for place, call in enumerate(step.calls):
        assert isinstance(call, Call)
        number = f"{request.number:04}{place:02}"
        named = {"name": call.name, **({"namespace": call.namespace} if call.namespace else {})}
        head = {"status": "completed", "call_id": f"call_{number}", **named}
        if isinstance(call.arguments, str):
            yield {"type": "custom_tool_call", "id": f"ctc_{number}", **head, "input": call.arguments}
        else:
            yield {"type": "function_call", "id": f"fc_{number}", **head, "arguments": json.dumps(call.arguments)}


def _sealed(request: Request) -> str:
    return base64.b64encode(f"sealed {request.number}".encode()).decode()


def _events(response: Json) -> Iterator[Json]:
    numbered = ({"sequence_number": number, **event} for number, event in enumerate(_unnumbered(response)))
    return ({"type": event.pop("type"), **event} for event in numbered)


def _unnumbered(response: Json) -> Iterator[Json]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for place, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": place, "item": item}
        for event in _item_events(item):
            yield {"item_id": item["id"], "output_index": place, **event}
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    yield {"type": "response.completed", "response": response}


def _item_events(item: Json) -> Iterator[Json]:
    match item["type"]:
        case "message":
            part: Any = item["content"][0]
            where = {"content_index": 0}
            yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
            yield {"type": "response.output_text.delta", **where, "delta": part["text"]}
            yield {"type": "response.output_text.done", **where, "text": part["text"]}
            yield {"type": "response.content_part.done", **where, "part": part}
        case "function_call":
            yield {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", "arguments": item["arguments"]}
        case "custom_tool_call":
            yield {"type": "response.custom_tool_call_input.delta", "delta": item["input"]}
            yield {"type": "response.custom_tool_call_input.done", "input": item["input"]}
        case _:
            return
