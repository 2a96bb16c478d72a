"""Inputs: what a step is shown besides its text, gathered from files, variables and earlier steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from foveate.agents.strategy import fenced
from foveate.errors import ConfigError
from foveate.log.sections import ContextSection
from foveate.scripts.dates import dated
from foveate.scripts.files import VaultFiles
from foveate.scripts.script import Input, Script, Step

_FRONT: Final = re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The inputs of a step, each with its name and text, and which of them there are not."""

    texts: tuple[tuple[str, str], ...] = ()
    # What earlier steps gave to all later ones.
    context: tuple[tuple[str, str], ...] = ()
    # What is named but not shown.
    references: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def sections(self, *, readable: bool) -> tuple[ContextSection, ...]:
        """The inputs as sections of a request; `readable` says whether the model can read files itself."""
        shown = [
            ContextSection(name=name, content=fenced(text) if text.strip() else "(empty)", source=name, tier="stable")
            for name, text in (*self.context, *self.texts)
        ]
        remedy = "read it with `read_file` if you need it" if readable else "only its name is given"
        return (
            *shown,
            *(
                ContextSection(name=name, content=f"Not shown; {remedy}.", source=name, tier="stable")
                for name in self.references
            ),
        )

    def copied(self) -> str:
        """The texts one after the other, as they are."""
        return "\n\n".join(text.strip("\n") for _, text in self.texts if text.strip())


def gathered(
    script: Script, step: Step, files: VaultFiles, day: date, variables: Mapping[str, str], context: Mapping[str, str]
) -> Gathered:
    """The inputs of a step, after the `context` of earlier steps; a missing one that is `required` is an error."""
    texts: list[tuple[str, str]] = []
    references: list[str] = []
    missing: list[str] = []
    for one in step.inputs:
        name = dated(one.name, day, script.week_start) if one.kind == "file" else one.name
        text = _read(one, name, files, variables)
        if text is None and one.required:
            there = "there is no such file" if one.kind == "file" else "no step has given it"
            raise ConfigError(f"`@input {one.kind}:{name}` is required, and {there}; make it, or take `required` out")
        if text is None:
            missing.append(f"{one.kind}:{name}")
        elif one.refs_only:
            references.append(name)
        else:
            texts.append((name, _part(one, text)))
    return Gathered(
        texts=tuple(texts),
        context=tuple((f"Output of {name}", text) for name, text in context.items()),
        references=tuple(references),
        missing=tuple(missing),
    )


def _read(one: Input, name: str, files: VaultFiles, variables: Mapping[str, str]) -> str | None:
    if one.kind == "variable":
        return variables.get(name)
    if one.refs_only:
        return "" if files.exists(name) else None
    return files.read(name)


def _part(one: Input, text: str) -> str:
    if one.properties:
        found = _FRONT.match(text)
        return found.group(1) if found is not None else ""
    lines = text.splitlines(keepends=True)
    if one.head is None or len(lines) <= one.head:
        return text
    return f"{''.join(lines[: one.head])}[the first {one.head} of {len(lines)} lines]"
