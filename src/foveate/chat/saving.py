"""Saving: a template of one's own, written into the vault."""

from __future__ import annotations

import secrets
from pathlib import Path, PurePosixPath

from foveate.chat.finding import TemplateFolders
from foveate.chat.templates import MOST_BYTES, template_of
from foveate.errors import TemplateError
from foveate.private_files import create_private_file, keep_mode, make_private_folder


def saved_template(folders: TemplateFolders, name: str, text: str) -> Path:
    """Write a template into the vault, whole or not at all; what cannot be read as one is refused."""
    pointer = f"vault:{name}"
    if folders.vault is None:
        raise TemplateError(
            "templates are written into a vault, and there is none; give `--vault`",
            phase="template_save",
            pointer=pointer,
        )
    relative = PurePosixPath(name.strip().removesuffix(".md"))
    parts = relative.parts
    is_odd = not relative.as_posix().isprintable() or "\\" in name
    if is_odd or not parts or len(parts) > 2 or any(one.startswith((".", "_", "/")) for one in parts):
        raise TemplateError(
            f"`name` {name!r} is no place for a template; give a name such as chat or work/coding",
            phase="template_save",
            pointer=pointer,
        )
    content = text.encode("utf-8", "replace")
    path = folders.vault / folders.folder / f"{relative.as_posix()}.md"
    if len(content) > MOST_BYTES:
        raise TemplateError(f"the template has more than {MOST_BYTES:,} bytes; shorten it", pointer=pointer)
    template_of(content, name=relative.as_posix(), source="vault", path=path)
    if not path.resolve().is_relative_to(folders.vault.resolve()):
        raise TemplateError(f"{path} leads out of the vault; give another name", phase="template_save", pointer=pointer)
    half = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        make_private_folder(path.parent)
        try:
            with create_private_file(half) as file:
                file.write(content)
            keep_mode(half, path)
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)
    except OSError as error:
        raise TemplateError(
            f"cannot write {path}: {error.strerror or error}; check that the vault can be written",
            phase="template_save",
            pointer=pointer,
        ) from error
    return path
