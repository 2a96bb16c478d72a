"""The map and the journal: entries by location, tasks by id, and what stands in their way."""

from __future__ import annotations

import pytest

from foveate.errors import ConfigError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import ContextTask, Handoff, JournalTask, MapEntry
from foveate.knowledge.signals import extract_signals
from foveate.knowledge.sources import ProjectSource
from foveate.recall.stems import stem
from tests.knowledge import projects

knowledge = projects.knowledge


def entry(location: str, component: str = "part", notes: str = "") -> MapEntry:
    return MapEntry(component=component, location=location, notes=notes)


def locations(entries: list[MapEntry]) -> list[str]:
    return [one.location for one in entries]


def test_an_entry_takes_the_place_of_the_one_at_its_location(knowledge: Knowledge) -> None:
    """And is found by its new words only."""
    knowledge.put_entry(entry("src/a.py", "users", "reads users"))
    knowledge.put_entry(entry("src/b.py", "orders"))
    knowledge.put_entry(entry("src/a.py", "accounts", "reads accounts"))

    assert knowledge.entries() == [entry("src/a.py", "accounts", "reads accounts"), entry("src/b.py", "orders")]
    assert knowledge.map_candidates(["user"]) == []
    assert locations(knowledge.map_candidates(["accounting", "account"])) == ["src/a.py"]


def test_entries_go_by_whole_parts_of_a_path(knowledge: Knowledge) -> None:
    """Lines and files under it go too; what only begins alike, or in another case, stays."""
    paths = [
        "src/api",
        "src/api/users.py",
        "src/api:1-9",
        "src/apis.py",
        "SRC/api/x.py",
        "src/a%i/x.py",
        "src/a_i/y.py",
    ]
    knowledge.put_entries(map(entry, paths))

    assert knowledge.remove_entries("src/api") == 3
    assert locations(knowledge.entries()) == paths[3:]
    assert knowledge.remove_entries("src/a%i/") == 1
    assert knowledge.map_candidates(["users"]) == []
    assert knowledge.remove_entries("nowhere") == 0
    assert knowledge.remove_entries("") == 3
    assert knowledge.entries() == []


def test_candidates_share_a_word_and_the_rarest_come_first(knowledge: Knowledge) -> None:
    """Of a large map not all is read, and what has a rare word is among it all the same."""
    knowledge.put_entries(entry(f"src/module{number}/file.py") for number in range(3_000))
    knowledge.put_entry(entry("src/billing/invoice.py", "billing invoice", "VAT"))
    knowledge.put_entries(entry(f"src/late{number}/file.py") for number in range(1_500))

    found = knowledge.map_candidates(["src", "file", "invoices", "billing"])
    assert found[0].location == "src/billing/invoice.py"
    assert len(found) <= 500
    assert locations(knowledge.map_candidates(["vat"])) == ["src/billing/invoice.py"]
    assert len(knowledge.map_candidates(["src"], limit=3)) == 3
    assert knowledge.map_candidates([]) == knowledge.map_candidates(["nothing-like-it", ""]) == []
    with pytest.raises(ConfigError, match="`limit`"):
        knowledge.map_candidates(["a"], limit=0)


def test_an_entry_is_found_by_what_its_file_defines(knowledge: Knowledge) -> None:
    """Until it defines something else; who writes a note about it does not know, and takes nothing away."""
    knowledge.put_entries([entry("src/a.py"), entry("src/b.py")], definitions={"src/a.py": ("parseInvoice", "Money")})
    knowledge.put_entry(entry("src/a.py", notes="was changed"))

    near = knowledge.map_near(["invoice"])
    assert locations(near.entries) == ["src/a.py"]
    assert {stem("invoice"), stem("money")} <= near.files[0].symbols
    assert stem("changed") not in near.files[0].symbols
    assert (near.counts, near.total) == ({stem("invoice"): 1}, 2)
    knowledge.put_entries([entry("src/a.py")], definitions={"src/a.py": ("refund",)})
    assert knowledge.map_candidates(["invoice"]) == []
    assert knowledge.remove_entries("src/a.py") == 1
    assert knowledge.map_candidates(["refund"]) == []


def test_a_word_is_as_rare_as_it_is_on_the_whole_map(knowledge: Knowledge) -> None:
    """Of a common word only the newest entries are looked at; that does not make it rare."""
    knowledge.put_entries(entry(f"src/{number}.py", "service") for number in range(1_200))
    knowledge.put_entry(entry("src/refund.py", "refund"))
    knowledge.put_entries(entry(f"late/{number}.py", "service") for number in range(300))

    found = ProjectSource(knowledge=knowledge).code(extract_signals(ContextTask(objective="service for a refund")))
    (first, best), (_, second) = found.ranked[:2]
    assert first.location == "src/refund.py" and found.total == 1_501
    assert second < best / 10


def test_stems_are_looked_for_as_they_are(knowledge: Knowledge) -> None:
    """Who has stems already, such as "pars" of parsing, finds as much as who has words."""
    knowledge.put_entry(entry("a.py", "parser of orders"))

    assert (
        locations(knowledge.map_candidates(["parser"]))
        == locations(knowledge.map_candidates(["parser", "order"]))
        == ["a.py"]
    )


def test_an_entry_without_a_place_is_refused(knowledge: Knowledge) -> None:
    for location in (" ", "x" * 501):
        with pytest.raises(ConfigError, match=r"`location` must have 1 to 500 characters"):
            knowledge.put_entries([entry("good.py"), entry(location)])
    assert knowledge.entries() == []


def test_a_task_takes_the_place_of_the_one_with_its_id(knowledge: Knowledge) -> None:
    first = JournalTask(id="t1", name="Users", status="in_progress", dependencies=("t0", "t0"), tags=("API",))
    knowledge.put_task(first)
    knowledge.put_task(JournalTask(id="t2"))
    knowledge.put_task(
        JournalTask(id="t1", name="Users", status="completed", summary="done", handoff=Handoff(outcome="completed"))
    )

    assert [(task.id, task.status) for task in knowledge.tasks()] == [("t1", "completed"), ("t2", "pending")]
    assert knowledge.task("t1").handoff == Handoff(outcome="completed")
    assert knowledge.task("nobody") is None
    with pytest.raises(ConfigError, match="task 'x': `status`"):
        knowledge.put_task(JournalTask(id="x", status="done"))


def code(knowledge: Knowledge, objective: str) -> list[str]:
    task = ContextTask(objective=objective)
    return [one.location for one, _ in ProjectSource(knowledge=knowledge).code(extract_signals(task)).ranked]


def test_a_file_that_a_task_names_is_found_on_a_map_of_common_words(knowledge: Knowledge) -> None:
    """Of a word that thousands of entries have only the newest were looked at, and what is named was among none."""
    named = [
        entry("src/order_service.py", "order service"),
        entry("src/api/order/service.py:10-42", "order service"),
        entry("web/Order service.ts", "order service"),
    ]
    knowledge.put_entries(named)
    knowledge.put_entries(entry(f"src/order/service/api/part{n}.py", "order service api") for n in range(4_000))

    for said, location in {
        "the order service api in src/order_service.py": "src/order_service.py",
        "the order service api in order_service.py": "src/order_service.py",
        "the order service api in /home/me/shop/src/order_service.py": "src/order_service.py",
        "the order service api in src/api/order/service.py": "src/api/order/service.py:10-42",
        "the order service api in order/service.py": "src/api/order/service.py:10-42",
        "all of src/api": "src/api/order/service.py:10-42",
        'the order service api in "Order service.ts"': "web/Order service.ts",
    }.items():
        assert code(knowledge, said)[:1] == [location], said


def test_names_with_signs_are_looked_up_as_they_are(knowledge: Knowledge) -> None:
    """No sign of them means any other, and what begins alike is another file."""
    knowledge.put_entries(map(entry, ["a_b.py", "axb.py", "src/a_b.pyi", "src/a_b.py/x", "A_B.py"]))
    assert locations(knowledge.map_near((), files=["a_b.py", "", "/", "%"]).entries)[:1] == ["a_b.py"]
    assert locations(knowledge.map_near((), files=["./src/a_b.py"]).entries)[:1] == ["src/a_b.py/x"]
    assert locations(knowledge.map_near((), files=["x"], limit=1).entries) == ["src/a_b.py/x"]
