"""Front matter: what a template says of itself; what is odd in it is noted, and the default is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from typing import Any, Final, Literal

Refresh = Literal["when-needed", "every-turn"]

_FIELDS: Final = ("description", "passthrough_runs", "token_threshold", "model", "refresh")
_REFRESHES: Final[dict[str, Refresh]] = {"when-needed": "when-needed", "every-turn": "every-turn"}
# No model reads more, and no number that is longer can be shown.
_MOST: Final = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """What a template says of itself; `None` is what it does not say, so that the settings decide."""

    description: str = ""
    passthrough_runs: int | Literal["all"] | None = None
    token_threshold: int | None = None
    model: str | None = None
    refresh: Refresh = "when-needed"
    notes: tuple[str, ...] = ()


def front_of(fields: Mapping[Any, Any]) -> Front:
    """The front matter of a template from its fields; fields that nobody knows are left alone."""
    notes: list[str] = []
    known: dict[str, Any] = {}
    for given, name in _canonical(list(fields), notes):
        known[name] = fields[given]
    said = {name: value for name, value in known.items() if value is not None}
    front = Front(
        description=_description(said, notes),
        passthrough_runs=_runs(said, notes),
        token_threshold=_threshold(said, notes),
        model=_model(said, notes),
        refresh=_refresh(said, notes),
    )
    return replace(front, notes=tuple(notes))


def _canonical(given: Sequence[Any], notes: list[str]) -> list[tuple[Any, str]]:
    """Each key that is a field, however it is spelled, with the name of the field."""
    found: list[tuple[Any, str]] = []
    for key in given:
        name = str(key).strip().lower().replace("-", "_") if isinstance(key, str) else ""
        if name in _FIELDS:
            if key != name and name in given:
                notes.append(f"`{key}` is given beside `{name}`, which is used; remove one of them")
                continue
            found.append((key, name))
        elif near := get_close_matches(name, _FIELDS, 1, 0.8):
            notes.append(f"`{key}` is no field of a template and is ignored; `{near[0]}` may be meant")
    return found


def _description(said: Mapping[str, Any], notes: list[str]) -> str:
    value = said.get("description", "")
    if isinstance(value, str | date | float) or (isinstance(value, int) and abs(value) <= _MOST):
        return _clean(value)
    notes.append(f"`description` is {_shown(value)} and is left out; write one sentence")
    return ""


def _runs(said: Mapping[str, Any], notes: list[str]) -> int | Literal["all"] | None:
    value = said.get("passthrough_runs")
    if value == -1 or (isinstance(value, str) and value.strip().lower() == "all"):
        return "all"
    return _number("passthrough_runs", value, "a number of runs, 0 for none, or `all`", notes)


def _threshold(said: Mapping[str, Any], notes: list[str]) -> int | None:
    return _number("token_threshold", said.get("token_threshold"), "a number of tokens, 0 for always", notes)


def _number(name: str, value: object, remedy: str, notes: list[str]) -> int | None:
    if value is None:
        return None
    number = value
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        number = int(value)
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST:
        return number
    notes.append(f"`{name}` is {_shown(value)}, and the setting is used instead; give {remedy}")
    return None


def _model(said: Mapping[str, Any], notes: list[str]) -> str | None:
    value = said.get("model")
    if value is None or (isinstance(value, str) and value.strip()):
        return None if value is None else _clean(value)
    notes.append(f"`model` is {_shown(value)}, and the model of the chat is used instead; give the name of a model")
    return None


def _refresh(said: Mapping[str, Any], notes: list[str]) -> Refresh:
    value = said.get("refresh", "when-needed")
    written = value.strip().lower().replace("_", "-").replace(" ", "-") if isinstance(value, str) else ""
    if written in _REFRESHES:
        return _REFRESHES[written]
    notes.append(f"`refresh` is {_shown(value)}, and when-needed is used instead; give when-needed or every-turn")
    return "when-needed"


def _clean(value: object) -> str:
    """A value as text that can be stored: YAML can write half a character."""
    return str(value).strip().encode("utf-8", "replace").decode("utf-8")


def _shown(value: object) -> str:
    match value:
        case str() | bool() | float():
            return _clean(f"{value!r:.60}")
        case int():
            return repr(value) if abs(value) <= _MOST else "too large"
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
