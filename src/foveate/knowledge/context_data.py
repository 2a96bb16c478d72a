"""A computed context as JSON, in the names and shapes that other tools know; and read again, also as 0.1 wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Protocol

import msgspec
from msgspec import Meta

from foveate.knowledge.compute import Computed, ComputedContext, PriorTask
from foveate.knowledge.models import FileForNext, Gotcha, MapEntry, Node, NodeType, Pattern, Priority, Question
from foveate.knowledge.signals import Signals
from foveate.work.reading import converted

_DIGITS: Final = 3


def context_data(context: ComputedContext) -> dict[str, Any]:
    """The context as plain data; what only Foveate knows of an item stands beside the names that others read."""
    return {
        "patterns_to_follow": [
            _filled(pattern=one.summary, location=one.file, relevance=_score(context, one.id), id=one.id)
            for one in context.patterns
        ],
        "warnings": [
            _filled(
                issue=one.summary,
                severity=one.severity or "medium",
                relevance=_score(context, one.id),
                mitigation=one.rationale,
                id=one.id,
            )
            for one in context.warnings
        ],
        "relevant_decisions": [
            _filled(decision=one.summary, rationale=one.rationale, relevance=_score(context, one.id), id=one.id)
            for one in context.decisions
        ],
        "related_tasks": [one.id for one in context.related_tasks],
        "prior_work": [_prior_data(one) for one in context.prior_work],
        "inherited_patterns": [msgspec.to_builtins(one) for one in context.inherited_patterns],
        "inherited_warnings": [
            {**msgspec.to_builtins(one), "severity": one.severity} for one in context.inherited_warnings
        ],
        "blocking_questions": [
            {"question": one.question, "context": one.context, "recommendation": one.recommendation}
            for one in context.questions
        ],
        "code_references": [
            _filled(
                file=one.location,
                component=one.component,
                notes=one.notes,
                relevance=_score(context, one.location),
            )
            for one in context.code_references
        ],
        "incomplete_dependencies": [{"task": task, "status": status} for task, status in context.incomplete],
        "left_out": {_NAMES.get(name, name): count for name, count in context.left_out.items()},
        "left_out_at_least": [_NAMES.get(name, name) for name in context.at_least if name in context.left_out],
        "_computed": _computed_data(context),
    }


def is_context_data(given: object) -> bool:
    """Whether data is a computed context, in the form of today or of 0.1, and no task."""
    return isinstance(given, Mapping) and "_computed" in given


def context_from_data(given: Mapping[str, Any], *, name: str) -> ComputedContext:
    """A context that was written as JSON, by this version or by 0.1, whose names were those of the library."""
    where = f"{name}: it has `_computed`, but is no computed context"
    if "patterns_to_follow" not in given and any(one in given for one in _NAMES):
        old = {key: value for key, value in given.items() if key != "_computed"}
        return converted({**old, "computed": given["_computed"]}, ComputedContext, where)
    return _read(converted(given, _Written, where))


_NAMES: Final = {"patterns": "patterns_to_follow", "decisions": "relevant_decisions", "questions": "blocking_questions"}
_LIBRARY: Final[dict[str, str]] = {ours: name for name, ours in _NAMES.items()}

_Name = Annotated[str, Meta(min_length=1)]
_Score = Annotated[float, Meta(ge=0)]
_Count = Annotated[int, Meta(ge=0)]


class _WrittenNode(Protocol):
    """A node of any type; the JSON has its summary under the name of the type."""

    @property
    def id(self) -> str | None: ...

    @property
    def summary(self) -> str: ...

    @property
    def relevance(self) -> float | None: ...


class _Node(msgspec.Struct, frozen=True, kw_only=True):
    """What all nodes have; other tools give them no id."""

    id: str | None = None
    relevance: _Score | None = None


class _Pattern(_Node, frozen=True, kw_only=True):
    summary: _Name = msgspec.field(name="pattern")
    location: str | None = None


class _Warning(_Node, frozen=True, kw_only=True):
    summary: _Name = msgspec.field(name="issue")
    severity: Priority | None = None
    mitigation: str | None = None


class _Decision(_Node, frozen=True, kw_only=True):
    summary: _Name = msgspec.field(name="decision")
    rationale: str | None = None


class _Reference(msgspec.Struct, frozen=True, kw_only=True):
    file: _Name
    component: str | None = None
    notes: str | None = None
    relevance: _Score | None = None


class _Prior(msgspec.Struct, frozen=True, kw_only=True):
    task: _Name
    task_id: str | None = None
    summary: str | None = None
    files_created: tuple[FileForNext, ...] = ()
    files_left_out: _Count = 0
    salvaged: bool = False


class _Incomplete(msgspec.Struct, frozen=True, kw_only=True):
    task: str
    status: str


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    signals: Signals = Signals()
    knowledge_nodes_matched: _Count = 0
    patterns_found: _Count = 0
    gotchas_found: _Count = 0
    decisions_found: _Count = 0
    dependencies: tuple[str, ...] = ()
    patterns_inherited: _Count = 0
    warnings_inherited: _Count = 0
    context_map_total: _Count = 0
    context_map_filtered: _Count = 0
    top_relevance: _Score = 0.0


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON form; lists that another tool left out are empty, and fields that only it knows are passed over."""

    patterns_to_follow: tuple[_Pattern, ...] = ()
    warnings: tuple[_Warning, ...] = ()
    relevant_decisions: tuple[_Decision, ...] = ()
    related_tasks: tuple[_Name, ...] = ()
    prior_work: tuple[_Prior, ...] = ()
    inherited_patterns: tuple[Pattern, ...] = ()
    inherited_warnings: tuple[Gotcha, ...] = ()
    blocking_questions: tuple[Question, ...] = ()
    code_references: tuple[_Reference, ...] = ()
    incomplete_dependencies: tuple[_Incomplete, ...] = ()
    left_out: dict[str, _Count] = {}
    left_out_at_least: tuple[str, ...] = ()
    computed: _Made = msgspec.field(name="_computed")


def _prior_data(task: PriorTask) -> dict[str, Any]:
    return _filled(
        task=task.name,
        summary=task.summary,
        files_created=[{"file": one.file, "reason": one.reason} for one in task.files_to_read],
        task_id=task.task_id,
        files_left_out=task.files_left_out or None,
        salvaged=task.salvaged or None,
    )


def _computed_data(context: ComputedContext) -> dict[str, Any]:
    made, signals = context.computed, context.computed.signals
    return {
        "signals": {
            "keywords": list(signals.keywords),
            "domains": list(signals.domains),
            "files_mentioned": list(signals.files_mentioned),
            "task_types": list(signals.task_types),
        },
        "knowledge_nodes_matched": made.nodes_matched,
        "dependency_count": len(made.dependencies),
        "context_map_filtered": made.map_kept,
        "patterns_found": made.patterns_found,
        "gotchas_found": made.gotchas_found,
        "decisions_found": made.decisions_found,
        "dependencies": list(made.dependencies),
        "patterns_inherited": made.patterns_inherited,
        "warnings_inherited": made.warnings_inherited,
        "context_map_total": made.map_entries,
        "top_relevance": round(made.top_score, _DIGITS),
    }


def _read(given: _Written) -> ComputedContext:
    made = given.computed
    incomplete = tuple((one.task, one.status) for one in given.incomplete_dependencies)
    nodes: tuple[_WrittenNode, ...] = (*given.patterns_to_follow, *given.warnings, *given.relevant_decisions)
    scored: tuple[tuple[str, float | None], ...] = (
        *((_node_id(one), one.relevance) for one in nodes),
        *((one.file, one.relevance) for one in given.code_references),
    )
    return ComputedContext(
        patterns=tuple(_node(one, "pattern", file=one.location) for one in given.patterns_to_follow),
        warnings=tuple(_node(one, "gotcha", severity=one.severity, rationale=one.mitigation) for one in given.warnings),
        decisions=tuple(_node(one, "decision", rationale=one.rationale) for one in given.relevant_decisions),
        related_tasks=tuple(Node(id=id, type="task", summary=id) for id in given.related_tasks),
        prior_work=tuple(map(_prior, given.prior_work)),
        inherited_patterns=given.inherited_patterns,
        inherited_warnings=given.inherited_warnings,
        questions=given.blocking_questions,
        code_references=tuple(
            MapEntry(component=one.component or "", location=one.file, notes=one.notes or "")
            for one in given.code_references
        ),
        incomplete=incomplete,
        left_out={_library_name(name): count for name, count in given.left_out.items()},
        at_least=tuple(map(_library_name, given.left_out_at_least)),
        relevance={id: score for id, score in scored if score is not None},
        computed=_made(made, incomplete),
    )


def _made(given: _Made, incomplete: tuple[tuple[str, str], ...]) -> Computed:
    return Computed(
        signals=given.signals,
        nodes_matched=given.knowledge_nodes_matched,
        patterns_found=given.patterns_found,
        gotchas_found=given.gotchas_found,
        decisions_found=given.decisions_found,
        dependencies=given.dependencies,
        incomplete=incomplete,
        patterns_inherited=given.patterns_inherited,
        warnings_inherited=given.warnings_inherited,
        map_entries=given.context_map_total,
        map_kept=given.context_map_filtered,
        top_score=given.top_relevance,
    )


def _library_name(name: str) -> str:
    return _LIBRARY.get(name, name)


def _node(given: _WrittenNode, type: NodeType, **more: Any) -> Node:
    return Node(id=_node_id(given), type=type, summary=given.summary, **more)


def _node_id(given: _WrittenNode) -> str:
    return given.id or given.summary


def _prior(given: _Prior) -> PriorTask:
    return PriorTask(
        task_id=given.task_id or given.task,
        name=given.task,
        summary=given.summary or "",
        files_to_read=given.files_created,
        files_left_out=given.files_left_out,
        salvaged=given.salvaged,
    )


def _score(context: ComputedContext, key: str) -> float:
    return round(context.relevance.get(key, 0.0), _DIGITS)


def _filled(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
