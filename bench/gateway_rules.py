"""Rules of a provider that refuses what the real ones refuse, and counts what they would count."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bench.provider import Refusal, Request
from foveate.budget.tokens import counter_for
from foveate.threads.matching import canonical
from foveate.wire.formats import format_named

Json = dict[str, Any]
MOST_MARKS: Final = 4
FORMATS: Final = {
    "anthropic": ("anthropic", "messages"),
    "openai": ("openai-compatible", "messages"),
    "responses": ("openai-responses", "input"),
    "gemini": ("gemini", "contents"),
}
# What providers do not count: names of things, and what only they can read.
_UNCOUNTED: Final = frozenset(
    {"type", "role", "id", "call_id", "tool_use_id", "tool_call_id", "status", "cache_control"}
)
_SEALED: Final = frozenset({"signature", "encrypted_content", "thoughtSignature", "data"})
_FRAMING: Final = ("system", "systemInstruction", "instructions", "tools")
_EACH: Final = 4


@dataclass
class Enforcing:
    """Refuses invalid requests, and those with more tokens than the window; remembers what it signed.

    Attributes:
        window: the most input tokens of a request; None takes any.
        counted: the tokens of each request, by its number.
        invalid: what was wrong with requests, by their numbers.

    """

    window: int | None = None
    counted: dict[int, int] = field(default_factory=dict)
    invalid: dict[int, str] = field(default_factory=dict)
    signed: dict[str, str] = field(default_factory=dict)
    # What stands in the cache: a hash of each prefix of every request, with its tokens.
    cached: dict[bytes, int] = field(default_factory=dict)

    def __call__(self, request: Request) -> str | Refusal | None:
        """The complaint about a request; None if it is taken."""
        self.counted[request.number] = tokens = request_tokens(request.dialect, request.body)
        complaint = next(self._complaints(request), None)
        if complaint is not None:
            self.invalid[request.number] = complaint
            return complaint
        if self.window is not None and tokens > self.window:
            return Refusal(overflow_message(request.dialect, tokens, self.window), is_overflow=True)
        return None

    def count(self, dialect: str, body: Json) -> tuple[int, int]:
        """The tokens of a request, and those of its longest prefix that was sent before."""
        _, key = FORMATS[dialect]
        items = body.get(key) or []
        framing = {name: value for name, value in body.items() if name in _FRAMING}
        tokens = request_tokens(dialect, {**framing, key: []})
        prefix = hashlib.blake2b(canonical(framing))
        found = 0
        for item in items:
            prefix.update(canonical(item))
            tokens += item_tokens(item)
            found = self.cached.get(prefix.digest(), found)
            self.cached[prefix.digest()] = tokens
        return tokens, found

    def _complaints(self, request: Request) -> Iterator[str]:
        name, _ = FORMATS[request.dialect]
        body = request.body
        given = body["messages"] if request.dialect == "openai" else body
        yield from format_named(name).problems(given)
        if (marks := count_marks(body)) > MOST_MARKS:
            yield f"A maximum of 4 blocks with cache_control may be provided. Found {marks}."
        yield from self._changed_signatures(body)
        if request.dialect == "anthropic":
            yield from unloaded_tools(body)

    def _changed_signatures(self, body: Json) -> Iterator[str]:
        """A signature stands for the very block that it was given with; the first request that shows it is believed."""
        for block in signed_blocks(body):
            key = next(str(block[name]) for name in sorted(_SEALED) if isinstance(block.get(name), str))
            said = json.dumps({one: block[one] for one in sorted(block) if one != "cache_control"})
            if self.signed.setdefault(key, said) != said:
                yield f"`signature` {key[:20]!r} does not belong to what it is sent with"


def overflow_message(dialect: str, tokens: int, window: int) -> str:
    """What each provider says of a request that is too long."""
    match dialect:
        case "anthropic":
            return f"prompt is too long: {tokens} tokens > {window} maximum"
        case "gemini":
            return f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
        case "responses":
            return "Your input exceeds the context window of this model. Please adjust your input and try again."
        case _:
            return (
                f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} "
                "tokens. Please reduce the length of the messages."
            )


def request_tokens(dialect: str, body: Mapping[str, Any]) -> int:
    """The input tokens of a whole request: system prompt, tools, and what each item says."""
    _, key = FORMATS[dialect]
    tokens = sum(map(item_tokens, body.get(key) or ()))
    for name in ("system", "systemInstruction", "instructions"):
        tokens += sum(map(_count, _texts(body.get(name))))
    return tokens + (_count(json.dumps(body["tools"])) if body.get("tools") else 0)


def item_tokens(item: Any) -> int:
    """The input tokens of an item."""
    return _EACH + sum(map(_count, _texts(item)))


def _count(text: str) -> int:
    return counter_for(None).count(text)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name in ("input", "args", "parameters", "tools") and not isinstance(one, str):
                yield json.dumps(one)
            elif name not in _UNCOUNTED | _SEALED:
                yield from _texts(one)


def count_marks(value: Any) -> int:
    """How many cache marks stand anywhere in a request."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(count_marks, value.values()))
    return sum(map(count_marks, value)) if isinstance(value, list) else 0


def signed_blocks(value: Any) -> Iterator[Json]:
    """Every block with a signature of the provider's."""
    if isinstance(value, dict):
        if any(isinstance(value.get(name), str) for name in _SEALED) and value.get("type") != "base64":
            yield value
        for one in value.values():
            yield from signed_blocks(one)
    elif isinstance(value, list):
        for one in value:
            yield from signed_blocks(one)


def unloaded_tools(body: Json) -> Iterator[str]:
    """Deferred tools that are called without the reference that loaded them."""
    deferred = {tool["name"] for tool in body.get("tools") or () if tool.get("defer_loading")}
    text = json.dumps(body.get("messages"))
    for message in body.get("messages") or ():
        blocks = message.get("content")
        for block in blocks if isinstance(blocks, list) else ():
            name = block.get("name")
            if block.get("type") == "tool_use" and name in deferred and f'"tool_name": "{name}"' not in text:
                yield f"tool {name!r} was called and is not loaded: its `tool_reference` is not in the request"
