"""A repository on the map of a project: found by what it defines, refreshed, and nothing of others taken away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from foveate.errors import ConfigError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.charting import chart
from foveate.knowledge.models import ContextTask, MapEntry
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
