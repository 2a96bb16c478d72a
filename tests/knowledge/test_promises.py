"""Eight things that computing a context in the plain way gets wrong: each is a promise that ours keeps and it breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from foveate.budget.tokens import counter_for
from foveate.knowledge.base import Knowledge
from foveate.knowledge.handoff import checked_handoff
from foveate.knowledge.models import ContextTask, JournalTask
from foveate.knowledge.render import rendered
from foveate.knowledge.signals import extract_signals
from foveate.knowledge.sources import context_of
from foveate.store import Store
from tests.knowledge.plain_context import LIMITS, PlainWay

TODAY: Final = "2026-03-01"


class Way(Protocol):
    """A way to learn from tasks and to tell others."""

    def begin(self, task_id: str) -> None: ...
    def learn(self, task_id: str, handoff: Mapping[str, Any], *, day: str, tags: Sequence[str] = ()) -> None: ...
    def nodes(self) -> list[dict[str, Any]]: ...
    def domains(self, objective: str) -> list[str]: ...
    def patterns(self, task: ContextTask) -> list[str]: ...
    def told(self, task: ContextTask) -> str: ...


class OurWay:
    """The store, ingestion, computing and rendering as every command has them."""

    def __init__(self, store: Store) -> None:
        self._knowledge = Knowledge(store, "shop")

    def begin(self, task_id: str) -> None:
        self._knowledge.put_task(JournalTask(id=task_id, status="in_progress"))

    def learn(self, task_id: str, handoff: Mapping[str, Any], *, day: str, tags: Sequence[str] = ()) -> None:
        task = JournalTask(id=task_id, name=task_id, summary=f"did {task_id}", tags=tuple(tags))
        self._knowledge.ingest(task, checked_handoff(handoff), today=day)

    def nodes(self) -> list[dict[str, Any]]:
        nodes: list[dict[str, Any]] = self._knowledge.export_graph()["nodes"]
        return nodes

    def domains(self, objective: str) -> list[str]:
        return list(extract_signals(ContextTask(objective=objective)).domains)

    def patterns(self, task: ContextTask) -> list[str]:
        context = context_of(task, self._knowledge, today=TODAY)
        return [*(node.summary for node in context.patterns), *(one.pattern for one in context.inherited_patterns)]

    def told(self, task: ContextTask) -> str:
        return rendered(context_of(task, self._knowledge, today=TODAY))


def handing_over(**lists: Any) -> dict[str, Any]:
    return {"outcome": "completed", **lists}


def ways(count: int, *tags: str, said: str = "way") -> list[dict[str, Any]]:
    return [{"pattern": f"{said} number{number}", "applies_to": list(tags)} for number in range(count)]


def defect_1_the_limits_of_complex_tasks_are_reached(way: Way) -> None:
    """They are applied once, at the end: nothing is cut to 5 and 10 before."""
    files = [{"path": f"src/endpoint/part{number}.py", "purpose": "one"} for number in range(25)]
    way.learn("T1", handing_over(patterns_discovered=ways(12, "endpoint"), files_created=files), day=TODAY)
    text = way.told(ContextTask(objective="Change the endpoint", complexity="complex"))
    assert (text.count("- **way number"), text.count("| `src/endpoint")) == (10, 20)


def defect_2_all_that_is_computed_is_told(way: Way) -> None:
    """Related tasks, and the patterns and warnings of dependencies."""
    trap = {"issue": "the lock is held", "severity": "high", "mitigation": "let it go"}
    way.learn("T1", handing_over(patterns_discovered=ways(1, "money"), gotchas=[trap]), day=TODAY)
    way.learn("T2", handing_over(), day=TODAY, tags=("zebra",))
    text = way.told(ContextTask(objective="Paint the zebra", dependencies=("T1",)))
    assert "way number0" in text and "the lock is held" in text and "did T2" in text


def defect_2_everything_has_a_limit(way: Way) -> None:
    """Questions too; how many were left out is said."""
    questions = [{"question": f"Which one is {number}?", "blocking": True} for number in range(30)]
    way.learn("T1", handing_over(open_questions=questions), day=TODAY)
    text = way.told(ContextTask(objective="Go on", dependencies=("T1",)))
    assert text.count("Which one is") == 3 and "(27 more left out)" in text


def defect_3_what_is_learned_has_an_id_and_a_date(way: Way) -> None:
    way.learn("T1", handing_over(patterns_discovered=ways(1, "api")), day=TODAY)
    assert all(node.get("id") and node.get("created") for node in way.nodes())


def defect_3_gotchas_reach_later_tasks(way: Way) -> None:
    """Also those that do not depend on the task that met them, and as grave as they were."""
    way.learn("T1", handing_over(gotchas=[{"issue": "the cache lies", "severity": "high"}]), day=TODAY, tags=("cache",))
    assert "⚠️ **high**: the cache lies" in way.told(ContextTask(objective="Empty the cache"))


def defect_4_a_domain_is_found_by_its_own_name(way: Way) -> None:
    names = ("api", "auth", "database", "ui", "testing")
    assert [way.domains(f"Rework the {name} layer") for name in names] == [[name] for name in names]


def defect_5_files_to_read_are_called_so(way: Way) -> None:
    """They are what the next task needs, not what the last one created."""
    way.learn("T1", handing_over(dependencies_for_next=[{"file": "a.py", "reason": "has it"}]), day=TODAY)
    text = way.told(ContextTask(objective="Go on", dependencies=("T1",)))
    assert "**Files to Read:**\n- `a.py`: has it" in text and "Files Created" not in text


def defect_6_forms_of_a_word_are_one(way: Way) -> None:
    assert way.domains("Document all endpoints") == ["api"]


def defect_6_a_word_inside_another_is_not_that_word(way: Way) -> None:
    files = [{"path": "src/build.py", "purpose": "makes it"}, {"path": "src/ui/form.py", "purpose": "shows it"}]
    way.learn("T1", handing_over(files_created=files), day=TODAY)
    text = way.told(ContextTask(objective="Fix the ui"))
    assert "src/ui/form.py" in text and "src/build.py" not in text


def defect_7_a_context_keeps_its_budget(way: Way) -> None:
    questions = [{"question": f"{number} {'why ' * 400}", "blocking": True, "context": "so"} for number in range(9)]
    way.learn("T1", handing_over(patterns_discovered=ways(9, "api", said="so " * 900)), day=TODAY)
    way.learn("T2", handing_over(open_questions=questions), day=TODAY)
    text = way.told(ContextTask(objective="Change the api", dependencies=("T1", "T2"), complexity="complex"))
    assert counter_for(None).count(text) <= 2_000


def defect_7_of_equals_the_newer_is_told(way: Way) -> None:
    way.learn("T1", handing_over(patterns_discovered=ways(5, "api", said="old")), day="2025-01-01")
    way.learn("T2", handing_over(patterns_discovered=ways(5, "api", said="new")), day=TODAY)
    told = way.patterns(ContextTask(objective="Change the api"))
    assert len(told) == 5 and all(one.startswith("new") for one in told)


def defect_7_what_is_inherited_is_not_told_twice(way: Way) -> None:
    way.learn("T1", handing_over(patterns_discovered=ways(2, "api")), day=TODAY)
    told = way.patterns(ContextTask(objective="Change the api", dependencies=("T1",)))
    assert sorted(told) == ["way number0", "way number1"]


def defect_7_incomplete_dependencies_are_reported(way: Way) -> None:
    way.begin("T9")
    assert "T9: in_progress" in way.told(ContextTask(objective="Go on", dependencies=("T9",)))


def defect_8_a_bar_in_a_text_does_not_break_the_table(way: Way) -> None:
    way.learn("T1", handing_over(files_created=[{"path": "src/pipe.py", "purpose": "a | b"}]), day=TODAY)
    (row,) = (line for line in way.told(ContextTask(objective="Mend the pipe")).splitlines() if "pipe.py" in line)
    assert row.replace("\\|", "").count("|") == 4


PROMISES: Final[list[Callable[[Way], None]]] = [
    promise for name, promise in sorted(globals().items()) if name.startswith("defect_")
]


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Way]:
    with Store(tmp_path / "context.db") as store:
        yield OurWay(store)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda one: one.__name__)
def test_ours_keeps_the_promise(promise: Callable[[Way], None], ours: Way) -> None:
    promise(ours)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda one: one.__name__)
def test_the_plain_way_breaks_it(promise: Callable[[Way], None]) -> None:
    """Or else the promise would say nothing."""
    with pytest.raises(AssertionError):
        promise(PlainWay())


def test_every_one_of_the_eight_has_a_promise() -> None:
    assert {promise.__name__.split("_")[1] for promise in PROMISES} == set("12345678")


@pytest.mark.parametrize("complexity", LIMITS)
def test_both_ways_agree_where_the_plain_one_is_right(complexity: Any, ours: Way) -> None:
    """A few patterns by their tags, a file by its name: there is nothing to get wrong."""
    task = ContextTask(objective="Change the token", complexity=complexity)
    said = handing_over(patterns_discovered=ways(3, "token"), files_created=[{"path": "src/token.py", "purpose": "it"}])
    for way in (ours, PlainWay()):
        way.learn("T1", said, day=TODAY)
        assert sorted(way.patterns(task)) == [f"way number{number}" for number in range(3)]
        assert "| `src/token.py` | token | it |" in way.told(task)
