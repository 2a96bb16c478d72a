"""Foveate itself as one of the arms."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from bench.arms import Arm, Feed, RefusedError
from bench.messages import Message


class _View(Protocol):
    def to(self, form: str, /) -> list[Message]: ...


class _Session(Protocol):
    def extend(self, messages: list[Message], /) -> object: ...

    def compile(self) -> _View: ...


def is_installed() -> bool:
    return find_spec("foveate") is not None


def _start(system: str, budget: int) -> Feed:
    # Imported here, so that the other arms can be measured without the product.
    foveate = import_module("foveate")
    prompt = {"system": system} if system else {}
    session: _Session = foveate.Session(budget=budget, **prompt)

    def feed(new: Sequence[Message]) -> list[Message]:
        try:
            session.extend(list(new))
            return session.compile().to("openai")
        except foveate.BudgetError as error:
            raise RefusedError(str(error)) from error

    return feed


FOVEATE = Arm("foveate", _start)
