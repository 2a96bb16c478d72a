"""What is structurally wrong with a log is found, by code, and a sound log has no findings."""

from __future__ import annotations

import pytest

from foveate.log.integrity import CODES, findings
from foveate.log.messages import Message, Text, ToolCall, ToolResult


def said(role: str, *parts: object, name: str = "") -> Message:
    return Message(id=name, role=role, parts=parts)  # type: ignore[arg-type]


def asks(*ids: str) -> Message:
    return said("assistant", *(ToolCall(id=one, name="run") for one in ids))


def answers(call_id: str) -> Message:
    return said("tool", ToolResult(call_id=call_id, text="done"))


HELLO = said("user", Text(text="hello"))


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ([HELLO, asks("a", "b"), answers("b"), answers("a"), said("assistant", Text(text="ok"))], []),
        ([HELLO, answers("a")], [("orphan_tool_return", 2)]),
        ([HELLO, asks("a")], [("orphan_tool_call", 2)]),
        ([asks("a"), HELLO, answers("a")], [("non_adjacent_tool_return", 3)]),
        ([asks("a"), answers("a"), answers("a")], [("duplicate_tool_return", 3)]),
        ([asks("a"), answers("a"), asks("a"), answers("a")], [("duplicate_tool_call_id", 3)]),
        ([asks("a"), asks("a"), answers("a")], [("duplicate_tool_call_id", 2), ("orphan_tool_call", 2)]),
        (
            [said("user", Text(text="x"), name="m1"), said("user", Text(text="y"), name="m1")],
            [("duplicate_message_id", 2)],
        ),
        ([said("user", Text(text="  "))], [("empty_content", 1)]),
        ([said("assistant")], [("empty_content", 1)]),
        ([said("tool", Text(text="x"))], [("invalid_message_payload", 1)]),
        ([said("user", ToolCall(id="a", name="run"))], [("invalid_message_payload", 1)]),
        ([said("user", ToolResult(call_id="a", text="x"))], [("invalid_message_payload", 1)]),
    ],
)
def test_each_defect_has_its_code_and_place(log: list[Message], expected: list[tuple[str, int]]) -> None:
    assert [(one.code, one.position) for one in findings(log)] == expected


def test_every_code_is_explained() -> None:
    """What `foveate check` prints comes from here."""
    assert all(CODES.values())
