"""Supported versions: an error that names the package, the version that is installed, and what to install."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from foveate.errors import ConfigError

SUPPORTED: Final = {
    "openai": ("openai", (3, 40), (4,)),
    "anthropic": ("anthropic", (2, 5), (3,)),
    "google-genai": ("google-genai", (2, 30), (3,)),
    "langchain": ("langchain", (1, 4), (2,)),
    "pydantic-ai-slim": ("pydantic-ai", (2, 63), (3,)),
    "openai-agents": ("openai-agents", (0, 24), (0, 25)),
    "google-adk": ("google-adk", (2, 13), (3,)),
    "litellm": ("litellm", (1, 106), (2,)),
    "agent-framework-core": ("agent-framework", (1, 23), (2,)),
    "strands-agents": ("strands", (1, 62), (2,)),
    "claude-agent-sdk": ("claude-agent-sdk", (0, 2, 183), (0, 3)),
}
"""By package: the extra of Foveate, the first version that works, and the first that nobody has tried."""


def require(package: str) -> None:
    """Refuse a version of a package that the integration was not tested with."""
    extra, first, beyond = SUPPORTED[package]
    try:
        installed = version(package)
    except PackageNotFoundError as error:
        raise ConfigError(f"`{package}` is not installed; pip install 'foveate[{extra}]'") from error
    if not first <= _numbers(installed) < beyond:
        wanted = f"{package}>={_spelled(first)},<{_spelled(beyond)}"
        raise ConfigError(f"{package} {installed} is not supported; pip install '{wanted}'")


def _numbers(installed: str) -> tuple[int, ...]:
    """The numbers that a version begins with."""
    found: list[int] = []
    for piece in installed.split("."):
        digits = piece[: next((at for at, sign in enumerate(piece) if not sign.isdigit()), len(piece))]
        if not digits:
            break
        found.append(int(digits))
        if digits != piece:
            break
    return tuple(found)


def _spelled(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
