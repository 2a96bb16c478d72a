"""Reading: plain data as a model, with errors that name the field and what it may be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, get_args, get_origin

import msgspec
from msgspec import inspect

from foveate.errors import ConfigError

Model = TypeVar("Model")

# A step of a path into data: a field, or a place in a list.
_STEP: Final = r"\w+|\[[^\[\]]*+\]"


def parsed(text: str, where: str, *, short: bool = False) -> Any:
    """What a text in YAML or JSON says; a mistake in it is a `ConfigError` that tells its place.

    A model may have written it: then it has to be `short`, or be JSON.
    """
    # Whoever reads nothing need not wait for it: agents without a plan import this package too.
    import yaml  # noqa: PLC0415

    # Nor for this, which needs it.
    from foveate.work.short_yaml import read_short_yaml  # noqa: PLC0415

    try:
        # JSON is YAML too, but for tabs and some escapes; and only this says where a mistake is.
        if text.lstrip()[:1] in ("{", "["):
            return msgspec.json.decode(text)
        return read_short_yaml(text) if short else yaml.safe_load(text)
    # A date that no calendar has is a plain `ValueError`.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{where} cannot be read: {' '.join(str(error).split())}") from error


def converted(given: Any, model: type[Model], where: str = "") -> Model:
    """Plain data as a model; what does not fit is a `ConfigError` that names the field and the remedy."""
    try:
        return msgspec.convert(given, model)
    except msgspec.ValidationError as error:
        problem = f"{error}{_remedy(str(error), model)}"
        raise ConfigError(f"{where}: {problem}" if where else problem) from error


def mistakes_in(given: Any, model: Any, place: str = "$") -> list[str]:
    """All that is wrong with plain data that should be a model, field by field, each with its place."""
    found: list[str] = []
    if isinstance(model, type) and issubclass(model, msgspec.Struct) and isinstance(given, Mapping):
        fields = {field.encode_name: field for field in msgspec.structs.fields(model)}
        found += (f"Object contains unknown field `{key}` - at `{place}`" for key in given if key not in fields)
        for name, field in fields.items():
            if name in given:
                found += mistakes_in(given[name], field.type, f"{place}.{name}")
            elif field.required:
                found.append(f"Object missing required field `{name}` - at `{place}`")
    elif get_origin(model) is tuple and get_args(model)[1:] == (Ellipsis,) and isinstance(given, list):
        for number, one in enumerate(given):
            found += mistakes_in(one, get_args(model)[0], f"{place}[{number}]")
    # What only the whole shows, once all of its parts are right.
    return found or list(_mistakes_of_whole(given, model, place))


def _mistakes_of_whole(given: Any, model: Any, place: str) -> Iterator[str]:
    try:
        msgspec.convert(given, model)
    except msgspec.ValidationError as error:
        said, _, inner = str(error).partition(" - at `$")
        at = f"{place}{inner.removesuffix('`')}"
        for one in said.split("\n"):
            yield f"{one} - at `{at}`{_choices_at(one, model, inner)}" if at != "$" or inner else one


def _choices_at(said: str, model: Any, inner: str) -> str:
    if not said.startswith("Invalid enum value"):
        return ""
    return f"; known are {', '.join(_choices(inspect.type_info(model), re.findall(_STEP, inner)))}"


def _remedy(problem: str, model: type[Any]) -> str:
    """The values that a field may have, if the problem is that it has another one."""
    _, between, place = problem.rpartition(" - at `$.")
    if not problem.startswith("Invalid enum value") or not between or not place.endswith("`"):
        return ""
    path = re.findall(_STEP, place)
    return f"; known are {', '.join(_choices(inspect.type_info(model), path))}"


def _choices(kind: inspect.Type, path: Sequence[str]) -> list[str]:
    """The values at a path into a type."""
    match kind:
        case inspect.UnionType(types=types):
            return [value for one in types for value in _choices(one, path)]
        case inspect.LiteralType(values=values) if not path:
            return [str(value) for value in values]
        case inspect.StructType(fields=fields) if path:
            return [value for one in fields if one.encode_name == path[0] for value in _choices(one.type, path[1:])]
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item) if path:
            return _choices(item, path[1:])
        case inspect.DictType(value_type=item) if path:
            return _choices(item, path[1:])
        case _:
            return []
