"""Handoffs: read, checked by rule, or salvaged from free text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, get_args

from foveate.errors import ConfigError, FoveateError
from foveate.knowledge.checked import LONGEST_ID, LONGEST_LOCATION
from foveate.knowledge.models import FileForNext, Gotcha, Handoff, NextStep, Pattern, Question, Result
from foveate.knowledge.signals import paths_in
from foveate.work.reading import converted, parsed

_FENCE: Final = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?:ya?ml|json)[^\n]*\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE
)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+Handoff[ \t]*$", re.MULTILINE | re.IGNORECASE)
_LINES: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
# Letters of any script: that Chinese has no small ones is no mistake.
_TAG: Final = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
# The lists of a handoff, each with what an item of it must say.
_LISTS: Final = MappingProxyType(
    {
        "files_created": "path",
        "files_modified": "path",
        "patterns_discovered": "pattern",
        "gotchas": "issue",
        "dependencies_for_next": "file",
        "open_questions": "question",
        "suggested_next_steps": "step",
        "blockers": "blocker",
    }
)
_OUTCOMES: Final = get_args(Result)
# With the lines behind it, it must be a place of the map.
_LONGEST_PATH: Final = LONGEST_LOCATION - 20
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


def parse_handoff(text: str, *, changed: Sequence[str] = ()) -> Handoff:
    """The handoff in a text: YAML or JSON, bare, in a fence, or in a fence below a heading `Handoff`.

    Raises `HandoffError` with every rule that is broken. If files are known to be `changed`, it must name files.
    """
    return checked_handoff(_data(text), changed=changed)


def checked_handoff(given: object, *, changed: Sequence[str] = ()) -> Handoff:
    """A handoff from plain data, checked by its schema and its conditions."""
    if not isinstance(given, Mapping):
        raise HandoffError([f"a handoff is a mapping with `outcome`, got {_kind(given)}"])
    try:
        handoff = converted(_without_nulls(given), Handoff)
    except ConfigError as error:
        raise HandoffError([str(error)]) from None
    problems = list(_problems(handoff, changed))
    if problems:
        raise HandoffError(problems)
    return handoff


def read_handoff(text: str, *, changed: Sequence[str] = ()) -> Read:
    """The handoff in a text, with what is wrong with it.

    Of one that breaks rules all items are kept that break none; of free text what its words give away.
    """
    try:
        return Read(parse_handoff(text, changed=changed))
    except HandoffError as error:
        return Read(_kept_of(text) or salvaged_handoff(text), error.problems)


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
        dependencies_for_next=tuple(
            FileForNext(file=path, reason="named in the handoff")
            for path in paths_in(text)
            if not any(_path_problems("", path))
        ),
        salvaged=True,
    )


def _kept_of(text: str) -> Handoff | None:
    """What is right in a handoff that is written as one but breaks rules; nothing if it is none."""
    try:
        given = _data(text)
    except HandoffError:
        return None
    if not isinstance(given, Mapping) or not any(name in given for name in Handoff.__struct_fields__):
        return None
    kept: dict[str, Any] = {}
    for name in _LISTS:
        items = given.get(name)
        righted = [_righted(name, item) for item in items] if isinstance(items, list) else []
        kept[name] = [item for item in righted if item is not None]
    outcome = given.get("outcome")
    if outcome not in _OUTCOMES:
        if not any(kept.values()):
            # A sentence may begin with `outcome:` too.
            return None
        outcome = "partial"
    return converted({"outcome": outcome, **kept, "salvaged": True}, Handoff)


def _righted(name: str, item: object) -> object:
    """An item without the fields of it that are wrong; nothing if what it must say is."""
    main = _LISTS[name]
    given: Mapping[Any, Any] = item if isinstance(item, Mapping) else {main: item}
    said = {main: given.get(main)}
    if not _is_right(name, said):
        return None
    return {key: value for key, value in given.items() if _is_right(name, {**said, key: value})}


def _is_right(name: str, item: object) -> bool:
    try:
        one = converted({"outcome": "completed", name: [item]}, Handoff)
    except ConfigError:
        return False
    return not any(_item_problems(one))


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


def _problems(handoff: Handoff, changed: Sequence[str]) -> Iterator[str]:
    yield from _conditions(handoff)
    if changed and not handoff.files_created and not handoff.files_modified:
        some = ", ".join(map(repr, changed[:3]))
        yield f"`files_created` and `files_modified` are empty, but files were changed: {some}; name them"
    yield from _item_problems(handoff)


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
            if not any(task.strip() for one in handoff.blockers for task in one.blocking_tasks):
                yield "`outcome` blocked needs `blockers` with `blocking_tasks`"
        case "completed":
            return


def _item_problems(handoff: Handoff) -> Iterator[str]:
    """What is wrong with single items, whatever stands beside them."""
    for name, main in _LISTS.items():
        for index, item in enumerate(getattr(handoff, name)):
            where = f"{name}[{index}]"
            if not getattr(item, main).strip():
                yield f"`{where}.{main}` is blank; say what it is, or leave the item out"
            if len(getattr(item, "id", "")) > LONGEST_ID:
                yield f"`{where}.id` has more than {LONGEST_ID} characters; give a shorter one, or leave it out"
            for field in ("path", "file", "location"):
                yield from _path_problems(f"{where}.{field}", getattr(item, field, ""))
            yield from _line_problems(f"{where}.lines", getattr(item, "lines", "all"))
            for tag in getattr(item, "applies_to", ()):
                if not _TAG.fullmatch(tag) or tag != tag.lower():
                    yield f"`{where}.applies_to` has {tag!r}; tags are lowercase with hyphens"


def _line_problems(where: str, lines: str) -> Iterator[str]:
    span = _LINES.fullmatch(lines.strip())
    if lines.strip() != "all" and (span is None or (span[2] and int(span[2]) < int(span[1])) or int(span[1]) < 1):
        yield f"`{where}` is {lines!r}; give a range such as 10-42, or all"


def _path_problems(where: str, path: str) -> Iterator[str]:
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", path) or ".." in path.replace("\\", "/").split("/"):
        yield f"`{where}` is {path!r}; give a path relative to the project"
    elif len(path) > _LONGEST_PATH:
        yield f"`{where}` has {len(path)} characters; give a path of at most {_LONGEST_PATH}"


def _sentences(text: str) -> Iterator[str]:
    for piece in _SENTENCE.split(_FENCE.sub(" ", text)):
        sentence = _BULLET.sub("", piece).strip().lstrip("#").strip()
        if len(sentence) > 3:
            yield sentence[:500]


def _kind(given: object) -> str:
    return "nothing" if given is None else f"{type(given).__name__} {str(given)[:40]!r}"
