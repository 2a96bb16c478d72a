"""Reading: from a Markdown file to a script, with every problem of the file named at once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple

from foveate.chat.plain import UnreadableError, read_yaml
from foveate.chat.sections import blocks_in
from foveate.chat.settings import SETTINGS
from foveate.errors import ConfigError
from foveate.log.text import printable
from foveate.scripts.dates import DAYS
from foveate.scripts.directives import DIRECTIVES, WrongError, directive_in
from foveate.scripts.script import Script, Step, lasting, named
from foveate.workflow.files import shortened

MOST_BYTES: Final = 500_000
# What makes no sense for steps: what they keep in view is said by each.
_NOT_OURS: Final = ("endless", "template")
_OWN: Final = ("description", "week_start_day")
_LONGEST_NAME: Final = 200
_HEADING: Final = re.compile(r" {0,3}##(?:[ \t]+(.*))?")
_INSTRUCTIONS: Final = "instructions"


def read_script(path: Path, *, root: Path) -> Script:
    """The script in a file; inside of `root` it is named by its path there."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is no file; name a Markdown file with steps")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        inside = path.resolve().is_relative_to(root.resolve())
        name = path.resolve().relative_to(root.resolve()).with_suffix("").as_posix() if inside else path.stem
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(f"the workflow {str(path)!r} cannot be read: {reason}; name a Markdown file") from error
    return script_of(content, path=path, name=name)


def script_of(content: bytes, *, path: Path, name: str | None = None) -> Script:
    """The script in the content of a file; an error lists all that is wrong with it, each with its line."""
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{path} has more than {MOST_BYTES:,} bytes; make several workflows of it")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: this is not UTF-8; store it as UTF-8") from error
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    reader = _Reader(path)
    front, start = reader.front(lines)
    own, settings = reader.fields(front)
    instructions, steps = reader.parts(lines, start)
    reader.check(steps)
    if reader.problems:
        raise ConfigError("\n".join(reader.problems))
    return Script(
        name=printable(unicodedata.normalize("NFC", name or path.stem)),
        path=path,
        steps=tuple(steps),
        description=" ".join(str(own.get("description", "")).split()),
        instructions=instructions,
        settings=settings,
        week_start=DAYS.index(own.get("week_start_day", DAYS[0])),
        notes=tuple(reader.notes),
    )


class _Part(NamedTuple):
    """What stands under a heading: its place in the file, and that of the lines below it."""

    heading: str
    line: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one file; notes what is wrong with it and goes on."""

    path: Path
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def front(self, lines: Sequence[str]) -> tuple[Mapping[Any, Any], int]:
        """The fields before the text, and the place of the first line after them."""
        if lines[0].rstrip(" \t") != "---":
            return {}, 0
        end = next((place for place, line in enumerate(lines) if place and line.rstrip(" \t") in ("---", "...")), 0)
        if not end:
            self._wrong(1, "`---` begins front matter, and no other ends it; add one")
            return {}, 0
        try:
            fields = read_yaml("\n".join(lines[1:end]))
        except UnreadableError as error:
            line = error.line + 1 if error.line else 2
            self._wrong(line, f"the front matter cannot be read: {error.problem}; write `name: value` lines")
            return {}, end + 1
        if not isinstance(fields, Mapping):
            if fields is not None:
                self._wrong(2, "the front matter has no fields; write `description: …`, or remove both lines `---`")
            return {}, end + 1
        return fields, end + 1

    def fields(self, front: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the front matter says of the file itself, and its settings."""
        known = (*_OWN, *(name for name in SETTINGS if name not in _NOT_OURS))
        own: dict[str, Any] = {}
        settings: dict[str, Any] = {}
        for key, value in front.items():
            name = key.strip().lower().replace("-", "_") if isinstance(key, str) else ""
            if name in _NOT_OURS:
                self.notes.append(f"`{key}` is for chats; what a step keeps in view is said by `@context-helper`")
            elif name not in known:
                # Other programs keep fields of their own there.
                near = get_close_matches(name, known, 1, 0.8)
                self.notes.extend(f"`{key}` is no field of a workflow; `{one}` may be meant" for one in near)
            elif name == "description":
                own[name] = value if value is not None else ""
            elif name == "week_start_day":
                own[name] = str(value).strip().lower()
                if own[name] not in DAYS:
                    self._wrong(1, f"`{key}` must be one of {', '.join(DAYS)}, got {value!r}")
            else:
                settings |= self._setting(name, value)
        return own, settings

    def _setting(self, name: str, value: Any) -> dict[str, Any]:
        try:
            SETTINGS[name].read(value)
        except (ValueError, KeyError, TypeError, OverflowError):
            self._wrong(1, f"`{name}` must be {SETTINGS[name].must_be}, got {value!r}")
        return {name: value}

    def parts(self, lines: Sequence[str], start: int) -> tuple[str, list[Step]]:
        """The instructions, and the steps in order."""
        instructions: list[str] = []
        steps: list[Step] = []
        for part in _parts(lines, start):
            if _INSTRUCTIONS in part.heading.lower():
                if part.heading.lower() != _INSTRUCTIONS:
                    where = f"line {part.line}: {shortened(part.heading)}"
                    self.notes.append(f"{where} has the word instructions in it: the system prompt of all, and no step")
                self._refuse_directives(lines, part)
                instructions.append("\n".join(lines[part.first : part.end]).strip())
            else:
                steps.append(self._step(lines, part))
        if not steps:
            self._wrong(start + 1, "there is no step; write a heading such as `## Summarise`, and below it what to do")
        return "\n\n".join(filter(None, instructions)), steps

    def check(self, steps: Sequence[Step]) -> None:
        """See whether steps fit together: each its own name, and no input that no earlier step gives."""
        lines: dict[str, int] = {}
        given = lasting(steps) & {one.name for step in steps for one in step.outputs if one.kind == "variable"}
        for step in steps:
            name = named(step).casefold()
            if name in lines:
                self._wrong(
                    step.line, f"a step {shortened(step.name)} is in line {lines[name]} already; give it another name"
                )
            lines.setdefault(name, step.line)
            for one in step.inputs:
                if one.kind == "variable" and one.name not in given:
                    earlier = f"earlier steps give {', '.join(sorted(given))}" if given else "no earlier step gives any"
                    self._wrong(step.line, f"`@input {one.label}`: {earlier}; write `@output {one.label}` in one")
            given |= {one.name for one in step.outputs if one.kind == "variable"}

    def _step(self, lines: Sequence[str], part: _Part) -> Step:
        said: dict[str, list[Any]] = {}
        place = part.first
        while place < part.end and (not lines[place].strip() or lines[place].lstrip(" \t").startswith("@")):
            if lines[place].strip():
                self._directive(lines[place], place + 1, said)
            place += 1
        self._note_late(lines, place, part.end)
        text = "\n".join(lines[place : part.end]).strip()
        alone = {name: values[0] for name, values in said.items() if not DIRECTIVES[name].repeated}
        copies = str(alone.get("model", "")).lower() == "none"
        if {"header", "write_mode"} & said.keys() and not any(one.kind == "file" for one in said.get("output", ())):
            where = f"line {part.line}: the step {shortened(part.heading)}"
            self.notes.append(f"{where} writes no file, so its `@header` and `@write_mode` do nothing")
        if not part.heading:
            self._wrong(part.line, "the heading `##` has no name; write one behind it")
        if len(part.heading) > _LONGEST_NAME:
            self._wrong(part.line, f"the heading has more than {_LONGEST_NAME} characters; write them below it")
        if not text and not (copies and "input" in said):
            self._wrong(
                part.line, f"the step {shortened(part.heading)} does not say what to do; write it below its directives"
            )
        return Step(
            name=unicodedata.normalize("NFC", part.heading),
            line=part.line,
            text=text,
            model=None if copies else alone.get("model"),
            copies=copies,
            helper=alone.get("context-helper"),
            inputs=tuple(said.get("input", ())),
            outputs=tuple(dict.fromkeys(said.get("output", ()))),
            tools=alone.get("tools", ()),
            recent_runs=alone.get("recent_runs"),
            cache=alone.get("cache"),
            header=alone.get("header"),
            write_mode=alone.get("write_mode", "append"),
        )

    def _directive(self, line: str, number: int, said: dict[str, list[Any]]) -> None:
        known = ", ".join(f"@{name}" for name in DIRECTIVES)
        found = directive_in(line)
        if found is None or found[0] not in DIRECTIVES:
            word = line.split(maxsplit=1)[0]
            remedy = "text that begins with @ needs a line of text or a \\ before it"
            self._wrong(number, f"`{word[:100]}` is no directive; known are {known}; {remedy}")
            return
        name, value = found
        directive = DIRECTIVES[name]
        try:
            read = directive.read(value)
        except WrongError as error:
            self._wrong(number, f"`@{name}` {shortened(value)}: {error}")
            return
        except (ValueError, KeyError):
            self._wrong(number, f"`@{name}` must be {directive.must_be}, got {shortened(value)}")
            return
        if name in said and not directive.repeated:
            self._wrong(number, f"`@{name}` is given twice in one step; remove one of them")
            return
        said.setdefault(name, []).append(read)

    def _refuse_directives(self, lines: Sequence[str], part: _Part) -> None:
        first = next((place for place in range(part.first, part.end) if lines[place].strip()), None)
        found = directive_in(lines[first]) if first is not None else None
        if first is not None and found is not None and found[0] in DIRECTIVES:
            self._wrong(first + 1, f"`@{found[0]}` stands in the instructions, which are for all steps; move it to one")

    def _note_late(self, lines: Sequence[str], first: int, end: int) -> None:
        fenced = {place for block in blocks_in(lines[first:end]) for place in range(block.first, block.end)}
        for place in range(first, end):
            found = directive_in(lines[place]) if lines[place].startswith("@") and place - first not in fenced else None
            if found is not None and found[0] in DIRECTIVES:
                where = f"line {place + 1}: `@{found[0]}` stands behind text of its step"
                self.notes.append(f"{where} and is taken for text; directives come first")

    def _wrong(self, line: int, problem: str) -> None:
        self.problems.append(f"{self.path}, line {line}: {printable(problem)}")


def _parts(lines: Sequence[str], start: int) -> Iterator[_Part]:
    """The text under each heading of the second level; a heading in a fenced block is none."""
    body = lines[start:]
    fenced = {start + place for block in blocks_in(body) for place in range(block.first, block.end)}
    headings = [
        (place, (found.group(1) or "").rstrip(" \t").rstrip("#").strip(" \t"))
        for place in range(start, len(lines))
        if place not in fenced and (found := _HEADING.fullmatch(lines[place])) is not None
    ]
    ends = [*(place for place, _ in headings), len(lines)][1:]
    for (place, heading), end in zip(headings, ends, strict=True):
        yield _Part(heading=heading, line=place + 1, first=place + 1, end=end)
