"""Compute: what the next task should know of what earlier ones learned, in five phases, each a pure function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from foveate.knowledge.models import (
    Complexity,
    ContextTask,
    FileForNext,
    Gotcha,
    JournalTask,
    MapEntry,
    Node,
    NodeType,
    Pattern,
    Question,
)
from foveate.knowledge.signals import Signals, extract_signals
from foveate.recall.tokens import tokens_of

T = TypeVar("T")


class Limits(NamedTuple):
    """The most of each kind that a task is shown."""

    patterns: int
    gotchas: int
    code_references: int
    prior_tasks: int


LIMITS: Final[Mapping[Complexity, Limits]] = MappingProxyType(
    {"easy": Limits(3, 2, 5, 2), "normal": Limits(5, 3, 10, 4), "complex": Limits(10, 5, 20, 8)}
)
# More than the largest limit of any kind, so that limits decide at the end and not the query.
_WANTED: Final = 20
# Hundreds of files share some word with a task. Only those that fit half as well as the best are worth being counted
# where they are left out: a number that is always large tells nobody anything.
_REACH: Final = 0.5


class Scored(Protocol):
    """A node and how well it fits."""

    @property
    def node(self) -> Node: ...
    @property
    def score(self) -> float: ...


class Code(NamedTuple):
    """The places of the code that a task is about, best first, and how many places the map has."""

    ranked: Sequence[tuple[MapEntry, float]] = ()
    total: int = 0


class Source(Protocol):
    """Where knowledge comes from."""

    def query_by_tags(
        self, tags: Sequence[str], *, words: Sequence[str] = (), types: Collection[NodeType] = (), limit: int = 10
    ) -> Sequence[Scored]: ...
    def task(self, task_id: str, /) -> JournalTask | None: ...
    def code(self, signals: Signals, /) -> Code: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevant:
    """What the graph has for a task, most relevant first."""

    patterns: tuple[Node, ...] = ()
    gotchas: tuple[Node, ...] = ()
    decisions: tuple[Node, ...] = ()
    related_tasks: tuple[Node, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    # The kinds of which the graph may have more than was asked for.
    cut: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorTask:
    """What a dependency hands over."""

    task_id: str
    name: str
    summary: str
    files_to_read: tuple[FileForNext, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    gotchas: tuple[Gotcha, ...] = ()
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The dependencies of a task that are completed, and those that are not, with their state."""

    done: tuple[PriorTask, ...] = ()
    incomplete: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """How a context came about, for people who want to know."""

    signals: Signals
    nodes_matched: int = 0
    patterns_found: int = 0
    gotchas_found: int = 0
    decisions_found: int = 0
    dependencies: tuple[str, ...] = ()
    incomplete: tuple[tuple[str, str], ...] = ()
    patterns_inherited: int = 0
    warnings_inherited: int = 0
    map_entries: int = 0
    map_in_reach: int = 0
    map_kept: int = 0
    top_score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedContext:
    """What a task is shown, within the limits of its complexity.

    `left_out` counts what was more; of the kinds in `at_least` there may be more than that, which nobody looked at.
    """

    patterns: tuple[Node, ...] = ()
    warnings: tuple[Node, ...] = ()
    decisions: tuple[Node, ...] = ()
    related_tasks: tuple[Node, ...] = ()
    prior_work: tuple[PriorTask, ...] = ()
    inherited_patterns: tuple[Pattern, ...] = ()
    inherited_warnings: tuple[Gotcha, ...] = ()
    questions: tuple[Question, ...] = ()
    code_references: tuple[MapEntry, ...] = ()
    incomplete: tuple[tuple[str, str], ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    at_least: tuple[str, ...] = ()
    computed: Computed

    @property
    def says_something(self) -> bool:
        """Whether anything was found that the task should know."""
        found = (self.patterns, self.warnings, self.decisions, self.related_tasks, self.prior_work, self.questions)
        return any((*found, self.inherited_patterns, self.inherited_warnings, self.code_references, self.incomplete))


def compute_context(
    task: ContextTask,
    source: Source,
    *,
    complexity: Complexity | None = None,
    domains: Mapping[str, Sequence[str]] | None = None,
) -> ComputedContext:
    """The context of a task; the same for the same task and the same knowledge."""
    signals = extract_signals(task, domains=domains)
    knowledge = relevant_knowledge(signals, source, without=task.id)
    dependencies = dependency_context(task, source.task)
    code = source.code(signals)
    return limited(assembled(signals, knowledge, dependencies, code), LIMITS[complexity or task.complexity])


def relevant_knowledge(signals: Signals, source: Source, *, without: str = "") -> Relevant:
    """What the graph has for signals: every kind in full, as the limits come last."""
    tags = [*signals.keywords, *signals.domains, *signals.task_types]

    cut: set[str] = set()

    def found(kind: str, *types: NodeType) -> list[Scored]:
        # Each kind by itself: a project has many more tasks than decisions, and they would take all the places.
        some = source.query_by_tags(tags, words=signals.keywords, types=types, limit=_WANTED) if tags else ()
        cut.update({kind} if len(some) >= _WANTED else ())
        return [one for one in some if one.node.id != without]

    patterns, gotchas, tasks = found("patterns", "pattern"), found("warnings", "gotcha"), found("related_tasks", "task")
    # What somebody understood stands with what was decided: both say why things are as they are.
    decisions = found("decisions", "decision", "insight")
    return Relevant(
        patterns=tuple(one.node for one in patterns),
        gotchas=tuple(one.node for one in gotchas),
        decisions=tuple(one.node for one in decisions),
        related_tasks=tuple(one.node for one in tasks),
        scores={one.node.id: one.score for one in (*patterns, *gotchas, *decisions, *tasks)},
        cut=frozenset(cut),
    )


def dependency_context(task: ContextTask, known: Callable[[str], JournalTask | None]) -> Dependencies:
    """What completed dependencies hand over; the others are reported, not passed over."""
    done: list[PriorTask] = []
    incomplete: list[tuple[str, str]] = []
    for task_id in dict.fromkeys(task.dependencies):
        found = known(task_id)
        if found is None or found.status != "completed":
            incomplete.append((task_id, "unknown" if found is None else found.status))
            continue
        handoff = found.handoff
        done.append(
            PriorTask(
                task_id=task_id,
                name=found.name or task_id,
                summary=found.summary,
                files_to_read=handoff.dependencies_for_next if handoff is not None else (),
                patterns=handoff.patterns_discovered if handoff is not None else (),
                gotchas=tuple(one for one in handoff.gotchas if one.severity != "low") if handoff is not None else (),
                questions=tuple(one for one in handoff.open_questions if one.blocking) if handoff is not None else (),
            )
        )
    return Dependencies(done=tuple(done), incomplete=tuple(incomplete))


def assembled(
    signals: Signals,
    knowledge: Relevant,
    dependencies: Dependencies,
    code: Code,
) -> ComputedContext:
    """Everything that was found, nothing cut yet; what is inherited is not said a second time by the graph."""
    inherited_patterns = _distinct(
        (one for prior in dependencies.done for one in prior.patterns), lambda one: one.pattern
    )
    inherited_warnings = _distinct((one for prior in dependencies.done for one in prior.gotchas), lambda one: one.issue)
    said = {_words(one.pattern) for one in inherited_patterns} | {_words(one.issue) for one in inherited_warnings}
    shown = {prior.task_id for prior in dependencies.done} | {task_id for task_id, _ in dependencies.incomplete}
    best = max((score for _, score in code.ranked), default=0.0)
    return ComputedContext(
        patterns=tuple(node for node in knowledge.patterns if _words(node.summary) not in said),
        warnings=tuple(
            sorted((node for node in knowledge.gotchas if _words(node.summary) not in said), key=_severity(knowledge))
        ),
        decisions=knowledge.decisions,
        related_tasks=tuple(node for node in knowledge.related_tasks if node.id not in shown),
        prior_work=dependencies.done,
        inherited_patterns=inherited_patterns,
        inherited_warnings=inherited_warnings,
        questions=_distinct((one for prior in dependencies.done for one in prior.questions), lambda one: one.question),
        code_references=tuple(entry for entry, _ in code.ranked),
        incomplete=dependencies.incomplete,
        # Of the code only what is in reach is counted.
        at_least=tuple(sorted({*knowledge.cut, "code_references"})),
        computed=Computed(
            signals=signals,
            nodes_matched=len(knowledge.scores),
            patterns_found=len(knowledge.patterns),
            gotchas_found=len(knowledge.gotchas),
            decisions_found=len(knowledge.decisions),
            dependencies=tuple(prior.task_id for prior in dependencies.done),
            incomplete=dependencies.incomplete,
            patterns_inherited=len(inherited_patterns),
            warnings_inherited=len(inherited_warnings),
            map_entries=code.total,
            map_in_reach=sum(score >= _REACH * best for _, score in code.ranked),
            top_score=best,
        ),
    )


def limited(context: ComputedContext, limits: Limits) -> ComputedContext:
    """The context within limits, which are applied here and nowhere else."""
    most = {
        "patterns": limits.patterns,
        "warnings": limits.gotchas,
        "decisions": limits.gotchas,
        "related_tasks": limits.prior_tasks,
        "prior_work": limits.prior_tasks,
        "inherited_patterns": limits.patterns,
        "inherited_warnings": limits.gotchas,
        "questions": limits.gotchas,
        "code_references": limits.code_references,
    }
    changes: dict[str, Any] = {name: getattr(context, name)[:limit] for name, limit in most.items()}
    found = {name: len(getattr(context, name)) for name in most} | {"code_references": context.computed.map_in_reach}
    left_out = {name: extra for name, limit in most.items() if (extra := found[name] - limit) > 0}
    kept = min(len(context.code_references), limits.code_references)
    return replace(context, **changes, left_out=left_out, computed=replace(context.computed, map_kept=kept))


def _severity(knowledge: Relevant) -> Callable[[Node], tuple[int, float]]:
    """High before medium before low, and within each what fits best."""
    ranks = {"high": 0, "medium": 1, "low": 2}
    return lambda node: (ranks[node.severity or "medium"], -knowledge.scores.get(node.id, 0.0))


def _distinct(items: Iterable[T], text: Callable[[T], str]) -> tuple[T, ...]:
    """The items that say different things; of those that say the same the first."""
    found: dict[frozenset[str], T] = {}
    for item in items:
        found.setdefault(_words(text(item)), item)
    return tuple(found.values())


def _words(text: str) -> frozenset[str]:
    tokens = tokens_of(text)
    return frozenset((*tokens.words, *tokens.hidden))
