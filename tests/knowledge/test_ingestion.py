"""A handoff changes graph, map and journal at once, and only once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from foveate.errors import ConfigError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.handoff import read_handoff
from foveate.knowledge.models import (
    Blocker,
    ContextTask,
    FileCreated,
    FileForNext,
    FileModified,
    Gotcha,
    Handoff,
    JournalTask,
    MapEntry,
    Node,
    Pattern,
)
from foveate.knowledge.render import rendered
from foveate.knowledge.sources import context_of
from foveate.store.schema import knowledge_projects, metadata
from tests.knowledge import projects

knowledge = projects.knowledge
TODAY = "2025-12-10"
TASK = JournalTask(
    id="task-003", name="Users API", summary="Added the users endpoint", dependencies=("task-001",), tags=("api",)
)
HANDOFF = Handoff(
    outcome="completed",
    files_created=(FileCreated(path="src/api/users.py", purpose="Users endpoint"),),
    files_modified=(FileModified(path="src/api/__init__.py", lines="3-9", description="Registers it"),),
    patterns_discovered=(
        Pattern(pattern="Validate before parsing", location="src/api/users.py:10-20", applies_to=("validation",)),
    ),
    gotchas=(Gotcha(issue="Pools leak", mitigation="Close them", severity="high", discovered_in="src/db.py"),),
)


def everything(knowledge: Knowledge) -> dict[str, list[Any]]:
    """All rows of the project, in all tables."""
    named = knowledge_projects.c.name == knowledge.project
    with knowledge.store.reading() as connection:
        key = connection.scalar(select(knowledge_projects.c.id).where(named))
        return {
            "project": connection.execute(select(knowledge_projects).where(named)).all(),
            **{
                name: connection.execute(table.select().where(table.c.project == key)).all()
                for name, table in metadata.tables.items()
                if "project" in table.c
            },
        }


def test_a_handoff_goes_everywhere(knowledge: Knowledge) -> None:
    done = knowledge.ingest(TASK, HANDOFF, today=TODAY)

    assert done.added == ("task-003", "pattern-001", "gotcha-001")
    assert not done.repeated
    assert list(knowledge.nodes()) == [
        Node(id="task-003", type="task", summary="Users API", rationale="Added the users endpoint", tags=("api", "validation"), created=TODAY, connections=("task-001",)),
        Node(id="pattern-001", type="pattern", summary="Validate before parsing", tags=("validation",), file="src/api/users.py:10-20", created=TODAY, connections=("task-003",)),
        Node(id="gotcha-001", type="gotcha", summary="Pools leak", tags=("api",), file="src/db.py", severity="high", rationale="Close them", created=TODAY, connections=("task-003",)),
    ]  # fmt: skip
    assert knowledge.entries() == [
        MapEntry(component="api users", location="src/api/users.py", notes="Users endpoint"),
        MapEntry(component="api", location="src/api/__init__.py:3-9", notes="Registers it"),
    ]
    assert done.entries == ("src/api/users.py", "src/api/__init__.py:3-9")
    assert knowledge.task("task-003") == replace(TASK, status="completed", handoff=HANDOFF)
    assert [node.id for node in knowledge.connected("task-003")] == ["gotcha-001", "pattern-001"]


def test_the_same_handoff_again_changes_nothing_and_says_so(knowledge: Knowledge) -> None:
    """Not one row, also on another day; for another task it is another handoff."""
    knowledge.ingest(TASK, HANDOFF, today=TODAY)
    before = everything(knowledge)

    again = knowledge.ingest(TASK, HANDOFF, today="2026-01-01")

    assert again.repeated
    assert (again.added, again.merged, again.entries) == ((), (), ())
    assert everything(knowledge) == before
    other = knowledge.ingest(JournalTask(id="task-004"), HANDOFF, today=TODAY)
    assert (other.repeated, other.added, other.merged) == (False, ("task-004",), ("pattern-001", "gotcha-001"))


def test_an_old_handoff_that_comes_late_does_not_undo_a_new_one(knowledge: Knowledge) -> None:
    blocked = Handoff(outcome="blocked", blockers=(Blocker(blocker="No key", blocking_tasks=("task-001",)),))
    knowledge.ingest(TASK, blocked, today=TODAY)
    knowledge.ingest(TASK, HANDOFF, today=TODAY)

    assert knowledge.ingest(TASK, blocked, today=TODAY).repeated
    assert knowledge.task(TASK.id).status == "completed"
    assert knowledge.blockers() == []


def test_a_task_that_was_opened_again_takes_the_same_handoff_again(knowledge: Knowledge) -> None:
    """It ends as it did before, and nothing is doubled."""
    knowledge.ingest(TASK, HANDOFF, today=TODAY)
    nodes, entries = list(knowledge.nodes()), knowledge.entries()
    knowledge.put_task(replace(TASK, status="in_progress"))

    done = knowledge.ingest(TASK, HANDOFF, today=TODAY)

    assert (done.repeated, done.added, done.merged) == (False, (), ("pattern-001", "gotcha-001"))
    assert knowledge.task(TASK.id).status == "completed"
    assert (list(knowledge.nodes()), knowledge.entries()) == (nodes, entries)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("completed", "completed"), ("partial", "in_progress"), ("failed", "failed"), ("blocked", "blocked")],
)
def test_the_outcome_is_the_state_of_the_task(knowledge: Knowledge, outcome: Any, status: str) -> None:
    handoff = Handoff(outcome=outcome)
    knowledge.ingest(TASK, handoff, today=TODAY)

    assert knowledge.task(TASK.id).status == status
    assert knowledge.ingest(TASK, handoff, today=TODAY).repeated


def test_blockers_stand_until_the_task_is_done(knowledge: Knowledge) -> None:
    """Those of a later handoff take the place of those before."""
    first, second = (
        Blocker(blocker="No key", impact="No login"),
        Blocker(blocker="No server", blocking_tasks=("task-009",)),
    )
    knowledge.ingest(TASK, Handoff(outcome="blocked", blockers=(first, second)), today=TODAY)
    knowledge.ingest(JournalTask(id="task-000"), Handoff(outcome="failed", blockers=(first,)), today=TODAY)
    assert knowledge.blockers() == [("task-003", first), ("task-003", second), ("task-000", first)]

    knowledge.ingest(TASK, Handoff(outcome="partial", blockers=(second,)), today=TODAY)
    assert knowledge.blockers() == [("task-003", second), ("task-000", first)]
    knowledge.ingest(TASK, HANDOFF, today=TODAY)
    assert knowledge.blockers() == [("task-000", first)]
    knowledge.put_task(JournalTask(id="task-000", status="skipped"))
    assert knowledge.blockers() == []


def test_what_is_known_already_is_added_to_and_not_doubled(knowledge: Knowledge) -> None:
    """Tags, mitigation and task come to the node that says the same, the graver severity counts."""
    knowledge.ingest(TASK, HANDOFF, today=TODAY)
    again = Handoff(
        outcome="completed",
        patterns_discovered=(
            Pattern(pattern="validates before parsing!", applies_to=("Parsing",)),
            Pattern(pattern="Parse before validating"),
        ),
        gotchas=(
            Gotcha(issue="pool leaks", mitigation="Use `with`", severity="low"),
            Gotcha(issue="Validate before parsing"),
        ),
    )
    done = knowledge.ingest(JournalTask(id="task-004", tags=("db",)), again, today="2026-01-01")

    assert done.merged == ("pattern-001", "gotcha-001")
    assert done.added == ("task-004", "pattern-002", "gotcha-002")
    pattern, gotcha = knowledge.node("pattern-001"), knowledge.node("gotcha-001")
    assert (pattern.tags, pattern.connections, pattern.created) == (
        ("validation", "parsing"),
        ("task-003", "task-004"),
        TODAY,
    )
    assert (gotcha.rationale, gotcha.severity, gotcha.tags) == ("Close them\n\nUse `with`", "high", ("api", "db"))


def test_a_retired_lesson_is_not_brought_back(knowledge: Knowledge) -> None:
    """Who says it again is not heard, until somebody puts it back."""
    knowledge.ingest(TASK, HANDOFF, today=TODAY)
    knowledge.retire("gotcha-001")

    done = knowledge.ingest(JournalTask(id="task-004"), HANDOFF, today=TODAY)
    assert (done.added, done.merged, done.retired) == (("task-004",), ("pattern-001",), ("gotcha-001",))
    assert knowledge.node("gotcha-001").retired and [node.id for node in knowledge.nodes()][-1] == "task-004"
    knowledge.restore("gotcha-001")
    assert knowledge.ingest(JournalTask(id="task-005"), HANDOFF, today=TODAY).merged == ("pattern-001", "gotcha-001")


def test_what_was_retired_is_not_inherited(knowledge: Knowledge) -> None:
    """A task that depends on the one it came from gets what is left; the journal keeps all that was handed over."""
    knowledge.ingest(TASK, HANDOFF, today=TODAY)
    task = ContextTask(objective="Go on with it", dependencies=(TASK.id,))
    assert [one.issue for one in context_of(task, knowledge).inherited_warnings] == ["Pools leak"]
    knowledge.retire("gotcha-001")
    context = context_of(task, knowledge)
    assert (context.inherited_warnings, len(context.inherited_patterns)) == ((), 1)
    knowledge.retire("pattern-001")
    assert context_of(task, knowledge).inherited_patterns == ()
    assert knowledge.task(TASK.id).handoff == HANDOFF


def test_what_was_reworded_and_retired_is_not_inherited_by_its_id(knowledge: Knowledge) -> None:
    handoff = Handoff(outcome="completed", patterns_discovered=(Pattern(id="pattern-007", pattern="Use cents"),))
    knowledge.ingest(TASK, handoff, today=TODAY)
    knowledge.update("pattern-007", summary="Use integers", retired=True)
    assert knowledge.inherited_task(TASK.id).handoff.patterns_discovered == ()


def test_a_task_is_found_by_its_name(knowledge: Knowledge) -> None:
    """And by what was done."""
    knowledge.ingest(JournalTask(id="T1", name="Refund ledger", summary="Rows are added."), HANDOFF, today=TODAY)
    for words in (["ledger"], ["rows"]):
        assert [one.node.id for one in knowledge.query_by_tags([], words=words, types=["task"])] == ["T1"]
    assert (knowledge.node("T1").summary, knowledge.node("T1").rationale) == ("Refund ledger", "Rows are added.")


def test_the_same_handoff_with_another_name_corrects_the_task(knowledge: Knowledge) -> None:
    """Name and summary are those given last, tags and dependencies are added; what is not given stays."""
    knowledge.ingest(TASK, HANDOFF, today=TODAY)
    given = JournalTask(id=TASK.id, name="People API", tags=("people",), dependencies=("task-002",))
    done = knowledge.ingest(given, HANDOFF, today=TODAY)
    assert done.repeated and done.corrected
    task, node = knowledge.task(TASK.id), knowledge.node(TASK.id)
    assert (task.name, task.summary, task.tags) == ("People API", TASK.summary, ("api", "people"))
    assert (task.dependencies, task.status) == (("task-001", "task-002"), "completed")
    assert node.summary == "People API" and "people" in node.tags and "people" in knowledge.node("gotcha-001").tags
    before = everything(knowledge)
    assert not knowledge.ingest(given, HANDOFF, today=TODAY).corrected
    assert everything(knowledge) == before


def test_what_is_said_of_an_older_handoff_corrects_nothing(knowledge: Knowledge) -> None:
    half = Handoff(outcome="partial")
    knowledge.ingest(replace(TASK, summary="half"), half, today=TODAY)
    knowledge.ingest(TASK, HANDOFF, today=TODAY)
    assert not knowledge.ingest(replace(TASK, summary="half"), half, today=TODAY).corrected
    assert knowledge.task(TASK.id).summary == TASK.summary


def test_ids_that_agents_chose_are_kept_if_they_are_free(knowledge: Knowledge) -> None:
    """Each agent counts from 1, and what one says must not overwrite what another said."""

    def learned(*patterns: str) -> Handoff:
        return Handoff(
            outcome="completed", patterns_discovered=tuple(Pattern(id="pattern-001", pattern=one) for one in patterns)
        )

    assert knowledge.ingest(JournalTask(id="a"), learned("one"), today=TODAY).added == ("a", "pattern-001")
    assert knowledge.ingest(JournalTask(id="b"), learned("two", "three"), today=TODAY).added == (
        "b",
        "pattern-002",
        "pattern-003",
    )
    assert knowledge.ingest(JournalTask(id="pattern"), learned("four"), today=TODAY).added == ("pattern", "pattern-004")
    assert [knowledge.node(id).summary for id in ("pattern-001", "pattern-002", "pattern-004")] == [
        "one",
        "two",
        "four",
    ]
    assert knowledge.node("pattern-004").connections == ("pattern",)


def test_what_the_journal_knew_of_a_task_is_kept(knowledge: Knowledge) -> None:
    knowledge.put_task(TASK)
    knowledge.ingest(JournalTask(id=TASK.id, tags=("users",)), HANDOFF, today=TODAY)

    task, node = knowledge.task(TASK.id), knowledge.node(TASK.id)
    assert (task.name, task.summary, task.dependencies, task.tags) == (
        TASK.name,
        TASK.summary,
        TASK.dependencies,
        ("api", "users"),
    )
    assert (node.summary, node.rationale, node.tags, node.connections) == (
        TASK.name,
        TASK.summary,
        ("api", "users", "validation"),
        TASK.dependencies,
    )


def test_a_deleted_file_leaves_the_map(knowledge: Knowledge) -> None:
    """Lines that were deleted leave their file on it; and notes stay where a handoff says nothing."""
    for location in ("src/old.py", "src/old.py:1-5", "src/older.py", "src/kept.py:1-2"):
        knowledge.put_entry(MapEntry(component="c", location=location, notes="noted"))
    changes = (
        FileModified(path="src/old.py", change_type="delete"),
        FileModified(path="src/kept.py", change_type="delete", lines="1-2"),
    )
    knowledge.ingest(TASK, Handoff(outcome="completed", files_modified=changes), today=TODAY)

    assert [(one.location, one.notes) for one in knowledge.entries()] == [
        ("src/older.py", "noted"),
        ("src/kept.py:1-2", "noted"),
    ]


def test_files_that_salvaged_words_name_are_on_the_map_with_what_was_said_of_them(knowledge: Knowledge) -> None:
    """What is no file, or has notes of a task already, is left as it is; a handoff that was written names its files."""
    knowledge.put_entry(MapEntry(component="api", location="src/api.py", notes="noted"))
    text = "Done. Watch out for the cache in src/cache.py. See src/api.py and config.domains, and read/write/delete."
    done = knowledge.ingest(TASK, read_handoff(text).handoff, today=TODAY)

    assert done.entries == ("src/cache.py",)
    assert [(one.location, one.notes) for one in knowledge.entries()] == [
        ("src/api.py", "noted"),
        ("src/cache.py", "Watch out for the cache in src/cache.py."),
    ]
    next_one = Handoff(outcome="completed", dependencies_for_next=(FileForNext(file="src/db.py", reason="has it"),))
    assert knowledge.ingest(JournalTask(id="other"), next_one, today=TODAY).entries == ()


def test_a_handoff_that_cannot_be_stored_leaves_nothing_behind(knowledge: Knowledge) -> None:
    """The last thing in it may be what is wrong."""
    knowledge.add(Node(id="decision", type="decision", summary="a decision"))
    before = everything(knowledge)
    for task, handoff, today, said in (
        (TASK, replace(HANDOFF, files_created=(FileCreated(path="x" * 501),)), TODAY, "`location` must have"),
        (TASK, replace(HANDOFF, gotchas=(Gotcha(issue=" "),)), TODAY, "`summary` is blank"),
        (TASK, replace(HANDOFF, gotchas=(Gotcha(issue="i", severity="grave"),)), TODAY, r"handoff of task 'task-003': `gotchas\[0\].severity`"),
        (JournalTask(id="decision"), HANDOFF, TODAY, "task 'decision' has the id of a decision in the graph"),
        (TASK, HANDOFF, "", "`today` is empty"),
        (TASK, HANDOFF, "today", "`today` 'today' is no date"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=said):
            knowledge.ingest(task, handoff, today=today)
        assert everything(knowledge) == before


def test_who_waits_for_a_task_is_told_why(knowledge: Knowledge) -> None:
    """Not only that it is blocked: by what, and what would help."""
    blocker = Blocker(blocker="No key\nfor the bank", suggested_resolution="ask Ann", blocking_tasks=("T0",))
    knowledge.ingest(TASK, Handoff(outcome="blocked", blockers=(blocker,)), today=TODAY)
    text = rendered(context_of(ContextTask(objective="Go on", dependencies=(TASK.id, "T9")), knowledge))
    assert "- task-003: blocked: No key for the bank → ask Ann\n- T9: unknown" in text


def test_what_is_salvaged_is_marked_where_it_is_inherited(knowledge: Knowledge) -> None:
    knowledge.ingest(TASK, read_handoff("All of it is done.").handoff, today=TODAY)
    text = rendered(context_of(ContextTask(objective="Go on", dependencies=(TASK.id,)), knowledge))
    assert "#### Users API (salvaged)" in text
