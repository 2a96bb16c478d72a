"""Rendering: a template's form filled in, by the rules of `foveate.chat.sandbox`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from foveate.chat.render_process import render_form
from foveate.chat.sandbox import FormError
from foveate.chat.templates import Template
from foveate.errors import TemplateError

_BLANK_RUN: Final = re.compile(r"\n(?:[ \t]*\n){2,}")


def rendered(template: Template, values: Mapping[str, object], *, template_text: str | None = None) -> str:
    """A template's form, or another text of it, with the values; what has no value stays empty."""
    try:
        text = render_form(template.form if template_text is None else template_text, values)
    except FormError as error:
        where = _where(template, error.line, template_text is None)
        raise TemplateError(f"{where}: {error.problem}", phase="render", pointer=template.pointer) from error
    return _BLANK_RUN.sub("\n\n", text).strip()


def _where(template: Template, line: int, own: bool) -> str:
    if not own:
        return f"template {template.name!r}, line {line} of the text to fill in"
    lines = template.form_lines
    return f"{template.path}, line {lines[min(line, len(lines)) - 1] if lines else line}"
