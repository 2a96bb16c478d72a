"""Strands: requests of an agent within a budget (extra: `foveate[strands]`).

A model around a model: `agent.messages` stays whole, and what the inner model is given is compiled.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from foveate.errors import ConfigError
from foveate.integrations.supported import require

require("strands-agents")

from strands.models import Model  # noqa: E402

from foveate.session.beside import run_beside  # noqa: E402
from foveate.threads.matching import item_keys  # noqa: E402
from foveate.threads.originals import with_originals  # noqa: E402
from foveate.threads.request import HistoryRequest  # noqa: E402
from foveate.threads.threads import Compiled, Threads  # noqa: E402

_OWN = "strands_block"


class BudgetedModel(Model):
    """For `Agent(model=BudgetedModel(model, budget=…), conversation_manager=NullConversationManager())`.

    Without that manager Strands drops messages of `agent.messages` by its own rules; each time it does, the history
    goes on in another branch.

    Args:
        model: the model that answers.
        budget: the most input tokens of a request; without it, what the window of the model leaves for input.
        options: those of `foveate.Threads` and `Session`, such as `store` and `policy`.

    """

    def __init__(self, model: Model, *, budget: Any = None, **options: Any) -> None:
        if model.stateful:
            raise ConfigError(
                "`model` keeps the history with its provider, where no budget holds; give one that is not stateful"
            )
        self.model = model
        self.threads = Threads(budget=budget, **options)

    def update_config(self, **model_config: Any) -> None:
        """Change the configuration of the inner model."""
        self.model.update_config(**model_config)

    def get_config(self) -> Any:
        """The configuration of the inner model."""
        return self.model.get_config()

    async def structured_output(
        self, output_model: Any, prompt: Any, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """An answer in a form, for the compiled request."""
        compiled, asked = await self._compiled(prompt, None, system_prompt, None, kwargs)
        messages = _sent(compiled, asked, prompt) if compiled is not None and asked is not None else prompt
        async for event in self.model.structured_output(output_model, messages, system_prompt, **kwargs):
            yield event

    async def stream(
        self,
        messages: Any,
        tool_specs: Any = None,
        system_prompt: str | None = None,
        *,
        system_prompt_content: Any = None,
        **rest: Any,
    ) -> AsyncIterator[Any]:
        """The events of the inner model, for the compiled request."""
        compiled, asked = await self._compiled(messages, tool_specs, system_prompt, system_prompt_content, rest)
        sent = _sent(compiled, asked, messages) if compiled is not None and asked is not None else messages
        events = self.model.stream(sent, tool_specs, system_prompt, system_prompt_content=system_prompt_content, **rest)
        async for event in events:
            usage = event.get("metadata", {}).get("usage")
            if usage and compiled is not None:
                await run_beside(_report, compiled, usage)
            yield event

    async def _compiled(
        self, messages: Any, tool_specs: Any, system: str | None, system_content: Any, rest: Mapping[str, Any]
    ) -> tuple[Compiled | None, HistoryRequest | None]:
        if not messages:
            return None, None
        items = [_as_blocks(message) for message in messages]
        texts = [block["text"] for block in system_content or () if "text" in block]
        config = self.model.get_config()
        name = config.get("model_id") if isinstance(config, Mapping) else None
        asked = HistoryRequest(
            format="anthropic",
            items=items,
            keys=item_keys(items),
            system="\n\n".join(texts) or system,
            tools=tuple(map(_tool, tool_specs or ())),
            model=name if isinstance(name, str) else None,
            thread=getattr(rest.get("agent_metadata"), "session_id", None),
        )
        return await self.threads.acompile(asked), asked


def _sent(compiled: Compiled, asked: HistoryRequest, messages: Sequence[Any]) -> list[Any]:
    if not compiled.view.request.rewritten:
        return list(messages)
    return with_originals(compiled.view.to("anthropic")["messages"], messages, asked.keys, _as_strands)


def _report(compiled: Compiled, usage: Mapping[str, Any]) -> None:
    # Some providers count what was cached as input and some beside it; the total has it once.
    tokens = usage.get("totalTokens", 0) - usage.get("outputTokens", 0)
    if tokens > 0:
        read = min(usage.get("cacheReadInputTokens") or 0, tokens)
        reported = {"prompt_tokens": tokens, "prompt_tokens_details": {"cached_tokens": read}}
        compiled.branch.report(compiled.view.number, reported)


def _tool(spec: Mapping[str, Any]) -> dict[str, Any]:
    schema = spec["inputSchema"]
    return {"name": spec["name"], "description": spec["description"], "input_schema": schema.get("json", schema)}


# --- blocks, there and back ------------------------------------------------------------------------------------------


def _as_blocks(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": message["role"], "content": [_as_block(block) for block in message["content"]]}


def _as_block(block: Mapping[str, Any]) -> dict[str, Any]:
    match block:
        case {"text": str() as text}:
            return {"type": "text", "text": text}
        case {"toolUse": {"toolUseId": identifier, "name": name, "input": arguments}}:
            return {"type": "tool_use", "id": identifier, "name": name, "input": arguments}
        case {"toolResult": {"toolUseId": identifier, "content": [*content], **more}}:
            failed = {"is_error": True} if more.get("status") == "error" else {}
            parts = [_as_block(part) for part in content]
            return {"type": "tool_result", "tool_use_id": identifier, "content": parts, **failed}
        case {"reasoningContent": {"reasoningText": {"text": text, "signature": str() as signature}}}:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case _:
            # Kept whole or left out whole.
            return {"type": _OWN, "block": dict(block)}


def _as_strands(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"role": message["role"], "content": [_own_block(block) for block in blocks]}


def _own_block(block: Mapping[str, Any]) -> dict[str, Any]:
    match block:
        case {"type": "tool_use", "id": identifier, "name": name, "input": arguments}:
            return {"toolUse": {"toolUseId": identifier, "name": name, "input": arguments}}
        case {"type": "tool_result", "tool_use_id": identifier, **more}:
            content = more.get("content", [])
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            status = "error" if more.get("is_error") else "success"
            result = {"toolUseId": identifier, "status": status, "content": [_own_block(part) for part in parts]}
            return {"toolResult": result}
        case {"type": "thinking", "thinking": text, "signature": signature}:
            return {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}
        case {"type": "strands_block", "block": own}:
            return dict(own)
        case _:
            return {"text": block["text"]}
