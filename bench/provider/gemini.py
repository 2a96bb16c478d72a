"""Gemini."""

from __future__ import annotations

import base64
import re
from typing import Final

from bench.provider.reply import Reply, json_reply, stream_reply
from bench.provider.script import Call, Json, Refusal, Request, Step, Tool

OUTPUT_TOKENS = 30
_PATH: Final = re.compile(r":(streamG|g)enerateContent$")


class Gemini:
    """`POST /v1beta/models/MODEL:generateContent`, and `:streamGenerateContent`."""

    name = "gemini"

    def speaks(self, path: str) -> bool:
        """Not `countTokens`."""
        return _PATH.search(path) is not None

    def tools(self, body: Json) -> list[Tool]:
        """A schema is OpenAPI's or JSON Schema's."""
        declared = [one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations") or []]
        return [Tool(one["name"], one.get("parametersJsonSchema") or one.get("parameters") or {}) for one in declared]

    def answer(self, request: Request, step: Step) -> Reply:
        """Only the first call of an answer bears a thought signature, as the API has it."""
        parts: list[Json] = [*step.own.get(self.name, ()), *([{"text": step.text}] if step.text else [])]
        for place, call in enumerate(step.calls):
            assert isinstance(call, Call)
            identifier = f"fc{request.number:04}{place:02}"
            part: Json = {"functionCall": {"id": identifier, "name": call.name, "args": call.arguments}}
            if not place:
                part["thoughtSignature"] = base64.b64encode(f"thought {request.number}".encode()).decode()
            parts.append(part)
        answer = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": request.tokens,
                "cachedContentTokenCount": request.cached,
                "candidatesTokenCount": OUTPUT_TOKENS,
                "totalTokenCount": request.tokens + OUTPUT_TOKENS,
            },
            "responseId": f"r{request.number:04}",
        }
        if "alt=sse" in request.path:
            return stream_reply([answer])
        return json_reply([answer] if ":stream" in request.path else answer)

    def refuse(self, request: Request, refusal: Refusal) -> Reply:
        """An overflow is told from other errors by its text alone."""
        return json_reply({"error": {"code": 400, "message": refusal.message, "status": "INVALID_ARGUMENT"}}, 400)
