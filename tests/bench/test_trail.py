"""The trail: what a session changed, what is still wrong, what was last said."""

from typing import Any

import pytest
from bench.trail import Trail, shows, unchanged

from foveate.lab.chat import Chat, call


def trail_of(*chats: Chat) -> Trail:
    trail = Trail()
    for chat in chats:
        trail.append(chat)
    return trail


def acting(number: int, tool: str, arguments: str, result: str) -> list[Chat]:
    return [
        {"role": "assistant", "content": "", "tool_calls": [call(f"c{number}", tool, arguments)]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def user(text: str) -> Chat:
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("tool", "arguments", "changes"),
    [
        ("edit_file", '{"path": "src/a.py", "old": "x"}', {"src/a.py"}),
        ("bash", '{"command": "echo 1 > out/b.txt"}', {"out/b.txt"}),
        ("bash", '{"command": "sed -i s/a/b/ src/c.py"}', {"src/c.py", "s/a/b"}),
        ("read_file", '{"path": "src/a.py"}', set()),
        ("bash", '{"command": "cat src/a.py 2>&1"}', set()),
    ],
)
def test_a_file_is_modified_if_a_changing_call_names_it(tool: str, arguments: str, changes: set[str]) -> None:
    assert trail_of(*acting(1, tool, arguments, "ok")).modified == changes


def test_an_error_is_open_until_the_same_succeeds() -> None:
    failed = acting(1, "bash", '{"command": "pytest tests/a.py"}', "E  KeyError: 'x'\n1 failed")
    other = acting(2, "bash", '{"command": "ls src/b"}', "b.py")
    fixed = acting(3, "bash", '{"command": "pytest tests/a.py"}', "2 passed")

    assert [error.lines for error in trail_of(*failed, *other).open_errors()] == [("E  KeyError: 'x'",)]
    assert trail_of(*failed, *other, *fixed).open_errors() == []


def test_an_error_that_nobody_came_back_to_is_forgotten() -> None:
    failed = acting(1, "bash", '{"command": "make"}', "error: no rule")
    later: list[Chat] = [chat for n in range(2, 30) for chat in acting(n, "bash", f'{{"command": "ls d{n}"}}', "x")]

    assert trail_of(*failed, *later).open_errors() == []


def test_a_bare_exit_code_tells_nothing() -> None:
    assert trail_of(*acting(1, "bash", '{"command": "false"}', "<returncode>1</returncode>")).open_errors() == []


def test_an_error_is_shown_by_one_of_its_lines() -> None:
    errors = trail_of(*acting(1, "bash", '{"command": "make"}', "fatal: no rule for all\nerror: stopped")).open_errors()

    assert shows(errors, [user("earlier: error: stopped")]) == 1
    assert shows(errors, [user("something failed")]) == 0
    assert shows(errors, [errors[0].message]) == 1


def test_the_last_three_exchanges_are_responses_with_results_or_messages_of_users() -> None:
    first, second = acting(1, "ls", "{}", "a"), acting(2, "ls", "{}", "b")
    trail = trail_of(user("go"), *first, *second, user("and now?"))

    assert trail.recent() == [*first, *second, user("and now?")]


def test_other_ids_do_not_make_a_message_another() -> None:
    said = acting(1, "ls", "{}", "a")
    again = acting(9, "ls", "{}", "a")

    assert unchanged(said, [user("go"), *again])
    assert not unchanged(said, [user("go"), again[0], {**again[1], "content": "[cleared]"}])


def test_a_result_without_a_call_is_no_error_of_anybody() -> None:
    orphan: dict[str, Any] = {"role": "tool", "tool_call_id": "gone", "content": "error: x"}
    assert trail_of(user("go"), orphan).open_errors() == []
    assert trail_of(orphan).recent() == [orphan]
