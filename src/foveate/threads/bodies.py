"""Bodies of requests as providers take them: the history in them read, and another one put in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from foveate.compile.compiled import CompiledContext
from foveate.errors import ConfigError
from foveate.threads.matching import item_keys
from foveate.threads.request import HistoryRequest

Body = Mapping[str, Any]
LEADING: Final = frozenset({"system", "developer"})
"""The roles of instructions; those that stand before all else frame a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyShape:
    """How one protocol writes a request.

    Attributes:
        read: the history in a body, and what stands around it; None if there is none to compile.
        write: the body with what was compiled in place of its history.

    """

    read: Callable[[Body], HistoryRequest | None]
    write: Callable[[Body, CompiledContext], dict[str, Any]]


# --- OpenAI chat ------------------------------------------------------------------------------------------------------


def leading_count(messages: Sequence[Any]) -> int:
    """How many instructions a list of chat messages begins with; where there is nothing else, the last one asks."""
    roles = (message.get("role") if isinstance(message, Mapping) else None for message in messages)
    return next((at for at, role in enumerate(roles) if role not in LEADING), max(0, len(messages) - 1))


def leading_text(messages: Sequence[Body]) -> str | None:
    """What instructions say in all."""
    return "\n\n".join(text for message in messages if (text := content_text(message.get("content")))) or None


def content_text(content: Any) -> str:
    """The text of a content that is a text, or blocks of which some have one."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list | tuple) else ()
    return "\n".join(
        block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)
    )


def _read_chat(body: Body) -> HistoryRequest | None:
    messages = body.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        return None
    leading = leading_count(messages)
    # Legacy functions are counted like tools.
    tools = [
        *(body.get("tools") or ()),
        *({"type": "function", "function": one} for one in body.get("functions") or ()),
    ]
    return _request(
        "openai-compatible",
        messages[leading:],
        system=leading_text(messages[:leading]),
        tools=tools,
        response_format=body.get("response_format"),
        model=body.get("model"),
    )


def _write_chat(body: Body, view: CompiledContext) -> dict[str, Any]:
    return {**body, "messages": with_leading(body["messages"], view.to("openai-compatible"), view)}


def with_leading(messages: Sequence[Any], sent: list[Any], view: CompiledContext) -> list[Any]:
    """Compiled messages behind the instructions as they came, instead of the text that was counted for them."""
    behind = sent[1:] if view.framing.system is not None else sent
    return [*messages[: leading_count(messages)], *behind]


# --- OpenAI Responses -------------------------------------------------------------------------------------------------

_REFERENCE: Final = "item_reference"
_KEPT_ELSEWHERE: Final = ("previous_response_id", "conversation", "prompt")


def _read_responses(body: Body) -> HistoryRequest | None:
    _refuse_kept_elsewhere(body, _KEPT_ELSEWHERE, whole="`input`")
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if not isinstance(items, Sequence):
        return None
    _refuse_kept_elsewhere({one["type"]: one for one in items if _is_reference(one)}, (_REFERENCE,), whole="`input`")
    given = (body.get("text") or {}).get("format")
    return _request(
        "openai-responses",
        items,
        system=body.get("instructions"),
        tools=body.get("tools"),
        response_format=_schema(given) if isinstance(given, Mapping) and given.get("type") == "json_schema" else None,
        model=body.get("model"),
    )


def _is_reference(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == _REFERENCE


def _write_responses(body: Body, view: CompiledContext) -> dict[str, Any]:
    return {**body, "input": view.to("openai-responses")["input"]}


# --- Anthropic --------------------------------------------------------------------------------------------------------


def _read_messages(body: Body) -> HistoryRequest | None:
    return _request(
        "anthropic", body.get("messages"), system=body.get("system"), tools=body.get("tools"), model=body.get("model")
    )


def _write_messages(body: Body, view: CompiledContext) -> dict[str, Any]:
    sent = view.to("anthropic")
    system = {"system": sent["system"]} if "system" in sent else {}
    return {**body, **system, "messages": sent["messages"]}


# --- Gemini -----------------------------------------------------------------------------------------------------------


def _read_contents(body: Body) -> HistoryRequest | None:
    _refuse_kept_elsewhere(body, ("cachedContent",), whole="`contents`")
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    return _request(
        "gemini",
        body.get("contents"),
        system=body.get("systemInstruction"),
        tools=body.get("tools"),
        response_format=_schema({"name": "answer", "schema": schema}) if isinstance(schema, Mapping) else None,
        model=body.get("model"),
    )


def _write_contents(body: Body, view: CompiledContext) -> dict[str, Any]:
    return {**body, "contents": view.to("gemini")["contents"]}


# --- all of them ------------------------------------------------------------------------------------------------------


def _refuse_kept_elsewhere(body: Body, names: Sequence[str], *, whole: str) -> None:
    for name in names:
        if body.get(name) is not None:
            raise ConfigError(
                f"`{name}` leaves a part of the request with the provider, where no budget holds; send the whole "
                f"{whole}, or use the client without `foveate.wrap`"
            )


def _schema(form: Body) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {key: value for key, value in form.items() if key != "type"}}


def _request(
    format: str,
    items: Any,
    *,
    system: Any,
    tools: Any,
    model: Any,
    response_format: Any = None,
) -> HistoryRequest | None:
    if not isinstance(items, Sequence) or isinstance(items, str) or not items:
        return None
    return HistoryRequest(
        format=format,
        items=list(items),
        keys=item_keys(items),
        system=system or None,
        tools=tuple(tools or ()),
        response_format=response_format,
        model=model if isinstance(model, str) and model else None,
    )


CHAT: Final = BodyShape(read=_read_chat, write=_write_chat)
RESPONSES: Final = BodyShape(read=_read_responses, write=_write_responses)
MESSAGES: Final = BodyShape(read=_read_messages, write=_write_messages)
CONTENTS: Final = BodyShape(read=_read_contents, write=_write_contents)
