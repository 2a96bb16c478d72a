"""The shelf of templates: which there are, what one of them says, and how a changed one is put back."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from foveate.chat.finding import Listed, TemplateFolders
from foveate.chat.opening import ENDLESS, TEMPLATE
from foveate.chat.saving import saved_template
from foveate.chat.templates import Source, Template, read_template, template_of
from foveate.errors import ConfigError, ConflictError, TemplateError
from foveate.named_files import open_regular, read_named_text
from foveate.store import SessionInfo

STARTER: Final = """\
---
description: What this template is for, in one sentence.
passthrough_runs: 3
---

## Chat Instructions

What the model of the chat is told besides.

## Topic
{{ topic }}

{% if constraints %}
## Must and must not
{{ constraints }}

{% endif %}
## Said so far
{{ ledger }}
"""


class Shown(NamedTuple):
    """A template as it is in its file; `problem` says why it cannot be used, `sha256` is of its bytes."""

    name: str
    source: Source
    path: Path
    text: str
    sha256: str
    description: str = ""
    notes: tuple[str, ...] = ()
    problem: TemplateError | None = None


def shelf_of(folders: TemplateFolders) -> list[Shown]:
    """All templates, by name; one that cannot be read is there, too, so that it can be put right."""
    return [_shown(folders, one) for one in folders.available()]


def users_of(sessions: list[SessionInfo], name: str) -> list[SessionInfo]:
    """The chats that go on with a template."""
    return [one for one in sessions if one.tags.get(ENDLESS) == "on" and one.tags.get(TEMPLATE) == name]


def written(folders: TemplateFolders, opened: Shown | None, name: str, text: str) -> Template:
    """Put a text into the vault under a name; nothing that somebody else wrote meanwhile is lost by it."""
    wanted = PurePosixPath(name.strip().removesuffix(".md")).as_posix()
    there = next((one for one in folders.available() if one.name == wanted and one.source == "vault"), None)
    if there is not None:
        if opened is None or opened.path != there.path:
            raise ConflictError(f"there is a template {wanted!r} in the vault already; open that one, or change `Name`")
        if _sha256(there.path) != opened.sha256:
            raise ConflictError(
                f"template {wanted!r} was changed by somebody else since it was opened; copy your text, reload the "
                "page and put it in again"
            )
    path = saved_template(folders, name, text)
    return read_template(path, name=wanted, source="vault")


def draft_of(name: str, text: str) -> Template:
    """A text that is being written, as the template it would be."""
    return template_of(text.encode("utf-8", "replace"), name=name.strip() or "new", source="vault", path=Path("draft"))


def _shown(folders: TemplateFolders, one: Listed) -> Shown:
    try:
        found = folders.load(one.name)
    except TemplateError as error:
        return Shown(one.name, one.source, one.path, _text(folders, one), _sha256(one.path), problem=error)
    return Shown(one.name, one.source, one.path, found.text, found.sha256, found.description, found.notes)


def _text(folders: TemplateFolders, one: Listed) -> str:
    """What a file says that is no template; nothing of one that a link leads to elsewhere."""
    root = folders.vault if one.source == "vault" and folders.vault is not None else folders.system
    try:
        is_inside = one.path.resolve().is_relative_to(root.resolve())
        return read_named_text(one.path) if is_inside else ""
    except (OSError, ConfigError):
        return ""


def _sha256(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
