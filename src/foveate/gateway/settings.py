"""Settings of a gateway: where requests go, what becomes of them, and how long anybody waits for that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, get_args
from urllib.parse import urlsplit

from foveate.errors import ConfigError

Mode = Literal["shadow", "compile", "off"]
"""`shadow` passes requests on as they are and records them; `compile` sends views; `off` records nothing new."""
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
Provider = Literal["anthropic", "openai", "gemini"]

PATIENCE: Final = 0.2
"""Seconds a request waits for its compiled view; after that it goes out as the last one did, with what is new."""
OPENING: Final = 5.0
"""Seconds the first request of a session waits: what was sent before a restart must be known before it is answered."""
SILENCE: Final = 15.0
"""Seconds after which a silent stream gets a comment: agents give up on one that says nothing at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstreams:
    """The address of each provider; a path in it, such as `/api/v1`, stands before or instead of the request's."""

    anthropic: str = "https://api.anthropic.com"
    openai: str = "https://api.openai.com"
    gemini: str = "https://generativelanguage.googleapis.com"

    def __post_init__(self) -> None:
        for name in ("anthropic", "openai", "gemini"):
            parts = urlsplit(getattr(self, name))
            if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
                raise ConfigError(
                    f"`--{name}` must be an address such as https://host or https://host/v1, "
                    f"got {getattr(self, name)!r}"
                )

    def url(self, provider: Provider, path: str, query: str) -> str:
        """Where a request goes: an address that ends in a version takes the place of the version in the path."""
        base: str = getattr(self, provider).rstrip("/")
        version = base.rsplit("/", 1)[-1]
        if path.startswith(f"/{version}/"):
            path = path.removeprefix(f"/{version}")
        return f"{base}{path}{f'?{query}' if query else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """What a gateway was asked to be.

    Args:
        mode: what becomes of a session's requests, unless it is switched off.
        budget: the most input tokens of a request, system prompt and tools included; without it, the model's window.
        patience: seconds that a request waits for its compiled view.
        silence: seconds after which a silent stream gets a comment.
        upstreams: where requests go.

    """

    mode: Mode = "shadow"
    budget: int | None = None
    patience: float = PATIENCE
    silence: float = SILENCE
    upstreams: Upstreams = field(default_factory=Upstreams)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"`--mode` must be one of {', '.join(MODES)}, got {self.mode!r}")
        if self.budget is not None and self.budget < 1:
            raise ConfigError(f"`--budget` must be 1 token or more, got {self.budget}")
        for option, value in (("--patience", self.patience), ("--silence", self.silence)):
            if value <= 0:
                raise ConfigError(f"`{option}` must be more than 0 seconds, got {value:g}")
