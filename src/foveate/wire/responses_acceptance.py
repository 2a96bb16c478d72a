"""What OpenAI Responses is known to refuse in one item; what nobody knows is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from foveate.wire.attachments import is_address, takes
from foveate.wire.data_uri import inline, kind_of
from foveate.wire.names import OPENAI_NAMES, RESPONSES_IDS

ROLES: Final = ("user", "assistant", "system", "developer")
SAID: Final = frozenset({"output_text", "refusal"})
"""Blocks of the assistant."""
TOLD: Final = frozenset({"input_text", "input_image", "input_file", "input_audio"})
"""Blocks of all others."""
_OF_AN_ANSWER: Final = frozenset({"parsed_arguments", "created_by"})
_SOURCES: Final = ("image_url", "file_url", "file_data")


def is_acceptable(item: Mapping[str, Any]) -> bool:
    """Whether an item is taken as far as one can tell; an answer of the provider may have fields that it refuses."""
    if _OF_AN_ANSWER & item.keys() or (item.get("type") == "reasoning" and "status" in item):
        return False
    match item:
        case {"type": "message"} | {"role": _} if item.get("type", "message") == "message":
            return item.get("role") in ROLES and _is_content(item.get("content"), str(item.get("role")))
        case {"type": "function_call", "call_id": call_id, "name": name, "arguments": str()}:
            return name in OPENAI_NAMES and call_id in RESPONSES_IDS
        case {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": str()}:
            return name in OPENAI_NAMES and call_id in RESPONSES_IDS
        case {"type": "function_call" | "custom_tool_call"}:
            return False
        case {"type": "function_call_output" | "custom_tool_call_output", "output": output}:
            return isinstance(output, str) or (bool(output) and _is_content(output, "tool"))
        case {"type": "reasoning", "summary": list()}:
            sealed = item.get("encrypted_content")
            return isinstance(sealed, str | None) and bool(sealed or item.get("id"))
        case {"type": "reasoning" | "function_call_output" | "custom_tool_call_output"}:
            return False
        case _:
            return True


def is_taken(block: Mapping[str, Any]) -> bool:
    """Whether an image or a file is of a type that is taken, and says where it is."""
    if isinstance(block.get("file_id"), str) and block["file_id"]:
        return True
    source = next((block[key] for key in _SOURCES if key in block), None)
    if not isinstance(source, str):
        return False
    content = inline(source)
    if content is None:
        return is_address(source)
    return takes("openai-responses", kind_of(content.media_type), content.media_type)


def fits_role(kind: str, role: str) -> bool:
    """Whether a block of a type may stand in a message of a role."""
    if role in ("system", "developer"):
        return kind not in (SAID | TOLD) - {"input_text"}
    return kind not in (TOLD if role == "assistant" else SAID)


def _is_content(content: object, role: str) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    return isinstance(content, list) and bool(content) and all(_is_block(block, role) for block in content)


def _is_block(block: object, role: str) -> bool:
    if not isinstance(block, Mapping):
        return False
    match block:
        case {"type": str() as kind} if not fits_role(kind, role):
            return False
        case {"parsed": _}:
            return False
        case {"type": "input_text" | "output_text", "text": text} | {"type": "refusal", "refusal": text}:
            return isinstance(text, str) and bool(text.strip())
        case {"type": "input_image" | "input_file"}:
            return is_taken(block)
        case {"type": "input_text" | "output_text" | "refusal"}:
            return False
        case {"type": str() as kind}:
            return bool(kind)
        case _:
            return False
