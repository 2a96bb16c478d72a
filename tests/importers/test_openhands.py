"""Histories of OpenHands V0 as they were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from foveate.errors import LogError
from foveate.importers.detection import head_of
from foveate.importers.entries import Usage, model_of, usage_of
from foveate.importers.openhands import OPENHANDS
from foveate.importers.recording import recordings
from foveate.log.messages import Media, Text
from tests.importers.logs import (
    NEEDS_DATA,
    compactions,
    entries_in,
    flipped,
    is_program,
    lines,
    log_of,
    mutated,
    oddities,
    openings,
    paired,
    recorded,
    spoken,
    survives,
    truncated,
)

FILES = recorded("openhands_v0/*.jsonl")
AT = "2025-04-30T16:32:54.707474"


def action(id: int, name: str, source: str = "agent", **args: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": AT, "source": source, "action": name, "args": args}


def observation(id: int, name: str, content: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": AT, "source": "agent", "observation": name, "content": content, **fields}


def metadata(call_id: str, *ids: str, response: str = "r1") -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for one in ids]
    message = {"role": "assistant", "content": "Let me look.", "tool_calls": calls, "function_call": None}
    body = {
        "id": response,
        "model": "m-1",
        "choices": [{"message": message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    }
    return {"tool_call_metadata": {"function_name": "bash", "tool_call_id": call_id, "model_response": body}}


def run(*history: Any, **fields: Any) -> dict[str, Any]:
    return {"instance_id": "x__x-1", "history": [action(1, "message", "user", content="Fix it."), *history], **fields}


def read(*runs: dict[str, Any]) -> list[Any]:
    return list(OPENHANDS.read(log_of(lines(*runs), "eval/output.jsonl")))


@NEEDS_DATA
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[-30:])
def test_nothing_of_a_recorded_history_is_lost(path: Path) -> None:
    """Calls, results, what was asked and usage are what a plain loop over the events counts."""
    runs = [json.loads(line) for line in path.read_text().splitlines()]
    found = recordings(entries_in(OPENHANDS, path))
    assert len(found) == len(runs)
    for one, raw in zip(found, runs, strict=True):
        history = raw["history"]
        actions = [event for event in history if event.get("action") not in (None, "system", "message", "recall")]
        called = [event for event in actions if event["action"] != "finish" or "tool_call_metadata" in event]
        results = [event for event in history if event.get("observation") not in (None, "recall", "error")]
        errors = [event for event in history if event.get("observation") == "error"]
        recalled = [event for event in history if event.get("extras", {}).get("microagent_knowledge")]
        assert sum(len(message.calls) for message in one.messages) == len(called)
        assert [message.text for message in one.messages if message.role == "tool"] == [
            event["content"] for event in results
        ]
        assert paired(one.messages) == len(results)
        assert sum(message.role == "assistant" for message in one.messages) == len(actions)
        assert sum(is_program(message) for message in one.messages) == len(errors) + len(recalled)
        counted = raw["metrics"].get("token_usages", [])
        usages = [usage for message in one.messages if (usage := usage_of(message)) is not None]
        assert sum(usage.input_tokens for usage in usages) == sum(entry["prompt_tokens"] for entry in counted)
        assert sum(usage.output_tokens or 0 for usage in usages) == sum(entry["completion_tokens"] for entry in counted)
        prompts = [event["args"]["content"] for event in history if event.get("action") == "system"]
        assert [one.system] == (prompts or [None])


@NEEDS_DATA
def test_reading_twice_gives_the_same() -> None:
    assert all(entries_in(OPENHANDS, path) == entries_in(OPENHANDS, path) for path in FILES)


def test_a_run_is_a_session_with_its_framing() -> None:
    tools = [{"type": "function", "function": {"name": "bash"}}]
    metrics = {"accumulated_cost": 0.5}
    llm = {"llm_config": {"model": "m-1"}, "agent_class": "CodeAct"}
    entries = read(run(action(0, "system", content="Be kind.", tools=tools), metadata=llm, metrics=metrics))
    first, second, outcome = openings(entries)
    assert (first.session, first.model) == ("x__x-1", "m-1")
    assert first.tags == {"instance_id": "x__x-1", "agent_class": "CodeAct"}
    assert outcome.tags == {"accumulated_cost": "0.5"}
    assert (second.system, second.tools) == ("Be kind.", tuple(tools))
    assert spoken(entries)[0].text == "Fix it."


def test_runs_without_names_are_numbered_and_repeated_names_told_apart() -> None:
    nameless = {"history": run()["history"]}
    entries = read(nameless, run(), run())
    assert [opening.session for opening in openings(entries)] == ["eval/1", "x__x-1", "x__x-1-3"]


def test_parallel_actions_of_one_response_are_one_message() -> None:
    """Its results follow, and its usage is counted once."""
    first, second = metadata("c1", "c1", "c2"), metadata("c2", "c1", "c2")
    usages = [{"response_id": "r1", "prompt_tokens": 10, "completion_tokens": 2, "cache_read_tokens": 8}]
    entries = read(
        run(
            {**action(2, "run", command="ls"), **first},
            {**observation(3, "run", "a.py", cause=2), **first},
            {**action(4, "run", command="pwd"), **second},
            {**observation(5, "run", "/src", cause=4), **second},
            metrics={"token_usages": usages},
        )
    )
    _, response, *results = spoken(entries)
    assert [call.id for call in response.calls] == ["c1", "c2"]
    assert response.text == "Let me look."
    assert usage_of(response) == Usage(input_tokens=10, cached_tokens=8, output_tokens=2)
    assert model_of(response) == "m-1"
    assert [message.result.call_id for message in results if message.result] == ["c1", "c2"]
    assert "function_call" not in response.extra


def test_actions_without_a_response_are_calls_by_their_own_name() -> None:
    """The observation that names an action as its cause is its result; in histories without ids, the next one is."""
    entries = read(
        run(action(2, "run", command="ls", thought="Look."), observation(9, "run", "a.py", cause=2)),
        {
            "history": [
                {"action": "message", "content": "Fix it.", "wait_for_response": False},
                {"action": "run_ipython", "code": "1+1", "thought": "Sum.", "is_confirmed": "confirmed"},
                {"observation": "run_ipython", "content": "2", "code": "1+1"},
                {"action": "finish", "outputs": {}, "thought": "Done."},
            ]
        },
    )
    old = spoken(entries, "eval/2")
    _, response, result = spoken(entries, "x__x-1")
    assert (response.calls[0].name, response.calls[0].arguments) == ("run", '{"command": "ls"}')
    assert response.parts[0] == Text(text="Look.")
    assert result.result is not None
    assert result.result.call_id == response.calls[0].id
    assert [message.role for message in old] == ["user", "assistant", "tool", "assistant"]
    assert old[1].calls[0].arguments == '{"code": "1+1"}'
    assert old[3].text == "Done."
    assert paired(old) == 1


def test_pairs_of_actions_and_observations_are_read() -> None:
    pair = [{"action": "run", "command": "ls"}, {"observation": "run", "content": "a.py"}]
    entries = read({"history": [[{"action": "message", "content": "Go."}], pair]})
    assert [message.role for message in spoken(entries)] == ["user", "assistant", "tool"]


def test_errors_and_failures_are_marked() -> None:
    """What failed for a call is its result; an error without a call is a message of the program."""
    entries = read(
        run(
            action(2, "run", command="false"),
            observation(3, "run", "1", cause=2, success=False),
            action(4, "run", command="rm"),
            observation(5, "user_rejected", "no", cause=4),
            observation(6, "error", "bad parameter"),
        )
    )
    results = [message for message in spoken(entries) if message.role == "tool"]
    assert [message.extra for message in results] == [{"is_error": True}, {"is_error": True}]
    assert spoken(entries)[-1].text == "bad parameter"
    assert is_program(spoken(entries)[-1])


def test_what_the_program_adds_for_the_model_is_told_from_the_user() -> None:
    """Recalled knowledge is a message of the program; changes of state are none."""
    extras = {"repo_instructions": "Use tabs.", "microagent_knowledge": [{"name": "git", "content": "Rebase."}]}
    entries = read(
        run(
            action(2, "recall", "user", query="Fix it."),
            observation(3, "recall", "Added", cause=2, extras=extras),
            observation(4, "agent_state_changed", "", extras={"agent_state": "running"}),
            action(5, "run", "user", command="make"),
            observation(6, "run", "ok", cause=5),
            action(7, "message", content="Which one?", wait_for_response=True),
            action(8, "message", "user", content="This.", image_urls=["data:image/png;base64,eA=="]),
        )
    )
    _, knowledge, command, output, question, answer = spoken(entries)
    assert knowledge.text == "Use tabs.\n\nRebase."
    assert [is_program(one) for one in (knowledge, command, output)] == [True, False, True]
    assert (question.role, answer.role) == ("assistant", "user")
    assert answer.parts[1] == Media(kind="image", reference="data:image/png;base64,eA==")


def test_a_condensation_is_a_compaction() -> None:
    entries = read(
        run(
            action(2, "condensation", forgotten_events_start_id=0, forgotten_events_end_id=9, summary="So far."),
            action(3, "condensation", forgotten_event_ids=[1, 2]),
            observation(4, "agent_condensation", "Older."),
        )
    )
    assert [entry.text for entry in compactions(entries)] == ["So far.", "Older."]
    assert len(oddities(entries, "forgotten")) == 1


def test_a_single_history_is_read_from_a_document() -> None:
    history = json.dumps(run()["history"], indent=1).encode()
    assert OPENHANDS.recognises(head_of(log_of(history, "trajectory.json")))
    entries = list(OPENHANDS.read(log_of(history, "django-1/trajectory.json")))
    assert [opening.session for opening in openings(entries)] == ["django-1"]
    assert len(spoken(entries)) == 1


def test_a_broken_event_is_named_or_skipped() -> None:
    content = lines(run(), run(7, {"id": 3}, action(4, "run", "agent", command="ls")), {"history": None})
    with pytest.raises(LogError, match=r"output\.jsonl, line 2: event 2: expected an object with `action`"):
        list(OPENHANDS.read(log_of(content, "output.jsonl")))
    log = log_of(content, "output.jsonl", lenient=True)
    assert len(spoken(OPENHANDS.read(log))) == 3
    assert [skipped.line for skipped in log.skipped] == [2, 2, 3]


def test_whatever_is_in_the_file_it_is_read_or_refused() -> None:
    random = Random(7)
    both = metadata("c1", "c1", "c2")
    whole = run(
        {**action(2, "run", command="ls"), **both},
        {**observation(3, "run", "a.py", cause=2), **both},
        action(4, "run", command="ls"),
        observation(5, "run", "a.py", cause=4),
        action(6, "condensation", summary="s"),
        observation(7, "recall", "x", cause=6, extras={"microagent_knowledge": [{"content": "k"}]}),
    )
    for _ in range(200):
        survives(OPENHANDS, lines(mutated(whole, random, 0.1)), "a.jsonl")
        survives(OPENHANDS, json.dumps(mutated(whole["history"], random, 0.1)).encode(), "a.json")
    content = min(FILES, key=lambda path: path.stat().st_size).read_bytes() if FILES else lines(whole)
    for broken in (*truncated(content, random, 15), *flipped(content, random, 15)):
        survives(OPENHANDS, broken, "a.jsonl")


def test_many_calls_without_results_do_not_take_forever() -> None:
    actions = [action(number, "run", command="ls") for number in range(2, 20_000)]
    results = [observation(50_000 + number, "run", "x", cause=number) for number in range(2, 20_000)]
    assert paired(spoken(read(run(*actions, *results)))) == 19_998
