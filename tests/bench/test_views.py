"""What a developer sees does not grow with the plan."""

from __future__ import annotations

from pathlib import Path

from bench.views import sizes


def test_the_view_of_a_task_is_as_large_in_the_middle_of_a_plan_as_at_its_beginning(tmp_path: Path) -> None:
    rows = sizes(tmp_path, 6)
    first, *_, last = rows
    assert {seen for _, seen, _ in rows} == {first[1]}
    assert last[2] > 4 * first[2] > 4 * 1_000
