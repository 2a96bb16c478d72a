"""OpenAI Agents: requests of a run within a budget, and its session in a store (extra: `foveate[openai-agents]`).

The items of the run stay whole: what is compiled is sent and never stored among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from foveate.errors import ConfigError
from foveate.integrations.supported import require

require("openai-agents")

from agents.memory import SessionSettings  # noqa: E402
from agents.run_config import CallModelData, ModelInputData, RunConfig  # noqa: E402

from agents import Agent, AgentOutputSchema, FunctionTool, Handoff, RunContextWrapper, RunHooks, handoff  # noqa: E402
from foveate.log.events import MessageAppended, RequestReceived  # noqa: E402
from foveate.log.messages import Message  # noqa: E402
from foveate.recall.tool import RECALL_TOOL  # noqa: E402
from foveate.session import Session  # noqa: E402
from foveate.session.beside import Turns, run_beside  # noqa: E402
from foveate.threads.matching import item_keys  # noqa: E402
from foveate.threads.request import HistoryRequest  # noqa: E402
from foveate.threads.threads import Compiled, Threads  # noqa: E402
from foveate.wire.formats import RESPONSES  # noqa: E402

if TYPE_CHECKING:
    from foveate.store import Store

_OUTPUTS = ("function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output")


class BudgetedRuns(RunHooks[Any]):
    """For `Runner.run(agent, …, run_config=history.run_config(), hooks=history)`: every model call is compiled.

    Runs find their session by `foveate.thread(name)`, or without it by how they begin. As `hooks` it also hears what
    the provider counted. Runs with `previous_response_id` or `conversation_id` are refused: the provider has the
    history then, and no budget holds.

    Args:
        budget: the most input tokens of a request; without it, what the window of the model leaves for input.
        options: those of `foveate.Threads` and `Session`, such as `store` and `policy`.

    """

    def __init__(self, *, budget: Any = None, **options: Any) -> None:
        self.threads = Threads(budget=budget, **options)

    def run_config(self, **options: Any) -> RunConfig:
        """A configuration of runs, with other options of `RunConfig`."""
        return RunConfig(call_model_input_filter=self, **options)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The input to send: the `call_model_input_filter` of a run."""
        asked = await _request(data)
        if asked is None:
            return data.model_data
        compiled = await self.threads.acompile(asked)
        _NEWEST.set((self, compiled))
        sent = compiled.view.to("openai-responses")["input"] if compiled.view.request.rewritten else list(asked.items)
        return ModelInputData(input=sent, instructions=data.model_data.instructions)

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: Any) -> None:
        """Report what the provider counted."""
        compiled = self._newest()
        if compiled is not None and response.usage.requests == 1 and response.usage.input_tokens:
            await run_beside(compiled.branch.report, compiled.view.number, response.usage)

    def recall_tool(self) -> FunctionTool:
        """The tool `recall`, for an agent's `tools`: it brings back what left the request."""
        function: Any = RECALL_TOOL["function"]

        async def recall(_context: Any, arguments: str) -> str:
            compiled = self._newest()
            if compiled is not None:
                return await run_beside(compiled.session.answer_recall, arguments)
            return await run_beside(self.threads.answer_recall, arguments)

        return FunctionTool(
            name=function["name"],
            description=function["description"],
            params_json_schema=function["parameters"],
            on_invoke_tool=recall,
            strict_json_schema=False,
        )

    def _newest(self) -> Compiled | None:
        owner, compiled = _NEWEST.get() or (None, None)
        return compiled if owner is self else None


# What was compiled last in a run. Its hooks and tools run in tasks that the run starts, and runs may share an agent.
_NEWEST: Final[ContextVar[tuple[BudgetedRuns, Compiled] | None]] = ContextVar("foveate_newest", default=None)


async def _request(data: CallModelData[Any]) -> HistoryRequest | None:
    items = list(data.model_data.input)
    if not items:
        return None
    _refuse_delta(items)
    agent = data.agent
    schema = _schema(agent)
    model = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", None)
    return HistoryRequest(
        format="openai-responses",
        items=items,
        keys=item_keys(items),
        system=data.model_data.instructions,
        tools=(*await _tools(agent, data.context), *map(_handoff, agent.handoffs)),
        response_format={"type": "json_schema", "json_schema": schema} if schema is not None else None,
        model=model if isinstance(model, str) else None,
    )


def _refuse_delta(items: Sequence[Any]) -> None:
    """Refuse a part of a conversation: its outputs are of calls that the provider has."""
    calls = {item.get("call_id") for item in items if item.get("type") not in _OUTPUTS}
    strays = [item["call_id"] for item in items if item.get("type") in _OUTPUTS and item["call_id"] not in calls]
    if strays:
        raise ConfigError(
            f"the input has the output of {strays[0]!r} without its call: with `previous_response_id` or "
            "`conversation_id` the provider keeps the history, where no budget holds; run without them, for instance "
            "with `session=FoveateSession(…)`"
        )


async def _tools(agent: Agent[Any], context: Any) -> list[dict[str, Any]]:
    found = await agent.get_all_tools(RunContextWrapper(context=context))
    return [_tool(tool) for tool in found]


def _tool(tool: Any) -> dict[str, Any]:
    if isinstance(tool, FunctionTool):
        return _function(tool.name, tool.description, tool.params_json_schema)
    # One that the provider runs itself has no schema; its name is all that is known of its size.
    return {"type": tool.name, "name": tool.name}


def _handoff(target: Any) -> dict[str, Any]:
    known = target if isinstance(target, Handoff) else handoff(target)
    return _function(known.tool_name, known.tool_description, known.input_json_schema)


def _function(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": description, "parameters": schema}


def _schema(agent: Agent[Any]) -> dict[str, Any] | None:
    output = agent.output_type
    if output is None or output is str:
        return None
    form = AgentOutputSchema(output) if isinstance(output, type) else output
    if not hasattr(form, "json_schema") or form.is_plain_text():
        return None
    return {"name": "answer", "schema": form.json_schema()}


class FoveateSession:
    """A session of OpenAI Agents in a store: every item that runs of it had, byte for byte.

    Args:
        session_id: its name; the store has it as `NAME.items`, beside the session that requests are compiled in.
        store: a file such as `agent.db`, an address, or a `Store`; without it, items are in memory.

    """

    session_settings: SessionSettings | None = None

    def __init__(self, session_id: str, store: str | Path | Store | None = None) -> None:
        self.session_id = session_id
        name = f"{session_id}.items"
        self._session = Session.open(store, name) if store is not None else Session(session_id=name)
        self._turns = Turns()

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The newest items, or all, in their order."""
        items = await run_beside(self._items)
        most = limit if limit is not None or self.session_settings is None else self.session_settings.limit
        return items if most is None else items[max(0, len(items) - most) :]

    async def add_items(self, items: list[Any]) -> None:
        """Append items."""
        async with self._turns:
            await run_beside(self._add, items)

    async def pop_item(self) -> Any | None:
        """Take off the last item and return it; the log keeps it."""
        async with self._turns:
            items = await run_beside(self._items)
            if items:
                await run_beside(self._cut, len(items) - 1)
            return items[-1] if items else None

    async def clear_session(self) -> None:
        """Take off all items; the log keeps them."""
        async with self._turns:
            await run_beside(self._cut, 0)

    def close(self) -> None:
        """Let go of the store."""
        self._session.close()

    def _items(self) -> list[Any]:
        """What was added and not taken off since: each addition is noted behind its messages."""
        self._session.refresh()
        items: list[Any] = []
        added: list[Message] = []
        for event in self._session.events:
            match event.body:
                case MessageAppended(message=message):
                    added.append(message)
                case RequestReceived(first=first):
                    items = [*items[:first], *RESPONSES.encode(added)]
                    added = []
                case _:
                    pass
        return items

    def _add(self, items: list[Any]) -> None:
        if items:
            received = self._received(len(self._items()), items)
            self._session.extend(items, format="openai-responses", with_event=received)

    def _cut(self, length: int) -> None:
        self._session.record(self._received(length, []))

    def _received(self, first: int, items: list[Any]) -> RequestReceived:
        return RequestReceived(first=first, keys=item_keys(items), protocol="openai-responses")
