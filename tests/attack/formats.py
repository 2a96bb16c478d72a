"""Logs of several programs, as small as they may be: what mutations begin with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from foveate import Session
from tests.dialogue import call, calls, result, says, user

Record = dict[str, Any]
_TIME: Final = "2026-01-16T13:30:46.385Z"


def openai_log(turns: int, size: int = 40) -> list[Record]:
    """Messages in OpenAI's format."""
    messages: list[Record] = []
    for number in range(turns):
        function = {"name": "read_file", "arguments": json.dumps({"path": f"{number}.py"})}
        messages += [
            {"role": "user", "content": f"Question {number}: 什么?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number}\n" * size},
            {"role": "assistant", "content": f"Answer {number}."},
        ]
    return messages


def anthropic_log(turns: int, size: int = 40) -> list[Record]:
    """Messages in Anthropic's format."""
    messages: list[Record] = []
    for number in range(turns):
        messages += [
            {"role": "user", "content": [{"type": "text", "text": f"Question {number}: 什么?"}]},
            {"role": "assistant", "content": [_use(number)]},
            {"role": "user", "content": [_used(number, size)]},
            {"role": "assistant", "content": [{"type": "text", "text": f"Answer {number}."}]},
        ]
    return messages


def claude_code_log(turns: int, size: int = 40) -> list[Record]:
    """A session of Claude Code."""
    place = {"sessionId": "s1", "cwd": "/src", "gitBranch": "main", "version": "2.1.0", "isSidechain": False}
    records: list[Record] = []
    for number, message in enumerate(anthropic_log(turns, size)):
        about = {"id": f"msg_{number}", "model": "claude-opus-4-6"} if message["role"] == "assistant" else {}
        chain = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "timestamp": _TIME}
        records.append({**chain, **place, "type": message["role"], "message": {**about, **message}})
    return records


def codex_log(turns: int, size: int = 40) -> list[Record]:
    """A rollout of Codex."""
    records = [_wrapped("session_meta", id="id-1", cwd="/src", cli_version="0.136.0", instructions="Be brief.")]
    for number in range(turns):
        asked = [{"type": "input_text", "text": f"Question {number}: 什么?"}]
        said = [{"type": "output_text", "text": f"Answer {number}."}]
        called = {"name": "shell", "arguments": '{"command": ["ls"]}', "call_id": f"c{number}"}
        records += [
            _wrapped("response_item", type="message", role="user", content=asked),
            _wrapped("response_item", type="function_call", **called),
            _wrapped("response_item", type="function_call_output", call_id=f"c{number}", output="line\n" * size),
            _wrapped("response_item", type="message", role="assistant", content=said),
        ]
    return records


def exported_log(turns: int, size: int = 40) -> list[Record]:
    """A session as Foveate itself exports it."""
    session = Session(budget=4_000, session_id="exported")
    for number in range(turns):
        session.append(user(f"Question {number}: 什么?"))
        session.compile()
        session.extend([calls(call(f"c{number}", "bash", command="ls")), result(f"c{number}", "line\n" * size)])
        session.append(says(f"Answer {number}."))
    return [json.loads(line) for line in session.dump().splitlines()]


def gemini_log(turns: int, size: int = 40) -> list[Record]:
    """The messages of a session of Gemini CLI; the file is one object around them."""
    messages: list[Record] = []
    for number in range(turns):
        messages += [
            {
                "id": f"u{number}",
                "timestamp": _TIME,
                "type": "user",
                "content": f"Question {number}: " + "什么?" * size,
            },
            {"id": f"g{number}", "timestamp": _TIME, "type": "gemini", "content": f"Answer {number}.", "model": "g"},
        ]
    return messages


def in_lines(records: list[Record]) -> str:
    """One record on each line."""
    return "\n".join(json.dumps(one) for one in records)


def in_one_object(records: list[Record]) -> str:
    """All records as the messages of a session of Gemini CLI."""
    return json.dumps({"sessionId": "id-1", "projectHash": "abc", "startTime": _TIME, "messages": records})


Made = Callable[[int, int], list[Record]]
FORMATS: Final[Mapping[str, tuple[str, Made, Callable[[list[Record]], str]]]] = {
    "openai": ("messages", openai_log, in_lines),
    "openai-list": ("messages", openai_log, json.dumps),
    "anthropic": ("messages", anthropic_log, json.dumps),
    "claude-code": ("claude-code", claude_code_log, in_lines),
    "codex": ("codex", codex_log, in_lines),
    "gemini-cli": ("gemini-cli", gemini_log, in_one_object),
    "exported": ("foveate", exported_log, in_lines),
}
"""Logs by name: which importer reads them, what makes their records, and what makes a file of those."""


def _use(number: int) -> Record:
    return {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"path": f"{number}.py"}}


def _used(number: int, size: int) -> Record:
    return {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"line {number}\n" * size}


def _wrapped(kind: str, **payload: Any) -> Record:
    return {"timestamp": _TIME, "type": kind, "payload": payload}
