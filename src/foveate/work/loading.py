"""Loading: issue, design and plan from files that people write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import msgspec

from foveate.errors import ConfigError
from foveate.work.models import Design, Issue, Operation, TaskStatus
from foveate.work.plan import TaskDAG

Model = TypeVar("Model")

_VALUES: Final = {"operation": get_args(Operation), "status": get_args(TaskStatus)}
_MARKDOWN: Final = (".md", ".markdown", ".txt")
_FRONT: Final = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)


def load_issue(path: Path) -> Issue:
    """The issue in a file: Markdown (the first heading is its title), YAML or JSON."""
    if path.suffix.lower() not in _MARKDOWN:
        return _loaded(path, Issue)
    text = _text(path)
    front = _FRONT.match(text)
    given = _parsed(front.group(1), f"{path}, front matter") if front else {}
    body = text[front.end() :] if front else text
    issue = _converted(given or {}, Issue, f"{path}, front matter")
    title, description = _headed(body)
    issue = msgspec.structs.replace(
        issue, title=issue.title or title or path.stem, description=issue.description or description
    )
    if not description and not title:
        raise ConfigError(f"{path} says nothing; write what is to be done, the title in a heading `# …`")
    return issue


def load_design(path: Path) -> Design:
    """The design in a file: YAML or JSON with its fields, or Markdown, which is taken whole."""
    if path.suffix.lower() not in _MARKDOWN:
        return _loaded(path, Design)
    title, body = _headed(_text(path))
    return Design(title=title, architecture=body)


def load_plan(path: Path) -> TaskDAG:
    """The plan in a YAML or JSON file."""
    return _loaded(path, TaskDAG)


def _loaded(path: Path, model: type[Model]) -> Model:
    return _converted(_parsed(_text(path), str(path)), model, str(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: {error}") from error


def _parsed(text: str, where: str) -> Any:
    # Whoever loads nothing need not wait for it: agents without a plan import this package too.
    import yaml  # noqa: PLC0415

    try:
        # JSON is YAML too, but for tabs and some escapes; and only this says where a mistake is.
        return msgspec.json.decode(text) if text.lstrip()[:1] in ("{", "[") else yaml.safe_load(text)
    except (yaml.YAMLError, msgspec.DecodeError, RecursionError) as error:
        raise ConfigError(f"{where} cannot be read: {' '.join(str(error).split())}") from error


def _converted(given: Any, model: type[Model], where: str) -> Model:
    try:
        return msgspec.convert(given, model)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}{_remedy(str(error))}") from error


def _remedy(problem: str) -> str:
    """The values that a field may have, if the problem is that it has another one."""
    field = re.search(r"Invalid enum value .*\.(\w+)`$", problem)
    return f"; known are {', '.join(_VALUES[field.group(1)])}" if field and field.group(1) in _VALUES else ""


def _headed(text: str) -> tuple[str, str]:
    """The first heading of a Markdown text if it stands first, and what follows."""
    found = re.match(r"\s*#\s+(.+?)[ \t#]*(?:\n|\Z)", text)
    return (found.group(1).strip(), text[found.end() :].strip()) if found else ("", text.strip())
