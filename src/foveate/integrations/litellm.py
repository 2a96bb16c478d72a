"""LiteLLM: requests of the SDK and of the proxy within a budget (extra: `foveate[litellm]`).

Which hook LiteLLM calls depends on the way of a request, and for some several: each of them compiles, and none twice.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from foveate.errors import ConfigError
from foveate.integrations.supported import require

require("litellm")

from litellm.integrations.custom_logger import CustomLogger  # noqa: E402

from foveate.session.beside import run_beside  # noqa: E402
from foveate.threads.bodies import CHAT, MESSAGES, RESPONSES, BodyShape  # noqa: E402
from foveate.threads.matching import item_key  # noqa: E402
from foveate.threads.threads import Compiled, Threads  # noqa: E402

_SHAPES: Final[Mapping[str, tuple[BodyShape, str]]] = {
    "completion": (CHAT, "messages"),
    "acompletion": (CHAT, "messages"),
    "anthropic_messages": (MESSAGES, "messages"),
    "responses": (RESPONSES, "input"),
    "aresponses": (RESPONSES, "input"),
}
_MOST_WAITING: Final = 1_000


class FoveateLogger(CustomLogger):
    """For `litellm.callbacks = [FoveateLogger(budget=…)]`, and for `callbacks` in the proxy's configuration.

    Requests find their thread by `foveate.thread(name)`, by `metadata["session_id"]`, or by how they begin. LiteLLM
    asks no callback before `litellm.completion`; call `logger.completion(…)` instead, or `litellm.acompletion`.

    Args:
        budget: the most input tokens of a request; without it, what the window of the model leaves for input.
        options: those of `foveate.Threads` and `Session`, such as `store` and `policy`.

    """

    def __init__(self, *, budget: Any = None, **options: Any) -> None:
        super().__init__()
        self.threads = Threads(budget=budget, **options)
        self._is_durable = options.get("store") is not None
        # What was compiled, by the items that were sent for it, and by the id of the call.
        self._made: OrderedDict[str, Compiled] = OrderedDict()
        self._calls: OrderedDict[str, Compiled] = OrderedDict()

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """A request that came to the proxy."""
        return await self._acompiled(data, call_type)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """A request of the SDK, or one that the router has chosen a deployment for."""
        return await self._acompiled(kwargs, call_type)

    async def async_pre_request_hook(self, model: str, messages: list[Any], kwargs: dict[str, Any]) -> None:
        """A request that is passed on to Anthropic; its messages cannot be replaced here any more."""
        if messages and _print(messages) not in self._made:
            raise ConfigError(
                "LiteLLM passes these messages on without a hook that could compile them; use `litellm.acompletion`, "
                "or `foveate.wrap(AsyncAnthropic(…))`"
            )

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Report what the provider counted, of streams too."""
        if self._is_durable:
            await run_beside(self._report, kwargs, response_obj)
        else:
            # LiteLLM reports what is left when the interpreter ends, and no thread begins any more.
            self._report(kwargs, response_obj)

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """The same for calls outside of an event loop."""
        self._report(kwargs, response_obj)

    def completion(self, **kwargs: Any) -> Any:
        """`litellm.completion` of the compiled request."""
        import litellm  # noqa: PLC0415  a second to load, and loaded by whoever uses it

        asked = _asked(kwargs, "completion")
        if asked is None:
            return litellm.completion(**kwargs)
        shape, name, request = asked
        compiled = self.threads.compile(request)
        kwargs.setdefault("litellm_call_id", str(uuid4()))
        return litellm.completion(**self._written(shape, name, kwargs, compiled))

    async def _acompiled(self, data: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        asked = _asked(data, str(getattr(call_type, "value", call_type)))
        if asked is None:
            return None
        shape, name, request = asked
        if _print(data[name]) in self._made:
            return None
        return self._written(shape, name, data, await self.threads.acompile(request))

    def _written(self, shape: BodyShape, name: str, data: dict[str, Any], compiled: Compiled) -> dict[str, Any]:
        written = shape.write(data, compiled.view)
        call = str(data.get("litellm_call_id") or "")
        for known, key in ((self._made, _print(written[name])), (self._calls, call)):
            known[key] = compiled
            while len(known) > _MOST_WAITING:
                known.popitem(last=False)
        return written

    def _report(self, kwargs: Mapping[str, Any], response: Any) -> None:
        compiled = self._calls.pop(str(kwargs.get("litellm_call_id") or ""), None)
        usage = getattr(response, "usage", None)
        if compiled is not None and usage is not None:
            compiled.branch.report(compiled.view.number, usage)


def _print(items: Any) -> str:
    return item_key(items)


def _asked(data: Mapping[str, Any], call_type: str) -> Any:
    """How a request is written, the field of its items, and the history in it; None for requests without one."""
    shape, name = _SHAPES.get(call_type, (None, ""))
    request = shape.read(data) if shape is not None else None
    if shape is None or request is None:
        return None
    metadata = data.get("litellm_metadata") or data.get("metadata") or {}
    session = metadata.get("session_id") if isinstance(metadata, Mapping) else None
    return shape, name, request.in_thread(session) if isinstance(session, str) and session else request
