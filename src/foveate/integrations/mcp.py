"""MCP: the tools of Foveate over standard input and output, for any client of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from foveate.lookup.questions import QUESTIONS, Answer, Question

_ALWAYS_LOADED: Final = "anthropic/alwaysLoad"
_DEEPEST: Final = 4


def serve(answer: Answer) -> None:
    """Answer the client on standard input and output until it leaves."""
    anyio.run(_served, answer)


async def _served(answer: Answer) -> None:
    server = make_server(answer)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def make_server(answer: Answer) -> Server[Any]:
    """A server whose tools `answer` answers, one call at a time."""
    alone = anyio.CapacityLimiter(1)

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(one) for one in QUESTIONS])

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        evidence = frozenset(_ids(context.meta))
        asked = partial(answer, params.name, params.arguments or {}, evidence)
        # Beside the event loop, which has to answer pings while a large store is searched.
        text, is_answer = await anyio.to_thread.run_sync(asked, limiter=alone)
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=not is_answer)

    return Server("foveate", version=version("foveate"), on_list_tools=list_tools, on_call_tool=call_tool)


def _tool(question: Question) -> Tool:
    return Tool(
        name=question.name,
        description=question.description,
        input_schema=dict(question.schema),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        _meta={_ALWAYS_LOADED: question.always_loaded},
    )


def _ids(meta: Any, depth: int = 0) -> Iterator[str]:
    """All texts that a client sent beside a call: ids of its session, its thread or the call are among them."""
    match meta:
        case str():
            yield meta
        case dict() if depth < _DEEPEST:
            for value in meta.values():
                yield from _ids(value, depth + 1)
        case _:
            return
