"""Rules that a real provider refuses requests by, each written from its documentation and apart from the product's.

Each function is a `Rule` for `serve`: it looks at one request and returns what is wrong with it, or nothing.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from bench.provider.script import Json, Request

_MOST_MARKS: Final = 4


def valid(request: Request) -> str | None:
    """Whether the provider that the request is for would take it."""
    return next(_CHECKS[request.dialect](request.body), None)


def within(tokens: int) -> Callable[[Request], str | None]:
    """Whether a request has at most so many tokens, as the provider counts and reports them."""

    def rule(request: Request) -> str | None:
        return f"{request.tokens} tokens, and {tokens} are allowed" if request.tokens > tokens else None

    return rule


# --- OpenAI chat ------------------------------------------------------------------------------------------------------


def _chat(body: Json) -> Iterator[str]:
    messages = body.get("messages") or []
    if not messages:
        yield "no messages"
    waiting: Counter[str] = Counter()
    seen: set[str] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if waiting[message["tool_call_id"]] < 1:
                yield f"message {at}: result {message['tool_call_id']!r} follows no call of it"
            waiting[message["tool_call_id"]] -= 1
            continue
        if +waiting:
            yield f"message {at}: calls {sorted(+waiting)} have no result before it"
        calls = [call["id"] for call in message.get("tool_calls") or ()]
        if repeated := seen & {*calls}:
            yield f"message {at}: call ids {sorted(repeated)} repeat"
        seen |= {*calls}
        waiting = Counter(calls)
        if not calls and not message.get("content"):
            yield f"message {at}: a {message['role']} message says nothing"
    if +waiting:
        yield f"calls {sorted(+waiting)} have no result"


# --- Anthropic --------------------------------------------------------------------------------------------------------


def _messages(body: Json) -> Iterator[str]:
    # Messages of one side in a row are one turn, as the provider documents.
    messages: list[tuple[str, list[Json]]] = []
    for one in body.get("messages") or []:
        if messages and messages[-1][0] == one["role"]:
            messages[-1][1].extend(_blocks(one["content"]))
        else:
            messages.append((one["role"], _blocks(one["content"])))
    if not messages or messages[0][0] != "user":
        yield "the first message must be the user's"
    waiting: list[str] = []
    seen: set[str] = set()
    for at, (_, blocks) in enumerate(messages):
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            yield f"message {at}: results {results} for calls {waiting}"
        if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            yield f"message {at}: results must stand first"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if repeated := seen & {*waiting}:
            yield f"message {at}: call ids {sorted(repeated)} repeat"
        seen |= {*waiting}
        yield from _problems_of_blocks(at, blocks)
    if waiting:
        yield f"calls {waiting} have no result"
    if (marks := _marks([body.get("system"), body.get("tools"), body.get("messages")])) > _MOST_MARKS:
        yield f"{marks} cache marks, and {_MOST_MARKS} are allowed"


def _problems_of_blocks(at: int, blocks: list[Json]) -> Iterator[str]:
    if not blocks:
        yield f"message {at}: no content"
    for block in blocks:
        if block["type"] == "text" and not block["text"].strip():
            yield f"message {at}: an empty text"
        if block["type"] == "thinking" and not _is_signed(block["signature"], "signature "):
            yield f"message {at}: a signature that nobody made"
    kinds = [block["type"] for block in blocks]
    if "thinking" in kinds and kinds[0] != "thinking":
        yield f"message {at}: thinking must stand first"


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(_marks(one) for key, one in value.items() if key != "cache_control")
    return sum(map(_marks, value)) if isinstance(value, list) else 0


def _is_signed(signature: str, begins: str) -> bool:
    try:
        return base64.b64decode(signature, validate=True).decode().startswith(begins)
    except (binascii.Error, UnicodeDecodeError):
        return False


# --- OpenAI Responses -------------------------------------------------------------------------------------------------

_CALLS: Final = ("function_call", "custom_tool_call")


def _responses(body: Json) -> Iterator[str]:
    items = body.get("input") or []
    if not items:
        yield "no input"
    if isinstance(items, str):
        return
    called = Counter(item["call_id"] for item in items if item.get("type") in _CALLS)
    answered = Counter(item["call_id"] for item in items if str(item.get("type")).endswith("_call_output"))
    if called != answered or any(count > 1 for count in called.values()):
        yield f"calls {sorted(called - answered)} have no output, outputs {sorted(answered - called)} no call"
    ids = Counter(item["id"] for item in items if item.get("id"))
    if repeated := sorted(one for one, count in ids.items() if count > 1):
        yield f"ids {repeated} repeat"
    for at, item in enumerate(items):
        if item.get("type") == "reasoning":
            following = items[at + 1].get("type", "message") if at + 1 < len(items) else None
            if following not in (*_CALLS, "message", "reasoning") or items[at + 1].get("role") == "user":
                yield f"item {at}: reasoning without what followed it"


# --- Gemini -----------------------------------------------------------------------------------------------------------


def _contents(body: Json) -> Iterator[str]:
    contents = body.get("contents") or []
    if not contents or contents[0].get("role") == "model":
        yield "the first content must be the user's"
    waiting: Counter[str] = Counter()
    for at, content in enumerate(contents):
        parts = content.get("parts") or []
        if not parts:
            yield f"content {at}: no parts"
        results = Counter(part["functionResponse"]["name"] for part in parts if "functionResponse" in part)
        if results != +waiting:
            yield f"content {at}: responses {dict(results)} for calls {dict(waiting)}"
        calls = [part for part in parts if "functionCall" in part]
        waiting = Counter(part["functionCall"]["name"] for part in calls)
        if calls and "thoughtSignature" not in calls[0]:
            yield f"content {at}: its first call has no thought signature"
    if +waiting:
        yield f"calls {dict(waiting)} have no response"


_CHECKS: Final[dict[str, Callable[[Json], Iterator[str]]]] = {
    "openai": _chat,
    "anthropic": _messages,
    "responses": _responses,
    "gemini": _contents,
}
