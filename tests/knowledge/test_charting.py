"""A repository on the map of a project: found by what it defines, refreshed, and nothing of others taken away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from foveate.errors import ConfigError
from foveate.knowledge import places
from foveate.knowledge.base import Knowledge
from foveate.knowledge.charting import chart
from foveate.knowledge.models import ContextTask, FileModified, Handoff, JournalTask, MapEntry
from foveate.knowledge.sources import context_of
from foveate.store import Store


@pytest.fixture
def knowledge(tmp_path: Path) -> Iterator[Knowledge]:
    with Store(tmp_path / "store" / "context.db") as store:
        yield Knowledge(store, "shop")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    many = "".join(f"def helper_number_{number}():\n    pass\n\n\n" for number in range(60))
    (folder / "tools.py").write_text(f"{many}def round_half_even(x):\n    return x\n")
    (folder / "shop.py").write_text("def sell():\n    pass\n")
    return folder


def told(knowledge: Knowledge, objective: str) -> list[str]:
    context = context_of(ContextTask(objective=objective), knowledge)
    return [entry.location for entry in context.code_references]


def test_a_file_is_found_by_a_definition_that_its_notes_have_no_room_for(knowledge: Knowledge, repo: Path) -> None:
    made = chart(knowledge, repo)
    assert made.parsed == 2
    assert all("round_half_even" not in entry.notes for entry in knowledge.entries())
    assert told(knowledge, "Rounding half to even is wrong") == ["tools.py"]


def test_a_refresh_reads_what_changed_and_leaves_what_others_wrote(knowledge: Knowledge, repo: Path) -> None:
    """What is gone from the folder goes from the map; what a handoff put there stays."""
    chart(knowledge, repo)
    knowledge.put_entry(MapEntry(component="elsewhere", location="docs/refund.md", notes="how refunds are made"))
    (repo / "tools.py").unlink()
    (repo / "shop.py").write_text("def refund():\n    pass\n")

    made = chart(knowledge, repo)
    assert made.parsed == 1 and chart(knowledge, repo).parsed == 0
    assert sorted(entry.location for entry in knowledge.entries()) == ["docs/refund.md", "shop.py"]
    assert sorted(told(knowledge, "refunds")) == ["docs/refund.md", "shop.py"]
    assert told(knowledge, "round half even") == []


def test_what_was_kept_and_is_damaged_is_read_again(knowledge: Knowledge, repo: Path) -> None:
    chart(knowledge, repo)
    (kept,) = (knowledge.store.file.parent / "maps").iterdir()
    kept.write_bytes(b"\xff broken")
    assert chart(knowledge, repo).parsed == 2


def test_names_that_no_map_can_have_do_not_cost_the_others(knowledge: Knowledge, repo: Path) -> None:
    deep = repo
    for _ in range(6):
        deep = deep / ("d" * 100)
        deep.mkdir()
    (deep / "far.py").write_text("x = 1\n")
    (repo / " ").write_text("blank\n")

    assert chart(knowledge, repo).left_out == {"unprintable name": 1, "too long name": 1}
    assert len(knowledge.entries()) == 2


def test_no_folder_is_refused(knowledge: Knowledge, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'.*nowhere' is no folder; name a repository"):
        chart(knowledge, tmp_path / "nowhere")


def test_notes_of_tasks_and_of_files_are_kept_beside_each_other(knowledge: Knowledge, repo: Path) -> None:
    """In whatever order they come, and again and again; each takes only the place of its own kind."""
    (repo / "shop.py").write_text('"""Sells."""\n')
    task, handed = JournalTask(id="T1"), FileModified(path="shop.py", description="Refunds stand here")
    knowledge.ingest(task, Handoff(outcome="completed", files_modified=(handed,)), today="2026-01-31")
    for _ in range(2):
        chart(knowledge, repo)
        assert notes(knowledge)["shop.py"] == "Refunds stand here. Sells."
    (repo / "shop.py").write_text('"""Buys."""\n')
    chart(knowledge, repo)
    later = FileModified(path="shop.py", description="No refunds any more.")
    knowledge.ingest(JournalTask(id="T2"), Handoff(outcome="completed", files_modified=(later,)), today="2026-02-01")
    assert notes(knowledge)["shop.py"] == "No refunds any more. Buys."
    silent = Handoff(outcome="completed", files_modified=(FileModified(path="shop.py"),))
    knowledge.ingest(JournalTask(id="T3"), silent, today="2026-02-02")
    assert notes(knowledge)["shop.py"] == "No refunds any more. Buys."
    assert told(knowledge, "refunds") == told(knowledge, "buying") == ["shop.py"] and told(knowledge, "sells") == []


def notes(knowledge: Knowledge) -> dict[str, str]:
    return {entry.location: entry.notes for entry in knowledge.entries()}


def test_a_part_of_a_repository_has_the_locations_it_has_in_the_whole(knowledge: Knowledge, repo: Path) -> None:
    """Nothing is on the map twice, what is gone from the part goes, and the rest stays as it was."""
    (repo / ".git").mkdir()
    part = repo / "src" / "billing"
    part.mkdir(parents=True)
    (part / "money.py").write_text("def cents():\n    pass\n\n\ndef euros():\n    pass\n")
    (part / "old.py").write_text("x = 1\n")
    (repo / "shop.py").write_text("from src.billing.money import euros\n\neuros()\n")
    chart(knowledge, repo)
    before = knowledge.entries()
    assert chart(knowledge, part).parsed == 0
    assert knowledge.entries() == before
    (part / "old.py").unlink()
    assert [entry.location for entry in chart(knowledge, part).entries] == ["src/billing/money.py"]
    assert sorted(notes(knowledge)) == ["shop.py", "src/billing/money.py", "tools.py"]
    assert chart(knowledge, repo).parsed == 0


def test_without_a_repository_locations_are_relative_to_the_project(knowledge: Knowledge, repo: Path) -> None:
    (repo / "src").mkdir()
    (repo / "src" / "money.py").write_text("x = 1\n")
    chart(knowledge, repo / "src", within=repo)
    assert list(notes(knowledge)) == ["src/money.py"]
    chart(knowledge, repo, within=repo / "src")
    assert sorted(notes(knowledge)) == ["shop.py", "src/money.py", "tools.py"]


def test_the_files_of_the_store_are_not_on_the_map(repo: Path) -> None:
    """Nor what was found of maps and states of directories; folders of the user with these names are."""
    for name in ("maps/atlas.py", "work/plan-0123456789.git/HEAD", "work/plan-0123456789.lock", "work/mine.py"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("x = 1\n")
    with Store(repo / "context.db") as store:
        knowledge = Knowledge(store, "shop")
        assert chart(knowledge, repo).left_out["of the store"] >= 3
        chart(knowledge, repo)
        assert sorted(notes(knowledge)) == ["maps/atlas.py", "shop.py", "tools.py", "work/mine.py"]


def test_what_is_gone_leaves_the_map_also_if_nothing_is_kept_beside_the_store(knowledge: Knowledge, repo: Path) -> None:
    """The store knows which places came from the repository; what only tasks put there stays."""
    chart(knowledge, repo)
    knowledge.put_entry(MapEntry(component="elsewhere", location="docs/refund.md", notes="how refunds are made"))
    (file,) = (knowledge.store.file or repo).parent.glob("maps/*.msgpack")
    file.unlink()
    (repo / "tools.py").unlink()
    chart(knowledge, repo)
    assert sorted(entry.location for entry in knowledge.entries()) == ["docs/refund.md", "shop.py"]


def test_folders_of_one_project_leave_each_other_alone(knowledge: Knowledge, repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "plants.py").write_text("def grow():\n    pass\n")
    chart(knowledge, repo)
    chart(knowledge, other)
    chart(knowledge, repo)
    assert sorted(entry.location for entry in knowledge.entries()) == ["plants.py", "shop.py", "tools.py"]


def test_a_refresh_that_fails_leaves_the_map_as_it_was(
    knowledge: Knowledge, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is gone goes together with what comes, or not at all."""
    chart(knowledge, repo)
    before = knowledge.entries()
    (repo / "tools.py").unlink()

    def failing(*_given: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(places, "put", failing)
        with pytest.raises(OSError, match="the disk is full"):
            chart(knowledge, repo)
    assert knowledge.entries() == before
