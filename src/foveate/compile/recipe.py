"""Recipes: a name and a hash for the strategy of a call, so that calls can be compared later."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from foveate.compile.policy import POLICIES


def source_of(compiler: object) -> str:
    """Where a compiler comes from: ours as it is, ours with somebody's own options, or somebody's own."""
    kind = type(compiler)
    if "recipe_name" not in vars(kind):
        return f"{kind.__module__}:{kind.__qualname__}"
    policy = getattr(compiler, "policy", None)
    if policy is not None and policy.origin is not None:
        return str(policy.origin.source)
    return "builtin" if policy is None or policy == POLICIES.get(policy.name) else "custom"


def fingerprint(compiler: object) -> str:
    """A hash of a compiler and all its options, or of what these were read from; with the same, two decide alike."""
    policy = getattr(compiler, "policy", None)
    if policy is not None and policy.origin is not None:
        return str(policy.origin.sha256)
    return recipe_of(compiler)


def recipe_of(part: object) -> str:
    """A hash of a part of a strategy and all its options.

    A part is known by its `recipe_name`, which says with a number when it began to decide otherwise: it may be moved
    and renamed. Somebody's own that has none is known by its module and name.
    """
    return hashlib.sha256(spelled(part).encode()).hexdigest()


def spelled(value: Any) -> str:
    """A value as text that is the same in every process."""
    if is_dataclass(value) and not isinstance(value, type):
        # What follows from the options is none of them.
        given = [one for one in fields(value) if one.init or one.compare]
        options = ", ".join([f"{one.name}={spelled(getattr(value, one.name))}" for one in given])
        return f"{_name(type(value))}({options})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{spelled(key)}: {spelled(one)}" for key, one in value.items()) + "}"
    if isinstance(value, tuple | list | set | frozenset):
        return f"[{', '.join(map(spelled, value))}]"
    if value is None or isinstance(value, str | int | float | bool):
        return repr(value)
    # A function or an object of somebody's own: its name must do, its address would be another in each process.
    return _name(value if callable(value) and hasattr(value, "__qualname__") else type(value))


def _name(value: Any) -> str:
    own = vars(value).get("recipe_name") if hasattr(value, "__dict__") else None
    return own if isinstance(own, str) else f"{value.__module__}:{value.__qualname__}"
