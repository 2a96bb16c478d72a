"""Faults: all that is wrong with the form of what others write, field by field and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from foveate.errors import ConfigError

Model = TypeVar("Model", bound=msgspec.Struct)
_BARE: Final = (int, float, date)


def fitted(given: object, model: type[Model], name: str) -> Model:
    """Plain data as a model; a `ConfigError` begins with `name` and has every fault."""
    try:
        return msgspec.convert(given, model)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ConfigError(f"{name}: {'; '.join(faults(given, model) or [str(error)])}") from error


def faults(given: object, model: type[msgspec.Struct]) -> list[str]:
    """What keeps data from being a model: the field, what it has, and what it may have.

    >>> from foveate.knowledge.models import Gotcha
    >>> faults({"severity": "huge"}, Gotcha)
    ['`issue` is missing; give a text', "`severity` is 'huge'; known are high, low, medium"]
    """
    try:
        return list(_faults(given, inspect.type_info(model), ""))
    except RecursionError:
        return ["it is nested too deeply"]


def _faults(value: Any, kind: inspect.Type, where: str) -> Iterator[str]:
    match kind:
        case inspect.UnionType(types=types):
            if value is not None:
                yield from _faults(value, next(one for one in types if not isinstance(one, inspect.NoneType)), where)
        case inspect.StructType() if isinstance(value, Mapping):
            yield from _field_faults(value, kind, where)
        case inspect.VarTupleType(item_type=item) if isinstance(value, list | tuple):
            for index, one in enumerate(value):
                yield from _faults(one, item, f"{where}[{index}]")
        case inspect.LiteralType(values=values) if value in values:
            return
        case inspect.StrType(min_length=least) if isinstance(value, str):
            if len(value) < (least or 0):
                yield f"{_named(where)} is empty; give a text"
        case inspect.BoolType() if isinstance(value, bool):
            return
        case _:
            # Who wrote a number or a date without quotes meant a text.
            quoted = ", in quotes" if isinstance(kind, inspect.StrType) and isinstance(value, _BARE) else ""
            yield f"{_named(where)} {_has(value)}; {_wanted(kind)}{quoted}"


def _field_faults(value: Mapping[Any, Any], kind: inspect.StructType, where: str) -> Iterator[str]:
    fields = {one.encode_name: one for one in kind.fields}
    for name, field in fields.items():
        inner = f"{where}.{name}" if where else name
        if name in value:
            yield from _faults(value[name], field.type, inner)
        elif field.required:
            yield f"`{inner}` is missing; {_wanted(field.type)}"
    for name in value:
        if name not in fields:
            inner = f"{where}.{name}" if where else name
            yield f"`{inner}` is no field; known are {', '.join(fields)}"


def _wanted(kind: inspect.Type) -> str:
    match kind:
        case inspect.UnionType(types=types):
            return _wanted(next(one for one in types if not isinstance(one, inspect.NoneType)))
        case inspect.StructType(fields=fields):
            return f"give fields: {_together(one.encode_name for one in fields)}"
        case inspect.VarTupleType():
            return "give a list"
        case inspect.LiteralType(values=values):
            return f"known are {_together(values)}"
        case inspect.BoolType():
            return "give true or false"
        case _:
            return "give a text"


def _named(where: str) -> str:
    return f"`{where}`" if where else "it"


def _has(value: object) -> str:
    if value is None:
        return "is empty"
    if isinstance(value, list | tuple):
        return f"is a list of {len(value)}"
    if isinstance(value, Mapping):
        return f"has the fields {_together(value)}" if value else "has no fields"
    return f"is {str(value) if isinstance(value, _BARE) else repr(value)!s:.80}"


def _together(names: Iterable[object]) -> str:
    return ", ".join(map(str, names))
