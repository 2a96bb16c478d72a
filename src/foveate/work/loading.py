"""Loading: issue, design and plan from files that people write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from foveate.errors import ConfigError
from foveate.named_files import read_named_text
from foveate.work.models import Design, Issue
from foveate.work.plan import TaskDAG, graph_mistakes
from foveate.work.reading import converted, mistakes_in, parsed

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
    text = read_named_text(path)
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
    title, body = _headed(read_named_text(path))
    return Design(title=title, architecture=body)


def load_plan(path: Path) -> TaskDAG:
    """The plan in a YAML or JSON file."""
    return read_plan(read_named_text(path), str(path))


def read_plan(text: str, where: str) -> TaskDAG:
    """The plan that a text in YAML or JSON is; an error names all mistakes at once."""
    given = parsed(text, where)
    mistakes = mistakes_in(given, TaskDAG)
    if not mistakes:
        return msgspec.convert(given, TaskDAG)
    # What is wrong with one task hides nothing of what is wrong between them.
    between = [one for one in graph_mistakes(list(_graph_in(given))) if one not in mistakes]
    raise ConfigError("\n".join(f"{where}: {one}" for one in (*mistakes, *between)))


def written_plan(plan: TaskDAG) -> str:
    """A plan as YAML, for people who change it; what was begun says so, as it cannot be changed any more."""
    # Nobody who only reads plans waits for it.
    import yaml  # noqa: PLC0415

    notes = [f"# {task.id} is {task.status}; it stays as it is.\n" for task in plan.tasks if task.status != "pending"]
    waiting = tuple(msgspec.structs.replace(task, status="pending") for task in plan.tasks)
    data = msgspec.to_builtins(msgspec.structs.replace(plan, tasks=waiting))
    return "".join(notes) + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


def _graph_in(given: object) -> Iterator[tuple[str, list[str]]]:
    """Ids and dependencies of the tasks that have such, whatever else is wrong with them."""
    tasks = given.get("tasks") if isinstance(given, Mapping) else None
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, Mapping) and isinstance(task.get("id"), str):
            others = task.get("dependencies")
            yield task["id"], [one for one in others if isinstance(one, str)] if isinstance(others, list) else []


def loaded(path: Path, model: type[Model]) -> Model:
    """A model from a YAML or JSON file."""
    return converted(parsed(read_named_text(path), str(path)), model, str(path))


def _headed(text: str) -> tuple[str, str]:
    """The first heading of a Markdown text if it stands first, and what follows."""
    found = re.match(r"\s*+#\s++([^\n]+)", text)
    if found is None:
        return "", text.strip()
    title = found.group(1).strip()
    # A heading may be closed by the mark that opens it.
    open_end = title.rstrip("#")
    title = open_end.rstrip() if open_end.endswith((" ", "\t")) else title
    return title, text[found.end() :].strip()
