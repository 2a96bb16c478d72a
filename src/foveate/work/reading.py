"""Reading: plain data as a model, with errors that name the field and what it may be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from foveate.errors import ConfigError

Model = TypeVar("Model")


def parsed(text: str, where: str) -> Any:
    """What a text in YAML or JSON says; a mistake in it is a `ConfigError` that tells its place."""
    # Whoever reads nothing need not wait for it: agents without a plan import this package too.
    import yaml  # noqa: PLC0415

    try:
        # JSON is YAML too, but for tabs and some escapes; and only this says where a mistake is.
        return msgspec.json.decode(text) if text.lstrip()[:1] in ("{", "[") else yaml.safe_load(text)
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


def _remedy(problem: str, model: type[Any]) -> str:
    """The values that a field may have, if the problem is that it has another one."""
    found = re.search(r"Invalid enum value .* - at `\$\.(.+)`$", problem)
    if found is None:
        return ""
    path = re.findall(r"\w+|\[[^\]]*\]", found.group(1))
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
