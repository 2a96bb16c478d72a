"""Templates: Markdown that says what the model keeps in view of a long conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Final, Literal

from foveate.chat.front import Front, Refresh, front_of
from foveate.chat.plain import Kind, UnreadableError, kinds_said, read_json, read_yaml
from foveate.chat.sandbox import MOST_FORM, FormError, names_used
from foveate.chat.sections import Block, Section, blocks_in, sections_in
from foveate.errors import TemplateError

Source = Literal["vault", "system"]

PLACEHOLDERS: Final = (
    "topic",
    "constraints",
    "plan",
    "recent_turns",
    "tool_results",
    "reflections",
    "latest_input",
    "recalled",
    "ledger",
    "computed_context",
)
MOST_BYTES: Final = MOST_FORM
_REMEMBERED: Final = 32

_CHAT: Final = "chat instructions"
_CONTEXT: Final = "context instructions"
_LABELS: Final = ("yaml", "yml", "json", "")
# Each ends before the next begins, so that many that are not closed are read once.
_TAGS: Final = re.compile(r"\{\{(?:(?!\{\{|\}\}).)*+\}\}|\{%(?:(?!\{%|%\}).)*+%\}")
_NAMES: Final = re.compile(r"[a-z_]+")
_QUOTED: Final = re.compile(r"`[^`]*`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What is kept in view, and how: the form to fill in, instructions, and what the file says of itself.

    `form` is the body without instructions and contract. `context_instructions` are for who writes a summary and come
    without the contract, too; `contract` has the kind of each key, `contract_text` its words. It is advice, as are the
    `notes` on what is odd. Of `passthrough_runs`, `token_threshold` and `model`, `None` is what the file does not say.
    """

    name: str
    source: Source
    path: Path
    sha256: str
    text: str
    body: str
    form: str
    description: str = ""
    passthrough_runs: int | Literal["all"] | None = None
    token_threshold: int | None = None
    model: str | None = None
    refresh: Refresh = "when-needed"
    chat_instructions: str = ""
    context_instructions: str = ""
    contract: Mapping[str, Kind] | None = field(default=None, hash=False)
    contract_text: str = ""
    notes: tuple[str, ...] = ()
    form_lines: tuple[int, ...] = field(default=(), repr=False)
    recipe_name: ClassVar[str] = "template@1"

    @property
    def fills(self) -> bool:
        """Whether anything is filled into its form; what cannot be read is seen when it is filled in."""
        try:
            return bool(names_used(self.form))
        except FormError:
            return True

    @property
    def pointer(self) -> str:
        """Source and name, as diagnostics show them."""
        return f"{self.source}:{self.name}"


def read_template(path: Path, *, name: str, source: Source) -> Template:
    """The template in a file."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise TemplateError(
            f"template {name!r} cannot be read: {path}: {reason}; make it readable or choose another",
            pointer=f"{source}:{name}",
        ) from error
    return template_of(content, name=name, source=source, path=path)


@lru_cache(maxsize=_REMEMBERED)
def template_of(content: bytes, *, name: str, source: Source, path: Path) -> Template:
    """The template in the content of a file; only front matter that cannot be read is an error.

    A chat asks at every turn, of a file that hardly ever changes.
    """
    pointer = f"{source}:{name}"
    text = _decoded(content, path, pointer)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    front, start, notes = _front(lines, path, pointer)
    body = lines[start:]
    found, found_notes = _contract(body)
    form, parts = _parted(body, found[0] if found else None)
    instructions = {kind: "\n\n".join(_text(body, part) for part in said) for kind, said in parts.items()}
    notes += [
        note for kind, said in parts.items() for part in said for note in _instruction_notes(kind, body, part, start)
    ]
    form_text = "\n".join(body[place] for place in form)
    return Template(
        name=name,
        source=source,
        path=path,
        sha256=sha256(content).hexdigest(),
        text=text,
        body="\n".join(body),
        form=form_text,
        description=front.description,
        passthrough_runs=front.passthrough_runs,
        token_threshold=front.token_threshold,
        model=front.model,
        refresh=front.refresh,
        chat_instructions=instructions[_CHAT],
        context_instructions=instructions[_CONTEXT],
        contract=found[1] if found else None,
        contract_text=found[0].text if found else "",
        notes=(*front.notes, *notes, *found_notes, *_form_notes(form_text, [start + place + 1 for place in form])),
        form_lines=tuple(start + place + 1 for place in form),
    )


def _decoded(content: bytes, path: Path, pointer: str) -> str:
    if len(content) > MOST_BYTES:
        raise TemplateError(f"{path} has more than {MOST_BYTES:,} bytes; shorten the template", pointer=pointer)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TemplateError(f"{path}, line {line}: this is not UTF-8; store it as UTF-8", pointer=pointer) from error


def _front(lines: Sequence[str], path: Path, pointer: str) -> tuple[Front, int, list[str]]:
    """The front matter, the place of the first line after it, and what is odd about it."""
    if lines[0].rstrip(" \t") != "---":
        return Front(), 0, []
    end = next((place for place, line in enumerate(lines) if place and line.rstrip(" \t") in ("---", "...")), 0)
    if not end:
        return Front(), 0, ["line 1 is `---`, but no other ends the front matter, so all is taken for text; add one"]
    try:
        fields = read_yaml("\n".join(lines[1:end]))
    except UnreadableError as error:
        raise TemplateError(
            f"{path}, line {error.line + 1 if error.line else 2}: the front matter cannot be read: {error.problem}; "
            "write a line `name: value` for each field, the value in quotes if it has a colon",
            pointer=pointer,
        ) from error
    if fields is not None and not isinstance(fields, Mapping):
        raise TemplateError(
            f"{path}, line 2: the front matter has no fields; write `description: …`, or remove both lines `---`",
            pointer=pointer,
        )
    return front_of(fields or {}), end + 1, []


def _contract(body: Sequence[str]) -> tuple[tuple[Block, dict[str, Kind]] | None, list[str]]:
    """The first fenced block that is a contract, and what is odd about those before it."""
    notes: list[str] = []
    for block in blocks_in(body):
        # A block with placeholders is a part of the form.
        if block.label not in _LABELS or "{{" in block.text or "{%" in block.text:
            continue
        try:
            written = read_json(block.text) if block.label == "json" else read_yaml(block.text)
        except UnreadableError as error:
            if block.label:
                notes.append(f"the contract cannot be read as {block.label} and is not used: {error.problem}")
            continue
        if isinstance(written, Mapping):
            return (block, kinds_said(written)), notes
        if block.label:
            notes.append(f"the {block.label} block has no keys and is no contract; write `key: kind` lines")
    return None, notes


def _parted(body: Sequence[str], contract: Block | None) -> tuple[list[int], dict[str, list[list[int]]]]:
    """The places of the lines that make the form, and of those that are instructions, by heading."""
    cut = range(contract.first, contract.end) if contract is not None else range(0)
    form: list[int] = []
    instructions: dict[str, list[list[int]]] = {_CHAT: [], _CONTEXT: []}
    for section in sections_in(body):
        kind = " ".join(section.heading.lower().rstrip(":").split())
        if kind in instructions:
            # Who writes a summary is given the contract apart.
            end = _instructions_end(body, section, cut)
            kept = [place for place in range(section.body, end) if place not in cut or kind == _CHAT]
            instructions[kind].append(_within_blank_ends(body, kept))
            form += [*range(section.first, section.body - 1), *range(end, section.end)]
            continue
        kept = [place for place in range(section.first, section.end) if place not in cut]
        # A heading that stood over the contract alone stands over nothing now.
        alone = section.body <= cut.start < section.end and _blank(body, {*kept} - {section.body - 1})
        form += [] if alone else kept
    return _within_blank_ends(body, form), instructions


def _instructions_end(body: Sequence[str], section: Section, contract: range) -> int:
    """Where instructions end: with their section, unless the form follows on their contract without a heading."""
    if not section.body <= contract.start < section.end:
        return section.end
    below = range(contract.stop, section.end)
    return contract.stop if any("{{" in body[place] or "{%" in body[place] for place in below) else section.end


def _instruction_notes(kind: str, body: Sequence[str], places: Sequence[int], start: int) -> Iterator[str]:
    """What is not filled in where it stands: instructions go to a model as they are written."""
    for place in places:
        # What is quoted is spoken of.
        for tag in _TAGS.findall(_QUOTED.sub("", body[place])):
            if set(PLACEHOLDERS) & set(_NAMES.findall(tag)):
                yield (
                    f"line {start + place + 1}: `{tag}` stands in the {kind}, which a model gets as they are written; "
                    "move it below a heading of its own, where it is filled in"
                )


def _text(body: Sequence[str], places: Iterable[int]) -> str:
    return "\n".join(body[place] for place in places)


def _form_notes(form: str, lines: Sequence[int]) -> list[str]:
    """What will go wrong or stay empty when the form is filled in."""
    if not form:
        return [
            "there is nothing to fill in, so without a model what was kept is listed; add headings with placeholders"
        ]
    try:
        unknown = sorted(names_used(form) - set(PLACEHOLDERS))
    except FormError as error:
        return [f"line {lines[min(error.line, len(lines)) - 1]}: the form cannot be filled in: {error.problem}"]
    known = ", ".join(PLACEHOLDERS)
    if not names_used(form):
        # A text for a model, such as "Summarise in three sentences"; it must not stand for the conversation itself.
        return [f"nothing is filled in, so it only tells a model what to write; placeholders are {known}"]
    return [f"`{name}` is no placeholder that is always filled in; these are: {known}" for name in unknown]


def _within_blank_ends(body: Sequence[str], places: Sequence[int]) -> list[int]:
    """Places of lines, without those of blank ones before the first and after the last that says something."""
    said = [at for at, place in enumerate(places) if body[place].strip()]
    return list(places[said[0] : said[-1] + 1]) if said else []


def _blank(body: Sequence[str], places: Iterable[int]) -> bool:
    return not any(body[place].strip() for place in places)
