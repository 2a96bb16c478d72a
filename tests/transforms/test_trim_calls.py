"""Trim calls: large arguments of old calls become pointers."""

import json

from inline_snapshot import snapshot
from tests.dialogue import call, calls, drafted, exchange, reading, result, session_of, user

from foveate.compile.passes import TrimCalls


def arguments(messages) -> dict[str, str]:
    draft, ctx = drafted(session_of(messages))
    return {
        item.id: item.message.calls[0].arguments for item in TrimCalls()(draft, ctx).items if item.fate == "trimmed"
    }


def test_a_written_file_becomes_a_pointer_and_its_path_stays() -> None:
    """Name, path and outcome are kept; JSON stays JSON."""
    trimmed = arguments(
        [user("go"), *exchange("w", "Write", "ok", file_path="a.py", content="x = 1\n" * 200), *reading(1)]
    )

    assert {id: json.loads(text) for id, text in trimmed.items()} == snapshot(
        {
            "m2": {
                "file_path": "a.py",
                "content": """\
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = 1
x = [… 1200 characters; reference m2]\
""",
            }
        }
    )


def test_short_calls_and_the_tail_stay() -> None:
    """Recency protects."""
    assert (
        arguments(
            [
                user("go"),
                *exchange("s", "Bash", "ok", command="ls"),
                *exchange("w", "Write", "ok", file_path="a", content="x " * 900),
            ]
        )
        == {}
    )


def test_broken_arguments_are_trimmed_into_sound_ones() -> None:
    """Providers that parse them accept the result."""
    broken = {"id": "b", "type": "function", "function": {"name": "Write", "arguments": '{"content": "' + "y " * 900}}
    trimmed = arguments([user("go"), calls(broken), result("b", "Error: bad JSON"), *reading(1)])

    assert list(json.loads(trimmed["m2"])) == ["input"]


def test_only_the_large_one_of_parallel_calls_is_trimmed() -> None:
    """The batch stays one batch."""
    batch = calls(call("s", "Bash", command="ls"), call("w", "Write", file_path="a", content="x " * 900))
    draft, ctx = drafted(session_of([user("go"), batch, result("s", "ok"), result("w", "ok"), *reading(1)]))
    after = TrimCalls()(draft, ctx)

    small, large = after.items[1].message.calls
    assert (small.id, small.arguments) == ("s", '{"command": "ls"}')
    assert (large.id, len(large.arguments) < 300) == ("w", True)
    assert after.tokens < draft.tokens
