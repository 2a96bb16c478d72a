"""Computed context as JSON: the names and shapes that other tools read, and what 0.1 wrote read as before."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foveate.errors import ConfigError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.compute import ComputedContext
from foveate.knowledge.context_data import context_data, context_from_data, is_context_data
from foveate.knowledge.debugging import debug_printer
from foveate.knowledge.handoff_text import first_sentence, told_in
from foveate.knowledge.models import ContextTask, FileForNext, Gotcha, Handoff, JournalTask, MapEntry, Node, Question
from foveate.knowledge.render import rendered
from foveate.knowledge.signals import extract_signals
from foveate.knowledge.sources import context_of
from foveate.store import Store
from foveate.work.models import Issue, Task
from foveate.workflow.learning import Learning

TASK = ContextTask(id="T2", objective="List invoices of the billing api", dependencies=("T1", "T9"))


@pytest.fixture
def knowledge(tmp_path: Path) -> Any:
    with Store(tmp_path / "k.db") as store:
        known = Knowledge(store, "shop")
        known.add(Node(id="p1", type="pattern", summary="Amounts are cents", tags=("billing",), file="money.py"))
        known.add(Node(id="g1", type="gotcha", summary="Nulls sort last", tags=("billing",), rationale="order by id"))
        known.add(Node(id="d1", type="decision", summary="Cursors", tags=("api",), rationale="pages shift"))
        known.put_entries([MapEntry(component="Billing", location="billing.py", notes="invoices")])
        handoff = Handoff(
            outcome="completed",
            gotchas=(Gotcha(issue="The cache is shared", severity="high"),),
            dependencies_for_next=(FileForNext(file="orders.py", reason="has the query"),),
            open_questions=(Question(question="Which currency?", blocking=True),),
        )
        known.ingest(JournalTask(id="T1", name="Orders", summary="Read in pages."), handoff, today="2026-01-01")
        yield known


def test_names_and_shapes_are_those_of_the_format(knowledge: Knowledge) -> None:
    data = context_data(context_of(TASK, knowledge, today="2026-01-02"))
    (pattern,), (decision,) = data["patterns_to_follow"], data["relevant_decisions"]
    assert (pattern["pattern"], pattern["location"]) == ("Amounts are cents", "money.py")
    assert pattern["relevance"] > 0
    assert data["warnings"][0].items() >= {"issue": "Nulls sort last", "severity": "medium"}.items()
    assert (decision["decision"], decision["rationale"]) == ("Cursors", "pages shift")
    (prior,) = data["prior_work"]
    assert prior.items() >= {"task": "Orders", "summary": "Read in pages."}.items()
    assert prior["files_created"] == [{"file": "orders.py", "reason": "has the query"}]
    assert data["inherited_warnings"][0].items() >= {"issue": "The cache is shared", "severity": "high"}.items()
    assert data["blocking_questions"] == [{"question": "Which currency?", "context": "", "recommendation": ""}]
    assert data["code_references"][0].items() >= {"file": "billing.py", "component": "Billing"}.items()
    computed = data["_computed"]
    assert {"signals", "knowledge_nodes_matched", "dependency_count", "context_map_filtered"} <= set(computed)
    assert set(computed["signals"]) == {"keywords", "domains", "files_mentioned", "task_types"}
    assert (computed["dependency_count"], computed["context_map_filtered"]) == (1, len(data["code_references"]))


def test_what_was_written_is_read_again_as_it_was(knowledge: Knowledge) -> None:
    context = context_of(TASK, knowledge, today="2026-01-02")
    # Of a related task only the id is passed on.
    context = replace(context, related_tasks=())
    data = json.loads(json.dumps(context_data(context)))
    assert is_context_data(data)
    assert rendered(context_from_data(data, name="x")) == rendered(context)


def test_the_names_of_version_0_1_are_read_too(knowledge: Knowledge) -> None:
    context = context_of(TASK, knowledge, today="2026-01-02")
    old = msgspec.to_builtins(context)
    old["_computed"] = old.pop("computed")
    del old["relevance"]
    assert "patterns" in old
    read = context_from_data(json.loads(json.dumps(old)), name="x")
    assert isinstance(read, ComputedContext)
    assert rendered(read) == rendered(context)
    with pytest.raises(ConfigError, match="is no computed context"):
        context_from_data({"_computed": 1}, name="x")


WRITTEN: dict[str, Any] = {
    "patterns_to_follow": [{"pattern": "p", "relevance": 0.5, "id": "a"}],
    "warnings": [{"issue": "w", "severity": "high"}],
    "code_references": [{"file": "a.py", "component": None}],
    "prior_work": [{"task": "T1"}],
    "_computed": {"signals": {"keywords": []}},
}


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (("patterns_to_follow", 0, "relevance"), "high", "got `str` - at `$.patterns_to_follow[0].relevance`"),
        (("patterns_to_follow", 0, "id"), 7, "got `int` - at `$.patterns_to_follow[0].id`"),
        (("patterns_to_follow", 0), {}, "missing required field `pattern` - at `$.patterns_to_follow[0]`"),
        (("warnings", 0, "severity"), "grave", "at `$.warnings[0].severity`; known are high, low, medium"),
        (("code_references", 0, "file"), 5, "got `int` - at `$.code_references[0].file`"),
        (("code_references", 0, "notes"), {"a": 1}, "got `object` - at `$.code_references[0].notes`"),
        (("prior_work", 0, "task"), 5, "got `int` - at `$.prior_work[0].task`"),
        (("related_tasks",), [{"a": 1}], "got `object` - at `$.related_tasks[0]`"),
        (("left_out",), {"warnings": "x"}, "Expected `int`, got `str` - at `$.left_out[...]`"),
        (("left_out_at_least",), "abc", "Expected `array`, got `str` - at `$.left_out_at_least`"),
        (("incomplete_dependencies",), [{"task": 1}], "got `int` - at `$.incomplete_dependencies[0].task`"),
        (("_computed", "top_relevance"), "x", "got `str` - at `$._computed.top_relevance`"),
        (("_computed", "knowledge_nodes_matched"), -1, "at `$._computed.knowledge_nodes_matched`"),
        (("_computed", "dependencies"), [1], "got `int` - at `$._computed.dependencies[0]`"),
        (("_computed",), [], "Expected `object`, got `array` - at `$._computed`"),
    ],
)
def test_what_is_wrong_with_a_computed_context_is_named(place: tuple[Any, ...], value: Any, problem: str) -> None:
    """By its file, its field and what the field may be; lists and fields that another tool leaves out are empty."""
    given = json.loads(json.dumps(WRITTEN))
    assert rendered(context_from_data(given, name="c.json"))
    inner = given
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(ConfigError, match=rf"^c\.json: .* is no computed context: .*{re.escape(problem)}"):
        context_from_data(given, name="c.json")


@pytest.mark.parametrize(
    ("type", "taken"), [("Pattern", "pattern"), (" GOTCHA ", "gotcha"), (None, "insight"), ("", "insight")]
)
def test_the_type_of_a_node_is_read_as_people_write_it(type: str | None, taken: str, knowledge: Knowledge) -> None:
    """In capitals too; one that says nothing is generic, with a note, and refuses no file."""
    notes: list[str] = []
    assert knowledge.import_graph({"nodes": [{"id": "s1", "type": type, "summary": "Retry twice"}]}, notes.append) == 1
    assert (knowledge.node("s1").type, knowledge.node("s1").tags) == (taken, ())
    assert notes == ([] if type else ["nodes[0] 's1': `type` is empty; taken in as 'insight'"])


def test_a_node_of_an_unknown_type_is_taken_in_as_a_generic_one_with_a_note(knowledge: Knowledge) -> None:
    """One odd node is no reason to refuse the file; its type is a tag, so that it is found by it."""
    node = {"id": "s1", "type": "strategy", "tags": ["retries"], "summary": "Retry twice", "created": "2026-01-01"}
    notes: list[str] = []
    plain = {**node, "id": "s2", "type": "pattern"}
    assert knowledge.import_graph({"version": 1, "nodes": [node, plain]}, notes.append) == 2
    (note,) = notes
    assert "nodes[0] 's1': `type` 'strategy' is not one of task, decision, pattern, gotcha, insight" in note
    assert (knowledge.node("s1").type, knowledge.node("s1").tags) == ("insight", ("retries", "strategy"))
    with pytest.raises(ConfigError, match="type"):
        knowledge.import_graph({"nodes": [{**node, "type": 7}]})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# Task\n\nRound half up. Then test it.", "Round half up."),
        ("# Task T1: x\n\n## Metadata\n- **Status:** open\n\n## Objective\nRound half up.", "Round half up."),
        ("---\nid: 7\n---\n# Task\n```py\ncode.\n```\nRound it", "Round it"),
        ("# Task\n\n- Round half up.\n- Test.", "Round half up."),
        ("# Round half up", "Round half up"),
        ("# Task\n## Round half up", "Round half up"),
        ("Task\n====\n\nRound half up. Test.", "Round half up."),
        ("Task\n---\nRound half up", "Round half up"),
        ("**Task**\n\nRound half up. Test.", "Round half up."),
        ("<!-- by hand -->\n# Task\nRound half up.", "Round half up."),
        ("<!-- a\nb. -->Round half up.", "Round half up."),
        ("1. Round e.g. 0.5 up. Test.\n2. Test.", "Round e.g. 0.5 up."),
        ("- [ ] Round half up. Test.", "Round half up."),
        ("> They said so.\n\nRound half up.", "Round half up."),
        ("![a](b.png)\n\nRound half up.", "Round half up."),
        ("---\r\nid: 7\r\n---\r\n# Task\r\nRound it", "Round it"),
        ("+++\nid = 7\n+++\nRound it", "Round it"),
        ("---\n---\nRound it", "Round it"),
        ("Round half up. More.", "Round half up."),
        ("# Task", "Task"),
    ],
)
def test_the_first_sentence_of_a_markdown_task_is_no_heading(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_a_markdown_task_has_its_first_sentence_for_name_and_summary(knowledge: Knowledge) -> None:
    text = "# Task\n\n## Objective\nRound half up. Then test.\n\n## Handoff\n```yaml\noutcome: completed\n```\n"
    assert told_in(text) == ("Round half up.", "Round half up.")
    learning = Learning(knowledge=knowledge, run="r")
    learning.hand_over(Task(id="T", description="# Task\n\nRound half up.\nMore."), "Done.", {})
    journal = knowledge.task("r:T")
    assert journal is not None
    assert journal.name == "Round half up."


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("Fix src/billing/refunds.py", ("fix", "billing", "refunds")),
        ("all .py files below src", ("files",)),
        ("for py files and TSX views", ("files", "views")),
        ("GraphQL and SQL in Swift", ("graphql", "graph", "ql", "sql", "swift")),
        (r"edit lib\money\cents.rs", ("edit", "money", "cents")),
        ("read README.md and tests/x.test.ts", ("read", "readme", "x.test", "test")),
    ],
)
def test_endings_and_folders_that_every_project_has_are_no_keywords(text: str, keywords: tuple[str, ...]) -> None:
    assert extract_signals(ContextTask(objective=text)).keywords == keywords


def test_debug_context_works_in_runs(knowledge: Knowledge, capsys: pytest.CaptureFixture[str]) -> None:
    """Not only for the command that prints a context: what a run computes can be looked into, too."""
    learning = Learning(knowledge=knowledge, run="r", on_debug=debug_printer({"DEBUG_CONTEXT": "true"}))
    learning.for_issue(Issue(title="Billing api"))
    learning.for_task(Task(id="T", description="List invoices"))
    said = capsys.readouterr().err
    assert said.count("## Context Debug") == 2
    assert "context of r:T" in said and "- Keywords: [list, invoices]" in said
    assert debug_printer({}) is None and debug_printer({"DEBUG_CONTEXT": "false"}) is None
    for value in ("1", "TRUE", " yes ", "on"):
        assert debug_printer({"DEBUG_CONTEXT": value}) is not None
    capsys.readouterr()
    assert debug_printer({"DEBUG_CONTEXT": "perhaps"}) is None, "no run fails for want of a report"
    assert capsys.readouterr().err == "DEBUG_CONTEXT is 'perhaps', which is ignored; set it to true or false\n"
