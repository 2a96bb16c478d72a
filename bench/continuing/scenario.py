"""Scenarios: a recorded session that is made up, the repository it left, a follow-up task, and checks of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from bench.continuing.recorder import Recorder, Recording, Style, dedented
from bench.continuing.vocabulary import Vocabulary

Half = Literal["tune", "report"]
Place = Literal["conversation", "tool output", "repository"]
Kind = Literal["rule", "name", "decision", "failed approach", "interface", "value", "wish"]

PLACES: tuple[Place, ...] = ("conversation", "tool output", "repository")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something that the follow-up must get right.

    Args:
        name: what is checked, in a few words.
        kind: what sort of fact it rests on.
        place: where the fact stood. What is in the repository can be read again; the others cannot.
        fact: texts, all of which a request must show for the fact to be in view.
        code: Python that runs in the repository and fails by an exception.
        mistake: a file of the reference solution, a text in it, and what somebody without the fact would write there;
            the check must catch it.

    """

    name: str
    kind: Kind
    place: Place
    fact: tuple[str, ...]
    code: str
    mistake: tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A made-up session and what comes after it; `tell` plays the session, `reference` solves the follow-up."""

    name: str
    about: str
    style: Style
    system: str
    vocabulary: Vocabulary
    files: Mapping[str, str]
    tell: Callable[[Recorder], None]
    follow_up: str
    checks: tuple[Check, ...]
    reference: Mapping[str, str]

    @property
    def request(self) -> str:
        """The follow-up as the user says it."""
        return dedented(self.follow_up)

    def recorded(self) -> Recording:
        """The session and the repository it left, the same at each call."""
        recorder = Recorder(self.name, self.style, self.vocabulary, self.files)
        self.tell(recorder)
        return recorder.recording()


def said(kind: Kind, name: str, *fact: str, code: str, mistake: tuple[str, str, str]) -> Check:
    """A check that rests on the conversation."""
    return Check(name=name, kind=kind, place="conversation", fact=fact, code=code, mistake=mistake)


def shown(kind: Kind, name: str, *fact: str, code: str, mistake: tuple[str, str, str]) -> Check:
    """A check that rests on what only a tool's output showed."""
    return Check(name=name, kind=kind, place="tool output", fact=fact, code=code, mistake=mistake)


def kept(kind: Kind, name: str, *fact: str, code: str, mistake: tuple[str, str, str]) -> Check:
    """A check that rests on what the repository still has."""
    return Check(name=name, kind=kind, place="repository", fact=fact, code=code, mistake=mistake)
