"""The rules of a handoff, beyond the form of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final

import msgspec

from foveate.knowledge.checked import LONGEST_ID, LONGEST_LOCATION
from foveate.knowledge.models import Handoff, Written

# The lists of a handoff, each with what an item of it must say.
LISTS: Final[Mapping[str, str]] = MappingProxyType(
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
_LINES: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
# Letters of any script: that Chinese has no small ones is no mistake.
_TAG: Final = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
# A root, a home, a share, a drive, an address, a variable; `$id.tsx` is a file all the same.
_ELSEWHERE: Final = re.compile(r"[/~\\]|[A-Za-z]:[\\/]|[A-Za-z][\w+.-]*:/{2}|file:|\$\{?[A-Z_]+\}?[\\/]|%\w+%[\\/]")
# With the lines behind it, it must be a place of the map.
_LONGEST_PATH: Final = LONGEST_LOCATION - 20


def broken_rules(handoff: Handoff, changed: Sequence[str] = ()) -> Iterator[str]:
    """Every rule that a handoff breaks, with its field; if files are known to be `changed`, it must name files."""
    yield from conditions(handoff)
    if not handoff.files_created and not handoff.files_modified:
        yield from _unnamed(changed)
    yield from item_problems(handoff)


def rules_broken_beside(given: Mapping[str, Any], changed: Sequence[str] = ()) -> Iterator[str]:
    """The rules that data breaks which has not the form of a handoff: of all fields that can be judged."""
    told = {name: given[name] for name in ("outcome", "blockers", "suggested_next_steps") if name in given}
    with suppress(msgspec.ValidationError):
        yield from conditions(msgspec.convert(told, Written))
    if not given.get("files_created") and not given.get("files_modified"):
        yield from _unnamed(changed)
    for name in LISTS:
        items = given.get(name)
        listed: list[Any] = items if isinstance(items, list) else []
        for index, item in enumerate(listed):
            if isinstance(item, Mapping):
                yield from _item_problems(name, index, item)


def item_problems(handoff: Written) -> Iterator[str]:
    """What is wrong with single items, whatever stands beside them."""
    for name in LISTS:
        for index, item in enumerate(getattr(handoff, name)):
            yield from _item_problems(name, index, msgspec.structs.asdict(item))


def path_problems(where: str, path: str) -> Iterator[str]:
    """What is wrong with a path: it must be one of the project."""
    if _ELSEWHERE.match(path) or ".." in path.replace("\\", "/").split("/"):
        yield f"`{where}` is {path!r}; give a path relative to the project"
    elif not path.isprintable():
        yield f"`{where}` is {path!r:.200}, which has a character that no path should have; give the path in one line"
    elif len(path) > _LONGEST_PATH:
        yield f"`{where}` has {len(path)} characters; give a path of at most {_LONGEST_PATH}"


def conditions(handoff: Written) -> Iterator[str]:
    """What its outcome asks for, and a handoff does not have."""
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


def _unnamed(changed: Sequence[str]) -> Iterator[str]:
    if changed:
        some = ", ".join(map(repr, changed[:3]))
        yield f"`files_created` and `files_modified` are empty, but files were changed: {some}; name them"


def _item_problems(name: str, index: int, item: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with an item; a field that is no text is not judged, as it is a fault of form."""
    where, main = f"{name}[{index}]", LISTS[name]
    texts = {field: value for field, value in item.items() if isinstance(value, str)}
    if main in texts and texts[main] and not texts[main].strip():
        yield f"`{where}.{main}` is blank; say what it is, or leave the item out"
    if len(texts.get("id", "")) > LONGEST_ID:
        yield f"`{where}.id` has more than {LONGEST_ID} characters; give a shorter one, or leave it out"
    for field in ("path", "file", "location", "discovered_in"):
        yield from path_problems(f"{where}.{field}", texts.get(field, ""))
    yield from _line_problems(f"{where}.lines", texts.get("lines", "all"))
    tags = item.get("applies_to")
    for tag in tags if isinstance(tags, list | tuple) else ():
        if isinstance(tag, str) and (not _TAG.fullmatch(tag) or tag != tag.lower()):
            yield f"`{where}.applies_to` has {tag!r}; tags are lowercase with hyphens"


def _line_problems(where: str, lines: str) -> Iterator[str]:
    span = _LINES.fullmatch(lines.strip())
    if lines.strip() != "all" and (span is None or (span[2] and int(span[2]) < int(span[1])) or int(span[1]) < 1):
        yield f"`{where}` is {lines!r}; give a range such as 10-42, or all"
