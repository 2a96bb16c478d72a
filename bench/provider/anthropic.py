"""Anthropic Messages."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from bench.provider.reply import Reply, json_reply, stream_reply
from bench.provider.script import Call, Json, Refusal, Request, Step, Tool

OUTPUT_TOKENS = 30


class Anthropic:
    """`POST /v1/messages`."""

    name = "anthropic"

    def speaks(self, path: str) -> bool:
        """Not `count_tokens`, which is below it."""
        return path.endswith("/messages")

    def tools(self, body: Json) -> list[Tool]:
        """Server tools have no schema and are left out: the provider runs them itself."""
        return [Tool(one["name"], one["input_schema"]) for one in body.get("tools") or [] if "input_schema" in one]

    def answer(self, request: Request, step: Step) -> Reply:
        """Thinking stands first, as the API demands of an assistant message that calls tools."""
        blocks: list[Json] = []
        if (request.body.get("thinking") or {}).get("type") in {"enabled", "adaptive"}:
            signature = base64.b64encode(f"signature {request.number}".encode()).decode()
            blocks.append({"type": "thinking", "thinking": step.thinking, "signature": signature})
        blocks += step.own.get(self.name, ())
        blocks += [{"type": "text", "text": step.text}] if step.text else []
        for place, call in enumerate(step.calls):
            assert isinstance(call, Call)
            identifier = f"toolu_{request.number:04}{place:02}"
            blocks.append({"type": "tool_use", "id": identifier, "name": call.name, "input": call.arguments})
        message = {
            "id": f"msg_{request.number:04}",
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model"),
            "content": blocks,
            "stop_reason": "tool_use" if step.calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": request.tokens - request.cached,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": request.cached,
                "output_tokens": OUTPUT_TOKENS,
            },
        }
        return stream_reply(_events(message), named=True) if request.body.get("stream") else json_reply(message)

    def refuse(self, request: Request, refusal: Refusal) -> Reply:
        """An overflow is told from other errors by its text alone."""
        error = {"type": "invalid_request_error", "message": refusal.message}
        return json_reply({"type": "error", "error": error, "request_id": f"req_{request.number:04}"}, 400)


def _events(message: Json) -> Iterator[Json]:
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for place, block in enumerate(message["content"]):
        empty, deltas = _parts(block)
        yield {"type": "content_block_start", "index": place, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _parts(block: Json) -> tuple[Json, list[Json]]:
    """The block as it begins, and what is added to it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use":
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        case _:
            return block, []
