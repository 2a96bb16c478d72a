"""Status: what a running gateway does, in plain data."""

from __future__ import annotations

from typing import Any

from foveate.gateway.gateway import Gateway


def status_of(gateway: Gateway) -> dict[str, Any]:
    """What a gateway was asked to be, what it has done, and which sessions it has open."""
    settings = gateway.settings
    return {
        "mode": settings.mode,
        "budget": settings.budget,
        "upstreams": {
            "anthropic": settings.upstreams.anthropic,
            "openai": settings.upstreams.openai,
            "gemini": settings.upstreams.gemini,
        },
        "counts": dict(gateway.seen),
        "switched": dict(gateway.switched),
        "sessions": [
            {
                "session": one.session,
                "mode": gateway.mode_of(one.session),
                "calls": one.call,
                "raw_tokens": one.raw_tokens,
                "sent_tokens": one.tokens,
                "compiled_tokens": one.compiled_tokens,
            }
            for one in gateway.conversations.newest
        ],
    }
