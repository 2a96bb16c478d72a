"""The five phases with worked examples, and the text they become."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import pytest

from foveate.budget.tokens import counter_for
from foveate.errors import ConfigError
from foveate.knowledge.compute import (
    LIMITS,
    Code,
    ComputedContext,
    compute_context,
    dependency_context,
    relevant_knowledge,
)
from foveate.knowledge.models import (
    ContextTask,
    FileForNext,
    Gotcha,
    Handoff,
    JournalTask,
    MapEntry,
    Node,
    Pattern,
    Question,
)
from foveate.knowledge.render import context_section, debug_report, rendered, shortened, with_prefix
from foveate.knowledge.signals import Signals, extract_signals
from foveate.knowledge.sources import context_of


@dataclass(frozen=True)
class Hit:
    node: Node
    score: float = 1.0


@dataclass
class Source:
    """Knowledge in memory, in the order it is given."""

    hits: list[Hit] = field(default_factory=list)
    tasks: dict[str, JournalTask] = field(default_factory=dict)
    entries: list[tuple[MapEntry, float]] = field(default_factory=list)
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def query_by_tags(
        self, tags: Sequence[str], *, words: Sequence[str] = (), types: Collection[str] = (), limit: int = 10
    ) -> list[Hit]:
        self.asked.append(tuple(tags))
        return [hit for hit in self.hits if hit.node.type in types][:limit]

    def task(self, task_id: str, /) -> JournalTask | None:
        return self.tasks.get(task_id)

    def code(self, signals: Signals, /) -> Code:
        return Code(self.entries, len(self.entries))


def node(kind: str, number: int, **more: object) -> Hit:
    return Hit(Node(id=f"{kind}-{number}", type=kind, summary=f"{kind} number {number}", **more))  # type: ignore[arg-type]


def full() -> Source:
    handoff = Handoff(
        outcome="completed",
        patterns_discovered=tuple(Pattern(pattern=f"inherited way {n}", location=f"a{n}.py") for n in range(12)),
        gotchas=(
            *(Gotcha(issue=f"inherited trap {n}", severity="high", mitigation="step aside") for n in range(8)),
            Gotcha(issue="harmless", severity="low"),
        ),
        dependencies_for_next=(FileForNext(file="src/money.py", reason="has the helpers"),),
        open_questions=(
            Question(question="which currency?", blocking=True, recommendation="ask"),
            Question(question="colour?"),
        ),
    )
    return Source(
        hits=[node(kind, number) for number in range(15) for kind in ("pattern", "gotcha", "decision", "task")],
        tasks={
            f"T{n}": JournalTask(
                id=f"T{n}", name=f"Task {n}", status="completed", summary=f"made part {n}", handoff=handoff
            )
            for n in range(10)
        },
        entries=[
            (MapEntry(component=f"part {n}", location=f"src/p{n}.py", notes="a | b"), 30.0 - n) for n in range(30)
        ],
    )


TASK = ContextTask(id="NOW", objective="Add endpoints to the api", dependencies=tuple(f"T{n}" for n in range(10)))


@pytest.mark.parametrize("complexity", LIMITS)
def test_the_limits_of_each_complexity_are_reached(complexity: str) -> None:
    """The plain way cut to 5, 3 and 10 before the limits of 10, 5 and 20 were looked at."""
    context = compute_context(TASK, full(), complexity=complexity)  # type: ignore[arg-type]
    limits = LIMITS[complexity]  # type: ignore[index]
    assert (
        len(context.patterns),
        len(context.warnings),
        len(context.code_references),
        len(context.prior_work),
    ) == limits


def test_everything_has_a_limit_and_what_was_left_out_is_counted() -> None:
    """Decisions, inherited items and questions had none."""
    context = compute_context(TASK, full())
    assert len(context.decisions) == 3 and len(context.inherited_patterns) == 5 and len(context.inherited_warnings) == 3
    assert context.left_out["patterns"] == 10
    assert "(10 more left out)" in rendered(context)


def test_what_was_not_looked_at_is_not_counted_as_if_it_were() -> None:
    """Twenty nodes of a kind are asked for; of the code only what is in reach is counted."""
    source = full()
    source.hits += [node("pattern", number) for number in range(15, 25)]
    text = rendered(compute_context(TASK, source))
    assert "- **pattern number 4**\n(at least 15 more left out)" in text
    assert "- ⚠️ **medium**: gotcha number 2\n(12 more left out)" in text
    assert "| a \\| b |\n(at least 6 more left out)" in text


def test_as_data_a_context_has_what_its_text_says() -> None:
    """No more items than the budget has room for, and the same counts."""
    context = compute_context(TASK, full(), complexity="complex")
    text, short = rendered(context, budget=500), shortened(context, budget=500)
    assert len(short.code_references) == text.count("| `src/p") < len(context.code_references)
    assert len(short.prior_work) == text.count("#### Task") < len(context.prior_work)
    assert f"({short.left_out['patterns']} more left out)" in text
    assert shortened(context, budget=100_000) == context and rendered(short, budget=500) == text


def test_without_knowledge_nothing_is_known() -> None:
    task = ContextTask(objective="do it", dependencies=("T1",))
    context = context_of(task, None)
    assert context.incomplete == (("T1", "unknown"),) and not context.code_references
    assert rendered(context_of(ContextTask(objective="do it"), None)) == rendered(
        compute_context(ContextTask(objective="do it"), Source())
    )


def test_of_the_code_only_what_fits_half_as_well_as_the_best_is_counted() -> None:
    """That hundreds of files share some word with a task says nothing."""
    assert compute_context(TASK, full()).left_out["code_references"] == 6


def test_of_the_code_noise_is_not_shown() -> None:
    """What fits far worse than the best took all places up to the limit; three are shown in any case."""
    source = full()
    source.entries = [(source.entries[0][0], 10.0), *((entry, 1.8) for entry, _ in source.entries[1:])]
    few = compute_context(TASK, source)
    assert "code_references" not in few.left_out and len(few.code_references) == few.computed.map_kept == 3
    source.entries[1:6] = [(entry, 4.0) for entry, _ in source.entries[1:6]]
    assert len(compute_context(TASK, source).code_references) == 6


def test_what_was_computed_is_rendered() -> None:
    """Related tasks, inherited patterns and inherited warnings were computed and never shown."""
    text = rendered(compute_context(TASK, full()))
    for words in (
        "inherited way 0",
        "inherited trap 0 → step aside",
        "task-0: task number 0",
        "#### Task 0\nmade part 0",
        "which currency?",
    ):
        assert words in text
    assert "colour?" not in text and "harmless" not in text


def test_files_to_read_are_called_so() -> None:
    """They are what the next task needs, not what the last one created."""
    text = rendered(compute_context(TASK, full()))
    assert "**Files to Read:**\n- `src/money.py`: has the helpers" in text and "Files Created" not in text


def test_a_dependency_that_is_not_completed_is_reported() -> None:
    """It was passed over in silence."""
    source = full()
    source.tasks["T1"] = JournalTask(id="T1", name="Half", status="in_progress")
    task = replace_dependencies(("T0", "T1", "T99"))
    found = dependency_context(task, source.task)
    assert [one.task_id for one in found.done] == ["T0"]
    assert found.incomplete == (("T1", "in_progress"), ("T99", "unknown"))
    assert "### Dependencies Not Completed\n- T1: in_progress\n- T99: unknown" in rendered(
        compute_context(task, source)
    )


def replace_dependencies(ids: tuple[str, ...]) -> ContextTask:
    return ContextTask(id="NOW", objective="Add endpoints to the api", dependencies=ids)


def test_what_is_inherited_is_not_said_again_by_the_graph() -> None:
    source = full()
    source.hits.insert(0, Hit(Node(id="same", type="pattern", summary="Inherited ways 0!")))
    assert "same" not in {one.id for one in compute_context(TASK, source).patterns}


def test_a_bar_in_a_cell_does_not_break_the_table() -> None:
    text = rendered(compute_context(TASK, full()))
    assert "| `src/p0.py` | part 0 | a \\| b |" in text


def test_of_warnings_that_fit_alike_the_gravest_comes_first() -> None:
    source = Source(hits=[node("gotcha", 1, severity="low"), node("gotcha", 2), node("gotcha", 3, severity="high")])
    assert [one.id for one in compute_context(TASK, source).warnings] == ["gotcha-3", "gotcha-2", "gotcha-1"]


def test_a_warning_that_fits_is_not_displaced_by_graver_ones_that_hardly_do() -> None:
    """Severity came before relevance, and three words in passing before the very thing."""
    weak = [Hit(node("gotcha", number, severity="high").node, 1.03) for number in range(1, 6)]
    source = Source(hits=[Hit(node("gotcha", 9, severity="medium").node, 14.5), *weak])
    for complexity in LIMITS:
        assert compute_context(TASK, source, complexity=complexity).warnings[0].id == "gotcha-9"


def handing(task_id: str, **lists: object) -> JournalTask:
    handoff = Handoff(outcome="completed", **lists)  # type: ignore[arg-type]
    return JournalTask(id=task_id, name=task_id, status="completed", summary=f"did {task_id}", handoff=handoff)


def test_of_inherited_warnings_the_gravest_stay() -> None:
    """Whichever dependency they are from; of equals those that share words with the task."""
    first = [Gotcha(issue=f"trap {number}") for number in range(3)]
    second = [Gotcha(issue="the endpoints hang"), Gotcha(issue="the disk burns", severity="high")]
    source = Source(tasks={"T0": handing("T0", gotchas=(*first,)), "T1": handing("T1", gotchas=(*second,))})
    context = compute_context(replace_dependencies(("T0", "T1")), source)
    assert [one.issue for one in context.inherited_warnings] == ["the disk burns", "the endpoints hang", "trap 0"]
    assert context.left_out["inherited_warnings"] == 2


def test_of_inherited_patterns_those_about_the_task_stay() -> None:
    many = tuple(Pattern(pattern=f"way {number}") for number in range(6))
    source = Source(
        tasks={
            "T0": handing("T0", patterns_discovered=many),
            "T1": handing("T1", patterns_discovered=(Pattern(pattern="Endpoints return a cursor"),)),
        }
    )
    context = compute_context(replace_dependencies(("T0", "T1")), source)
    assert [one.pattern for one in context.inherited_patterns][:2] == ["Endpoints return a cursor", "way 0"]


def test_what_a_dependency_does_not_pass_on_is_not_told_by_the_graph() -> None:
    """Its gotchas of low severity are left out, until somebody says that they are graver."""
    source = Source(tasks={"T0": handing("T0", gotchas=(Gotcha(issue="logs are long", severity="low"),))})
    task = replace_dependencies(("T0",))
    for severity, told in (("low", 0), ("high", 1)):
        source.hits = [Hit(Node(id="g", type="gotcha", summary="Logs are long", severity=severity))]
        assert len(compute_context(task, source).warnings) == told
    source.hits = [Hit(Node(id="g", type="gotcha", summary="Logs are lost", severity="low"))]
    assert len(compute_context(task, source).warnings) == 1


def test_one_long_handoff_does_not_erase_what_it_hands_over() -> None:
    """Of many files some are shown and the others counted; no task goes for them."""
    files = tuple(FileForNext(file=f"src/part{number}.py", reason="r" * 150) for number in range(120))
    tasks = {"T0": handing("T0", dependencies_for_next=files), "T1": handing("T1", dependencies_for_next=files[:2])}
    context = compute_context(replace_dependencies(("T0", "T1")), Source(tasks=tasks))
    text = rendered(context, budget=100_000)
    assert text.count("src/part") == 12 and "- `src/part9.py`: " + "r" * 150 + "\n(110 more files left out)\n" in text
    short, data = rendered(context, budget=400), shortened(context, budget=400)
    assert "#### T0\ndid T0\n\n**Files to Read:**\n- `src/part0.py`" in short and "\n\n#### T1\ndid T1\n" in short
    assert counter_for(None).count(short) <= 400
    assert [len(one.files_to_read) + one.files_left_out for one in data.prior_work] == [120, 2]
    assert rendered(data, budget=400) == short and "#### T0\ndid T0" in rendered(context, budget=200)


def test_prior_work_without_a_summary_and_with_odd_names_keeps_its_form() -> None:
    odd = JournalTask(id="T0", name="A", status="completed", handoff=Handoff(outcome="completed"))
    named = handing("T1", dependencies_for_next=(FileForNext(file="a`b.py"),))
    context = compute_context(replace_dependencies(("T0", "T1")), Source(tasks={"T0": odd, "T1": named}))
    assert "### Prior Work\n#### A\n\n#### T1\ndid T1\n\n**Files to Read:**\n- `a'b.py`\n" in rendered(context)


def test_a_warning_of_the_graph_says_what_helps() -> None:
    """As one from a dependency does."""
    source = Source(hits=[node("gotcha", 1, severity="high", rationale="step aside")])
    assert "- ⚠️ **high**: gotcha number 1 → step aside\n" in rendered(compute_context(TASK, source))


def test_a_section_that_has_nothing_to_say_is_left_out() -> None:
    """Words about what is not known are tokens that help nobody."""
    empty = rendered(compute_context(ContextTask(objective="do it"), Source()))
    assert empty == "## Context (Computed)\n\nNothing is known for this task yet.\n"
    one = rendered(compute_context(replace_dependencies(()), Source(hits=[node("gotcha", 1, severity="high")])))
    assert one == "## Context (Computed)\n\n### Warnings\n- ⚠️ **high**: gotcha number 1\n"


def test_keywords_domains_and_type_are_asked_for_and_the_task_itself_is_not_found() -> None:
    source = Source(hits=[Hit(Node(id="NOW", type="task", summary="itself")), node("task", 1)])
    found = relevant_knowledge(extract_signals(TASK), source, without="NOW")
    assert {"endpoints", "api", "implementation"} <= set(source.asked[0])
    assert [one.id for one in found.related_tasks] == ["task-1"]


@pytest.mark.parametrize("budget", [200, 500, 1_000, 2_000])
def test_the_text_keeps_its_budget_and_the_most_relevant_stay(budget: int) -> None:
    context = compute_context(TASK, full(), complexity="complex")
    text = rendered(context, budget=budget)
    assert counter_for(None).count(text) <= budget
    if budget >= 1_000:
        assert "pattern number 0" in text and "`src/p0.py`" in text
    assert "more left out" in text


def test_a_budget_that_is_too_small_for_anything_is_refused() -> None:
    with pytest.raises(ConfigError, match="`budget` is 10 tokens"):
        rendered(compute_context(TASK, full()), budget=10)


def test_the_same_knowledge_gives_the_same_bytes() -> None:
    assert rendered(compute_context(TASK, full())) == rendered(compute_context(TASK, full()))


def test_the_report_for_debugging_has_the_counts() -> None:
    report = debug_report(compute_context(TASK, full()))
    for line in (
        "- Domains: [api]",
        "- Patterns found: 15",
        "- Patterns inherited: 12",
        "- Total entries: 30",
        "- Entries after filter: 10",
        "- Top relevance score: 30",
    ):
        assert line in report


def test_the_section_is_stable_and_has_a_source() -> None:
    section = context_section(compute_context(TASK, full()))
    assert (section.name, section.source, section.tier) == ("Computed Context", "knowledge", "stable")
    assert not section.content.startswith("## Context")


def test_the_stable_prefix_stands_first() -> None:
    first, second = (with_prefix("You are a developer.", text) for text in ("one", "two"))
    assert first.split("<!-- END STABLE PREFIX -->")[0] == second.split("<!-- END STABLE PREFIX -->")[0]


def test_long_texts_are_cut_to_a_line() -> None:
    source = Source(hits=[Hit(Node(id="p", type="pattern", summary="word " * 500))])
    assert max(map(len, rendered(compute_context(TASK, source)).splitlines())) < 300
    assert isinstance(replace(compute_context(TASK, source), patterns=()), ComputedContext)
