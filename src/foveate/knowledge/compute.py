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
    Handoff,
    JournalTask,
    MapEntry,
    Node,
    NodeType,
    Pattern,
    Priority,
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
# Hundreds of files share some word with a task. Those that fit less than this share of the best are noise: of the
# files that commits changed, all that are among the first ten fit better. A few are shown in any case.
_NOISE: Final = 0.3
_FEWEST: Final = 3
# And only those that fit half as well as the best are worth being counted where they are left out: a number that is
# always large tells nobody anything.
_REACH: Final = 0.5
# A grave warning counts more than a mild one that fits as well, and less than one that fits much better.
_GRAVITY: Final[Mapping[Priority, float]] = MappingProxyType({"high": 1.25, "medium": 1.0, "low": 0.75})


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
    """What a dependency hands over; of the files to read some may have been left out."""

    task_id: str
    name: str
    summary: str
    files_to_read: tuple[FileForNext, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    gotchas: tuple[Gotcha, ...] = ()
    questions: tuple[Question, ...] = ()
    files_left_out: int = 0
    salvaged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The dependencies of a task that are completed, and those that are not, with their state.

    `unsaid` are the gotchas that completed ones do not pass on, as they are of low severity.
    """

    done: tuple[PriorTask, ...] = ()
    incomplete: tuple[tuple[str, str], ...] = ()
    unsaid: tuple[Gotcha, ...] = ()


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
    `relevance` says how well each node fits, by its id, and each place of the code, by its location.
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
    relevance: Mapping[str, float] = field(default_factory=dict)
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
    unsaid: list[Gotcha] = []
    for task_id in dict.fromkeys(task.dependencies):
        found = known(task_id)
        if found is None or found.status != "completed":
            incomplete.append((task_id, "unknown" if found is None else found.standing))
            continue
        handoff = found.handoff or Handoff(outcome="completed")
        unsaid += [one for one in handoff.gotchas if one.severity == "low"]
        done.append(
            PriorTask(
                task_id=task_id,
                name=found.name or task_id,
                summary=found.summary,
                files_to_read=handoff.dependencies_for_next,
                patterns=handoff.patterns_discovered,
                gotchas=tuple(one for one in handoff.gotchas if one.severity != "low"),
                questions=tuple(one for one in handoff.open_questions if one.blocking),
                salvaged=handoff.salvaged,
            )
        )
    return Dependencies(done=tuple(done), incomplete=tuple(incomplete), unsaid=tuple(unsaid))


def assembled(
    signals: Signals,
    knowledge: Relevant,
    dependencies: Dependencies,
    code: Code,
) -> ComputedContext:
    """Everything that was found, most relevant first, nothing cut yet; what is inherited is not said a second time."""
    patterns, warnings = _inherited_patterns(signals, dependencies), _inherited_warnings(signals, dependencies)
    said = {_words(one.pattern) for one in patterns} | {_words(one.issue) for one in warnings}
    shown = {prior.task_id for prior in dependencies.done} | {task_id for task_id, _ in dependencies.incomplete}
    computed = Computed(
        signals=signals,
        nodes_matched=len(knowledge.scores),
        patterns_found=len(knowledge.patterns),
        gotchas_found=len(knowledge.gotchas),
        decisions_found=len(knowledge.decisions),
        dependencies=tuple(prior.task_id for prior in dependencies.done),
        incomplete=dependencies.incomplete,
        patterns_inherited=len(patterns),
        warnings_inherited=len(warnings),
        map_entries=code.total,
        map_in_reach=_above(_REACH, code),
        top_score=max((score for _, score in code.ranked), default=0.0),
    )
    return ComputedContext(
        patterns=tuple(node for node in knowledge.patterns if _words(node.summary) not in said),
        warnings=_warnings(knowledge, dependencies, said),
        decisions=knowledge.decisions,
        related_tasks=tuple(node for node in knowledge.related_tasks if node.id not in shown),
        prior_work=dependencies.done,
        inherited_patterns=patterns,
        inherited_warnings=warnings,
        questions=_distinct((one for prior in dependencies.done for one in prior.questions), lambda one: one.question),
        code_references=tuple(entry for entry, _ in code.ranked[: max(_above(_NOISE, code), _FEWEST)]),
        incomplete=dependencies.incomplete,
        # Of the code only what is in reach is counted.
        at_least=tuple(sorted({*knowledge.cut, "code_references"})),
        relevance={**knowledge.scores, **{entry.location: score for entry, score in code.ranked}},
        computed=computed,
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
    changes["prior_work"] = tuple(with_files(one, limits.code_references) for one in changes["prior_work"])
    found = {name: len(getattr(context, name)) for name in most} | {"code_references": context.computed.map_in_reach}
    left_out = {name: extra for name, limit in most.items() if (extra := found[name] - limit) > 0}
    kept = len(changes["code_references"])
    return replace(context, **changes, left_out=left_out, computed=replace(context.computed, map_kept=kept))


def with_files(task: PriorTask, most: int) -> PriorTask:
    """The task with at most so many files to read, and how many more there are."""
    more = len(task.files_to_read) - most
    if more <= 0:
        return task
    return replace(task, files_to_read=task.files_to_read[:most], files_left_out=task.files_left_out + more)


def _inherited_patterns(signals: Signals, dependencies: Dependencies) -> tuple[Pattern, ...]:
    """What has most words in common with the task first, else in the order of the dependencies."""
    found = _distinct((one for prior in dependencies.done for one in prior.patterns), lambda one: one.pattern)
    return tuple(sorted(found, key=lambda one: -_in_common(signals, one.pattern, *one.applies_to)))


def _inherited_warnings(signals: Signals, dependencies: Dependencies) -> tuple[Gotcha, ...]:
    """The gravest first: who depends on a task is concerned by them all, whatever words they are in."""
    gravest = sorted(
        (one for prior in dependencies.done for one in prior.gotchas),
        key=lambda one: (-_GRAVITY[one.severity], -_in_common(signals, one.issue, one.mitigation)),
    )
    return _distinct(gravest, lambda one: one.issue)


def _warnings(knowledge: Relevant, dependencies: Dependencies, said: Collection[frozenset[str]]) -> tuple[Node, ...]:
    """The gotchas of the graph, without what dependencies say already or thought not worth passing on."""
    unsaid = {_words(one.issue) for one in dependencies.unsaid}

    def is_new(node: Node) -> bool:
        words = _words(node.summary)
        return words not in said and not (node.severity == "low" and words in unsaid)

    def fit(node: Node) -> float:
        return knowledge.scores.get(node.id, 0.0) * _GRAVITY[node.severity or "medium"]

    return tuple(sorted(filter(is_new, knowledge.gotchas), key=lambda node: -fit(node)))


def _above(share: float, code: Code) -> int:
    """How many places fit at least so much of how well the best does."""
    best = max((score for _, score in code.ranked), default=0.0)
    return sum(score >= share * best for _, score in code.ranked)


def _in_common(signals: Signals, *texts: str) -> int:
    return len(_words(" ".join(texts)) & set(signals.stems))


def _distinct(items: Iterable[T], text: Callable[[T], str]) -> tuple[T, ...]:
    """The items that say different things; of those that say the same the first."""
    found: dict[frozenset[str], T] = {}
    for item in items:
        found.setdefault(_words(text(item)), item)
    return tuple(found.values())


def _words(text: str) -> frozenset[str]:
    tokens = tokens_of(text)
    return frozenset((*tokens.words, *tokens.hidden))
