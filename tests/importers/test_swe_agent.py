"""Trajectories of SWE-agent as they were recorded."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from foveate.errors import LogError
from foveate.importers.commands import as_written
from foveate.importers.recording import recordings
from foveate.importers.swe_agent import SWE_AGENT
from foveate.log.messages import Text, Thinking
from tests.importers.logs import (
    NEEDS_DATA,
    entries_in,
    flipped,
    log_of,
    mutated,
    openings,
    paired,
    recorded,
    spoken,
    survives,
    truncated,
)

FILES = recorded("swe_agent/*.traj")


def system() -> dict[str, Any]:
    return {"role": "system", "content": "Be exact.", "agent": "main", "message_type": "system_prompt"}


def user(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, "agent": "main", "message_type": "observation", **fields}


def says(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "agent": "main", "message_type": "action", **fields}


def trajectory(*history: Any, **fields: Any) -> bytes:
    return json.dumps({"history": [system(), *history], **fields}).encode()


def read(content: bytes) -> list[Any]:
    return list(SWE_AGENT.read(log_of(content, "x__x-1.traj")))


@NEEDS_DATA
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[-40:])
def test_nothing_of_a_recorded_trajectory_is_lost(path: Path) -> None:
    """Every message is there; an observation behind an action is its result, whether the action was text or a call."""
    document = json.loads(path.read_text())
    raws = document["history"]
    actions = [raw for raw in raws if raw["role"] == "assistant"]
    observed = sum(before["role"] == "assistant" for before, _ in pairwise(raws))

    (found,) = recordings(entries_in(SWE_AGENT, path))
    assert found.session == path.stem
    assert found.system == raws[0]["content"]
    messages = found.messages
    assert len(messages) == len(raws) - 1
    roles = Counter(message.role for message in messages)
    assert roles == Counter(assistant=len(actions), tool=observed, user=len(raws) - 1 - len(actions) - observed)
    assert sum(len(message.calls) for message in messages) == len(actions)
    assert paired(messages) == observed
    assert sum(message.meta.extra.get("demo") is True for message in messages) == sum(
        raw.get("is_demo") is True for raw in raws
    )
    recorded_calls = [call["function"]["arguments"] for raw in raws for call in raw.get("tool_calls") or ()]
    made = [call.arguments for message in messages for call in message.calls]
    if recorded_calls:
        assert made == recorded_calls
    else:
        assert [json.loads(one)["command"] for one in made] == [raw["action"].rstrip("\n") for raw in actions]
        assert [as_written(one) for one in messages if one.role == "assistant"] == [raw["content"] for raw in actions]
    assert [one.text for one in messages if one.role != "assistant"] == [
        raw["content"] for raw in raws[1:] if raw["role"] != "assistant"
    ]
    stats = document.get("info", {}).get("model_stats", {})
    assert found.tags.get("tokens_sent") == (str(stats["tokens_sent"]) if stats else None)


@NEEDS_DATA
def test_reading_twice_gives_the_same() -> None:
    assert all(entries_in(SWE_AGENT, path) == entries_in(SWE_AGENT, path) for path in FILES)


@pytest.mark.parametrize(
    ("content", "prose", "command"),
    [
        ("Look.\n```\nopen a.py\n```", "Look.", "open a.py"),
        ("Say\n```\nnot this\n```\nbut\n```bash\nls\n```\n", "Say\n```\nnot this\n```\nbut", "ls"),
        ("Look.\n<command>\nopen a.py\n</command>", "Look.", "open a.py"),
        ("```\n```", "", ""),
    ],
)
def test_an_action_in_text_is_a_call(content: str, prose: str, command: str) -> None:
    """Also where only the form of the text tells what the action was; the text can be had as it was written."""
    _, response, result = spoken(read(trajectory(user("Fix it."), says(content), user("1:x"))))
    assert response.text == prose
    assert json.loads(response.calls[0].arguments) == {"command": command}
    assert result.result is not None
    assert result.result.call_id == response.calls[0].id
    assert as_written(response) == content


def test_a_recorded_action_says_what_ran() -> None:
    raw = says("Hm.\n```\nls\n```", thought="Hm.\n", action="ls\n")
    _, response = spoken(read(trajectory(user("Fix it."), raw)))
    assert response.parts[0] == Text(text="Hm.")
    assert json.loads(response.calls[0].arguments) == {"command": "ls"}


def test_a_response_without_an_action_runs_nothing() -> None:
    messages = spoken(read(trajectory(user("Fix it."), says("Sorry.", thought="Sorry.", action=""), user("Act!"))))
    assert [message.role for message in messages] == ["user", "assistant", "user"]


def test_calls_reasoning_and_blocks_of_newer_versions() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    thinking = [{"type": "thinking", "thinking": "Let me see.", "signature": "sig"}]
    raw = says("Look.", tool_calls=[call], thinking_blocks=thinking, action="ls", thought="Look.")
    block = {"type": "text", "text": "a.py", "cache_control": {"type": "ephemeral"}}
    result = {"role": "tool", "content": [block], "tool_call_ids": ["c1"], "agent": "main"}
    _, response, answer = spoken(read(trajectory(user("Fix it."), raw, result)))
    assert [type(part) for part in response.parts[:2]] == [Thinking, Text]
    assert response.calls[0].arguments == '{"command": "ls"}'
    assert answer.result is not None
    assert (answer.result.call_id, answer.text) == ("c1", "a.py")


def test_observations_in_blocks_answer_actions_in_text() -> None:
    raw = says([{"type": "text", "text": "Hm.\n```\nls\n```"}], action="ls")
    messages = spoken(read(trajectory(user("Fix it."), raw, user([{"type": "text", "text": "a.py"}]))))
    assert [message.role for message in messages] == ["user", "assistant", "tool"]


def test_demonstrations_and_other_agents_are_marked() -> None:
    messages = spoken(read(trajectory(user("Like this.", is_demo=True), user("Fix it.", agent="reviewer"))))
    assert [message.meta.extra for message in messages] == [{"demo": True}, {"agent": "reviewer"}]


def test_the_model_and_what_it_cost_are_known() -> None:
    stats = {"instance_cost": 0.5, "tokens_sent": 52861, "tokens_received": 326, "api_calls": 5}
    config = {"agent": {"model": {"name": "gpt-4o"}}}
    info = {"exit_status": "submitted", "model_stats": stats, "submission": "diff " * 100}
    entries = read(trajectory(user("Fix."), info=info, replay_config=config, environment="main"))
    opening, outcome = openings(entries)
    assert (opening.model, opening.tags) == ("gpt-4o", {"environment": "main"})
    assert outcome == entries[-1]
    assert outcome.tags == {
        "exit_status": "submitted",
        "instance_cost": "0.5",
        "tokens_sent": "52861",
        "tokens_received": "326",
        "api_calls": "5",
    }


def test_a_trajectory_without_history_is_made_of_its_steps() -> None:
    query = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "Fix it."}]
    step = {"action": "ls\n", "observation": "a.py", "response": "Hm.\n```\nls\n```", "thought": "Hm.\n", "state": "{}"}
    last = {"action": "submit", "observation": "", "response": "Done.\n```\nsubmit\n```", "thought": "Done."}
    entries = read(json.dumps({"trajectory": [{**step, "query": query}, step, last], "info": {}}).encode())
    assert openings(entries)[0].system == "Be exact."
    messages = spoken(entries)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert paired(messages) == 2
    assert len({call.id for message in messages for call in message.calls}) == 3


def test_a_broken_message_is_named_or_skipped() -> None:
    content = trajectory(user("Fix it."), 7, {"role": "judge", "content": "?"}, user("Go on."))
    with pytest.raises(LogError, match=r"x__x-1\.traj: message 2 of `history`: expected an object, got 7"):
        read(content)
    log = log_of(content, "x.traj", lenient=True)
    assert [message.text for message in spoken(SWE_AGENT.read(log))] == ["Fix it.", "Go on."]
    assert len(log.skipped) == 2


def test_whatever_is_in_the_file_it_is_read_or_refused() -> None:
    random = Random(7)
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    step = {"action": "ls\n", "observation": "a.py", "response": "Hm.\n```\nls\n```", "thought": "Hm.\n"}
    history = [user("Fix it."), says("Hm.\n```\nls\n```", action="ls"), user("a.py"), says("", tool_calls=[call])]
    whole = json.loads(trajectory(*history, trajectory=[step], info={"model_stats": {"tokens_sent": 1}}))
    for _ in range(400):
        survives(SWE_AGENT, json.dumps(mutated(whole, random, 0.1)).encode(), "a.traj")
    content = min(FILES, key=lambda path: path.stat().st_size).read_bytes() if FILES else trajectory()
    for broken in (*truncated(content, random, 15), *flipped(content, random, 15)):
        survives(SWE_AGENT, broken, "a.traj")
