"""The sample session: believable, valid, and the same every time."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from foveate.sample import SYSTEM, coding_session, tools
from foveate.sample.generate import record

Message = dict[str, object]

DIGEST = """
import hashlib, json
from foveate.sample import coding_session
print(hashlib.sha256(json.dumps(coding_session()).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def session() -> list[Message]:
    return coding_session()


def calls(message: Message) -> list[tuple[str, str, dict[str, object]]]:
    """Id, tool and arguments of each call in a message."""
    found = []
    for call in cast("list[Message]", message.get("tool_calls", [])):
        function = cast("dict[str, str]", call["function"])
        found.append((str(call["id"]), function["name"], json.loads(function["arguments"])))
    return found


def results(messages: list[Message]) -> list[tuple[str, dict[str, object], str]]:
    """Tool, arguments and result of every call, in the order of the calls."""
    texts = {m["tool_call_id"]: str(m["content"]) for m in messages if m["role"] == "tool"}
    return [(name, arguments, texts[call_id]) for message in messages for call_id, name, arguments in calls(message)]


def text(message: Message) -> str:
    return str(message["content"] or "")


def size(messages: list[Message]) -> int:
    """Tokens, at four characters each."""
    arguments = sum(len(json.dumps(a)) for m in messages for _, _, a in calls(m))
    return (sum(len(text(message)) for message in messages) + arguments) // 4


def test_same_arguments_give_the_same_bytes() -> None:
    assert json.dumps(coding_session()) == json.dumps(coding_session())
    assert json.dumps(coding_session(seed=8)) != json.dumps(coding_session())


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_another_process_gives_the_same_bytes(hash_seed: str, session: list[Message]) -> None:
    """Nothing depends on the order of a set or on the hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == hashlib.sha256(json.dumps(session).encode()).hexdigest()


def test_a_longer_session_begins_with_the_shorter_one(session: list[Message]) -> None:
    """All but the closing question, so that a cached prefix can be followed as it grows."""
    assert coding_session(turns=8)[: len(session) - 1] == session[:-1]


def test_the_default_is_some_400_messages_of_60_to_100_thousand_tokens(
    session: list[Message],
) -> None:
    assert 380 <= len(session) <= 450
    assert 60_000 <= size(session) <= 100_000


def test_turns_scale_to_thousands_of_messages() -> None:
    long = coding_session(turns=60)
    ids = [call_id for message in long for call_id, _, _ in calls(message)]
    assert len(long) > 2_500
    assert len(ids) == len(set(ids))


def test_a_session_without_turns_is_an_error() -> None:
    with pytest.raises(ValueError, match="`turns` must be 1 or more"):
        coding_session(turns=0)


@pytest.mark.parametrize("turns", [1, 2, 6, 9])
def test_every_call_is_answered_at_once_and_in_order(turns: int) -> None:
    messages = coding_session(turns=turns)
    open_ids: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_ids.pop(0)
        else:
            assert open_ids == []
            open_ids = [call_id for call_id, _, _ in calls(message)]
    assert open_ids == []


@pytest.mark.parametrize("turns", [1, 3, 6, 7])
def test_system_comes_first_and_the_model_is_due(turns: int) -> None:
    messages = coding_session(turns=turns)
    assert messages[0] == {"role": "system", "content": SYSTEM}
    assert messages[-1]["role"] == "user"
    assert [message["role"] for message in messages].count("system") == 1


def test_calls_use_the_declared_tools_as_declared(session: list[Message]) -> None:
    declared = {}
    for tool in tools():
        function = cast("Message", tool["function"])
        declared[function["name"]] = cast("Message", function["parameters"])
    for name, arguments, _ in results(session):
        parameters = declared[name]
        assert set(arguments) <= set(cast("Message", parameters["properties"]))
        assert set(arguments) >= set(cast("list[str]", parameters["required"]))
    assert {name for name, _, _ in results(session)} == set(declared)


def test_reads_show_exactly_what_was_written(session: list[Message]) -> None:
    """Replaying writes and edits over what was first read gives every later whole read."""
    files: dict[str, str] = {}
    checked = 0
    for name, arguments, result in results(session):
        path = str(arguments.get("path"))
        if result.startswith("Error"):
            continue
        if name == "write_file":
            files[path] = str(arguments["content"])
        elif name == "edit_file" and path in files:
            old, new = str(arguments["old_text"]), str(arguments["new_text"])
            assert files[path].count(old) == 1
            files[path] = files[path].replace(old, new)
        elif name == "read_file" and "offset" not in arguments:
            content = "".join(line.split("\t", 1)[1] + "\n" for line in result.splitlines())
            checked += path in files
            assert files.setdefault(path, content) == content
    assert checked >= 12


def test_house_rules_are_stated_once_and_early(session: list[Message]) -> None:
    rules = text(session[1])
    assert "Never touch the migrations folder" in rules
    assert "integer cents, never floats" in rules


def test_house_rules_are_kept() -> None:
    """The agent reads migrations but never writes there, in however long a session."""
    for name, arguments, _ in results(coding_session(turns=12)):
        if name in {"edit_file", "write_file"}:
            assert not str(arguments["path"]).startswith("migrations/")


def test_the_breaking_commit_is_seen_early_and_used_late(session: list[Message]) -> None:
    seen = [index for index, message in enumerate(session) if "a41f9c27" in text(message)]
    used = next(
        index
        for index, message in enumerate(session)
        for _, _, arguments in calls(message)
        if arguments.get("command") == "git show a41f9c27"
    )
    assert seen[0] < 10
    assert used - seen[0] > 200
    assert "the commit that broke the invoice rounding" in text(session[-1])
    assert "a41f9c27" not in text(session[-1])


@pytest.mark.parametrize(
    ("fact", "first_tool_result"),
    [
        ("54329", "harbor"),
        ("8725-03", "refund_account"),
        ("reservation_ttl_seconds = 900", "[inventory]"),
        ("pay_7Hq2mXcv", "ORD-20931"),
        ("70d2a9e6", "Release 1.7.3"),
    ],
)
def test_facts_come_from_a_tool_and_return_later(fact: str, first_tool_result: str, session: list[Message]) -> None:
    found = [m for m in session if fact in text(m) or fact in json.dumps(m.get("tool_calls", ""))]
    assert found[0]["role"] == "tool"
    assert first_tool_result in text(found[0])
    assert "assistant" in [message["role"] for message in found[1:]]


def test_mistakes_are_part_of_it(session: list[Message]) -> None:
    texts = [result for _, _, result in results(session)]
    assert sum("old text not found" in result for result in texts) == 2
    assert sum("old text occurs" in result for result in texts) == 2
    assert sum(result.startswith("Permission denied") for result in texts) == 1
    assert sum(result.endswith("[exit code: 1]") for result in texts) >= 10


def test_two_attempts_fail_before_the_third_works(session: list[Message]) -> None:
    tries = [
        result
        for name, arguments, result in results(session)
        if name == "bash" and "render_template" in str(arguments["command"])
    ]
    assert [result.endswith("[exit code: 1]") for result in tries] == [True, True, False]


def test_one_error_stays_unresolved(session: list[Message]) -> None:
    """`make openapi` fails and is not run again."""
    (result,) = [result for _, arguments, result in results(session) if arguments.get("command") == "make openapi"]
    assert "No module named 'yaml'" in result
    assert result.endswith("[exit code: 2]")


def test_there_is_one_huge_output(session: list[Message]) -> None:
    sizes = sorted(len(result) // 4 for _, _, result in results(session))
    assert 5_000 <= sizes[-1] <= 7_500
    assert sizes[-2] < 2_500


def test_some_of_it_is_chinese(session: list[Message]) -> None:
    chinese = [m["role"] for m in session if "安全库存" in text(m)]
    assert {"user", "assistant", "tool"} <= set(chinese)


def test_some_calls_are_parallel(session: list[Message]) -> None:
    batches = [len(calls(message)) for message in session if len(calls(message)) > 1]
    assert len(batches) >= 3
    assert max(batches) == 3


def test_generation_is_quick() -> None:
    coding_session(turns=1)
    started = time.perf_counter()
    coding_session()
    # About 50 ms; the margin is for a busy machine.
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize("turns", [6, 9])
def test_the_invented_project_passes_its_own_tests(turns: int, tmp_path: Path) -> None:
    """The agent says that the suite is green, and it is."""
    for path, content in record(turns, seed=7).workspace.files.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
