"""agent-framework: requests of an agent within a budget (extra: `foveate[agent-framework]`).

The messages of the session stay whole and unflagged: what is compiled is sent and never stored among them.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from foveate.errors import ConfigError
from foveate.integrations.supported import require

require("agent-framework-core")

from agent_framework import ChatContext, ChatMiddleware, ChatResponse, Content, Message  # noqa: E402

from foveate.session.beside import run_beside  # noqa: E402
from foveate.threads.matching import item_keys  # noqa: E402
from foveate.threads.originals import with_originals  # noqa: E402
from foveate.threads.request import HistoryRequest  # noqa: E402
from foveate.threads.threads import Compiled, Threads  # noqa: E402

_OWN = "agent_framework_content"
_LEADING = ("system", "developer")


class FoveateMiddleware(ChatMiddleware):
    """For `Agent(middleware=[…])`: every chat request is compiled, one thread for each session.

    Args:
        budget: the most input tokens of a request; without it, what the window of the model leaves for input.
        options: those of `foveate.Threads` and `Session`, such as `store` and `policy`.

    """

    def __init__(self, *, budget: Any = None, **options: Any) -> None:
        self.threads = Threads(budget=budget, **options)

    async def process(self, context: ChatContext, call_next: Any) -> None:
        """Send the compiled messages in place of the history."""
        if getattr(context.session, "service_session_id", None) or (context.options or {}).get("conversation_id"):
            raise ConfigError(
                "the service keeps the history of this session, where no budget holds; use a session that does not "
                "(`store=False`), or an agent without this middleware"
            )
        leading = _leading(context.messages)
        own = list(context.messages[leading:])
        if not own:
            await call_next()
            return
        asked = _request(context, own, leading)
        compiled = await self.threads.acompile(asked)
        if compiled.view.request.rewritten:
            sent = with_originals(compiled.view.to("anthropic")["messages"], own, asked.keys, _as_message)
            context.messages = [*context.messages[:leading], *(one for piece in sent for one in _apart(piece))]
        if context.stream:

            async def reported(response: ChatResponse) -> ChatResponse:
                await run_beside(_report, compiled, response)
                return response

            context.stream_result_hooks.append(reported)
        await call_next()
        if not context.stream:
            await run_beside(_report, compiled, context.result)


def _leading(messages: Sequence[Message]) -> int:
    return next((at for at, message in enumerate(messages) if message.role not in _LEADING), len(messages))


def _request(context: ChatContext, own: Sequence[Message], leading: int) -> HistoryRequest:
    options = context.options or {}
    texts = [options.get("instructions"), *(message.text for message in context.messages[:leading])]
    items = [_as_blocks(message) for message in own]
    model = options.get("model") or getattr(context.client, "model", None)
    return HistoryRequest(
        format="anthropic",
        items=items,
        keys=item_keys(items),
        system="\n\n".join(text for text in texts if text) or None,
        tools=tuple(_tool(tool) for tool in options.get("tools") or ()),
        response_format=None,
        model=model if isinstance(model, str) else None,
        thread=context.session.session_id if context.session is not None else None,
    )


def _tool(tool: Any) -> dict[str, Any]:
    if isinstance(tool, Mapping):
        return dict(tool)
    schema = tool.parameters() if callable(getattr(tool, "parameters", None)) else {"type": "object"}
    return {"name": tool.name, "description": tool.description or "", "input_schema": schema}


def _report(compiled: Compiled, response: Any) -> None:
    usage = getattr(response, "usage_details", None) or {}
    if tokens := usage.get("input_token_count"):
        read = min(usage.get("cache_read_input_token_count") or 0, tokens)
        reported = {"prompt_tokens": tokens, "prompt_tokens_details": {"cached_tokens": read}}
        compiled.branch.report(compiled.view.number, reported)


# --- contents, there and back ----------------------------------------------------------------------------------------


def _as_blocks(message: Message) -> dict[str, Any]:
    role = "assistant" if message.role == "assistant" else "user"
    return {"role": role, "content": [_as_block(content) for content in message.contents]}


def _as_block(content: Content) -> dict[str, Any]:
    match content.type:
        case "text":
            return {"type": "text", "text": content.text or ""}
        case "function_call":
            arguments = content.arguments
            given = json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments or {})
            return {"type": "tool_use", "id": content.call_id, "name": content.name, "input": given}
        case "function_result":
            said = content.result if isinstance(content.result, str) else json.dumps(content.result, default=str)
            failed = {"is_error": True} if content.exception is not None else {}
            return {"type": "tool_result", "tool_use_id": content.call_id, "content": said, **failed}
        case _:
            # Kept whole or left out whole.
            return {"type": _OWN, "content": content.to_dict()}


def _as_message(item: Mapping[str, Any]) -> Message:
    content = item["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return Message(role=item["role"], contents=[_as_content(block) for block in blocks])


def _as_content(block: Mapping[str, Any]) -> Content:
    match block:
        case {"type": "tool_use", "id": identifier, "name": name, "input": arguments}:
            return Content.from_function_call(identifier, name, arguments=json.dumps(arguments))
        case {"type": "tool_result", "tool_use_id": identifier, **more}:
            said = more.get("content", "")
            text = said if isinstance(said, str) else "\n".join(part["text"] for part in said if "text" in part)
            return Content.from_function_result(identifier, result=text)
        case {"type": "agent_framework_content", "content": own}:
            return Content.from_dict(own)
        case _:
            return Content.from_text(block["text"])


def _apart(message: Message) -> list[Message]:
    """A message of the user with results in it as one of the tool's and one of the user's, as the package has them."""
    results = [content for content in message.contents if content.type == "function_result"]
    if message.role != "user" or not results:
        return [message]
    others = [content for content in message.contents if content.type != "function_result"]
    return [Message(role="tool", contents=results), *([Message(role="user", contents=others)] if others else [])]
