"""Roles: which agent plans, which one develops, which one reviews; each can be somebody's own."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import msgspec

from foveate.agents import Agent, Architect, Developer, Reviewer
from foveate.errors import ConfigError

GROUP: Final = "foveate.agents"
# What a workflow reads of a result.
_RESULTS: Final = {"architect": {"tasks"}, "developer": {"summary"}, "reviewer": {"approved", "comments", "severity"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The agents of a workflow, as classes; one of your own gives the same form of result as ours."""

    architect: type[Agent[Any]] = Architect
    developer: type[Agent[Any]] = Developer
    reviewer: type[Agent[Any]] = Reviewer


def agent_named(name: str, role: str) -> type[Agent[Any]]:
    """The agent for a role: one of ours, one that a package registered, or `module:Class`."""
    ours = {one.name: one for one in (Architect, Developer, Reviewer)}
    registered = {one.name: one for one in entry_points(group=GROUP)}
    try:
        found = ours[name] if name in ours else registered[name].load() if name in registered else _imported(name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        known = ", ".join((*ours, *registered))
        raise ConfigError(
            f"the agent {name!r} cannot be found: {error}; known are {known}, or give `module:Class`"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Agent)):
        raise ConfigError(f"{name!r} is {found!r}; an agent is a class derived from `foveate.agents.Agent`")
    needed = _RESULTS[role]
    given = {one.name for one in msgspec.structs.fields(found.result)}
    if not needed <= given:
        raise ConfigError(
            f"`--{role}` {name!r} gives a result with {', '.join(sorted(given))}; "
            f"a {role}'s needs {', '.join(sorted(needed))}"
        )
    return found


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ImportError("there is none of that name")
    here = str(Path.cwd())
    # A script of the user's own lies where it is run, and an installed command does not look there by itself.
    sys.path.insert(0, here)
    try:
        return getattr(import_module(module), attribute)
    finally:
        sys.path.remove(here)
