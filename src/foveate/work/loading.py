"""Loading: issue, design and plan from files that people write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from foveate.errors import ConfigError
from foveate.work.models import Design, Issue
from foveate.work.plan import TaskDAG
from foveate.work.reading import converted, parsed

Model = TypeVar("Model")

_MARKDOWN: Final = (".md", ".markdown", ".txt", "")
_FRONT: Final = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)


def load_issue(path: Path) -> Issue:
    """The issue in a file: Markdown (the first heading is its title), YAML or JSON."""
    issue = _from_markdown(path) if path.suffix.lower() in _MARKDOWN else loaded(path, Issue)
    if not issue.title.strip() and not issue.description.strip():
        raise ConfigError(f"{path} says nothing; write what is to be done, the title in a heading `# …`")
    return issue


def _from_markdown(path: Path) -> Issue:
    text = _text(path)
    front = _FRONT.match(text)
    given = parsed(front.group(1), f"{path}, front matter") if front else {}
    issue = converted(given or {}, Issue, f"{path}, front matter")
    title, description = _headed(text[front.end() :] if front else text)
    description = issue.description or description
    title = issue.title or title or (path.stem if description else "")
    return msgspec.structs.replace(issue, title=title, description=description)


def load_design(path: Path) -> Design:
    """The design in a file: YAML or JSON with its fields, or Markdown, which is taken whole."""
    if path.suffix.lower() not in _MARKDOWN:
        return loaded(path, Design)
    title, body = _headed(_text(path))
    return Design(title=title, architecture=body)


def load_plan(path: Path) -> TaskDAG:
    """The plan in a YAML or JSON file."""
    return loaded(path, TaskDAG)


def loaded(path: Path, model: type[Model]) -> Model:
    """A model from a YAML or JSON file."""
    return converted(parsed(_text(path), str(path)), model, str(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: {error}") from error


def _headed(text: str) -> tuple[str, str]:
    """The first heading of a Markdown text if it stands first, and what follows."""
    found = re.match(r"\s*#\s+(.+?)(?:[ \t]+#+)?[ \t]*(?:\n|\Z)", text)
    return (found.group(1).strip(), text[found.end() :].strip()) if found else ("", text.strip())
