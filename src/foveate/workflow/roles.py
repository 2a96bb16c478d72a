"""Roles: which agent plans, which one develops, which one reviews; each can be somebody's own."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from foveate.agents import Agent, Architect, Developer, Reviewer
from foveate.errors import ConfigError

GROUP: Final = "foveate.agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The agents of a workflow, as classes; one of your own gives the same form of result as ours."""

    architect: type[Agent[Any]] = Architect
    developer: type[Agent[Any]] = Developer
    reviewer: type[Agent[Any]] = Reviewer


def agent_named(name: str) -> type[Agent[Any]]:
    """An agent's class: one of ours, one that a package registered, or `module:Class`."""
    ours = {one.name: one for one in (Architect, Developer, Reviewer)}
    registered = {one.name: one for one in entry_points(group=GROUP)}
    if name in ours:
        return ours[name]
    try:
        if name in registered:
            found = registered[name].load()
        else:
            module, _, attribute = name.partition(":")
            if not attribute:
                known = ", ".join((*ours, *registered))
                raise ConfigError(f"unknown agent {name!r}; known are {known}, or give `module:Class`")
            found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"the agent {name!r} cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Agent)):
        raise ConfigError(f"{name!r} is {found!r}; an agent is a class derived from `foveate.agents.Agent`")
    return found
