"""Events of OpenHands V1, by their schema."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from foveate.errors import LogError
from foveate.importers.detection import importer_for
from foveate.importers.openhands_events import NAME, OPENHANDS_EVENTS, event_files
from foveate.log.messages import Media, Text, Thinking
from tests.importers.logs import (
    compactions,
    deep,
    is_program,
    lines,
    log_of,
    mutated,
    oddities,
    openings,
    paired,
    spoken,
    survives,
    truncated,
)

AT = "2025-09-04T19:43:45.972323"


def event(kind: str, source: str = "agent", **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "id": f"e-{kind}", "timestamp": AT, "source": source, **fields}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def says(role: str, *content: Any, **fields: Any) -> dict[str, Any]:
    source = "user" if role == "user" else "agent"
    return event("MessageEvent", source, llm_message={"role": role, "content": list(content)}, **fields)


def acts(call_id: str, response: str = "r1", **fields: Any) -> dict[str, Any]:
    call = {"id": call_id, "name": "terminal", "arguments": '{"command": "ls", "security_risk": "LOW"}'}
    action = {"kind": "TerminalAction", "command": "ls"}
    made = {"tool_name": "terminal", "tool_call_id": call_id, "tool_call": call, "llm_response_id": response}
    return event("ActionEvent", **{"action": action, "thought": [], **made, **fields})


def observes(call_id: str, *content: Any, **fields: Any) -> dict[str, Any]:
    seen = {"kind": "TerminalObservation", "content": list(content), "is_error": False, **fields}
    made = {"tool_name": "terminal", "tool_call_id": call_id, "action_id": "e"}
    return event("ObservationEvent", "environment", observation=seen, **made)


TOOLS = [
    {"type": "function", "function": {"name": "terminal", "parameters": {"type": "object"}}},
    {"kind": "FinishTool"},
]
EVENTS = [
    event("SystemPromptEvent", system_prompt=text("Be kind."), dynamic_context=text("Host: a."), tools=TOOLS),
    says("user", text("Fix it."), extended_content=[text("Use tabs.")]),
    acts("c1", thought=[text("Look.")], thinking_blocks=[{"type": "thinking", "thinking": "Hm.", "signature": "s"}]),
    acts("c2", reasoning_content="Hm."),
    observes("c1", text("a.py")),
    observes("c2", text("no"), is_error=True),
    event("ConversationStateUpdateEvent", "environment", key="stats", value={}),
    acts("c3", "r2"),
    event("AgentErrorEvent", tool_name="terminal", tool_call_id="c3", error="bad arguments"),
    acts("c4", "r3"),
    event("UserRejectObservation", "user", tool_name="t", tool_call_id="c4", action_id="e", rejection_reason="No."),
    event("Condensation", "environment", forgotten_event_ids=["e1"], summary="So far.", summary_offset=1),
    says("assistant", text("Done."), llm_response_id="r4"),
]


def read(*events: Any) -> list[Any]:
    return list(OPENHANDS_EVENTS.read(log_of(lines(*events), "conversation.jsonl")))


def test_a_conversation_is_a_session() -> None:
    entries = read(*EVENTS)
    assert {entry.session for entry in entries} == {"conversation"}
    framing = openings(entries)[1]
    assert framing.system == "Be kind.\nHost: a."
    assert framing.tools == (TOOLS[0],)
    messages = spoken(entries)
    assert [message.role for message in messages] == [
        *("user", "assistant", "tool", "tool", "assistant", "tool", "assistant", "tool", "assistant")
    ]
    assert messages[0].text == "Fix it.\nUse tabs."
    assert messages[-1].text == "Done."
    assert paired(messages) == 4


def test_parallel_actions_are_one_message() -> None:
    """Reasoning, thought and calls stand in one message, in order, with the arguments that the model wrote."""
    response = spoken(read(*EVENTS))[1]
    assert [type(part).__name__ for part in response.parts] == ["Thinking", "Text", "ToolCall", "ToolCall"]
    assert isinstance(response.parts[0], Thinking)
    assert (response.parts[0].text, response.parts[0].signature) == ("Hm.", "s")
    assert response.calls[0].arguments == '{"command": "ls", "security_risk": "LOW"}'
    assert response.meta.extra["response_id"] == "r1"


def test_results_between_actions_of_one_response_follow_it() -> None:
    messages = spoken(
        read(acts("c1"), observes("c1", text("1")), acts("c2"), observes("c2", text("2")), acts("c3", "r2"))
    )
    assert [message.role for message in messages] == ["assistant", "tool", "tool", "assistant"]
    assert [call.id for call in messages[0].calls] == ["c1", "c2"]
    assert [message.text for message in messages[1:3]] == ["1", "2"]


def test_what_failed_is_marked() -> None:
    results = [message for message in spoken(read(*EVENTS)) if message.role == "tool"]
    assert [message.extra for message in results] == [{}, {"is_error": True}, {"is_error": True}, {"is_error": True}]
    assert [message.text for message in results[2:]] == ["bad arguments", "Action rejected: No."]


def test_a_condensation_is_a_compaction() -> None:
    """One without a summary only says that something was left out."""
    entries = read(*EVENTS, event("Condensation", "environment", forgotten_event_ids=["a", "b"], summary=None))
    assert [entry.text for entry in compactions(entries)] == ["So far."]
    assert [entry.text for entry in oddities(entries, "forgotten")] == [
        "the agent left out 2 earlier events without a summary"
    ]
    failed = event("ConversationErrorEvent", "environment", code="limit", detail="out of budget")
    assert oddities(read(failed), "conversation_error")[0].text == "out of budget"


def test_images_are_kept() -> None:
    image = {"type": "image", "image_urls": ["data:image/png;base64,eA=="]}
    shown = Media(kind="image", reference="data:image/png;base64,eA==")
    asked, _, result = spoken(read(says("user", text("See."), image), acts("c1"), observes("c1", text("ok"), image)))
    assert asked.parts == (Text(text="See."), shown)
    assert result.result is not None
    assert (result.text, result.result.media) == ("ok", (shown,))


def test_an_error_without_a_call_is_of_the_program() -> None:
    (message,) = spoken(read(event("AgentErrorEvent", error="lost")))
    assert (message.role, message.text, is_program(message)) == ("user", "lost", True)


def test_a_call_without_its_wire_form_is_made_of_its_action() -> None:
    (message,) = spoken(read(acts("c1", tool_call=None)))
    assert json.loads(message.calls[0].arguments) == {"command": "ls"}


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "b.json", "c.json"])
def test_lists_lines_and_wrapped_lists_are_the_same(name: str) -> None:
    content = {
        "a.jsonl": lines(*EVENTS),
        "a.json": json.dumps(EVENTS).encode(),
        "b.json": json.dumps({"events": EVENTS}).encode(),
        "c.json": json.dumps({"events": EVENTS}, indent=1).encode(),
    }[name]
    log = log_of(content, name)
    importer = importer_for(log)
    assert importer.name == NAME
    assert spoken(importer.read(log)) == spoken(read(*EVENTS))


def test_a_folder_of_events_is_told_and_read_in_order(tmp_path: Path) -> None:
    """The session is called like the conversation, not like the folder `events` in it."""
    folder = tmp_path / "my-conversation" / "events"
    folder.mkdir(parents=True)
    assert event_files(folder.iterdir()) is None
    for number, one in reversed(list(enumerate(EVENTS))):
        (folder / f"event-{number:05}-{one['id']}.json").write_text(json.dumps(one, indent=1))
    (folder / "notes.txt").write_text("x")
    assert event_files(folder.parent.iterdir()) is None
    files = event_files(folder.iterdir())
    assert files is not None
    joined = log_of(b"\n".join(json.dumps(json.loads(file.read_text())).encode() for file in files), str(folder))
    assert importer_for(joined).name == NAME
    entries = list(OPENHANDS_EVENTS.read(joined))
    assert spoken(entries) == spoken(read(*EVENTS))
    assert {entry.session for entry in entries} == {"my-conversation"}


def test_a_broken_event_is_named_or_skipped() -> None:
    bad: tuple[Any, ...] = (
        acts("", tool_call={}),
        event("MessageEvent", llm_message={"role": "oracle"}),
        {"id": "x"},
        [],
        "x",
    )
    content = lines(*EVENTS, *bad)
    with pytest.raises(LogError, match=r"a\.jsonl, line 14: an action needs `tool_call_id` and `tool_name`"):
        list(OPENHANDS_EVENTS.read(log_of(content, "a.jsonl")))
    log = log_of(content, "a.jsonl", lenient=True)
    assert spoken(OPENHANDS_EVENTS.read(log)) == spoken(read(*EVENTS))
    assert [skipped.line for skipped in log.skipped] == [14, 15, 16, 17, 18]


def test_whatever_is_in_the_file_it_is_read_or_refused() -> None:
    random = Random(7)
    for _ in range(150):
        survives(OPENHANDS_EVENTS, lines(*(mutated(one, random, 0.05) for one in EVENTS)), "a.jsonl")
        survives(OPENHANDS_EVENTS, json.dumps(mutated(EVENTS, random, 0.05)).encode(), "a.json")
    for broken in truncated(lines(*EVENTS), random, 30):
        survives(OPENHANDS_EVENTS, broken, "a.jsonl")
    survives(OPENHANDS_EVENTS, b'{"kind": "MessageEvent", "x": ' + deep(100_000).encode() + b"}", "a.jsonl")
