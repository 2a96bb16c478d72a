"""The material: every session once, on one side of the split."""

import json
from pathlib import Path

from bench.material import collected, split_of


def log(turns: int, word: str = "look at src/a.py") -> str:
    messages = [{"role": "user", "content": word}]
    for number in range(turns):
        called = {"id": f"c{number}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [called]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"file {number}"})
    return json.dumps([*messages, {"role": "assistant", "content": "done"}])


def test_a_file_that_is_there_twice_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(log(3))
    (tmp_path / "copy.json").write_text(log(3))
    (tmp_path / "other.json").write_text(log(4))

    found = collected([tmp_path])

    assert (found.files, found.duplicates, len(found.sessions)) == (3, 1, 2)


def test_a_session_that_is_there_twice_in_other_bytes_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(log(3))
    (tmp_path / "spaced.json").write_text(json.dumps(json.loads(log(3)), indent=1))

    found = collected([tmp_path])

    assert (found.duplicates, len(found.sessions)) == (1, 1)


def test_what_cannot_be_read_is_named_and_the_rest_is_taken(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(log(3))
    (tmp_path / "broken.json").write_text(log(3)[:-20])

    found = collected([tmp_path])

    assert len(found.sessions) == 1
    assert [text for text in found.left_out if "broken.json" in text] or found.files == 1


def test_a_session_of_one_call_is_no_material(tmp_path: Path) -> None:
    (tmp_path / "short.json").write_text(log(0))
    assert collected([tmp_path]).sessions == ()


def test_trials_of_one_task_fall_on_one_side() -> None:
    assert len({split_of(f"tau-7/{trial}") for trial in range(8)}) == 1
    assert {split_of(f"task-{number}") for number in range(20)} == {"tune", "report"}


def test_results_do_not_name_the_log(tmp_path: Path) -> None:
    (tmp_path / "secret-project.json").write_text(log(3))
    (session,) = collected([tmp_path]).sessions

    assert "secret" not in session.info.name
    assert session.info.calls == 4


def test_a_limit_takes_from_all_over(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.json").write_text(log(number + 2))
    found = collected([tmp_path])

    assert [len(one.script.calls) for one in found.chosen(limit=3)] == [8, 6, 4]
    assert len(found.chosen("tune")) + len(found.chosen("report")) == 6
