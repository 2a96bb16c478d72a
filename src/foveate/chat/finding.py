"""Finding: which templates there are, in the vault and in the system folder, and which one a name means."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Final, NoReturn
from uuid import uuid4

from foveate.chat.templates import Source, Template, read_template
from foveate.errors import ConfigError, TemplateError
from foveate.private_files import create_private_file, make_private_folder

SYSTEM_FOLDER: Final = "ContextTemplates"
VAULT_FOLDER: Final = "AssistantMD/ContextTemplates"

_BROKEN: Final = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A template that can be chosen."""

    name: str
    source: Source
    path: Path


@dataclass(frozen=True, slots=True)
class TemplateFolders:
    """Where templates are: in a folder of the vault first, then in the system folder."""

    vault: Path | None
    system: Path
    folder: str = VAULT_FOLDER

    def __post_init__(self) -> None:
        if not self.folder.strip() or _leaves(self.folder):
            raise ConfigError(f"`folder` is {self.folder!r}; give a folder within the vault, such as {VAULT_FOLDER}")

    def available(self) -> list[Listed]:
        """The templates that can be chosen, by name; one of the vault hides one of the system with the same name."""
        found: dict[str, Listed] = {}
        for folder, source in self._places():
            for path in _templates_in(folder):
                name = _normal(path.relative_to(folder).with_suffix("").as_posix())
                found.setdefault(name, Listed(name=name, source=source, path=path))
        return [found[name] for name in sorted(found)]

    def load(self, name: str) -> Template:
        """The template of a name, with or without `.md`."""
        if _leaves(name):
            raise TemplateError(
                f"template {name!r} is outside of the template folders; give a name such as chat or work/coding",
                pointer=name,
            )
        listed = {one.name: one for one in self.available()}
        wanted = _normal(PurePosixPath(name.strip()).as_posix())
        found = listed.get(wanted) or listed.get(wanted.removesuffix(".md"))
        if found is None:
            self._unknown(name, listed)
        if not _within(found.path, self.system if self.vault is None or found.source == "system" else self.vault):
            # A vault from elsewhere must not send our files to a model.
            raise TemplateError(
                f"template {name!r} is a link that leads out of the {found.source}: {found.path}; copy the file there",
                pointer=f"{found.source}:{found.name}",
            )
        return read_template(found.path, name=found.name, source=found.source)

    def seed(self) -> list[Path]:
        """Copy the templates that come with Foveate to where there are none of their names; returns what is new."""
        folder = self.system / SYSTEM_FOLDER
        written: list[Path] = []
        for shipped in sorted(files("foveate.chat").joinpath("shipped").iterdir(), key=lambda one: one.name):
            path = folder / shipped.name
            if shipped.name.endswith(".md") and not os.path.lexists(path):
                try:
                    make_private_folder(folder)
                    written += [path] if _write_new(path, shipped.read_bytes()) else []
                except OSError as error:
                    raise TemplateError(
                        f"cannot write {path}: {error.strerror or error}; give a `system` folder that can be written",
                        phase="template_seed",
                        pointer=f"system:{path.stem}",
                    ) from error
        return written

    def _places(self) -> Iterator[tuple[Path, Source]]:
        if self.vault is not None:
            yield self.vault / self.folder, "vault"
        yield self.system / SYSTEM_FOLDER, "system"

    def _unknown(self, name: str, listed: dict[str, Listed]) -> NoReturn:
        there = f"there are {', '.join(listed)}" if listed else "there are none; " + _COPIED
        where = " and ".join(str(folder) for folder, _ in self._places())
        raise TemplateError(f"no template {name!r} in {where}; {there}", pointer=name)


_COPIED: Final = "give a `system` folder that can be written, to which the templates of Foveate are copied"


def _templates_in(folder: Path) -> Iterator[Path]:
    """The Markdown files in a folder and in the folders directly in it."""
    for path in _entries(folder):
        if os.path.isdir(path):  # noqa: PTH112  (the method raises below a folder that may not be entered)
            if not path.name.startswith("_"):
                yield from (inner for inner in _entries(path) if _is_template(inner))
        elif _is_template(path):
            yield path


def _entries(folder: Path) -> list[Path]:
    """What is in a folder, in order; nothing if there is none or it cannot be read."""
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return []
    # What begins with a dot belongs to other programs; a name that is no UTF-8 could be neither shown nor asked for.
    return [path for path in paths if not path.name.startswith(".") and not _BROKEN.search(path.name)]


def _is_template(path: Path) -> bool:
    return path.suffix == ".md" and os.path.isfile(path)  # noqa: PTH113  (as above)


def _within(path: Path, root: Path) -> bool:
    """Whether a file is below a folder once all links are followed."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return False


def _normal(name: str) -> str:
    # The same letters can be stored in two ways, and systems differ in which they give back.
    return unicodedata.normalize("NFC", name)


def _leaves(name: str) -> bool:
    """Whether a name leads out of the folder it is looked for in."""
    parts = PurePosixPath(name.replace("\\", "/"))
    return parts.is_absolute() or ".." in parts.parts or Path(name).is_absolute() or "\0" in name


def _write_new(path: Path, content: bytes) -> bool:
    """Write a file that is there only once it is whole; `False` if somebody else wrote one of that name meanwhile."""
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with create_private_file(unfinished) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # A link never replaces a file, renaming does.
        os.link(unfinished, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK) or os.path.lexists(path):
            raise
        # A file system without links, as on memory cards.
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return True
