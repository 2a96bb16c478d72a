"""A gateway on a free port, without pages, and requests as agents make them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from bench.gateway_rules import Enforcing
from bench.gateway_trial import gateway_at
from bench.provider import Script, ScriptedProvider, Step, serve
from bench.provider.server import Answer

from foveate.gateway import Gateway

Json = dict[str, Any]
CLAUDE = {"x-api-key": "sk-none", "anthropic-version": "2023-06-01", "user-agent": "claude-cli/2.1"}
PATHS = {
    "anthropic": "/v1/messages?beta=true",
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
}
TOOL = {"name": "bash", "description": "Runs.", "input_schema": {"type": "object", "properties": {}}}
SAYING = Script([Step(f"Answer {number}.") for number in range(100)])


@contextmanager
def before_provider(
    answer: Answer | None = None, store: Path | None = None, **options: Any
) -> Iterator[tuple[ScriptedProvider, Gateway, httpx.Client]]:
    """A provider, a gateway in front of it, and a client that talks to the gateway."""
    window = options.pop("window", None)
    rules = (Enforcing(window=window),) if window is not None else ()
    with (
        serve(answer or (lambda _: Step("Yes.")), rules=rules) as provider,
        gateway_at(provider.address, store, **options) as (gateway, address),
        httpx.Client(base_url=address, timeout=60, trust_env=False) as client,
    ):
        yield provider, gateway, client


def packed(body: Json) -> bytes:
    """A body as agents write it."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def ask(client: httpx.Client, messages: list[Json], *, session: str = "s-1", **more: Any) -> httpx.Response:
    """A request as Claude Code makes it."""
    headers = {**CLAUDE, "x-claude-code-session-id": session, **more.pop("headers", {})}
    body = {"model": "claude-sonnet-4-5", "messages": messages, "system": "Be brief.", "tools": [TOOL], **more}
    return client.post(PATHS["anthropic"], content=packed(body), headers=headers)


def exchange(number: int, text: str) -> list[Json]:
    """A call and its result, as Claude Code sends them."""
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "bash", "input": {"command": f"run {number}"}}
    result = {"tool_use_id": f"toolu_{number}", "type": "tool_result", "content": text, "is_error": False}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def long_conversation(steps: int) -> list[Json]:
    """A task, and steps with long outputs, no two of them alike."""
    messages: list[Json] = [{"role": "user", "content": "Build it all."}]
    for number in range(steps):
        lines = "\n".join(f"step {number} wrote line {line} of module_{number}.py" for line in range(60))
        messages += exchange(number, lines)
    return messages


def marked(messages: list[Json]) -> list[Json]:
    """The messages with a cache mark on the last block of the last, as Claude Code sets it."""
    *before, last = messages
    blocks = last["content"]
    blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
    return [*before, {**last, "content": [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]}]


def sent(provider: ScriptedProvider, number: int = -1) -> Json:
    """The body of a request that the provider received for an answer."""
    body: Json = json.loads(provider.requests[number].body)
    return body
