"""Passes: what a step of a compile is, when it runs, and what it is called."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getmro
from types import FunctionType, MethodType
from typing import Final, Literal, NamedTuple, Protocol, TypeVar

from foveate.compile.draft import Draft, PassContext
from foveate.errors import ConfigError

RunsOn = Literal["request", "reduction"]
"""When a pass runs: on every request, for what is new in it, or only in a reduction, on all of it."""


class Pass(Protocol):
    """One step of a compile: a pure function from draft to draft, with a name for the trace.

    It says when it runs, as a class with `runs_on = "request"` or `runs_on = "reduction"`, as a plain function with
    `@request_pass` or `@reducing_pass`. It may also have `needed(draft, ctx) -> bool`; a reducing pass without it runs
    while the draft is above the low mark, a request pass without it always.
    """

    @property
    def name(self) -> str: ...

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft: ...


PlainPass = Callable[[Draft, PassContext], Draft]
_Plain = TypeVar("_Plain", bound=PlainPass)
_REQUEST: Final = "request"
_REDUCTION: Final = "reduction"


def reducing_pass(stage: _Plain) -> _Plain:
    """Declare that a function makes a draft smaller and does nothing else, so that it may run in reductions only.

    >>> @reducing_pass
    ... def no_status(draft, ctx):
    ...     return draft.with_items(item for item in draft.items if item.message.text != "ok")

    """
    stage.runs_on = _REDUCTION  # type: ignore[attr-defined]  # a function takes any attribute
    return stage


def request_pass(stage: _Plain) -> _Plain:
    """Declare that a function rewrites messages, and has to see every message before any request shows it.

    It gives back the items that it was given, some of them with other words; what it took out is in no request, no
    digest and no recalled passage from there on. Its outcome is recorded, so it is asked about each message once.

    >>> @request_pass
    ... def redact(draft, ctx):
    ...     return draft.with_text(lambda text: text.replace("hunter2", "[redacted]"))

    """
    stage.runs_on = _REQUEST  # type: ignore[attr-defined]  # a function takes any attribute
    return stage


def checked_pass(stage: Pass | PlainPass) -> Pass | PlainPass:
    """The pass, if it is one and says when it runs."""
    if not callable(stage):
        raise ConfigError(f"`passes` are callables from draft to draft, got {stage!r}; see `foveate.PASSES`")
    name = pass_name(stage)
    said = _declared(stage)
    if said not in (_REQUEST, _REDUCTION):
        told = f"says {said!r}" if said is not None else "does not say"
        raise ConfigError(
            f"pass `{name}` {told} when it runs; if every request needs it, such as one that takes out secrets, put "
            '`@foveate.request_pass` before its function or `runs_on = "request"` in its class; if it only makes '
            'requests smaller, put `@foveate.reducing_pass` or `runs_on = "reduction"`'
        )
    # What wraps a pass, such as `WhenFull`, may run it no more often.
    inner: Pass | PlainPass | None = getattr(stage, "stage", None)
    if inner is not None and runs_on(checked_pass(inner)) != said:
        raise ConfigError(
            f"pass `{name}` runs on every {runs_on(inner)}, but what is around it, `{type(stage).__name__}`, on every "
            f"{said}; put `{name}` into `passes` by itself"
        )
    return stage


def runs_on(stage: Pass | PlainPass) -> RunsOn:
    """When a checked pass runs."""
    return "request" if _declared(stage) == _REQUEST else "reduction"


class RequestPass(NamedTuple):
    """A pass of every request, and whether it also sees what was sent before it came."""

    stage: Pass | PlainPass
    reaches_back: bool


def reaches_back(stage: Pass | PlainPass) -> bool:
    """Whether a request pass sees what was sent before it came, too; it does, unless it says otherwise."""
    return runs_on(stage) == "request" and bool(getattr(innermost(stage), "reaches_back", True))


def innermost(stage: Pass | PlainPass) -> Pass | PlainPass:
    """The pass itself, without what wraps it."""
    inner: Pass | PlainPass | None = getattr(stage, "stage", None)
    return stage if inner is None else innermost(inner)


def pass_name(stage: Pass | PlainPass) -> str:
    """The name of a pass, or of a plain function used as one."""
    name = getattr(stage, "name", None) or getattr(stage, "__name__", None)
    if not name:
        raise ConfigError(f"a pass needs a name, {stage!r} has none; give it a `name` attribute")
    return str(name)


def _declared(stage: Pass | PlainPass) -> str | None:
    """What a pass says about when it runs; what it inherits says nothing about a call of its own."""
    if isinstance(stage, FunctionType | MethodType) or "runs_on" in getattr(stage, "__dict__", {}):
        return getattr(stage, "runs_on", None)
    for kind in getmro(type(stage)):
        if "runs_on" in vars(kind):
            return getattr(stage, "runs_on", None)
        if "__call__" in vars(kind):
            return None
    return None
