"""Google ADK: requests of all agents of a runner within a budget (extra: `foveate[google-adk]`).

The events of the session stay whole: what is compiled is sent and never stored among them.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foveate.errors import ConfigError
from foveate.integrations.supported import require

require("google-adk")

from google.adk.plugins.base_plugin import BasePlugin  # noqa: E402
from google.genai import types  # noqa: E402

from foveate.session.beside import run_beside  # noqa: E402
from foveate.threads.bodies import CONTENTS  # noqa: E402
from foveate.threads.matching import unmarked  # noqa: E402
from foveate.threads.originals import with_originals  # noqa: E402
from foveate.threads.request import HistoryRequest  # noqa: E402
from foveate.threads.threads import Compiled, Threads  # noqa: E402


class FoveatePlugin(BasePlugin):
    """For `Runner(plugins=[…])` or `App(plugins=[…])`: every model request is compiled, one thread for each session.

    Agents of one session that see other histories have branches of their own.

    Args:
        budget: the most input tokens of a request; without it, what the window of the model leaves for input.
        options: those of `foveate.Threads` and `Session`, such as `store` and `policy`.

    """

    def __init__(self, *, budget: Any = None, **options: Any) -> None:
        super().__init__(name="foveate")
        self.threads = Threads(budget=budget, **options)
        # The calls that an answer is waited for, by run and agent.
        self._waiting: dict[tuple[str, str], Compiled] = {}

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Put the compiled contents into a request; what is returned would be taken for the answer."""
        if llm_request.previous_interaction_id is not None:
            raise ConfigError(
                "`previous_interaction_id` leaves the history with the provider, where no budget holds; use a model "
                "without the interactions API, or a runner without this plugin"
            )
        asked = _request(llm_request, callback_context.session.id)
        if asked is None:
            return
        compiled = await self.threads.acompile(asked)
        self._waiting[_call(callback_context)] = compiled
        if compiled.view.request.rewritten:
            llm_request.contents = with_originals(
                compiled.view.to("gemini")["contents"], llm_request.contents, asked.keys, types.Content.model_validate
            )

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Report what the provider counted."""
        usage = llm_response.usage_metadata
        if llm_response.partial or usage is None or not usage.prompt_token_count:
            return
        compiled = self._waiting.pop(_call(callback_context), None)
        if compiled is not None:
            await run_beside(compiled.branch.report, compiled.view.number, usage)


def _call(context: Any) -> tuple[str, str]:
    return context.invocation_id, context.agent_name


def _request(request: Any, session: str) -> HistoryRequest | None:
    config = request.config
    system = config.system_instruction
    if system is not None and not isinstance(system, str):
        system = {"parts": [part for one in _contents([system]) for part in one["parts"]]}
    schema = config.response_json_schema
    body = {
        "contents": _contents(request.contents),
        "systemInstruction": system,
        "tools": [_json(tool) for tool in config.tools or () if hasattr(tool, "model_dump")],
        "generationConfig": {"responseJsonSchema": schema} if isinstance(schema, dict) else {},
        "model": request.model,
    }
    found = CONTENTS.read(body)
    return found.in_thread(session) if found is not None else None


def _contents(contents: Sequence[Any]) -> list[Any]:
    return [_json(content) for content in contents]


def _json(value: Any) -> Any:
    # Thought signatures are bytes, which JSON has as base64.
    return unmarked(value.model_dump(mode="json", by_alias=True, exclude_none=True))
