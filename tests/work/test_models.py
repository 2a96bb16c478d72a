"""Issue, plan and reviews: what is refused, and how it is said."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import ConfigError
from foveate.work import (
    Design,
    FileOperation,
    Issue,
    ReviewResult,
    Task,
    TaskDAG,
    combined,
    load_design,
    load_issue,
    load_plan,
)


def task(id: str, *needs: str, **more: object) -> Task:
    return Task(id=id, description=f"do {id}", dependencies=needs, **more)  # type: ignore[arg-type]


def test_a_dependency_that_the_plan_does_not_have_is_refused_by_name():
    with pytest.raises(ConfigError, match="task 'b' depends on 'z', which the plan does not have; known are a, b"):
        TaskDAG(tasks=(task("a"), task("b", "z")))


@pytest.mark.parametrize("edges", [[("a", "a")], [("a", "b"), ("b", "a")], [("a", "b"), ("b", "c"), ("c", "a")]])
def test_a_circle_is_refused_and_shown(edges: list[tuple[str, str]]):
    needs = dict(edges)
    with pytest.raises(ConfigError, match="in a circle: ") as caught:
        TaskDAG(tasks=tuple(task(id, needs[id]) for id in needs))
    path = str(caught.value).split(": ")[1].split(" → ")
    assert path[0] == path[-1] and all(needs[one] == other for one, other in pairwise(path))


def test_an_id_that_comes_twice_is_refused():
    with pytest.raises(ConfigError, match="`tasks` has 'a' more than once"):
        TaskDAG(tasks=(task("a"), task("a")))


def test_ready_are_pending_tasks_whose_dependencies_are_completed():
    plan = TaskDAG(tasks=(task("c", "a", "b"), task("a"), task("b", "a"), task("d", "x"), task("x", status="failed")))
    assert [one.id for one in plan.ready_tasks()] == ["a"]
    plan = plan.with_status("a", "completed")
    assert [one.id for one in plan.ready_tasks()] == ["b"]
    plan = plan.with_status("b", "completed")
    assert [one.id for one in plan.ready_tasks()] == ["c"]
    assert [one.id for one in plan.with_status("c", "in_progress").ready_tasks()] == []


def test_a_task_is_found_by_its_id():
    plan = TaskDAG(tasks=(task("a"),))
    assert plan.get_task("a") is plan.tasks[0]
    assert plan.get_task("b") is None
    with pytest.raises(ConfigError, match="the plan has no task 'b'; it has a"):
        plan.with_status("b", "completed")


@given(st.lists(st.integers(0, 30), unique=True, max_size=12), st.data())
def test_any_plan_without_a_circle_can_be_carried_out_to_its_end(numbers: list[int], data: st.DataObject):
    tasks = []
    for place, number in enumerate(numbers):
        needs = data.draw(st.lists(st.sampled_from(numbers[:place]), unique=True) if place else st.just([]))
        tasks.append(task(str(number), *map(str, needs)))
    plan = TaskDAG(tasks=tuple(data.draw(st.permutations(tasks))))
    done: list[str] = []
    while ready := plan.ready_tasks():
        assert set(ready[0].dependencies) <= set(done)
        done.append(ready[0].id)
        plan = plan.with_status(ready[0].id, "completed")
    assert sorted(done) == sorted(map(str, numbers))


def test_a_verdict_needs_everybody_and_has_the_worst_severity():
    reviews = [
        ReviewResult(persona="Security", approved=True, comments=("fine",), severity="low"),
        ReviewResult(persona="Usability", approved=False, comments=("why?", "how?"), severity="high"),
        ReviewResult(persona="Performance", approved=True, severity="medium"),
    ]
    verdict = combined(reviews)
    assert (verdict.approved, verdict.severity) == (False, "high")
    assert verdict.comments == ("[Security] fine", "[Usability] why?", "[Usability] how?")
    assert combined(reviews[::2]).approved
    assert combined(reviews[:1]) is reviews[0]
    with pytest.raises(ConfigError, match="at least one review"):
        combined([])


def test_a_range_of_lines_goes_forward():
    with pytest.raises(ConfigError, match="`line_range` ends at 2, before it begins at 4"):
        FileOperation(operation="modify", path="a.py", line_range=(4, 2))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "tasks: [{id: a, description: b, files: [{operation: creat, path: x}]}]",
            r"'creat' - at `\$.tasks\[0\].files\[0\].operation`; known are create, modify, test",
        ),
        (
            "tasks: [{id: a, description: b, status: gone}]",
            r"`\$.tasks\[0\].status`; known are completed, failed, in_progress",
        ),
        ("tasks: [{id: a, description: b, stepz: []}]", r"unknown field `stepz` - at `\$.tasks\[0\]`"),
        ("tasks: [{id: a}]", r"missing required field `description` - at `\$.tasks\[0\]`"),
        ("tasks: [{id: a, description: b, dependencies: [z]}]", "depends on 'z'"),
        ("tasks: [{id: '', description: b}]", r"`\$.tasks\[0\].id`"),
        (
            "tasks: [{id: a, description: b, files: [{operation: test, path: x, line_range: [0, 1]}]}]",
            r"line_range\[0\]`",
        ),
        ("tasks: [", "cannot be read"),
        ('{"tasks": [}', "cannot be read"),
        ("", "Expected `object`"),
    ],
)
def test_a_wrong_plan_is_refused_with_its_file_field_and_remedy(tmp_path: Path, text: str, problem: str):
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=problem) as caught:
        load_plan(path)
    assert str(path) in str(caught.value)


def test_plans_are_the_same_from_yaml_and_json(tmp_path: Path):
    (tmp_path / "p.yaml").write_text(
        "tasks:\n- id: a\n  description: tu es\n  files:\n  - {operation: test, path: ü.py, line_range: [2, 3]}\n"
    )
    (tmp_path / "p.json").write_text(
        '{"tasks": [{"id": "a", "description": "tu es", "files": [{"operation": "test", "path": "ü.py", "line_range": [2, 3]}]}]}'
    )
    assert load_plan(tmp_path / "p.yaml") == load_plan(tmp_path / "p.json")
    assert load_plan(tmp_path / "p.yaml").tasks[0].files[0].line_range == (2, 3)


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("# Title #\n\nWhat to do.\n\n## More\nx", Issue(title="Title", description="What to do.\n\n## More\nx")),
        ("just words", Issue(title="issue", description="just words")),
        ("\ufeff# 标题\n做这个", Issue(title="标题", description="做这个")),
        ("---\nid: '7'\ntitle: Front\n---\nbody", Issue(id="7", title="Front", description="body")),
        ("# Only a title", Issue(title="Only a title")),
    ],
)
def test_an_issue_is_read_from_markdown(tmp_path: Path, text: str, issue: Issue):
    path = tmp_path / "issue.md"
    path.write_text(text)
    assert load_issue(path) == issue


def test_an_issue_that_says_nothing_or_is_not_there_is_refused(tmp_path: Path):
    (tmp_path / "empty.md").write_text(" \n")
    with pytest.raises(ConfigError, match="says nothing"):
        load_issue(tmp_path / "empty.md")
    with pytest.raises(ConfigError, match=r"cannot read .*none.md"):
        load_issue(tmp_path / "none.md")
    (tmp_path / "latin.md").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_issue(tmp_path / "latin.md")
    (tmp_path / "front.md").write_text("---\npriority: high\n---\nbody")
    with pytest.raises(ConfigError, match=r"front matter: .*unknown field `priority`"):
        load_issue(tmp_path / "front.md")


def test_a_design_is_read_whole_or_by_its_fields(tmp_path: Path):
    (tmp_path / "d.md").write_text("# D\nall of it")
    (tmp_path / "d.yaml").write_text("goal: g\ntech_stack: [a, b]\n")
    assert load_design(tmp_path / "d.md") == Design(title="D", architecture="all of it")
    assert load_design(tmp_path / "d.yaml") == Design(goal="g", tech_stack=("a", "b"))
