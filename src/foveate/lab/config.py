"""`foveate.toml`: policies of one's own, what `replay` compares, domains, chats, models and agents' commands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from foveate.compile.draft import Shares
from foveate.compile.note.writing import Note
from foveate.compile.pass_protocol import Pass, PlainPass, pass_name
from foveate.compile.passes import Boundary, Drop, ObservationMasking, Transparent
from foveate.compile.policy import LINE_PASSES, Policy, isolated, policy_named
from foveate.errors import ConfigError
from foveate.named_files import read_named_text

FILE: Final = "foveate.toml"
_MOST_BYTES: Final = 1_000_000

_T = TypeVar("_T")

_ALL_PASSES: Final[tuple[Pass | PlainPass, ...]] = (*LINE_PASSES, Note(), Drop())
_PASSES: Final[Mapping[str, Pass | PlainPass]] = MappingProxyType({pass_name(one): one for one in _ALL_PASSES})
_ISOLATIONS: Final[Mapping[str, Pass]] = MappingProxyType(
    {"boundary": Boundary(), "masking": ObservationMasking(), "transparent": Transparent()}
)
_SHARES: Final = tuple(one.name for one in fields(Shares))


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a `foveate.toml` says.

    Args:
        path: where it is; None if there is none.
        policies: policies made of ours, by name.
        uses: policies that are somebody's own, by name: `module:object`.
        model: what `[replay] model` says.
        budget: what `[replay] budget` says.
        replayed: what `[replay] policies` says.
        domains: what `[knowledge.domains]` says: words that tell what a task is about, by domain.
        chat: what `[chat]` says; `foveate.chat.settings` reads it.
        models: what `[models]` says: names of models by their aliases.
        environment: what `[work] environment` says: variables that commands of agents may see.

    """

    path: Path | None = None
    policies: Mapping[str, Policy] = field(default_factory=dict)
    uses: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    budget: int | None = None
    replayed: tuple[str, ...] = ()
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chat: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    environment: tuple[str, ...] = ()


def config_at(path: Path | None = None, *, start: Path | None = None) -> Config:
    """The configuration in a file, or in the `foveate.toml` nearest to a folder: there, or in one above it.

    The search ends at the home folder.
    """
    if path is not None:
        return _read(path)
    found = _nearest(start or Path.cwd())
    return _read(found) if found is not None else Config()


def _nearest(start: Path) -> Path | None:
    home = Path.home()
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        if folder == home:
            return None
    return None


def _read(path: Path) -> Config:
    try:
        text = read_named_text(path, most=_MOST_BYTES)
    except ConfigError as error:
        raise ConfigError(f"`--config` {str(path)!r} cannot be read: {error}") from error
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error
    return _Reader(path).config(table)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the tables of one file; every error names it."""

    path: Path

    def config(self, table: dict[str, Any]) -> Config:
        self._known(table, ("policies", "replay", "knowledge", "chat", "models", "work"), "")
        policies: dict[str, Policy] = {}
        uses: dict[str, str] = {}
        for name, options in self._table(table, "policies", "").items():
            place = f"policies.{name}"
            if not isinstance(options, dict):
                raise self._wrong(place, options, "a table")
            if "use" in options:
                self._known(options, ("use",), place)
                uses[name] = self._typed(options, "use", str, place)
            else:
                policies[name] = self._policy(name, options, place)
        replay = self._table(table, "replay", "")
        self._known(replay, ("model", "budget", "policies"), "replay")
        return Config(
            path=self.path,
            policies=policies,
            uses=uses,
            model=self._typed(replay, "model", str, "replay"),
            budget=self._budget(replay),
            replayed=tuple(self._texts(replay, "policies", "replay") or ()),
            domains=self._domains(self._table(table, "knowledge", "")),
            chat=self._table(table, "chat", ""),
            models=self._models(self._table(table, "models", "")),
            environment=self._environment(self._table(table, "work", "")),
        )

    def _environment(self, work: dict[str, Any]) -> tuple[str, ...]:
        self._known(work, ("environment",), "work")
        names = self._texts(work, "environment", "work") or []
        if not all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names):
            raise self._wrong("work.environment", names, "a list of names of variables, without their values")
        return tuple(names)

    def _models(self, models: dict[str, Any]) -> dict[str, str]:
        for alias, name in models.items():
            if not isinstance(name, str) or not name.strip():
                raise self._wrong(f"models.{alias}", name, "the name of a model, such as anthropic:claude-sonnet-4-5")
        return models

    def _domains(self, knowledge: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        self._known(knowledge, ("domains",), "knowledge")
        domains = self._table(knowledge, "domains", "knowledge")
        for name in domains:
            words = self._texts(domains, name, "knowledge.domains") or ()
            if not name.strip() or not all(word.strip() for word in words):
                raise self._wrong(f"knowledge.domains.{name}", words, "a name with a list of words, none of them empty")
        return {name: tuple(words) for name, words in domains.items()}

    def _policy(self, name: str, options: dict[str, Any], place: str) -> Policy:
        self._known(options, ("use", "base", "low", "patience", "isolation", "passes", "shares"), place)
        try:
            base = policy_named(self._typed(options, "base", str, place) or "default")
            changes: dict[str, Any] = {"name": name}
            if "low" in options:
                changes["low"] = float(self._typed(options, "low", (int, float), place))
            if "patience" in options:
                changes["patience"] = self._patience(options["patience"], place)
            if (passes := self._texts(options, "passes", place)) is not None:
                changes["passes"] = tuple(self._chosen(one, _PASSES, f"{place}.passes") for one in passes)
            if "isolation" in options:
                isolation = self._chosen(options["isolation"], _ISOLATIONS, f"{place}.isolation")
                changes["passes"] = isolated(changes.get("passes", base.passes), isolation)
            if "shares" in options:
                changes["shares"] = self._shares(base, self._table(options, "shares", place), f"{place}.shares")
            return replace(base, **changes)
        except ConfigError as error:
            message = str(error)
            raise ConfigError(message if str(self.path) in message else f"{self.path}, `{place}`: {error}") from error

    def _patience(self, value: object, place: str) -> float | None:
        if value == "never":
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(f"{place}.patience", value, 'a number, or "never"')
        return float(value)

    def _shares(self, base: Policy, given: dict[str, Any], place: str) -> Shares:
        self._known(given, _SHARES, place)
        return replace(base.shares, **{name: self._typed(given, name, (int, float), place) for name in given})

    def _budget(self, replay: dict[str, Any]) -> int | None:
        budget: int | None = self._typed(replay, "budget", int, "replay")
        if budget is not None and budget < 1:
            raise self._wrong("replay.budget", budget, "1 token or more")
        return budget

    def _texts(self, table: dict[str, Any], key: str, place: str) -> list[str] | None:
        if key not in table:
            return None
        value = table[key]
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong(f"{place}.{key}", value, "a list of texts")
        return value

    def _chosen(self, name: object, known: Mapping[str, _T], place: str) -> _T:
        if not isinstance(name, str) or name not in known:
            raise self._wrong(place, name, f"one of {', '.join(known)}")
        return known[name]

    def _table(self, table: dict[str, Any], key: str, place: str) -> dict[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(f"{place}.{key}".lstrip("."), value, "a table")
        return value

    def _typed(self, table: dict[str, Any], key: str, kind: Any, place: str) -> Any:
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, kind):
            raise self._wrong(f"{place}.{key}", value, "text" if kind is str else "a number")
        return value

    def _known(self, table: Mapping[str, Any], known: Iterable[str], place: str) -> None:
        listed = list(known)
        for key in table:
            if key not in listed:
                where = f"{place}.{key}" if place else key
                raise ConfigError(f"{self.path}: unknown key `{where}`; known are {', '.join(listed)}")

    def _wrong(self, place: str, value: object, wanted: str) -> ConfigError:
        return ConfigError(f"{self.path}: `{place}` must be {wanted}, got {value!r}")
