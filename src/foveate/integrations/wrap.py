"""`foveate.wrap`: a client of OpenAI, Anthropic or Google that keeps every request within a budget."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from foveate.errors import ConfigError
from foveate.integrations.supported import require
from foveate.threads.threads import Threads

if TYPE_CHECKING:
    from foveate.budget.window import TokenBudget
    from foveate.store import Store

Client = TypeVar("Client")

# The package that a client's class comes from: what it is called when it is installed, and who wraps it.
_WRAPPERS: Final = {
    "openai": ("openai", "foveate.integrations.stainless"),
    "anthropic": ("anthropic", "foveate.integrations.stainless"),
    "google.genai": ("google-genai", "foveate.integrations.google_genai"),
}


def wrap(
    client: Client,
    *,
    budget: int | TokenBudget | None = None,
    store: str | Path | Store | None = None,
    thread: str | None = None,
    **options: Any,
) -> Client:
    """The same client, whose requests are compiled: valid, within `budget`, and recorded in sessions.

    Every call of `chat.completions`, `responses`, `messages` and `models.generate_content`, streamed or not, takes the
    whole history as before. What is new in it is found by matching, recorded, and the compiled view is sent in its
    place; whatever else the client can do goes through untouched. The client that was given stays as it is.

    Args:
        client: an `OpenAI`, `AsyncOpenAI`, `Anthropic`, `AsyncAnthropic` or `google.genai.Client`, or one of a class
            made from these.
        budget: the most input tokens of a request; without it, what the window of the model leaves for input.
        store: a file such as `agent.db`, an address, or a `Store`, where sessions survive the process.
        thread: the thread of all requests; `foveate.thread(name)` names it for a block, and without either, a history
            tells by how it begins.
        options: the others of `Session`, such as `policy`, `keep_turns` and `summarizer`.

    """
    found = next((package for one in type(client).__mro__ if (package := _package_of(one)) is not None), None)
    if found is None:
        raise ConfigError(
            f"`client` is a {type(client).__module__}.{type(client).__qualname__}; give one of `openai`, "
            "`anthropic` or `google.genai`, or compile yourself with `foveate.Session`"
        )
    if threads_in(client) is not None:
        raise ConfigError("`client` is wrapped already; give the one that it was made of")
    package, module = _WRAPPERS[found]
    require(package)
    # Nobody waits for a provider's library but its users.
    wrapped: Client = import_module(module).wrapped(
        client, Threads(budget=budget, store=store, thread=thread, **options)
    )
    return wrapped


def threads_of(client: object) -> Threads:
    """The threads that a wrapped client has recorded: their sessions, and answers for the recall tool."""
    found = threads_in(client)
    if found is None:
        raise ConfigError(f"`client` is not wrapped, got {type(client).__name__}; give what `foveate.wrap` returned")
    return found


def threads_in(client: object) -> Threads | None:
    """The threads of a client, if it is wrapped."""
    return vars(client).get(ATTRIBUTE) if hasattr(client, "__dict__") else None


ATTRIBUTE: Final = "_foveate_threads"
"""The attribute of a wrapped client that has its threads."""


def specialized(owner: Client, mixin: type) -> Client:
    """A copy of an object, of a class with its name that is made from its own and does what a mixin does."""
    kind = type(owner)
    special: Any = type(kind.__name__, (mixin, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})
    made: Any = special.__new__(special)
    made.__dict__.update(vars(owner))
    copied: Client = made
    return copied


def _package_of(kind: type) -> str | None:
    module = kind.__module__
    return next((name for name in _WRAPPERS if module == name or module.startswith(f"{name}.")), None)
