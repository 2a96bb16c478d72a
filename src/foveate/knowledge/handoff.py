"""Handoffs: read, checked by rule, or salvaged from free text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from foveate.errors import ConfigError, FoveateError
from foveate.knowledge.models import FileForNext, Gotcha, Handoff, NextStep, Pattern, Question
from foveate.knowledge.signals import paths_in
from foveate.work.reading import converted, parsed

_FENCE: Final = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?:ya?ml|json)[^\n]*\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE
)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+Handoff[ \t]*$", re.MULTILINE | re.IGNORECASE)
_LINES: Final = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")
_TAG: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_CUES: Final = {
    "gotcha": re.compile(r"\b(?:watch out|be careful|beware|careful with|caveat|gotcha)\b", re.IGNORECASE),
    "pattern": re.compile(r"\b(?:patterns?|always use|convention|follow the)\b", re.IGNORECASE),
    "question": re.compile(r"\?|\b(?:questions?|unclear|not sure|undecided)\b", re.IGNORECASE),
    "step": re.compile(r"\b(?:next|then|should|todo|to do|follow-up)\b", re.IGNORECASE),
}
_FAILED: Final = re.compile(r"\b(?:failed|could not|couldn't|gave up|did not work|unable to)\b", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")


class HandoffError(FoveateError, ValueError):
    """A handoff breaks rules; `problems` names each with its field."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(f"the handoff breaks {len(problems)} rule(s): {'; '.join(problems)}")
        self.problems = tuple(problems)


class Read(NamedTuple):
    """A handoff and how it was come by: as it was written, or salvaged from free text."""

    handoff: Handoff
    problems: tuple[str, ...] = ()


def parse_handoff(text: str) -> Handoff:
    """The handoff in a text: YAML or JSON, bare, in a fence, or in a fence below a heading `Handoff`.

    Raises `HandoffError` with every rule that is broken.
    """
    return checked_handoff(_data(text))


def checked_handoff(given: object) -> Handoff:
    """A handoff from plain data, checked by its schema and its conditions."""
    if not isinstance(given, Mapping):
        raise HandoffError([f"a handoff is a mapping with `outcome`, got {_kind(given)}"])
    try:
        handoff = converted(_without_nulls(given), Handoff)
    except ConfigError as error:
        raise HandoffError([str(error)]) from None
    problems = list(_problems(handoff))
    if problems:
        raise HandoffError(problems)
    return handoff


def read_handoff(text: str) -> Read:
    """The handoff in a text, salvaged from its words if it is not written as one, with what is wrong with it."""
    try:
        return Read(parse_handoff(text))
    except HandoffError as error:
        return Read(salvaged_handoff(text), error.problems)


def salvaged_handoff(text: str) -> Handoff:
    """What can be saved of free text by its cues: warnings, patterns, questions, next steps, files; marked as such."""
    found: dict[str, list[str]] = {kind: [] for kind in _CUES}
    for sentence in _sentences(text):
        kind = next((kind for kind, cue in _CUES.items() if cue.search(sentence)), None)
        if kind is not None and sentence not in found[kind]:
            found[kind].append(sentence)
    return Handoff(
        outcome="partial" if _FAILED.search(text) else "completed",
        patterns_discovered=tuple(Pattern(pattern=one) for one in found["pattern"]),
        gotchas=tuple(Gotcha(issue=one) for one in found["gotcha"]),
        open_questions=tuple(Question(question=one) for one in found["question"]),
        suggested_next_steps=tuple(NextStep(step=one) for one in found["step"]),
        dependencies_for_next=tuple(FileForNext(file=path, reason="named in the handoff") for path in paths_in(text)),
        salvaged=True,
    )


def _data(text: str) -> object:
    heading = _HEADING.search(text)
    rest = text[heading.end() :] if heading else text
    fenced = _FENCE.search(rest)
    body = fenced["body"] if fenced else rest
    try:
        return parsed(body, "the handoff")
    except ConfigError as error:
        raise HandoffError([str(error)]) from None


def _without_nulls(given: Mapping[Any, Any]) -> dict[str, Any]:
    """The fields that are filled: people write `blockers:` with nothing behind it."""
    return {str(key): value for key, value in given.items() if value is not None}


def _problems(handoff: Handoff) -> Iterator[str]:
    yield from _conditions(handoff)
    for name in ("files_created", "files_modified"):
        for index, file in enumerate(getattr(handoff, name)):
            yield from _file_problems(f"{name}[{index}]", file.path, file.lines)
    for index, file in enumerate(handoff.dependencies_for_next):
        yield from _path_problems(f"dependencies_for_next[{index}].file", file.file)
    for index, pattern in enumerate(handoff.patterns_discovered):
        for tag in pattern.applies_to:
            if not _TAG.fullmatch(tag):
                yield f"`patterns_discovered[{index}].applies_to` has {tag!r}; tags are lowercase with hyphens"


def _conditions(handoff: Handoff) -> Iterator[str]:
    match handoff.outcome:
        case "partial":
            if not handoff.blockers:
                yield "`outcome` partial needs `blockers`: what kept it from being completed"
            if not handoff.suggested_next_steps:
                yield "`outcome` partial needs `suggested_next_steps`"
        case "failed":
            if not any(one.suggested_resolution.strip() for one in handoff.blockers):
                yield "`outcome` failed needs `blockers` with a `suggested_resolution`"
        case "blocked":
            if not any(one.blocking_tasks for one in handoff.blockers):
                yield "`outcome` blocked needs `blockers` with `blocking_tasks`"
        case "completed":
            return


def _file_problems(where: str, path: str, lines: str) -> Iterator[str]:
    yield from _path_problems(f"{where}.path", path)
    span = _LINES.fullmatch(lines.strip())
    if lines.strip() != "all" and (span is None or (span[2] and int(span[2]) < int(span[1])) or int(span[1]) < 1):
        yield f"`{where}.lines` is {lines!r}; give a range such as 10-42, or all"


def _path_problems(where: str, path: str) -> Iterator[str]:
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", path) or ".." in path.replace("\\", "/").split("/"):
        yield f"`{where}` is {path!r}; give a path relative to the project"


def _sentences(text: str) -> Iterator[str]:
    for piece in _SENTENCE.split(_FENCE.sub(" ", text)):
        sentence = _BULLET.sub("", piece).strip().lstrip("#").strip()
        if len(sentence) > 3:
            yield sentence[:500]


def _kind(given: object) -> str:
    return "nothing" if given is None else f"{type(given).__name__} {str(given)[:40]!r}"
