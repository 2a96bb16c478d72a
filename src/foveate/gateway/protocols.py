"""Protocols: which requests of a provider a gateway understands, by their path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from foveate.gateway.settings import Provider

_GEMINI_MODEL: Final = re.compile(r"/models/([^/:]+):(streamGenerateContent|generateContent|countTokens)$")
# A request with one of these holds a part of its conversation only; the rest is with the provider.
_KEPT_ELSEWHERE: Final = ("previous_response_id", "conversation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """One protocol of a provider.

    Attributes:
        name: in logs and headers.
        provider: whose protocol it is.
        format: the wire format of its items.
        items: the field that lists them.
        system: the field of the system prompt; "" where it stands among the items.
        counts: whether a request asks for a count of tokens and not for an answer.

    """

    name: str
    provider: Provider
    format: str
    items: str
    system: str = ""
    counts: bool = False


MESSAGES: Final = Protocol(
    name="anthropic", provider="anthropic", format="anthropic", items="messages", system="system"
)
COUNT_TOKENS: Final = Protocol(
    name="anthropic", provider="anthropic", format="anthropic", items="messages", system="system", counts=True
)
CHAT: Final = Protocol(name="openai-chat", provider="openai", format="openai-compatible", items="messages")
RESPONSES: Final = Protocol(
    name="openai-responses", provider="openai", format="openai-responses", items="input", system="instructions"
)
GEMINI: Final = Protocol(
    name="gemini", provider="gemini", format="gemini", items="contents", system="systemInstruction"
)
GEMINI_COUNT: Final = Protocol(
    name="gemini", provider="gemini", format="gemini", items="contents", system="systemInstruction", counts=True
)


def protocol_of(method: str, path: str) -> Protocol | None:
    """The protocol that a request speaks; None for whatever else goes to a provider."""
    if method != "POST":
        return None
    if path.endswith("/messages/count_tokens"):
        return COUNT_TOKENS
    if path.endswith("/messages"):
        return MESSAGES
    if path.endswith("/chat/completions"):
        return CHAT
    if path.endswith("/responses"):
        return RESPONSES
    found = _GEMINI_MODEL.search(path)
    if found is None:
        return None
    return GEMINI_COUNT if found[2] == "countTokens" else GEMINI


def provider_of(path: str, headers: Mapping[str, str]) -> Provider:
    """Whom a request is for: by its path where that says it, else by the headers that only one of them has."""
    if path.startswith(("/v1/messages", "/api/")) or "anthropic-version" in headers:
        return "anthropic"
    if path.startswith(("/v1beta", "/v1alpha")) or "x-goog-api-key" in headers:
        return "gemini"
    return "anthropic" if "x-api-key" in headers else "openai"


def model_of(path: str, fields: Mapping[str, Any]) -> str | None:
    """The model that a request names: in its body, or, for Gemini, in its path."""
    found = _GEMINI_MODEL.search(path)
    model = found[1] if found is not None else fields.get("model")
    return model if isinstance(model, str) and model else None


def is_partial(fields: Mapping[str, Any]) -> bool:
    """Whether the provider keeps the rest of the conversation, so that nobody else knows what it holds."""
    return any(fields.get(name) is not None for name in _KEPT_ELSEWHERE)
