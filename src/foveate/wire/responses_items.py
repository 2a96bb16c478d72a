"""What of an item of OpenAI Responses can be sent back, and what of it can be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from foveate.log.text import encodable

LONGEST_ID: Final = 64
_STATUSES: Final = ("in_progress", "completed", "incomplete")
_RUN_STATUSES: Final = ("in_progress", "completed", "incomplete", "searching", "interpreting", "calling", "failed")
_PHASES: Final = ("commentary", "final_answer")

FIELDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        kind: frozenset({"type", *fields.split()})
        for kind, fields in {
            "message": "id role content status phase",
            "reasoning": "id summary content encrypted_content",
            "compaction": "id encrypted_content",
            "function_call": "id call_id name arguments status",
            "function_call_output": "call_id output",
            "custom_tool_call": "id call_id name input",
            "custom_tool_call_output": "call_id output",
            "computer_call": "id call_id action actions pending_safety_checks status",
            "computer_call_output": "id call_id output acknowledged_safety_checks status",
            "local_shell_call": "id call_id action status",
            "local_shell_call_output": "id call_id output status",
            "shell_call": "id call_id action environment status",
            "shell_call_output": "id call_id output max_output_length status",
            "apply_patch_call": "id call_id operation status",
            "apply_patch_call_output": "id call_id output status",
            "web_search_call": "id status action",
            "file_search_call": "id status queries results",
            "code_interpreter_call": "id status code container_id outputs",
            "mcp_call": "id status server_label name arguments output error",
            "mcp_approval_request": "id server_label name arguments",
            "mcp_approval_response": "id approval_request_id approve reason",
        }.items()
    }
)
"""The fields that the provider takes, by the type of an item; an answer has more of them."""

_HOSTED: Final = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "mcp_approval_request"}
)
PROGRAM: Final = "program"
PROGRAM_OUTPUT: Final = "program_output"
"""Code that the model has the provider run, and what came of it; calls inside of it name it as their caller."""
_RUN: Final = _HOSTED | {"image_generation_call"}
_TELLING: Final = frozenset(
    (
        *("query", "queries", "code", "logs", "name", "server_label", "arguments"),
        *("output", "error", "url", "text", "filename", "revised_prompt", "reason"),
    )
)
_LARGEST: Final = 20_000
_LONGEST_NOTE: Final = 4_000

_encode = msgspec.json.Encoder().encode


def answers(output: object, call: str) -> bool:
    """Whether outputs of a type answer calls of a type: of most it is named in full, of a tool search in short."""
    return output in (f"{call}_output", f"{call.removesuffix('_call')}_output")


def is_hosted(item: Mapping[str, Any]) -> bool:
    """Whether an item is something that the provider ran itself, or wants to be allowed to run."""
    kind = str(item.get("type"))
    return kind in (PROGRAM, PROGRAM_OUTPUT) or (kind in _RUN and "call_id" not in item)


def sent(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item with the fields that the provider takes; those without a value, or with an impossible one, left out."""
    kind = str(item.get("type"))
    known = FIELDS.get(kind, frozenset({"type"}))
    possible = {"status": _RUN_STATUSES if kind in _HOSTED else _STATUSES, "phase": _PHASES}
    return {
        key: value
        for key, value in item.items()
        if key in known
        and value is not None
        and (key not in possible or value in possible[key])
        and (key != "encrypted_content" or isinstance(value, str))
    }


def hosted(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the provider ran itself as it takes it back; None if it does not, or if it is too large to be sent."""
    fields = sent(item)
    named = fields.get("id")
    if str(fields.get("type")) not in _HOSTED or not isinstance(named, str) or not 1 <= len(named) <= LONGEST_ID:
        return None
    return fields if len(_encode(fields)) <= _LARGEST else None


def note(item: Mapping[str, Any]) -> str:
    """What can be read of an item of any type: its type, and its queries, code, output and the like."""
    kind = str(item.get("type", "item")).removesuffix("_call")[:80]
    approval = {True: " given", False: " refused"}.get(item.get("approve") is True) if "approve" in item else ""
    text = encodable("\n".join([f"[{kind}{approval}]", *(text for text in _texts(item) if text.strip())]))
    if len(text) <= _LONGEST_NOTE:
        return text
    half = _LONGEST_NOTE // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"


def _texts(item: Mapping[str, Any]) -> Iterator[str]:
    telling = {*_TELLING, "result"} if item.get("type") == PROGRAM_OUTPUT else _TELLING
    waiting: list[tuple[str, Any]] = [("", item)]
    # A stack of our own: an item may be nested deeper than calls can be.
    while waiting:
        name, value = waiting.pop()
        match value:
            case str() if name in telling and not value.startswith("data:"):
                yield value
            case Mapping():
                waiting += reversed([(str(key), one) for key, one in value.items()])
            case list() | tuple():
                waiting += [(name, one) for one in reversed(value)]
            case _:
                continue
