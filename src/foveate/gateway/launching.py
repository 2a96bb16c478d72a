"""Launching: what each agent wants to be told so that it sends its requests to an address, for one run alone.

Nothing that belongs to the user is changed: variables are set for the child, options stand on its command line, and
where an agent reads a file, it is given a copy in a folder that is gone when the run is over. Wherever the user has
sent the agent until now, the gateway sends it on to.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from foveate.errors import ConfigError
from foveate.gateway.settings import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How an agent is started.

    Attributes:
        command: the program and its arguments.
        environment: variables for it, besides those that it has anyway.
        upstreams: where the user sends the agent's requests until now, if not to the providers themselves.

    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    upstreams: Mapping[Provider, str] = field(default_factory=dict[Provider, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be started: a command as the user typed it, with their variables, and a folder for the run."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path

    @property
    def home(self) -> Path:
        """The user's home."""
        return Path(self.environment.get("HOME") or Path.home())

    def upstream(self, provider: Provider, *names: str) -> dict[Provider, str]:
        """Where variables of the user point, if one of them is set."""
        found = next((self.environment[name] for name in names if self.environment.get(name)), "")
        return {provider: found} if found else {}


def launch(agent: str, wish: Wish, address: str) -> Launch:
    """How the command is started so that its requests go to an address."""
    return _AGENTS[agent](wish, address.rstrip("/"))


def agent_of(command: Sequence[str]) -> str:
    """The agent that a command starts, by the name of its program."""
    program = Path(command[0]).name.removesuffix(".exe").removesuffix(".cmd")
    agent = _PROGRAMS.get(program)
    if agent is None:
        raise ConfigError(
            f"{program!r} is no agent that is known here; known are {', '.join(_PROGRAMS)}. For another one start "
            "`foveate gateway`, and give it the address it prints"
        )
    return agent


def _claude(wish: Wish, address: str) -> Launch:
    return Launch(
        command=wish.command,
        environment={"ANTHROPIC_BASE_URL": address},
        upstreams=wish.upstream("anthropic", "ANTHROPIC_BASE_URL"),
    )


def _codex(wish: Wish, address: str) -> Launch:
    home = Path(wish.environment.get("CODEX_HOME") or wish.home / ".codex")
    settings = _toml(home / "config.toml")
    if "OPENAI_API_KEY" not in wish.environment and _json(home / "auth.json").get("tokens"):
        raise ConfigError(
            "Codex is logged in with ChatGPT, which the gateway was not tried with; use an API key: "
            "`codex login --with-api-key`, or set OPENAI_API_KEY"
        )
    provider = settings.get("model_provider")
    own = settings.get("model_providers", {}).get(provider) if isinstance(provider, str) else None
    if isinstance(own, dict) and isinstance(own.get("base_url"), str):
        name, upstream = f"model_providers.{provider}.base_url", {"openai": own["base_url"]}
    else:
        name, upstream = "openai_base_url", {"openai": settings.get("openai_base_url", "")}
    program, *arguments = wish.command
    # Options of the program itself stand before its command.
    option = f"{name}={json.dumps(f'{address}/v1')}"
    known: dict[Provider, str] = {"openai": upstream["openai"]} if upstream["openai"] else {}
    return Launch(
        command=(program, "-c", option, *arguments),
        upstreams=known or wish.upstream("openai", "OPENAI_BASE_URL"),
    )


def _gemini(wish: Wish, address: str) -> Launch:
    if "GEMINI_API_KEY" not in wish.environment:
        raise ConfigError("Gemini CLI sends to an address of yours only with an API key; set GEMINI_API_KEY")
    environment = {"GOOGLE_GEMINI_BASE_URL": address}
    chosen = _json(wish.home / ".gemini" / "settings.json").get("security", {}).get("auth", {}).get("selectedType")
    if chosen != "gemini-api-key":
        variable = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
        given = wish.environment.get(variable) or "/etc/gemini-cli/settings.json"
        merged = _merged(_json(Path(given)), {"security": {"auth": {"selectedType": "gemini-api-key"}}})
        environment[variable] = _written(wish.folder / "gemini-settings.json", merged)
    return Launch(
        command=wish.command, environment=environment, upstreams=wish.upstream("gemini", "GOOGLE_GEMINI_BASE_URL")
    )


def _opencode(wish: Wish, address: str) -> Launch:
    given = wish.environment.get("OPENCODE_CONFIG_CONTENT", "")
    own = json.loads(given) if given else {}
    settings: dict[str, Any] = {}
    folder = Path(wish.environment.get("XDG_CONFIG_HOME") or wish.home / ".config") / "opencode"
    named = wish.environment.get("OPENCODE_CONFIG", "")
    for path in (folder / "opencode.json", *([Path(named)] if named else []), Path("opencode.json")):
        settings = _merged(settings, _json(path))
    settings = _merged(settings, own)
    providers: dict[str, Any] = {
        "anthropic": {"options": {"baseURL": f"{address}/v1"}},
        "openai": {"options": {"baseURL": f"{address}/v1"}},
        "google": {"options": {"baseURL": f"{address}/v1beta"}},
    }
    model = str(settings.get("model", "")).partition("/")[0]
    upstreams: dict[Provider, str] = {}
    for name, provider in settings.get("provider", {}).items():
        base = provider.get("options", {}).get("baseURL") if isinstance(provider, dict) else None
        if isinstance(base, str) and name not in providers and (name == model or not model):
            providers[name] = {"options": {"baseURL": f"{address}/v1"}}
            upstreams["openai"] = base
    content = json.dumps(_merged(own, {"provider": providers}))
    return Launch(command=wish.command, environment={"OPENCODE_CONFIG_CONTENT": content}, upstreams=upstreams)


def _qwen(wish: Wish, address: str) -> Launch:
    return Launch(
        command=wish.command,
        environment={"OPENAI_BASE_URL": f"{address}/v1"},
        upstreams=wish.upstream("openai", "OPENAI_BASE_URL"),
    )


def _copilot(wish: Wish, address: str) -> Launch:
    if "COPILOT_PROVIDER_BASE_URL" not in wish.environment:
        raise ConfigError(
            "Copilot sends to an address of yours only with a provider of yours: set COPILOT_PROVIDER_BASE_URL, "
            "COPILOT_PROVIDER_API_KEY and COPILOT_MODEL; GitHub's own models cannot be reached through a gateway"
        )
    kind: Provider = "anthropic" if wish.environment.get("COPILOT_PROVIDER_TYPE") == "anthropic" else "openai"
    return Launch(
        command=wish.command,
        environment={"COPILOT_PROVIDER_BASE_URL": address if kind == "anthropic" else f"{address}/v1"},
        upstreams=wish.upstream(kind, "COPILOT_PROVIDER_BASE_URL"),
    )


def _pi(wish: Wish, address: str) -> Launch:
    """Its models stand in a file: it is given a folder like the user's own, with another such file."""
    home = Path(wish.environment.get("PI_CODING_AGENT_DIR") or wish.home / ".pi" / "agent")
    folder = wish.folder / "pi"
    folder.mkdir()
    for one in sorted(home.iterdir()) if home.is_dir() else ():
        if one.name != "models.json":
            (folder / one.name).symlink_to(one)
    # Made now, so that a session that begins in this run is there for the next one.
    if not (folder / "sessions").exists():
        (home / "sessions").mkdir(parents=True, exist_ok=True)
        (folder / "sessions").symlink_to(home / "sessions")
    settings = _json(home / "models.json")
    providers: dict[str, Any] = {
        "anthropic": {"baseUrl": address},
        "openai": {"baseUrl": f"{address}/v1"},
        "google": {"baseUrl": f"{address}/v1beta"},
    }
    upstreams: dict[Provider, str] = {}
    for name, provider in settings.get("providers", {}).items():
        api = str(provider.get("api", ""))
        kind: Provider = "anthropic" if api.startswith("anthropic") else "gemini" if "google" in api else "openai"
        if isinstance(base := provider.get("baseUrl"), str) and upstreams.setdefault(kind, base) == base:
            path = {"anthropic": "", "openai": "/v1", "gemini": "/v1beta"}[kind]
            providers[name] = {"baseUrl": f"{address}{path}"}
    _written(folder / "models.json", _merged(settings, {"providers": providers}))
    return Launch(command=wish.command, environment={"PI_CODING_AGENT_DIR": str(folder)}, upstreams=upstreams)


def _litellm(wish: Wish, address: str) -> Launch:
    """LiteLLM knows an address for each provider, under two names."""
    openai = dict.fromkeys(("OPENAI_API_BASE", "OPENAI_BASE_URL"), f"{address}/v1")
    anthropic = dict.fromkeys(("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"), address)
    return Launch(
        command=wish.command,
        environment={**openai, **anthropic},
        upstreams={**wish.upstream("openai", *openai), **wish.upstream("anthropic", *anthropic)},
    )


_AGENTS: Final[Mapping[str, Callable[[Wish, str], Launch]]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini-cli": _gemini,
    "opencode": _opencode,
    "qwen": _qwen,
    "copilot": _copilot,
    "pi": _pi,
    "mini-swe-agent": _litellm,
    "aider": _litellm,
}
_PROGRAMS: Final[Mapping[str, str]] = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "opencode": "opencode",
    "qwen": "qwen",
    "copilot": "copilot",
    "pi": "pi",
    "mini": "mini-swe-agent",
    "mini-swe-agent": "mini-swe-agent",
    "aider": "aider",
}


def _merged(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others over them, object by object."""
    merged = dict(one)
    for key, value in other.items():
        known = merged.get(key)
        merged[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def _json(path: Path) -> dict[str, Any]:
    """The settings in a file of the user's; none if it is not there."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; correct it, or start the agent without Foveate") from error
    return value if isinstance(value, dict) else {}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; correct it, or start the agent without Foveate") from error


def _written(path: Path, settings: Mapping[str, Any]) -> str:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(settings, file)
    return str(path)
