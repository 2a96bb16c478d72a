"""Trajectories of mini-swe-agent as they were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from foveate.errors import LogError
from foveate.importers.commands import as_written
from foveate.importers.entries import Usage, model_of, usage_of
from foveate.importers.mini_swe_agent import MINI_SWE_AGENT
from foveate.importers.recording import recordings
from foveate.log.messages import Text
from tests.importers.logs import (
    NEEDS_DATA,
    entries_in,
    flipped,
    is_program,
    log_of,
    mutated,
    openings,
    paired,
    recorded,
    spoken,
    survives,
    truncated,
)

FILES = recorded("mini_swe_agent/*.json")
USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}
RESPONSE = {"id": "gen-1", "model": "m-1", "created": 1763511679, "usage": USAGE}


def says(content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "extra": {"response": RESPONSE}, **fields}


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def trajectory(*messages: dict[str, Any], **fields: Any) -> bytes:
    info = {"exit_status": "Submitted", "mini_version": "1.15.0", "model_stats": {"instance_cost": 0.2, "api_calls": 2}}
    begun = [{"role": "system", "content": "Be quick."}, user("Fix it.")]
    format = {"trajectory_format": "mini-swe-agent-1", "instance_id": "a__a-1.2"}
    return json.dumps({"info": info, "messages": [*begun, *messages], **format, **fields}).encode()


def read(content: bytes) -> list[Any]:
    return list(MINI_SWE_AGENT.read(log_of(content, "a__a-1.2.traj.json")))


@NEEDS_DATA
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_of_a_recorded_trajectory_is_lost(path: Path) -> None:
    """What ran is what the agent itself answered with a return code, or submitted; usage sums are the recorded ones."""
    document = json.loads(path.read_text())
    raws = document["messages"]
    # The agent's own words for a response that ran nothing.
    refused = sum(raw["role"] == "user" and raw["content"].startswith("Please always provide EXACTLY") for raw in raws)
    said = [raw for raw in raws if raw["role"] == "assistant"]
    ran = len(said) - refused

    (found,) = recordings(entries_in(MINI_SWE_AGENT, path))
    assert found.session == document["instance_id"]
    assert found.system == raws[0]["content"]
    messages = found.messages
    assert len(messages) == len(raws) - 1
    assert sum(len(message.calls) for message in messages) == ran
    assert paired(messages) == sum(message.role == "tool" for message in messages) == ran
    assert sum(message.role == "user" for message in messages) == 1 + refused
    assert [as_written(message) for message in messages if message.role == "assistant"] == [
        raw["content"] for raw in said
    ]
    usages = [usage for message in messages if (usage := usage_of(message)) is not None]
    sent = [raw["extra"]["response"]["usage"] for raw in said]
    assert sum(usage.input_tokens for usage in usages) == sum(one["prompt_tokens"] for one in sent)
    assert sum(usage.cached_tokens or 0 for usage in usages) == sum(
        (one.get("prompt_tokens_details") or {}).get("cached_tokens") or 0 for one in sent
    )
    assert [time for time in found.times if time is not None] == [raw["extra"]["response"]["created"] for raw in said]


@NEEDS_DATA
def test_reading_twice_gives_the_same() -> None:
    assert all(entries_in(MINI_SWE_AGENT, path) == entries_in(MINI_SWE_AGENT, path) for path in FILES)


def test_a_bash_block_is_a_call_and_the_next_message_its_result() -> None:
    entries = read(trajectory(says("THOUGHT: look.\n\n```bash\nls -la\n```"), user("<returncode>0</returncode>")))
    opening, outcome = openings(entries)
    assert (opening.session, opening.system) == ("a__a-1.2", "Be quick.")
    assert opening.tags == {"instance_id": "a__a-1.2", "mini_version": "1.15.0"}
    assert outcome == entries[-1]
    assert outcome.tags == {"exit_status": "Submitted", "instance_cost": "0.2", "api_calls": "2"}
    _, response, result = spoken(entries)
    assert response.parts[0] == Text(text="THOUGHT: look.")
    (call,) = response.calls
    assert (call.name, call.arguments) == ("bash", '{"command": "ls -la"}')
    assert result.result is not None
    assert (result.result.call_id, result.text) == (call.id, "<returncode>0</returncode>")
    assert usage_of(response) == Usage(input_tokens=100, cached_tokens=64, output_tokens=7)
    assert model_of(response) == "m-1"
    assert "written" not in response.meta.extra


@pytest.mark.parametrize("content", ["No block.", "```bash\nls\n```\n```bash\npwd\n```", "```python\nx\n```", ""])
def test_a_response_without_exactly_one_bash_block_runs_nothing(content: str) -> None:
    """What follows it are the words of the agent, not a result."""
    entries = read(trajectory(says(content), user("Please always provide EXACTLY ONE action.")))
    assert [message.role for message in spoken(entries)] == ["user", "assistant", "user"]
    assert spoken(entries)[1].text == content


@pytest.mark.parametrize(
    "content",
    [
        "```bash\nls\n```",
        "First.\n```bash\ncat <<'E' > a.md\n```python\nE\n```\nThen.",
        "  中文 \n\n```bash  \n\nls\n\n```\n\n",
        "THOUGHT: ok.\n\n```mswea_bash_command\nls\n```",
    ],
)
def test_a_response_can_be_had_as_it_was_written(content: str) -> None:
    _, response = spoken(read(trajectory(says(content))))
    assert len(response.calls) == 1
    assert as_written(response) == content


def test_tool_calls_of_newer_versions_stay_calls() -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    result = {"role": "tool", "tool_call_id": "t1", "content": "a.py", "extra": {"timestamp": 1763511680}}
    exit = {"role": "exit", "content": "Submitted", "extra": {"exit_status": "Submitted"}}
    messages = spoken(read(trajectory(says("Look.", tool_calls=[call]), result, exit)))
    assert [message.role for message in messages] == ["user", "assistant", "tool", "user"]
    assert messages[1].calls[0].id == "t1"
    assert is_program(messages[3])
    assert messages[2].extra == {"@openai": {"form": "text"}}


def test_a_broken_message_is_named_or_skipped() -> None:
    content = trajectory({"role": "assistant", "content": 7}, user("Go on."))
    with pytest.raises(LogError, match=r"a__a-1\.2\.traj\.json: message 2: `content` must be text"):
        read(content)
    log = log_of(content, "x.json", lenient=True)
    assert [message.text for message in spoken(MINI_SWE_AGENT.read(log))] == ["Fix it.", "Go on."]
    assert len(log.skipped) == 1


def test_many_unclosed_blocks_do_not_take_forever() -> None:
    """The blocks of a response are found in one pass over it."""
    (_, response) = spoken(read(trajectory(says("x```bash\n" * 200_000))))
    assert response.calls == ()


def test_whatever_is_in_the_file_it_is_read_or_refused() -> None:
    random = Random(7)
    whole = json.loads(trajectory(says("```bash\nls\n```"), user("ok"), says("Done."), user("end")))
    for _ in range(300):
        survives(MINI_SWE_AGENT, json.dumps(mutated(whole, random, 0.1)).encode(), "a.json")
    content = min(FILES, key=lambda path: path.stat().st_size).read_bytes() if FILES else trajectory()
    for broken in (*truncated(content, random, 15), *flipped(content, random, 15)):
        survives(MINI_SWE_AGENT, broken, "a.json")
