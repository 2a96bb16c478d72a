"""Printing: how a value looks where a template has its placeholder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, time
from types import NoneType
from typing import Any, Final

from jinja2 import Undefined

Spend = Callable[[int], None]

# What is said of one and what of the other, and what stands between them.
_PAIRS: Final = (("speaker", "text", ": "), ("tool", "result", ": "), ("observation", "adjustment", " → "))


def plain(value: object, spend: Spend) -> Any:
    """A value as text, numbers, lists and mappings only, so that a template reaches nothing else through it."""
    spend(1)
    if type(value) in (str, int, float, bool, NoneType):
        return value
    match value:
        case str():
            # The value of an enumeration, without its methods.
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case date() | time():
            return value.isoformat()
        case dict() | Mapping():
            return {_key(key, spend): plain(one, spend) for key, one in value.items()}
        case list() | tuple():
            return [plain(one, spend) for one in value]
        case set() | frozenset():
            # Their order is another one in each process, and a summary must not change by itself.
            return sorted((plain(one, spend) for one in value), key=lambda one: (str(type(one)), str(one)))
        case _:
            raise TypeError(f"{type(value).__name__} is nothing to fill in; give text, numbers, lists or mappings")


def printed(value: object, spend: Spend) -> str:
    """A value as lines: a list with an item in each, a mapping with a key in each.

    >>> printed([{"speaker": "user", "text": "hello"}], lambda _: None)
    'user: hello'
    >>> print(printed(["no meat", "at most 40 euros"], lambda _: None))
    - no meat
    - at most 40 euros
    """
    match value:
        case list() | tuple() | Iterator():
            return "\n".join(line for line in (_item(one, spend) for one in value) if line)
        case Mapping():
            return "\n".join(f"{inline(key, spend)}: {inline(one, spend)}" for key, one in value.items())
        case _:
            return inline(value, spend)


def inline(value: object, spend: Spend) -> str:
    """A value within a line: items after commas, keys after semicolons."""
    spend(1)
    match value:
        case None | Undefined():
            return ""
        case bool():
            return "yes" if value else "no"
        case str() | int() | float():
            return str(value)
        case list() | tuple() | Iterator():
            return ", ".join(inline(one, spend) for one in value)
        case Mapping():
            return _pair(value, spend) or "; ".join(
                f"{inline(key, spend)}: {inline(one, spend)}" for key, one in value.items()
            )
        case _:
            raise TypeError(f"{type(value).__name__} is nothing to fill in")


def _key(value: object, spend: Spend) -> str | int | float | bool | None:
    key = value if type(value) is str else plain(value, spend)
    return inline(key, spend) if isinstance(key, list | dict) else key


def _item(value: object, spend: Spend) -> str:
    text = inline(value, spend)
    if not text or (isinstance(value, Mapping) and "speaker" in value):
        return text
    # Further lines stand below the first, so that it is seen where an item ends.
    return "- " + text.replace("\n", "\n  ")


def _pair(value: Mapping[Any, Any], spend: Spend) -> str:
    for first, second, between in _PAIRS:
        if set(value) == {first, second}:
            said = [inline(value[first], spend), inline(value[second], spend)]
            return between.join(one for one in said if one)
    return ""
