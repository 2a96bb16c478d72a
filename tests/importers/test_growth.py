"""A log that goes on is a longer one: what was read of it before stays as it was.

Only the last response of the shorter log, and what stands behind it, may read differently later: a response may go on
in another line, and totals stand at the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foveate.importers.aider import AIDER
from foveate.importers.claude_code import CLAUDE_CODE
from foveate.importers.codex import CODEX
from foveate.importers.detection import importer_for
from foveate.importers.entries import Entry, Opening, Spoken
from foveate.importers.importer import Importer
from tests.importers.logs import lines, log_of, openings, recorded

CUTS = 12
LINES = [
    (importer, path)
    for importer, pattern in (
        (CLAUDE_CODE, "claude_code/*.jsonl"),
        (CLAUDE_CODE, "claude_code_subagents/**/*.jsonl"),
        (CODEX, "codex/*.jsonl"),
        (AIDER, "aider/*.md"),
    )
    for path in recorded(pattern)
    if path.name != "checkpoints_metadata.jsonl"
]
DOCUMENTS = {
    "gemini_cli/*.json": ("messages",),
    "cline/*.json": ("messages",),
    "mini_swe_agent/*.json": ("messages",),
    "swe_agent/*.traj": ("history", "trajectory"),
}


def read(importer: Importer, content: bytes, path: str) -> dict[str, list[Entry]]:
    """What is in a log, by session."""
    found: dict[str, list[Entry]] = {}
    for entry in importer.read(log_of(content, path)):
        found.setdefault(entry.session, []).append(entry)
    return found


def settled(entries: list[Entry]) -> list[Entry]:
    """What stands before the last response."""
    responses = [
        index for index, entry in enumerate(entries) if isinstance(entry, Spoken) and entry.message.role == "assistant"
    ]
    return entries[: responses[-1]] if responses else []


def grows(importer: Importer, contents: Iterable[bytes], path: str) -> int:
    """Each of some logs goes on in the last of them; how many entries were compared."""
    *cuts, whole = (read(importer, content, path) for content in contents)
    compared = 0
    for cut in cuts:
        assert set(cut) <= set(whole)
        for session, entries in cut.items():
            before = settled(entries)
            assert before == whole[session][: len(before)]
            compared += len(before)
    return compared


def beginnings(length: int) -> list[int]:
    """Where to cut something of this length, and its end."""
    return sorted({max(1, length * cut // CUTS) for cut in range(1, CUTS)} | {length})


def cut_lines(content: bytes, *, each: bool = False) -> Iterator[bytes]:
    """Beginnings of a log of whole lines, or the beginning up to each line."""
    whole = content.splitlines(keepends=True)
    for end in range(1, len(whole) + 1) if each else beginnings(len(whole)):
        yield b"".join(whole[:end])


@pytest.mark.parametrize(("importer", "path"), LINES, ids=lambda value: getattr(value, "name", "")[-40:])
def test_a_recorded_log_that_goes_on_begins_as_before(importer: Importer, path: Path) -> None:
    compared = grows(importer, cut_lines(path.read_bytes()), str(path))
    # The shortest files hold one response.
    assert compared or path.stat().st_size < 20_000


@pytest.mark.parametrize(
    ("keys", "path"),
    [(keys, path) for pattern, keys in DOCUMENTS.items() for path in recorded(pattern)],
    ids=lambda value: value.name[-40:] if isinstance(value, Path) else value[0],
)
def test_a_recorded_document_that_is_written_anew_begins_as_before(keys: tuple[str, ...], path: Path) -> None:
    """While a task runs, its file has fewer messages, other totals and no end."""
    document = json.loads(path.read_bytes())
    if isinstance(document, list):
        document = {keys[0]: document}
    importer = importer_for(log_of(path.read_bytes(), str(path)))
    length = max(len(document.get(key) or ()) for key in keys)
    contents = [json.dumps(shorter(document, keys, end, length)).encode() for end in beginnings(length)]
    grows(importer, contents, str(path))


def shorter(document: dict[str, Any], keys: tuple[str, ...], end: int, length: int) -> dict[str, Any]:
    if end == length:
        return document
    info = {**document.get("info", {}), "exit_status": None, "model_stats": {"instance_cost": end, "api_calls": end}}
    shorter = {key: document[key][:end] for key in keys if document.get(key)}
    return {**document, **shorter, **({"info": info} if "info" in document else {})}


def said(number: int) -> list[dict[str, Any]]:
    """A turn of a chat, as OpenAI has it."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"question {number}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "found"},
        {"role": "assistant", "content": f"answer {number}"},
    ]


def calls() -> list[dict[str, Any]]:
    """The calls of two conversations that were held at once."""
    first = [message for number in range(6) for message in said(number)]
    second = [{"role": "system", "content": "Be brief."}, *first[4:]]
    made = []
    for end in range(1, len(first), 2):
        for messages in (first, second[: len(first) - 4]):
            answer = messages[end] if end < len(messages) else None
            if answer is not None and answer["role"] == "assistant":
                response = {"choices": [{"message": answer}], "usage": {"prompt_tokens": end, "completion_tokens": 1}}
                made.append({"messages": messages[:end], "response": response, "response_cost": end, "model": "m"})
    return made


def events() -> list[dict[str, Any]]:
    """A conversation of OpenHands with parallel actions, whose results come between them."""
    made: list[dict[str, Any]] = [{"kind": "SystemPromptEvent", "system_prompt": {"text": "Be brief."}, "tools": []}]
    for turn in range(4):
        message = {"role": "user", "content": [{"type": "text", "text": f"question {turn}"}]}
        made.append({"kind": "MessageEvent", "llm_message": message})
        for number in range(3):
            call = {"tool_call_id": f"c{turn}.{number}", "tool_name": "look"}
            made.append({"kind": "ActionEvent", "llm_response_id": f"r{turn}", "action": {}, **call})
            made.append({"kind": "ObservationEvent", "observation": {"content": "found"}, **call})
        made.append({"kind": "Condensation", "summary": f"so far {turn}"} if turn == 2 else {"kind": "PauseEvent"})
    return [{**event, "id": f"e{number}", "source": "agent"} for number, event in enumerate(made)]


def items() -> list[dict[str, Any]]:
    """Items of OpenAI Responses: several are one message."""
    made: list[dict[str, Any]] = []
    for turn in range(3):
        made.append({"type": "message", "role": "user", "content": f"question {turn}"})
        made += [
            {"type": "function_call", "call_id": f"c{turn}.{number}", "name": "look", "arguments": "{}"}
            for number in range(2)
        ]
        made += [
            {"type": "function_call_output", "call_id": f"c{turn}.{number}", "output": "found"} for number in range(2)
        ]
        text = [{"type": "output_text", "text": f"answer {turn}"}]
        made.append({"type": "message", "role": "assistant", "content": text})
    return made


CONTENTS = [{"role": role, "parts": [{"text": f"{role} {turn}"}]} for turn in range(4) for role in ("user", "model")]
CHAT = [message for number in range(3) for message in said(number)]
GENERATED = {
    "litellm": calls(),
    "openhands-events": events(),
    "openhands": [
        {"history": [{"action": "message", "args": {"content": "go"}, "source": "user"}], "metrics": {}}
        for _ in range(3)
    ],
    "messages": [{"role": "system", "content": "Be brief."}, *CHAT],
    "messages of Responses": items(),
    "messages of Gemini": CONTENTS,
    "messages in requests": [{"messages": CHAT[:end], "model": "m"} for end in range(1, len(CHAT))],
}


@pytest.mark.parametrize("name", GENERATED)
def test_lines_that_are_added_leave_those_before_as_they_were(name: str) -> None:
    """Wherever it was cut, also behind its first line."""
    content = lines(*GENERATED[name])
    importer = importer_for(log_of(content, "a.jsonl"))
    assert importer.name == name.partition(" ")[0]
    compared = grows(importer, cut_lines(content, each=True), "a.jsonl")
    assert compared or name == "openhands"


CHATS = "".join(
    f"# aider chat started at 2024-08-05 19:3{number}:32\n\n> Aider{end}\n> Main model: m{number} with diff{end}\n\n"
    f"#### hi{end}\n#### there{end}\n\nHello!\n\n> a quote of the model\n\n> Tokens: 12 sent, 3 received.{end}\n\n"
    f"#### /model other{end}\n\n> Main model: other with diff{end}\n\n#### and?{end}\n\nYes.\n\n> Tokens: 1k sent.{end}\n\n"
    for number, end in enumerate(["", "  ", "  "])
)


def test_a_chat_history_of_aider_goes_on_also_behind_an_editor() -> None:
    """Lines whose ends an editor took away are read the same when aider wrote more."""
    assert grows(AIDER, cut_lines(CHATS.encode(), each=True), "app/.aider.chat.history.md")


def test_the_outcome_of_a_run_stands_behind_what_was_said() -> None:
    """The costs of a run that goes on would otherwise change its beginning."""
    run = {
        "instance_id": "i",
        "history": [
            {"action": "message", "args": {"content": "go"}, "source": "user"},
            {"action": "message", "args": {"content": "done"}, "source": "agent"},
        ],
        "metrics": {"accumulated_cost": 3},
        "success": True,
    }
    content = lines(run)
    entries = read(importer_for(log_of(content)), content, "output.jsonl")["i"]
    assert openings(entries) == [entries[0], entries[-1]]
    assert entries[-1] == Opening(session="i", tags={"success": "true", "accumulated_cost": "3"})
    assert entries[0] == Opening(session="i", tags={"instance_id": "i"})
