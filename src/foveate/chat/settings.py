"""Settings of chats: what `foveate.toml`, the environment and a command say, the later before the earlier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from foveate.chat.endless import AUTO, Runs, Terms
from foveate.errors import ConfigError

PREFIX: Final = "FOVEATE_"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """How chats are held; `SETTINGS` says what each of these is."""

    model: str | None = None
    budget: int = 16_000
    reserve: int = 1_024
    endless: bool = False
    template: str = "chat"
    templates_folder: str = "AssistantMD/ContextTemplates"
    steps: int = 20
    context_compiler_model: str | None = None
    context_compiler_passthrough_runs: Runs = AUTO
    context_compiler_recent_turns: int = 3
    context_compiler_recent_tool_results: int = 3
    context_compiler_token_threshold: int | None = None
    context_compiler_reflect_every: int = 10
    context_compiler_timeout: float = 60.0

    def terms(self) -> Terms:
        """What a template does not say itself."""
        return Terms(
            runs=self.context_compiler_passthrough_runs,
            recent_turns=self.context_compiler_recent_turns,
            recent_results=self.context_compiler_recent_tool_results,
            threshold=self.context_compiler_token_threshold,
            reflect_every=self.context_compiler_reflect_every,
            timeout=self.context_compiler_timeout,
        )


class Setting(NamedTuple):
    """What a setting is: how it is read, what it must be, and what it is for."""

    read: Callable[[Any], Any]
    must_be: str
    help: str
    # Of `foveate chat`; what has none of its own is given as `--set NAME=VALUE`.
    option: str = "--set"


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def _optional_text(value: Any) -> str | None:
    return None if value == "" else _text(value)


def _flag(value: Any) -> bool:
    known = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}
    return known[str(value).strip().lower()]


def _whole(least: int, *words: str) -> Callable[[Any], int | None]:
    def read(value: Any) -> int | None:
        if str(value).strip().lower() in words:
            return None
        number = int(str(value).replace("_", "").replace(",", ""))
        if isinstance(value, bool | float) or number < least:
            raise ValueError
        return number

    return read


def _runs(value: Any) -> Runs:
    return AUTO if str(value).strip().lower() == AUTO else _whole(0, "all")(value)


def _seconds(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not 0 < number <= 3_600:
        raise ValueError
    return number


def _folder(value: Any) -> str:
    path = PurePosixPath(_text(value))
    if path.is_absolute() or ".." in path.parts:
        raise ValueError
    return path.as_posix()


SETTINGS: Final[Mapping[str, Setting]] = {
    "model": Setting(_optional_text, "a model's name or an alias", "The model that answers.", "--model"),
    "budget": Setting(
        _whole(500), "a number of tokens, 500 or more", "The most input tokens of a request.", "--budget"
    ),
    "reserve": Setting(
        _whole(0), "a number of tokens", "Tokens of a model's window that are left for its answer.", "--reserve"
    ),
    "endless": Setting(_flag, "true or false", "Whether new chats begin in endless mode.", "--endless"),
    "template": Setting(_text, "the name of a template", "What an endless chat keeps in view.", "--template"),
    "templates_folder": Setting(_folder, "a folder inside the vault", "Where a vault has its templates."),
    "steps": Setting(_whole(1), "a number, 1 or more", "The most requests for one input, tools included."),
    "context_compiler_model": Setting(
        _optional_text, 'a model\'s name or an alias, or ""', "What writes summaries; the chat's own model if empty."
    ),
    "context_compiler_passthrough_runs": Setting(
        _runs,
        "a number, all or auto",
        "Finished turns that stay as they were said; auto is as many as there is room for.",
    ),
    "context_compiler_recent_turns": Setting(
        _whole(0), "a number, 0 or more", "Older turns that a template gets as `recent_turns`.", "--recent-turns"
    ),
    "context_compiler_recent_tool_results": Setting(
        _whole(0),
        "a number, 0 or more",
        "Older tool results that a template gets as `tool_results`.",
        "--recent-tool-results",
    ),
    "context_compiler_token_threshold": Setting(
        _whole(0, "", "auto"),
        "a number of tokens, or auto",
        "Below this nothing is summarised; auto is until there is no room, 0 is at every turn.",
        "--threshold",
    ),
    "context_compiler_reflect_every": Setting(
        _whole(0), "a number of turns; 0 is never", "Turns after which a reflection is made."
    ),
    "context_compiler_timeout": Setting(
        _seconds, "seconds, more than 0 and at most 3,600", "How long a model may take to write a summary."
    ),
}


def settings_of(
    table: Mapping[str, Any], *, place: str, environ: Mapping[str, str], given: Mapping[str, Any] | None = None
) -> ChatSettings:
    """The settings from a table of `foveate.toml`, the environment, and what a command was given."""
    unknown = [name for name in table if name not in SETTINGS]
    if unknown:
        raise ConfigError(f"{place}: `chat.{unknown[0]}` is not known; {_KNOWN}")
    values = {name: _value(f"{place}: `chat.{name}`", name, value) for name, value in table.items()}
    for name in SETTINGS:
        variable = f"{PREFIX}{name.upper()}"
        if environ.get(variable):
            values[name] = _value(f"`{variable}`", name, environ[variable])
    for name, value in (given or {}).items():
        if value is not None:
            values[name] = _value(_option(name), name, value)
    known = {one.name for one in fields(ChatSettings)}
    return ChatSettings(**{name: value for name, value in values.items() if name in known})


def pairs_of(given: Iterable[str]) -> dict[str, str]:
    """Settings that are written NAME=VALUE, as `--set` takes them."""
    pairs: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in SETTINGS:
            raise ConfigError(f"`--set` must be NAME=VALUE with a setting's name, got {pair!r}; {_KNOWN}")
        pairs[name] = value
    return pairs


_KNOWN: Final = f"known are {', '.join(SETTINGS)}"


def _option(name: str) -> str:
    option = SETTINGS[name].option
    return f"`--set {name}`" if option == "--set" else f"`{option}`"


def _value(option: str, name: str, value: Any) -> Any:
    try:
        return SETTINGS[name].read(value)
    except (ValueError, KeyError, TypeError, OverflowError):
        raise ConfigError(f"{option} must be {SETTINGS[name].must_be}, got {value!r}") from None
