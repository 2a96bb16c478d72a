"""Dialects: what users, models and tools say, written as each format writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

Raw = dict[str, Any]


class Media(NamedTuple):
    """An image, a file or a sound: its bytes in base64, or an address."""

    kind: str
    type: str
    content: str = ""
    url: str = ""

    @property
    def reference(self) -> str:
        return self.url or f"data:{self.type};base64,{self.content}"


class Said(NamedTuple):
    """What somebody says: a text and what is shown with it, or nothing but that."""

    text: str
    media: tuple[Media, ...] = ()
    thinking: str | None = None


class Call(NamedTuple):
    """A call of a tool; without an id where a format allows that."""

    id: str | None
    name: str
    arguments: str


class Result(NamedTuple):
    """What a tool answered."""

    id: str | None
    name: str
    text: str
    media: tuple[Media, ...] = ()
    failed: bool = False


@dataclass(frozen=True)
class Dialect:
    """How a format writes what is said; each function gives raw messages."""

    system: Callable[[Said], list[Raw]]
    user: Callable[[Said], list[Raw]]
    assistant: Callable[[Said, Sequence[Call]], list[Raw]]
    results: Callable[[Sequence[Result]], list[Raw]]


def _object(arguments: str) -> Raw:
    try:
        found = json.loads(arguments)
    except ValueError:
        return {"input": arguments}
    return found if isinstance(found, dict) else {"input": arguments}


# --- OpenAI chat -----------------------------------------------------------------------------------------------------


def _chat_block(media: Media) -> Raw:
    if media.kind == "image":
        return {"type": "image_url", "image_url": {"url": media.reference}}
    if media.kind == "audio" and media.content:
        return {"type": "input_audio", "input_audio": {"data": media.content, "format": media.type.partition("/")[2]}}
    return {"type": "file", "file": {"filename": "a.pdf", "file_data": media.reference}}


def _chat_content(said: Said) -> Any:
    return [{"type": "text", "text": said.text}, *map(_chat_block, said.media)] if said.media else said.text


def _chat_assistant(said: Said, calls: Sequence[Call]) -> list[Raw]:
    raw: Raw = {"role": "assistant", "content": said.text or None}
    if said.thinking is not None:
        raw["reasoning_content"] = said.thinking
    if calls:
        raw["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return [raw]


def _chat_results(results: Sequence[Result]) -> list[Raw]:
    return [
        {
            "role": "tool",
            "tool_call_id": one.id,
            "content": _chat_content(Said(one.text, one.media)),
            **({"is_error": True} if one.failed else {}),
        }
        for one in results
    ]


OPENAI = Dialect(
    system=lambda said: [{"role": "developer" if said.media else "system", "content": said.text}],
    user=lambda said: [{"role": "user", "content": _chat_content(said)}],
    assistant=_chat_assistant,
    results=_chat_results,
)

# --- OpenAI Responses ------------------------------------------------------------------------------------------------


def _item_block(media: Media) -> Raw:
    if media.kind == "image":
        return {"type": "input_image", "image_url": media.reference}
    if media.url:
        return {"type": "input_file", "file_url": media.url}
    return {"type": "input_file", "filename": "a.pdf", "file_data": media.reference}


def _item_content(said: Said) -> list[Raw]:
    return [{"type": "input_text", "text": said.text}, *map(_item_block, said.media)]


def _item_message(role: str, said: Said) -> list[Raw]:
    return [{"type": "message", "role": role, "content": _item_content(said)}]


def _item_assistant(said: Said, calls: Sequence[Call]) -> list[Raw]:
    items: list[Raw] = []
    if said.thinking is not None:
        ids = {"id": f"rs_{said.thinking[:8].strip() or 'a'}"}
        items.append({"type": "reasoning", **ids, "summary": [], "encrypted_content": said.thinking or "e"})
    if said.text:
        items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said.text}]})
    for call in calls:
        if call.name == _PROGRAMMED:
            program = {"id": f"prog_{call.id}", "call_id": f"p_{call.id}", "code": call.arguments, "fingerprint": "f"}
            items.append({"type": "program", **program})
        named = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        items.append({"type": "function_call", **named, **_caller(call)})
    return items or [{"type": "message", "role": "assistant", "content": []}]


# The tool that a program calls which the model has the provider run.
_PROGRAMMED: Final = "lookup"


def _caller(one: Call | Result) -> Raw:
    return {"caller": {"type": "program", "caller_id": f"p_{one.id}"}} if one.name == _PROGRAMMED else {}


def _item_results(results: Sequence[Result]) -> list[Raw]:
    outputs: list[Raw] = [
        {
            "type": "function_call_output",
            "call_id": one.id,
            "output": _item_content(Said(one.text, one.media)) if one.media else one.text,
            **_caller(one),
        }
        for one in results
    ]
    ended = [
        {
            "type": "program_output",
            "id": f"po_{one.id}",
            "call_id": f"p_{one.id}",
            "result": one.text,
            "status": "completed",
        }
        for one in results
        if one.name == _PROGRAMMED
    ]
    return [*outputs, *ended]


RESPONSES = Dialect(
    system=lambda said: _item_message("developer", said),
    user=lambda said: _item_message("user", said),
    assistant=_item_assistant,
    results=_item_results,
)

# --- Anthropic -------------------------------------------------------------------------------------------------------


def _anthropic_block(media: Media) -> Raw:
    source: Raw = (
        {"type": "url", "url": media.url}
        if media.url
        else {"type": "base64", "media_type": media.type, "data": media.content}
    )
    return {"type": "image" if media.kind == "image" else "document", "source": source}


def _anthropic_content(said: Said) -> Any:
    return [{"type": "text", "text": said.text}, *map(_anthropic_block, said.media)] if said.media else said.text


def _anthropic_assistant(said: Said, calls: Sequence[Call]) -> list[Raw]:
    blocks: list[Raw] = []
    if said.thinking is not None:
        blocks.append(
            {"type": "thinking", "thinking": said.thinking, "signature": "s1"}
            if said.thinking.strip()
            else {"type": "redacted_thinking", "data": "r1"}
        )
    if said.text:
        blocks.append({"type": "text", "text": said.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments)} for call in calls
    ]
    return [{"role": "assistant", "content": blocks}]


def _anthropic_results(results: Sequence[Result]) -> list[Raw]:
    blocks = [
        {
            "type": "tool_result",
            "tool_use_id": one.id,
            "content": _anthropic_content(Said(one.text, one.media)),
            **({"is_error": True} if one.failed else {}),
        }
        for one in results
    ]
    return [{"role": "user", "content": blocks}]


ANTHROPIC = Dialect(
    system=lambda said: [{"role": "system", "content": said.text}],
    user=lambda said: [{"role": "user", "content": _anthropic_content(said)}],
    assistant=_anthropic_assistant,
    results=_anthropic_results,
)

# --- Gemini ----------------------------------------------------------------------------------------------------------


def _gemini_part(media: Media) -> Raw:
    if media.url:
        return {"fileData": {"mimeType": media.type, "fileUri": media.url}}
    return {"inlineData": {"mimeType": media.type, "data": media.content}}


def _gemini_user(said: Said) -> list[Raw]:
    return [{"role": "user", "parts": [{"text": said.text}, *map(_gemini_part, said.media)]}]


def _gemini_assistant(said: Said, calls: Sequence[Call]) -> list[Raw]:
    parts: list[Raw] = []
    if said.thinking is not None:
        parts.append({"text": said.thinking, "thought": True, "thoughtSignature": "c2ln"})
    if said.text:
        parts.append({"text": said.text})
    for call in calls:
        named = {"id": call.id} if call.id is not None else {}
        parts.append({"functionCall": {**named, "name": call.name, "args": _object(call.arguments)}})
    return [{"role": "model", "parts": parts}]


def _gemini_results(results: Sequence[Result]) -> list[Raw]:
    parts: list[Raw] = []
    for one in results:
        answer: Raw = {"name": one.name, "response": {"error" if one.failed else "output": one.text}}
        if one.id is not None:
            answer["id"] = one.id
        if one.media:
            answer["parts"] = [_gemini_part(media) for media in one.media]
        parts.append({"functionResponse": answer})
    return [{"role": "user", "parts": parts}]


GEMINI = Dialect(
    system=lambda said: [{"role": "system", "content": said.text}],
    user=_gemini_user,
    assistant=_gemini_assistant,
    results=_gemini_results,
)

# --- pydantic-ai -----------------------------------------------------------------------------------------------------


def _pydantic_item(media: Media) -> Raw:
    if media.url:
        kinds = {"image": "image-url", "audio": "audio-url"}
        return {"kind": kinds.get(media.kind, "document-url"), "url": media.url}
    return {"kind": "binary", "data": media.content, "media_type": media.type}


def _pydantic_user(said: Said) -> list[Raw]:
    content = [said.text, *map(_pydantic_item, said.media)] if said.media else said.text
    return [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": content}]}]


def _pydantic_assistant(said: Said, calls: Sequence[Call]) -> list[Raw]:
    parts: list[Raw] = []
    if said.thinking is not None:
        signed = {"signature": "s1", "provider_name": "anthropic"} if said.thinking.strip() else {}
        parts.append({"part_kind": "thinking", "content": said.thinking, **signed})
    if said.text:
        parts.append({"part_kind": "text", "content": said.text})
    parts += [
        {"part_kind": "tool-call", "tool_name": call.name, "args": call.arguments, "tool_call_id": call.id}
        for call in calls
    ]
    return [{"kind": "response", "parts": parts}]


def _pydantic_results(results: Sequence[Result]) -> list[Raw]:
    parts: list[Raw] = [
        {
            "part_kind": "retry-prompt" if one.failed else "tool-return",
            "tool_name": one.name,
            "content": one.text,
            "tool_call_id": one.id,
        }
        for one in results
    ]
    return [{"kind": "request", "parts": parts}]


PYDANTIC_AI = Dialect(
    system=lambda said: [{"kind": "request", "parts": [{"part_kind": "system-prompt", "content": said.text}]}],
    user=_pydantic_user,
    assistant=_pydantic_assistant,
    results=_pydantic_results,
)

# --- LangChain -------------------------------------------------------------------------------------------------------


def _langchain(kind: str, **data: Any) -> Raw:
    return {"type": kind, "data": {"type": kind, **data}}


def _langchain_block(media: Media) -> Raw:
    if media.url:
        return {"type": media.kind, "url": media.url, "mime_type": media.type}
    return {"type": media.kind, "base64": media.content, "mime_type": media.type}


def _langchain_content(said: Said) -> Any:
    return [{"type": "text", "text": said.text}, *map(_langchain_block, said.media)] if said.media else said.text


def _langchain_assistant(said: Said, calls: Sequence[Call]) -> list[Raw]:
    content: Any = said.text
    if said.thinking is not None:
        thought = {"type": "thinking", "thinking": said.thinking, "signature": "s1"}
        content = [thought, {"type": "text", "text": said.text}]
    made = [{"id": call.id, "name": call.name, "args": _object(call.arguments), "type": "tool_call"} for call in calls]
    return [_langchain("ai", content=content, **({"tool_calls": made} if made else {}))]


LANGCHAIN = Dialect(
    system=lambda said: [_langchain("system", content=said.text)],
    user=lambda said: [_langchain("human", content=_langchain_content(said))],
    assistant=_langchain_assistant,
    results=lambda results: [
        _langchain(
            "tool",
            content=_langchain_content(Said(one.text, one.media)),
            tool_call_id=one.id,
            status="error" if one.failed else "success",
        )
        for one in results
    ],
)

DIALECTS = {
    "openai": OPENAI,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "pydantic-ai": PYDANTIC_AI,
    "langchain": LANGCHAIN,
}
