"""The policies by name: ours, baselines, and a user's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from foveate.compile.policy import POLICIES, Policy
from foveate.errors import ConfigError
from foveate.lab.baselines import BASELINES, baseline
from foveate.lab.config import FILE, Config
from foveate.lab.contestants import Contestant, Feed, Opening
from foveate.lab.result import PolicyInfo
from foveate.lab.sessions import start_compiler, start_function, start_policy

GROUP: Final = "foveate.policies"
DEFAULT: Final = "foveate"

_OURS: Final = {
    "foveate": "Foveate as it is: a story by turn and how the work stands, when the budget is used up",
    "default": "the same as foveate",
    "lines": "of older messages single lines, chosen for what they name; reduces where cache prices ask for it",
    "patient": "as lines, but only reduces when the budget is used up",
    "thorough": "as patient, with twice the room for what older messages leave",
    "lean": "as lines, but large outputs are shown by their beginning and end from the first call on",
    "frugal": "as lean, with little room for anything but what is being worked on",
    "chat": "as lines, with more room for what is recalled for an input and less for digests",
    "transparent": "as lines, but finished turns are treated like the running one",
    "mask": "masks old tool outputs with references, then truncates, down to 60 %",
    "drop": "drops the oldest exchanges, down to 60 %",
}


def contestant(name: str, config: Config | None = None) -> Contestant:
    """What takes part in a replay under a name; a name in `foveate.toml` wins over an installed one."""
    config = config or Config()
    if name in config.policies:
        return _of_object(name, config.policies[name], _said(config))
    if name in config.uses:
        return _of_object(name, _imported(config.uses[name], name), _said(config))
    if name in _OURS:
        return _of_policy(name, POLICIES[_canonical(name)])
    known = baseline(name)
    if known is not None:
        return known
    if ":" in name:
        return _of_object(name, _imported(name, name), f"`{name}`")
    for entry in entry_points(group=GROUP, name=name):
        return _of_object(name, _loaded(entry), f"installed: `{entry.value}`")
    raise ConfigError(
        f"unknown `--policy` {name!r}; known are {', '.join(info.name for info in described(config))}, "
        "mask-N, or your own as `module:object`"
    )


def policy_called(name: str, config: Config | None = None) -> Policy:
    """A `Policy` by name; what is none, such as a baseline, cannot be compiled with."""
    config = config or Config()
    if name in config.policies:
        return config.policies[name]
    if name in _OURS and name not in config.uses:
        return POLICIES[_canonical(name)]
    contestant(name, config)
    found = _own(name, config)
    if isinstance(found, Policy):
        return found
    raise ConfigError(
        f"`--policy` {name!r} can be replayed, but a request is compiled with a `foveate.Policy`; "
        f"such are {', '.join((*_OURS, *config.policies))}"
    )


def described(config: Config | None = None) -> list[PolicyInfo]:
    """All that can be named, each with a line about it."""
    config = config or Config()
    listed = {name: PolicyInfo(name=name, kind="policy", description=text) for name, text in _OURS.items()}
    listed |= {one.name: PolicyInfo(name=one.name, kind=one.kind, description=one.description) for one in BASELINES}
    for entry in entry_points(group=GROUP):
        listed[entry.name] = PolicyInfo(name=entry.name, kind="own", description=f"installed: `{entry.value}`")
    for name, policy in config.policies.items():
        listed[name] = PolicyInfo(name=name, kind="own", description=f"{_said(config)}: {_summed_up(policy)}")
    for name, use in config.uses.items():
        listed[name] = PolicyInfo(name=name, kind="own", description=f"{_said(config)}: `{use}`")
    return list(listed.values())


def _canonical(name: str) -> str:
    return "default" if name == DEFAULT else name


def _said(config: Config) -> str:
    return f"from {config.path.name if config.path is not None else FILE}"


def _summed_up(policy: Policy) -> str:
    low = "by prices" if policy.low is None else f"{policy.low:g}"
    patience = "never" if policy.patience is None else f"{policy.patience:g}"
    return f"{len(policy.passes)} passes, low {low}, patience {patience}"


def _of_policy(name: str, policy: Policy) -> Contestant:
    return Contestant(name=name, kind="policy", description=_OURS[name], start=partial(start_policy, policy))


def _of_object(name: str, found: Any, description: str) -> Contestant:
    """A user's own: a policy, a compiler or a function."""
    start: Callable[[Opening], Feed]
    if isinstance(found, Policy):
        start = partial(start_policy, found)
    elif not isinstance(found, type) and callable(getattr(found, "compile", None)):
        start = partial(start_compiler, found)
    elif not isinstance(found, type) and callable(found):
        function: Any = found
        start = partial(start_function, function)
    else:
        raise ConfigError(
            f"`--policy` {name!r} is {found!r:.80}; it must be a `foveate.Policy`, an object with "
            "`compile(state)`, or a function `(messages, budget) -> messages`"
        )
    return Contestant(name=name, kind="own", description=description, start=start)


def _own(name: str, config: Config) -> Any:
    if name in config.uses:
        return _imported(config.uses[name], name)
    if baseline(name) is not None:
        return None
    if ":" in name:
        return _imported(name, name)
    return next((_loaded(entry) for entry in entry_points(group=GROUP, name=name)), None)


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"policy {entry.name!r}: {entry.value!r} cannot be imported: {error}") from error


def _imported(reference: str, name: str) -> Any:
    module, _, attribute = reference.partition(":")
    if not module or not attribute:
        raise ConfigError(f"policy {name!r}: {reference!r} is not `module:object`")
    folder = os.getcwd()  # noqa: PTH109  `sys.path` is made of texts
    if folder not in sys.path:
        # A policy in the making is a file of the working directory, which an installed command does not look into.
        sys.path.insert(0, folder)
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise ConfigError(f"policy {name!r}: {reference!r} cannot be imported: {error}") from error
    return found


def infos(contestants: Iterable[Contestant]) -> Iterator[PolicyInfo]:
    """What a result says of those that took part."""
    for one in contestants:
        yield PolicyInfo(name=one.name, kind=one.kind, description=one.description)
