"""The rules of a handoff, beyond the form of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from foveate.knowledge.checked import LONGEST_ID, LONGEST_LOCATION
from foveate.knowledge.models import Handoff

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
# With the lines behind it, it must be a place of the map.
_LONGEST_PATH: Final = LONGEST_LOCATION - 20


def broken_rules(handoff: Handoff, changed: Sequence[str] = ()) -> Iterator[str]:
    """Every rule that a handoff breaks, with its field; if files are known to be `changed`, it must name files."""
    yield from _conditions(handoff)
    if changed and not handoff.files_created and not handoff.files_modified:
        some = ", ".join(map(repr, changed[:3]))
        yield f"`files_created` and `files_modified` are empty, but files were changed: {some}; name them"
    yield from item_problems(handoff)


def item_problems(handoff: Handoff) -> Iterator[str]:
    """What is wrong with single items, whatever stands beside them."""
    for name, main in LISTS.items():
        for index, item in enumerate(getattr(handoff, name)):
            where = f"{name}[{index}]"
            if not getattr(item, main).strip():
                yield f"`{where}.{main}` is blank; say what it is, or leave the item out"
            if len(getattr(item, "id", "")) > LONGEST_ID:
                yield f"`{where}.id` has more than {LONGEST_ID} characters; give a shorter one, or leave it out"
            for field in ("path", "file", "location"):
                yield from path_problems(f"{where}.{field}", getattr(item, field, ""))
            yield from _line_problems(f"{where}.lines", getattr(item, "lines", "all"))
            for tag in getattr(item, "applies_to", ()):
                if not _TAG.fullmatch(tag) or tag != tag.lower():
                    yield f"`{where}.applies_to` has {tag!r}; tags are lowercase with hyphens"


def path_problems(where: str, path: str) -> Iterator[str]:
    """What is wrong with a path: it must be one of the project."""
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", path) or ".." in path.replace("\\", "/").split("/"):
        yield f"`{where}` is {path!r}; give a path relative to the project"
    elif len(path) > _LONGEST_PATH:
        yield f"`{where}` has {len(path)} characters; give a path of at most {_LONGEST_PATH}"


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


def _line_problems(where: str, lines: str) -> Iterator[str]:
    span = _LINES.fullmatch(lines.strip())
    if lines.strip() != "all" and (span is None or (span[2] and int(span[2]) < int(span[1])) or int(span[1]) < 1):
        yield f"`{where}` is {lines!r}; give a range such as 10-42, or all"
