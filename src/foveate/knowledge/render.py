"""Render: a computed context as the text that an agent reads, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from foveate.budget.tokens import TokenCounter, counter_for
from foveate.errors import ConfigError
from foveate.knowledge.compute import ComputedContext, PriorTask, with_files
from foveate.knowledge.models import SUMMARY
from foveate.log.sections import ContextSection

BUDGET: Final = 2_000
NAME: Final = "Computed Context"
END_OF_PREFIX: Final = "<!-- END STABLE PREFIX -->"
_LEAST: Final = 200

NOTHING: Final = "Nothing is known for this task yet."

_TABLE: Final = ("| Location | Component | Notes |", "|----------|-----------|-------|")
_QUESTIONS: Final = ("⚠️ The following questions need resolution:",)


@dataclass(slots=True)
class _Part:
    """A section in the making: a line for each item, most relevant first, of which the last may have to go."""

    kind: str
    title: str
    lines: list[str]
    head: Sequence[str] = ()
    left_out: int = 0
    at_least: bool = False

    def text(self) -> str:
        """The section; nothing at all if it has nothing to say."""
        body = [*self.head, *self.lines] if self.lines else []
        if self.left_out:
            body.append(f"({'at least ' if self.at_least else ''}{self.left_out} more left out)")
        return "\n".join([f"### {self.title}", *body]) if body else ""

    def give_way(self) -> None:
        """Leave out what is least relevant."""
        self.lines.pop()
        self.left_out += 1

    def kept(self, items: Sequence[Any]) -> tuple[Any, ...]:
        """Of the items that lines stand for those that are still there."""
        return tuple(items[: len(self.lines)])


@dataclass(slots=True)
class _PriorPart(_Part):
    """Prior work: a task that has many files to read gives up some of them before any task goes."""

    tasks: list[PriorTask] = field(default_factory=list)

    def give_way(self) -> None:
        """Leave out a file of the task that has most, the last task, and at the very end what is left of the first."""
        longest = max(range(len(self.tasks)), key=lambda at: len(self.tasks[at].files_to_read))
        files = len(self.tasks[longest].files_to_read)
        if files > 1 or (files and len(self.tasks) == 1):
            self.tasks[longest] = with_files(self.tasks[longest], files - 1)
            self.lines[longest] = _prior(self.tasks[longest], first=longest == 0)
        else:
            self.tasks.pop()
            self.lines.pop()
            self.left_out += 1

    def kept(self, items: Sequence[Any]) -> tuple[Any, ...]:
        """The tasks with the files that are still there."""
        return tuple(self.tasks)


def rendered(context: ComputedContext, *, budget: int = BUDGET, counter: TokenCounter | None = None) -> str:
    """The context in words, no longer than `budget` tokens; what is least relevant goes first, and is counted."""
    return _joined(_within(context, budget, counter))


def shortened(
    context: ComputedContext, *, budget: int = BUDGET, counter: TokenCounter | None = None
) -> ComputedContext:
    """The context with what `rendered` says of it, for who wants it as data."""
    parts = _within(context, budget, counter)
    changes: dict[str, Any] = {part.kind: part.kept(getattr(context, part.kind)) for part in parts}
    return replace(context, **changes, left_out={part.kind: part.left_out for part in parts if part.left_out})


def context_section(
    context: ComputedContext, *, budget: int = BUDGET, counter: TokenCounter | None = None
) -> ContextSection:
    """The context as a section for a strategy or a template."""
    content = rendered(context, budget=budget, counter=counter).removeprefix("## Context (Computed)\n\n")
    return ContextSection(name=NAME, content=content, source="knowledge", tier="stable")


def with_prefix(stable: str, context: str) -> str:
    """A prompt whose beginning stays the same from task to task, so that a provider finds it in its cache."""
    return f"{stable.rstrip()}\n\n{END_OF_PREFIX}\n\n{context}"


def debug_report(context: ComputedContext) -> str:
    """How the context came about."""
    made = context.computed
    signals = made.signals
    incomplete = ", ".join(f"{task} ({state})" for task, state in made.incomplete)
    return "\n".join(
        [
            "## Context Debug",
            "",
            "### Signals Extracted",
            f"- Keywords: {_listed(signals.keywords)}",
            f"- Domains: {_listed(signals.domains)}",
            f"- Files Mentioned: {_listed(signals.files_mentioned)}",
            "",
            "### Knowledge Graph Query",
            f"- Nodes matched: {made.nodes_matched}",
            f"- Patterns found: {made.patterns_found}",
            f"- Gotchas found: {made.gotchas_found}",
            f"- Decisions found: {made.decisions_found}",
            "",
            "### Dependencies Processed",
            f"- Task IDs: {_listed(made.dependencies)}",
            f"- Incomplete: {incomplete or 'none'}",
            f"- Patterns inherited: {made.patterns_inherited}",
            f"- Warnings inherited: {made.warnings_inherited}",
            "",
            "### Context Map Filtering",
            f"- Total entries: {made.map_entries}",
            f"- Entries after filter: {made.map_kept}",
            f"- Top relevance score: {made.top_score:g}",
            "",
        ]
    )


def _within(context: ComputedContext, budget: int, counter: TokenCounter | None) -> list[_Part]:
    """The sections, with as many lines as the budget has room for."""
    if budget < _LEAST:
        raise ConfigError(f"`budget` is {budget} tokens, too few for any context; give {_LEAST} or more")
    counter = counter or counter_for(None)
    parts = list(_parts(context))
    while counter.count(_joined(parts)) > budget:
        # The longest list gives way: it says most already, and its last line is its least relevant one.
        longest = max(parts, key=lambda part: sum(map(len, part.lines)))
        if not longest.lines:
            break
        longest.give_way()
    return parts


def _joined(parts: Sequence[_Part]) -> str:
    said = [text for part in parts if (text := part.text())]
    return "\n\n".join(["## Context (Computed)", *(said or [NOTHING])]) + "\n"


def _parts(context: ComputedContext) -> Iterator[_Part]:
    def part(kind: str, title: str, lines: list[str], head: Sequence[str] = ()) -> _Part:
        left_out, at_least = context.left_out.get(kind, 0), kind in context.at_least
        return _Part(kind, title, lines, head, left_out, at_least)

    patterns = [f"- **{_line(node.summary)}**{_see(node.file)}" for node in context.patterns]
    yield part("patterns", "Patterns to Follow", patterns)
    inherited = [f"- **{_line(one.pattern)}**{_see(one.location)}" for one in context.inherited_patterns]
    yield part("inherited_patterns", "Patterns from Dependencies", inherited)
    warnings = [_warning(node.severity, node.summary, node.rationale) for node in context.warnings]
    yield part("warnings", "Warnings", warnings)
    passed_on = [_warning(one.severity, one.issue, one.mitigation) for one in context.inherited_warnings]
    yield part("inherited_warnings", "Warnings from Dependencies", passed_on)
    decisions = [
        f"- {_line(node.summary)}{f' ({_line(node.rationale)})' if node.rationale else ''}"
        for node in context.decisions
    ]
    yield part("decisions", "Relevant Decisions", decisions)
    prior = [_prior(one, first=at == 0) for at, one in enumerate(context.prior_work)]
    more = context.left_out.get("prior_work", 0)
    yield _PriorPart("prior_work", "Prior Work", prior, left_out=more, tasks=list(context.prior_work))
    missing = [f"- {_line(task)}: {state}" for task, state in context.incomplete]
    yield part("incomplete", "Dependencies Not Completed", missing)
    related = [f"- {_line(node.id)}: {_line(node.summary)}" for node in context.related_tasks]
    yield part("related_tasks", "Related Tasks", related)
    code = [
        f"| `{_cell(one.location)}` | {_cell(one.component)} | {_cell(one.notes)} |" for one in context.code_references
    ]
    yield part("code_references", "Code References", code, _TABLE)
    questions = [
        f"- **{_line(one.question)}**\n  - Context: {_line(one.context) or 'none given'}\n"
        f"  - Recommendation: {_line(one.recommendation) or 'none given'}"
        for one in context.questions
    ]
    yield part("questions", "Open Questions (Blocking)", questions, _QUESTIONS)


def _prior(task: PriorTask, *, first: bool) -> str:
    """What a task hands over; a blank line stands before all but the first."""
    lines = [*([] if first else [""]), f"#### {_line(task.name)}{' (salvaged)' if task.salvaged else ''}"]
    if task.summary.strip():
        lines.append(_line(task.summary, 400))
    if task.files_to_read:
        lines += ["", "**Files to Read:**", *(f"- `{_code(one.file)}`{_why(one.reason)}" for one in task.files_to_read)]
    if task.files_left_out:
        lines.append(f"({task.files_left_out} more {'file' if task.files_left_out == 1 else 'files'} left out)")
    return "\n".join(lines)


def _warning(severity: str | None, issue: str, mitigation: str | None) -> str:
    """A gotcha and what helps, which the graph keeps as its rationale."""
    helps = f" → {_line(mitigation)}" if mitigation and mitigation.strip() else ""
    return f"- ⚠️ **{severity or 'medium'}**: {_line(issue)}{helps}"


def _why(reason: str) -> str:
    return f": {_line(reason)}" if reason.strip() else ""


def _see(location: str | None) -> str:
    return f" (see: {_line(location)})" if location and location.strip() else ""


def _line(text: str, most: int = 2 * SUMMARY) -> str:
    """A text in one line; what is longer than a summary should be is cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _cell(text: str) -> str:
    """A text that cannot break the table it stands in."""
    return _code(text).replace("\\", "\\\\").replace("|", "\\|")


def _code(text: str) -> str:
    """A text that cannot break the quotation it stands in."""
    return _line(text).replace("`", "'")


def _listed(items: Sequence[str]) -> str:
    return f"[{', '.join(items)}]"
