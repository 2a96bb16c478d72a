"""The command line, run as a stranger runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "订单总额是多少？"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "total_cents=4200\n" * 400},
    {"role": "user", "content": "And in euros?"},
]


def run(*arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("foveate")
    return subprocess.run([str(program), *arguments], input=stdin, capture_output=True, text=True, check=False, env=env)


@pytest.fixture
def chat(tmp_path: Path) -> str:
    """A file of messages."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT), encoding="utf-8")
    return str(path)


def test_help_tells_a_stranger_what_to_do() -> None:
    """Each command says what it does and gives an example."""
    assert "what should the model see" in run("--help").stdout
    for command in ("compile", "explain"):
        text = run(command, "--help").stdout
        assert "Example: foveate" in text
        assert "--budget" in text
    assert run("--version").stdout.startswith("foveate 0.")


def test_compile_prints_the_messages_to_send(chat: str) -> None:
    """The default output is what goes to the provider; within the budget, valid, the input kept."""
    messages = json.loads(run("compile", chat, "--budget", "500").stdout)
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "user"]
    assert messages[1]["content"] == "订单总额是多少？"
    assert "reference m3" in messages[3]["content"]
    assert messages[-1]["content"] == "And in euros?"


def test_compile_reads_standard_input_and_prints_numbers() -> None:
    """`-` is standard input; `--to json` adds the record of the call."""
    done = run("compile", "-", "--budget", "900", "--to", "json", stdin=json.dumps(CHAT))
    record: dict[str, Any] = json.loads(done.stdout)
    assert record["tokens"] <= record["budget"] == 900
    assert len(record["payload_sha256"]) == 64
    assert "total_cents=4200" in run("compile", "-", "--to", "text", stdin=json.dumps(CHAT)).stdout


def test_explain_shows_every_message_and_as_json_the_same_record(chat: str) -> None:
    """For people a table, for machines the same as data."""
    table = run("explain", chat, "--budget", "500").stdout
    assert "masked" in table
    assert "verbatim" in table
    record = json.loads(run("explain", chat, "--budget", "500", "--json").stdout)
    assert [fate["id"] for fate in record["fates"]] == ["m1", "m2", "m3", "m4"]
    assert record["used"] == record["framing"] + sum(item["tokens"] for item in record["items"])


def test_the_sample_needs_no_file() -> None:
    """The first command of the README works as it stands, and with every call replayed."""
    assert "429 messages" in run("explain", "--sample", "--budget", "4000").stdout
    replayed = json.loads(run("explain", "--sample", "--budget", "4000", "--replay", "--json").stdout)
    assert replayed["call"] > 150
    assert replayed["used"] <= 4000


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "says"),
    [
        (["compile", "nowhere.json"], "", 1, "cannot read 'nowhere.json'"),
        (["compile", "-"], '[{"role": "user",]', 1, "line 1: not JSON"),
        (["compile", "-"], "", 1, "there is nothing in it"),
        (["compile", "-"], '{"a": 1}', 1, "no known log format"),
        (["compile", "-"], '[{"role": "robot", "content": "x"}]', 1, "unknown `role` 'robot'"),
        (["compile", "-"], '[{"role": "tool", "content": "x"}]', 1, "`tool_call_id` must be"),
        (["compile"], "", 2, "no SOURCE was given"),
        (
            ["compile", "-", "--budget", "3"],
            '[{"role": "user", "content": "hello there, my friend"}]',
            3,
            "`budget` is 3",
        ),
        (["compile", "-", "--policy", "magic", "--budget", "99"], "[]", 2, "unknown `--policy` 'magic'"),
        (["compile", "-", "--model", "no-such-model"], "[]", 2, "no-such-model"),
        (["explain", "--sample", "file.json"], "", 2, "not both"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: list[str], stdin: str, code: int, says: str) -> None:
    """Exit codes mean something: 1 bad input, 2 a wrong call, 3 a budget that cannot be met."""
    done = run(*arguments, stdin=stdin)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_list_is_refused() -> None:
    """Nothing was said, and nothing is made up to send: the error says what to do."""
    done = run("compile", "-", stdin="[]")
    assert done.returncode == 1
    assert "append a user message" in done.stderr
    assert "no messages" in run("explain", "-", stdin="[]").stdout
